/* spread: fastest, median and slowest of one number a rank, with memory that does not depend on the number of ranks. */
#ifndef SPREAD_H
#define SPREAD_H

#include <mpi.h>
#include <stdbool.h>

struct spread {
    double highest, median, lowest; /* 0 where no rank takes part */
    int lowest_rank;                /* the first rank that has the lowest number; -1 where no rank takes part */
};

/* Collective. value is finite and not negative; ranks that do not take part are left out. The same reply everywhere. */
void spread_of(struct spread *spread, MPI_Comm comm, bool takes_part, double value);

#endif
