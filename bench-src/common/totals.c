#include "common/totals.h"

#include "common/die.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 7 }; /* rates of a rank that rank 0 has, and room for one more to sort */

void totals_rate(struct totals *totals, double rate, int rank, const char *node)
{
    totals->rates = (struct rank_rates){0, rate, 0, -1, ""};
    if (rate < 0)
        return;
    totals->rates.fastest = totals->rates.slowest = rate;
    totals->rates.slowest_rank = rank;
    snprintf(totals->rates.slowest_node, sizeof totals->rates.slowest_node, "%s", node);
}

static void join_rates(const struct rank_rates *from, struct rank_rates *to)
{
    to->fastest = fmax(from->fastest, to->fastest);
    if (from->slowest_rank < 0)
        return;
    bool is_first = from->slowest == to->slowest && from->slowest_rank < to->slowest_rank;
    if (to->slowest_rank >= 0 && from->slowest >= to->slowest && !is_first)
        return;
    to->slowest = from->slowest;
    to->slowest_rank = from->slowest_rank;
    memcpy(to->slowest_node, from->slowest_node, sizeof to->slowest_node);
}

/* An MPI_User_function. */
static void join(void *from_all, void *to_all, int *length, MPI_Datatype *type)
{
    const struct totals *from = from_all;
    struct totals *to = to_all;
    (void)type;
    for (int i = 0; i < *length; i++, from++, to++) {
        for (int j = 0; j < TOTALS_MOST; j++)
            to->most[j] = fmax(from->most[j], to->most[j]);
        for (int j = 0; j < TOTALS_SUMS; j++)
            to->sums[j] += from->sums[j];
        for (int j = 0; j < TOTALS_COUNTS; j++)
            to->counts[j] += from->counts[j];
        join_rates(&from->rates, &to->rates);
    }
}

static void reduce(struct totals *totals, int count, MPI_Comm comm)
{
    int rank, ranks;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Type_contiguous(sizeof *totals, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(join, 1, &op);
    MPI_Reduce(rank == ranks - 1 ? MPI_IN_PLACE : totals, totals, count, type, op, ranks - 1, comm);
    MPI_Bcast(totals, count, type, ranks - 1, comm);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Of the rates that rank after rank has given, every stride-th is one of this phase. sorted: room for one of each rank. */
static double median_of(const double *rates, int ranks, int stride, double *sorted)
{
    int count = 0;
    for (int rank = 0; rank < ranks; rank++)
        if (rates[(size_t)rank * (size_t)stride] >= 0)
            sorted[count++] = rates[(size_t)rank * (size_t)stride];
    if (count == 0)
        return 0;
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    return (sorted[count / 2] + sorted[(count - 1) / 2]) / 2;
}

/* Replaces the rates of this rank by the medians of all, on rank 0. */
static void find_medians(double *rates, int count, MPI_Comm comm)
{
    int rank, ranks;
    double *all = NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (rank == 0)
        all = die_alloc(sizeof(void *), (size_t)ranks * (size_t)(count + 1) * sizeof *all);
    MPI_Gather(rates, count, MPI_DOUBLE, all, count, MPI_DOUBLE, 0, comm);
    for (int i = 0; rank == 0 && i < count; i++)
        rates[i] = median_of(all + i, ranks, count, all + (size_t)ranks * (size_t)count);
    free(all);
}

void totals_of(struct totals *totals, int count, MPI_Comm comm)
{
    double medians[AT_ONCE];
    for (int first = 0; first < count; first += AT_ONCE) {
        struct totals *part = totals + first;
        int most = count - first < AT_ONCE ? count - first : AT_ONCE;
        for (int i = 0; i < most; i++)
            medians[i] = part[i].rates.median;
        find_medians(medians, most, comm);
        reduce(part, most, comm);
        for (int i = 0; i < most; i++)
            part[i].rates.median = medians[i];
    }
}
