/* units: text to numbers and back. Sizes are bytes. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum units_suffix {
    UNITS_PLAIN,  /* no suffix allowed */
    UNITS_BINARY, /* k m g t p e and K M G T P E: powers of 1024 */
    UNITS_MIXED,  /* k m g t p e: powers of 1000; K M G T P E: powers of 1024 */
};

/* A whole decimal number with an optional sign and suffix: 0, -EINVAL (not such a number) or -ERANGE (beyond int64_t). */
int units_parse_int(const char *text, enum units_suffix suffix, int64_t *value);

/* A finite decimal number: 0, -EINVAL or -ERANGE. */
int units_parse_real(const char *text, double *value);

/* "23.5 GiB", one decimal, powers of 1024; below 1 KiB "512.0 B". */
void units_format_bytes(char *out, size_t out_bytes, double bytes);

/* Decimals with which a number above 0 has three digits that count: two, more below 1, nine at most. */
int units_decimals(double value);

/* Digits of value at out, without a closing zero byte; returns their number (at most 20). For inner loops. */
int units_digits(char *out, uint64_t value);
