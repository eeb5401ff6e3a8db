/* rank_rates: what the ranks of a phase reached each for itself, and which of them was the slowest. */
#pragma once

#include "common/place.h"

struct rank_rates {
    double fastest, median, slowest; /* 0 where no rank takes part */
    int slowest_rank;                /* the first of them; -1 where no rank takes part */
    char slowest_node[PLACE_NAME_BYTES];
};

/* Members of a JSON line: an object with that key, and the slowest rank and its node. */
void rank_rates_emit(const struct rank_rates *rates, const char *key);

/* Collective: adds a row "WHAT,rank,number,…" for each rank to a CSV file, which the run's first call makes anew, with its
 * header. 0, or on rank 0 an errno. */
int rank_rates_save(const struct place *place, const char *path, const char *header, const char *what,
                    const double *numbers, int count);
