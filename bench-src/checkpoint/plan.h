/* checkpoint_plan: lists of sizes and counts on the command line. Pure. */
#pragma once

#include "common/refusal.h"
#include "common/units.h"

#include <stddef.h>
#include <stdint.h>

enum { CHECKPOINT_MOST_POINTS = 64 };

struct checkpoint_list {
    int count;
    int64_t values[CHECKPOINT_MOST_POINTS];
};

/* "4", "1,2,8", or "1:6" for 1, 2, 4, 6: doubling from the first, and the last in any case. Values from 1 to most.
 * 0, or -1 with a message that begins with `what`. */
int checkpoint_read_list(struct checkpoint_list *list, const char *what, const char *text, enum units_suffix suffix,
                         int64_t most, struct refusal *why);
