/* spread: fastest, median and slowest of numbers of all ranks, and how far apart the ranks started. However many numbers,
 * few collective operations: with many ranks on a core, each takes as long as all ranks need to have a turn. */
#pragma once

#include <mpi.h>
#include <stdint.h>

struct spread {
    double highest, median, lowest; /* 0 where no rank takes part */
    int lowest_rank;                /* the first rank that has the lowest number; -1 where no rank takes part */
};

/* Collective. Of each of `count` numbers; a number below 0 takes no part. The same reply everywhere. Rank 0 needs at
 * most 64 bytes for each rank meanwhile. */
void spreads_of(struct spread *spreads, MPI_Comm comm, int count, const double *numbers);

/* Start and length of a phase on this rank, and of the phase over all ranks. */
struct spread_start {
    uint64_t start_ns; /* of this rank's clock as it left the opening barrier */
    double elapsed_s;  /* from there to where it left the closing one */
    double longest_s;  /* reply: the longest of all ranks */
    double skew_s;     /* reply: from the first rank's start to the last one's */
};

/* Collective. Fills in the replies of `count` phases, the same everywhere.
 *
 * Clocks of two machines have nothing in common. On each machine the starts are compared directly; between machines the
 * elapsed times are: who left the opening barrier later has less time until the closing one. The larger one counts.
 * machine: the ranks of comm that share this one's clock. */
void spread_of_starts(MPI_Comm comm, MPI_Comm machine, int count, struct spread_start *phases);
