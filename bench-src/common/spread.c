/* spread: rank 0 sorts the numbers of all and tells the others. */
#include "common/spread.h"

#include "common/die.h"

#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 7 }; /* numbers of a rank that rank 0 has, and room for one more to sort */

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Of the numbers that rank after rank has given, every stride-th is one of this kind. sorted: room for one of each rank. */
static struct spread spread_of(const double *numbers, int ranks, int stride, double *sorted)
{
    struct spread spread = {0, 0, 0, -1};
    int count = 0;
    for (int rank = 0; rank < ranks; rank++) {
        double number = numbers[(size_t)rank * (size_t)stride];
        if (number < 0)
            continue;
        sorted[count++] = number;
        if (spread.lowest_rank < 0 || number < spread.lowest) {
            spread.lowest = number;
            spread.lowest_rank = rank;
        }
    }
    if (count == 0)
        return spread;
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    spread.highest = sorted[count - 1];
    spread.median = (sorted[count / 2] + sorted[(count - 1) / 2]) / 2;
    return spread;
}

/* On rank 0 alone. */
static void gather_spreads(struct spread *spreads, MPI_Comm comm, int count, const double *numbers)
{
    int rank, ranks;
    double *all = NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (rank == 0)
        all = die_alloc(sizeof(void *), (size_t)ranks * (size_t)(count + 1) * sizeof *all);
    MPI_Gather(numbers, count, MPI_DOUBLE, all, count, MPI_DOUBLE, 0, comm);
    for (int i = 0; rank == 0 && i < count; i++)
        spreads[i] = spread_of(all + i, ranks, count, all + (size_t)ranks * (size_t)count);
    free(all);
}

void spreads_of(struct spread *spreads, MPI_Comm comm, int count, const double *numbers)
{
    for (int first = 0; first < count; first += AT_ONCE)
        gather_spreads(spreads + first, comm, count - first < AT_ONCE ? count - first : AT_ONCE, numbers + first);
    MPI_Bcast(spreads, count * (int)sizeof *spreads, MPI_BYTE, 0, comm);
}

void spread_of_starts(MPI_Comm comm, MPI_Comm machine, int count, struct spread_start *phases)
{
    uint64_t(*start)[2] = die_alloc(sizeof(void *), (size_t)count * sizeof *start);
    double(*most)[3] = die_alloc(sizeof(void *), (size_t)count * sizeof *most);
    for (int i = 0; i < count; i++) {
        start[i][0] = phases[i].start_ns;
        start[i][1] = ~phases[i].start_ns; /* the first start's complement is the largest */
    }
    MPI_Allreduce(MPI_IN_PLACE, start, 2 * count, MPI_UINT64_T, MPI_MAX, machine);
    for (int i = 0; i < count; i++) {
        most[i][0] = (double)(start[i][0] - ~start[i][1]) * 1e-9;
        most[i][1] = phases[i].elapsed_s;
        most[i][2] = -phases[i].elapsed_s;
    }
    MPI_Allreduce(MPI_IN_PLACE, most, 3 * count, MPI_DOUBLE, MPI_MAX, comm);
    for (int i = 0; i < count; i++) {
        phases[i].longest_s = most[i][1];
        phases[i].skew_s = fmax(most[i][0], most[i][1] + most[i][2]);
    }
    free(start);
    free(most);
}
