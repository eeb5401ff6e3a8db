/* ior_watch: single transfers, over all ranks. */
#include "ior/watch.h"

#include "common/die.h"
#include "common/timer.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t shortest_ns = 1000000; /* interval */

struct ior_watch *ior_watch_new(int ranks)
{
    struct ior_watch *watch = die_alloc(sizeof(void *), sizeof *watch);
    timeline_init(&watch->timeline, timeline_count(ranks), shortest_ns);
    return watch;
}

void ior_watch_free(struct ior_watch *watch)
{
    if (watch != NULL)
        timeline_free(&watch->timeline);
    free(watch);
}

void ior_watch_clear(struct ior_watch *watch, int ranks)
{
    timeline_free(&watch->timeline);
    timeline_init(&watch->timeline, timeline_count(ranks), shortest_ns);
    memset(&watch->hist, 0, sizeof watch->hist);
}

void ior_watch_add(struct ior_watch *watch, uint64_t start_ns, int64_t bytes)
{
    uint64_t now_ns = timer_ns();
    stats_hist_add(&watch->hist, now_ns - start_ns);
    timeline_add(&watch->timeline, now_ns - watch->begun_ns, bytes);
}

static void sum(int64_t *values, int count, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values, values, count, MPI_INT64_T, MPI_SUM, 0, comm);
}

void ior_watch_reduce(struct ior_watch *watch, MPI_Comm comm)
{
    struct timeline *timeline = &watch->timeline;
    int doublings;
    MPI_Allreduce(&timeline->doublings, &doublings, 1, MPI_INT, MPI_MAX, comm);
    timeline_coarsen(timeline, doublings);
    MPI_Allreduce(MPI_IN_PLACE, &timeline->used, 1, MPI_INT, MPI_MAX, comm);
    while (timeline->used > IOR_WATCH_INTERVALS)
        timeline_coarsen(timeline, timeline->doublings + 1);
    sum(timeline->bytes, timeline->count, comm);
    sum(watch->hist.counts, STATS_HIST_BUCKETS, comm);
}
