/* checkpoint_point: one number of processes with one size of memory: the repetitions of its checkpoint and restart. */
#pragma once

#include "checkpoint/image.h"
#include "common/elsewhere.h"
#include "common/faults.h"
#include "common/place.h"

#include <stdbool.h>
#include <stdint.h>

enum checkpoint_operation { CHECKPOINT, RESTART, CHECKPOINT_OPERATIONS };

struct checkpoint_point {
    /* What is asked for. */
    const char *directory; /* of the images */
    int64_t bytes, transfer_bytes, iterations;
    bool restart;

    struct place place;       /* of the processes that take part */
    struct elsewhere partner; /* whose image this rank reads back */
    double remote_share, cached_share; /* of the images to be read back; cached -1: not known */
    int64_t iteration;
    unsigned char *image;
    struct faults faults;
};

/* What the ranks measured: the longest times, and sums of counts. */
enum checkpoint_time { CHECKPOINT_ELAPSED, CHECKPOINT_OPEN, CHECKPOINT_TRANSFER, CHECKPOINT_SYNC, CHECKPOINT_CLOSE };
enum checkpoint_count { CHECKPOINT_FAILED, CHECKPOINT_CACHED, CHECKPOINT_PAGES }; /* pages of the images that are read back */

/* Collective over comm: measures and reports. Returns the number of operations that failed. */
int64_t checkpoint_point_run(struct checkpoint_point *point, MPI_Comm comm);
