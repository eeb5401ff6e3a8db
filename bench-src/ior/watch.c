/* ior_watch: single transfers, over all ranks. */
#include "ior/watch.h"

#include "common/die.h"
#include "common/timer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t shortest_ns = 1000000; /* interval */

/* Transfers that a list has room for; then it grows. With -D far more may be expected than are made. */
enum { LIST_AT_FIRST = 1 << 20 };

struct ior_watch *ior_watch_new(int ranks, int64_t room)
{
    struct ior_watch *watch = die_alloc(sizeof(void *), sizeof *watch);
    if (room > 0) {
        watch->room = room < LIST_AT_FIRST ? room : LIST_AT_FIRST;
        watch->list = die_alloc(sizeof(void *), (size_t)watch->room * sizeof *watch->list);
    }
    watch->latency = latency_new();
    timeline_init(&watch->timeline, timeline_count(ranks), shortest_ns);
    return watch;
}

void ior_watch_free(struct ior_watch *watch)
{
    if (watch != NULL) {
        latency_free(watch->latency);
        timeline_free(&watch->timeline);
        free(watch->list);
    }
    free(watch);
}

void ior_watch_clear(struct ior_watch *watch, int ranks)
{
    timeline_free(&watch->timeline);
    timeline_init(&watch->timeline, timeline_count(ranks), shortest_ns);
    watch->count = 0;
}

static void keep(struct ior_watch *watch, uint64_t start_ns, uint64_t end_ns, int64_t bytes)
{
    if (watch->count == watch->room) {
        watch->room *= 2;
        watch->list = realloc(watch->list, (size_t)watch->room * sizeof *watch->list);
        if (watch->list == NULL)
            die("out of memory: a list of %" PRId64 " transfers", watch->room);
    }
    watch->list[watch->count++] = (struct ior_transfer){start_ns, end_ns, bytes};
}

void ior_watch_add(struct ior_watch *watch, uint64_t start_ns, int64_t bytes)
{
    uint64_t now_ns = timer_ns();
    latency_add(watch->latency, start_ns, now_ns);
    timeline_add(&watch->timeline, now_ns - watch->latency->begun_ns, bytes);
    if (watch->list != NULL)
        keep(watch, start_ns, now_ns, bytes);
}

int ior_watch_save(const struct ior_watch *watch, const char *path)
{
    errno = 0;
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return errno;
    fprintf(file, "time,runtime,tp\n");
    for (int64_t i = 0; i < watch->count; i++) {
        const struct ior_transfer *one = &watch->list[i];
        double elapsed_s = timer_s(one->start_ns, one->end_ns);
        fprintf(file, "%.8e,%.8e,%e\n", timer_s(watch->latency->begun_ns, one->start_ns), elapsed_s, (double)one->bytes / elapsed_s);
    }
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    return !failed ? 0 : errno != 0 ? errno : EIO;
}

void ior_watch_reduce(struct ior_watch *watch, MPI_Comm comm)
{
    struct timeline *timeline = &watch->timeline;
    int doublings, rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(&timeline->doublings, &doublings, 1, MPI_INT, MPI_MAX, comm);
    timeline_coarsen(timeline, doublings);
    MPI_Allreduce(MPI_IN_PLACE, &timeline->used, 1, MPI_INT, MPI_MAX, comm);
    while (timeline->used > IOR_WATCH_INTERVALS)
        timeline_coarsen(timeline, timeline->doublings + 1);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : timeline->bytes, timeline->bytes, timeline->count, MPI_INT64_T, MPI_SUM, 0, comm);
    latency_reduce(watch->latency, comm);
}
