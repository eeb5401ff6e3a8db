/* mpiio_worker: the thread of a process that moves bytes. It calls no MPI: pieces of work come from the process's main
 * thread, which can so answer other processes while this one waits for storage.
 *
 * The worker asks for its next piece when more than nine tenths of the one it has were submitted to the storage. */
#pragma once

#include "common/faults.h"
#include "common/pattern.h"
#include "common/timeline.h"
#include "mpiio/handover.h"
#include "store/contract.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mpiio_task {
    const struct store *store;
    const char *base; /* files are BASE.00000, BASE.00001 … */
    int rank;
    bool writes, direct, sync;
    int depth; /* outstanding transfers */
    int64_t block_bytes;
    int64_t layout_bytes; /* own file: blocks start anew at each multiple of this */
    struct pattern *pattern; /* writing: what */
    double slow;             /* the whole process takes so many times as long; 1: not slowed */
    double pace_bytes_s;     /* bytes a second at most, divided by slow; 0: as fast as it can */
};

struct mpiio_slot {
    bool busy;
    unsigned char *data;
    int64_t offset, bytes, moved;
    int64_t slice; /* of the pattern; writing only */
};

struct mpiio_worker {
    struct mpiio_task task;
    uint64_t start_ns;

    /* Shared with the main thread. */
    struct mpiio_handover handover;
    atomic_bool stop; /* set by the main thread: no further blocks */

    /* The worker's own while it runs; complete when it has ended. */
    bool failed;
    int64_t bytes, pieces, own_file_bytes;
    int64_t own_read_bytes; /* reading: of this rank's own file */
    double own_s, sync_s, starved_s; /* starved: nothing to move, the next piece not yet there */
    struct timeline timeline;
    struct faults faults;

    /* Inside. */
    pthread_t thread;
    struct mpiio_slot *slots;
    int busy;
    bool *slice_taken;
    struct store_file *file;
    int64_t file_of; /* whose file is open, -1: none */
    char path[PATH_MAX];
    struct pool_piece piece;
    int64_t piece_at;     /* bytes of it submitted to the storage */
    int64_t handed_bytes; /* of all pieces */
    bool asked;
};

/* "BASE.00007". */
void mpiio_path(const char *base, int64_t rank, char path[PATH_MAX]);

/* Number of the block at an offset of a file, for the pattern. */
int64_t mpiio_block_index(const struct mpiio_task *task, int64_t offset);

/* Makes buffers and starts the thread and its clock. */
void mpiio_worker_start(struct mpiio_worker *worker, const struct mpiio_task *task, int timeline_intervals,
                        uint64_t interval_ns);

/* By the main thread: the phase has failed elsewhere: the worker ends after the blocks that are under way. */
void mpiio_worker_stop(struct mpiio_worker *worker);

/* Waits for the end of the thread, which has ended its work. The results stay until the worker is freed. */
void mpiio_worker_join(struct mpiio_worker *worker);
void mpiio_worker_free(struct mpiio_worker *worker);
