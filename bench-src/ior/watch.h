/* ior_watch: how long each transfer took: with --latency percentiles, and how many bytes all ranks moved in each interval of
 * time; with savePerOpDataCSV a list of all. */
#pragma once

#include "common/latency.h"
#include "common/timeline.h"

#include <mpi.h>

enum { IOR_WATCH_INTERVALS = 60 }; /* of a phase at most */

struct ior_transfer {
    uint64_t start_ns, end_ns; /* of timer_ns */
    int64_t bytes;
};

struct ior_watch {
    struct latency *latency;
    struct timeline timeline;
    struct ior_transfer *list; /* NULL: it is not kept */
    int64_t count, room;
};

/* Keeps a list where room, the number of transfers that are expected, is above 0. */
struct ior_watch *ior_watch_new(int ranks, int64_t room);
void ior_watch_free(struct ior_watch *watch);

/* Empty, for the next phase. */
void ior_watch_clear(struct ior_watch *watch, int ranks);

/* A transfer that began at start_ns is over. */
void ior_watch_add(struct ior_watch *watch, uint64_t start_ns, int64_t bytes);

/* Writes the list: 0 or an errno. */
int ior_watch_save(const struct ior_watch *watch, const char *path);

/* Collective, after the clock stopped: rank 0 has the numbers of all ranks. */
void ior_watch_reduce(struct ior_watch *watch, MPI_Comm comm);
