/* ior_settings: the table of settings: one row for each name that one has on the command line, in -O and in scripts; and what
 * IOR has and this applet has not, with the reason. */
#pragma once

#include "common/opt.h"

#include <stddef.h>
#include <stdint.h>

/* A setting may have several rows, one for each of its names. */
struct ior_setting {
    const char *directive; /* name in -O and in scripts, in any case; NULL: only as an option */
    char letter;           /* of the option, or 0 */
    const char *name;      /* its long name, or NULL */
    enum opt_type type;
    size_t at;             /* where its value is in struct ior_config */
    const char *argument, *help;
    int64_t min, max;
};

/* An option or a directive of IOR that is refused, or taken where it asks for nothing. */
struct ior_refusal {
    const char *directive;
    char letter;
    const char *name;
    const char *allowed; /* value of the directive that is taken; NULL: there is none */
    const char *why;
};

enum { IOR_MOST_SETTINGS = 112 };
extern const struct ior_setting ior_settings[];
extern const size_t ior_setting_count; /* at most IOR_MOST_SETTINGS */
extern const struct ior_refusal ior_refusals[];
extern const size_t ior_refusal_count;
