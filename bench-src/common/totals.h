/* totals: what the ranks have of some phases, put together in few messages.
 *
 * With n ranks, none sends or receives more than about log2(n) of them, or one: the numbers go up a tree to the last rank and
 * down again, each rank's own rate goes up another tree to rank 0, and who is high in one is low in the other. */
#pragma once

#include "common/rank_rates.h"

#include <stdint.h>

enum { TOTALS_MOST = 8, TOTALS_SUMS = 3, TOTALS_COUNTS = 12 };

/* Of one phase. Numbers that are not used are 0. */
struct totals {
    double most[TOTALS_MOST]; /* the largest of all ranks' */
    double sums[TOTALS_SUMS];
    int64_t counts[TOTALS_COUNTS]; /* are summed up too */
    struct rank_rates rates;
};

/* The rate of this rank, below 0 where it takes no part. It is called `rank` on `node`. */
void totals_rate(struct totals *totals, double rate, int rank, const char *node);

/* Collective: replaces the numbers of each of `count` phases by those of all ranks, the same everywhere, but that rank 0 alone
 * has the median. A rank that gave no rate takes no part. Rank 0 needs at most 64 bytes for each rank meanwhile. */
void totals_of(struct totals *totals, int count, MPI_Comm comm);
