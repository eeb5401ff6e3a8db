/* check: what the C unit tests share. A test is a program; it says every check that fails, and exits 1 if one did. */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int check_failures;

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            check_failures++;                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                         \
    } while (0)

#define CHECK_INT(found, expected) check_int(__FILE__, __LINE__, #found, (found), (expected))
static inline void check_int(const char *file, int line, const char *what, int64_t found, int64_t expected)
{
    if (found == expected)
        return;
    check_failures++;
    fprintf(stderr, "%s:%d: %s is %" PRId64 ", expected %" PRId64 "\n", file, line, what, found, expected);
}

#define CHECK_TEXT(found, expected) check_text(__FILE__, __LINE__, #found, (found), (expected))
static inline void check_text(const char *file, int line, const char *what, const char *found, const char *expected)
{
    if (strcmp(found, expected) == 0)
        return;
    check_failures++;
    fprintf(stderr, "%s:%d: %s is '%s', expected '%s'\n", file, line, what, found, expected);
}

#define CHECK_REPORT() (check_failures > 0)
