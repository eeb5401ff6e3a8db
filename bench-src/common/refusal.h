/* refusal: why an input was not taken, for whoever prints it. Pure. */
#pragma once

#include <limits.h>

struct refusal {
    char text[PATH_MAX + 512];
};

/* Writes the reason. Returns -1, for `return refuse(…)`. The reason may be made of another refusal's text, not of its own. */
int refuse(struct refusal *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
