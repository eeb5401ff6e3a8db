/* spread: fastest, median and slowest of one number a rank, and how far apart the ranks started, with memory that does
 * not depend on the number of ranks. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct spread {
    double highest, median, lowest; /* 0 where no rank takes part */
    int lowest_rank;                /* the first rank that has the lowest number; -1 where no rank takes part */
};

/* Collective. value is finite and not negative; ranks that do not take part are left out. The same reply everywhere. */
void spread_of(struct spread *spread, MPI_Comm comm, bool takes_part, double value);

/* Collective. Seconds from the first rank's start to the last one's, the same reply everywhere. start_ns: of this rank's
 * clock as it left the opening barrier; elapsed_s: from there to where it left the closing one.
 *
 * Clocks of two machines have nothing in common. On each machine the starts are compared directly; between machines the
 * elapsed times are: who left the opening barrier later has less time until the closing one. The larger one counts.
 * machine: the ranks of comm that share this one's clock. */
double spread_of_starts(MPI_Comm comm, MPI_Comm machine, uint64_t start_ns, double elapsed_s);
