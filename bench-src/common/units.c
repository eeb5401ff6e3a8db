/* units: text to numbers and back. Pure. */
#include "common/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multiplier of a suffix letter, 0 where it is none. */
static int64_t multiplier(char letter, enum units_suffix suffix)
{
    static const char letters[] = "kmgtpe";
    const char *at = letter == '\0' ? NULL : strchr(letters, tolower((unsigned char)letter));
    if (at == NULL || suffix == UNITS_PLAIN)
        return 0;
    int64_t base = suffix == UNITS_MIXED && islower((unsigned char)letter) ? 1000 : 1024;
    int64_t result = 1;
    for (int power = 0; power <= at - letters; power++)
        result *= base;
    return result;
}

int units_parse_int(const char *text, enum units_suffix suffix, int64_t *value)
{
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    if (!isdigit((unsigned char)digits[0]))
        return -EINVAL;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    int overflow = errno == ERANGE;
    if (*end != '\0') {
        int64_t factor = multiplier(*end, suffix);
        if (factor == 0 || end[1] != '\0')
            return -EINVAL;
        int64_t product;
        overflow |= __builtin_mul_overflow((int64_t)number, factor, &product);
        number = product;
    }
    if (overflow)
        return -ERANGE;
    *value = number;
    return 0;
}

int units_parse_real(const char *text, double *value)
{
    /* strtod takes leading blanks, hexadecimal, "inf" and "nan": none of them is meant here. */
    if (text[0] == '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
        return -EINVAL;
    char *end;
    double number = strtod(text, &end);
    if (*end != '\0')
        return -EINVAL;
    if (!isfinite(number))
        return -ERANGE;
    *value = number;
    return 0;
}

void units_format_bytes(char *out, size_t out_bytes, double bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t power = 0;
    while (bytes >= 1024 && power + 1 < sizeof names / sizeof names[0]) {
        bytes /= 1024;
        power++;
    }
    snprintf(out, out_bytes, "%.1f %s", bytes, names[power]);
}

int units_decimals(double value)
{
    int decimals = 2;
    for (; value > 0 && value < 1 && decimals < 9; value *= 10)
        decimals++;
    return decimals;
}

int units_digits(char *out, uint64_t value)
{
    char reversed[20];
    int count = 0;
    do {
        reversed[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (int i = 0; i < count; i++)
        out[i] = reversed[count - 1 - i];
    return count;
}
