/* Description: numbers with suffixes, their limits, and what is no number. */
#include "common/units.h"
#include "test/check.h"

#include <errno.h>

static void parses(const char *text, enum units_suffix suffix, int64_t expected)
{
    int64_t value = -1;
    CHECK_INT(units_parse_int(text, suffix, &value), 0);
    CHECK_INT(value, expected);
}

static void refuses(const char *text, enum units_suffix suffix, int error)
{
    int64_t value = 77;
    CHECK_INT(units_parse_int(text, suffix, &value), error);
    CHECK_INT(value, 77);
}

static void formats(double bytes, const char *expected)
{
    char text[32];
    units_format_bytes(text, sizeof text, bytes);
    CHECK_TEXT(text, expected);
}

int main(void)
{
    parses("0", UNITS_PLAIN, 0);
    parses("-12", UNITS_PLAIN, -12);
    parses("+7", UNITS_PLAIN, 7);
    parses("16k", UNITS_BINARY, 16384);
    parses("16K", UNITS_BINARY, 16384);
    parses("1m", UNITS_BINARY, 1 << 20);
    parses("3g", UNITS_BINARY, INT64_C(3) << 30);
    parses("2t", UNITS_BINARY, INT64_C(2) << 40);
    parses("1p", UNITS_BINARY, INT64_C(1) << 50);
    parses("7e", UNITS_BINARY, INT64_C(7) << 60);
    parses("16k", UNITS_MIXED, 16000);
    parses("16K", UNITS_MIXED, 16384);
    parses("2t", UNITS_MIXED, INT64_C(2000000000000));
    parses("9223372036854775807", UNITS_PLAIN, INT64_MAX);
    parses("-9223372036854775808", UNITS_PLAIN, INT64_MIN);

    refuses("9223372036854775808", UNITS_PLAIN, -ERANGE);
    refuses("8e", UNITS_BINARY, -ERANGE);
    refuses("9999999999999999999k", UNITS_BINARY, -ERANGE);
    refuses("1k", UNITS_PLAIN, -EINVAL);
    const char *none[] = {"", " ", "k", "-", "+k", " 1", "1 ", "1kk", "1x", "0x10", "1.5k", "1e3", "--1", "1,000", "1kB"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        refuses(none[i], UNITS_BINARY, -EINVAL);

    double real = 0;
    CHECK(units_parse_real("2.5", &real) == 0 && real == 2.5);
    CHECK(units_parse_real("1e-3", &real) == 0 && real == 1e-3);
    CHECK_INT(units_parse_real("1e999", &real), -ERANGE);
    const char *not_real[] = {"", "nan", "inf", "0x1p3", " 1", "1 ", "1.5k", "e", "."};
    for (size_t i = 0; i < sizeof not_real / sizeof not_real[0]; i++)
        CHECK_INT(units_parse_real(not_real[i], &real), -EINVAL);

    formats(0, "0.0 B");
    formats(1023, "1023.0 B");
    formats(1024, "1.0 KiB");
    formats(23.5 * (1 << 30), "23.5 GiB");
    formats(3e30, "2602085213965.2 EiB");

    CHECK_INT(units_decimals(4096.5), 2);
    CHECK_INT(units_decimals(1), 2);
    CHECK_INT(units_decimals(0.17), 3);
    CHECK_INT(units_decimals(0.0004), 6);
    CHECK_INT(units_decimals(1e-30), 9);
    CHECK_INT(units_decimals(0), 2);

    char digits[21] = "";
    CHECK_INT(units_digits(digits, UINT64_MAX), 20);
    CHECK(strncmp(digits, "18446744073709551615", 20) == 0);
    CHECK_INT(units_digits(digits, 0), 1);
    CHECK(digits[0] == '0');
    return CHECK_REPORT();
}
