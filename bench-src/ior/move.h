/* ior_move: the loops inside the timed part: a rank's transfers, one after the other or several at a time. */
#pragma once

#include "ior/model.h"

struct ior_move {
    struct ior_test *test;
    struct store_file *file;
    const char *path;
    enum ior_operation operation;
    struct ior_walk walk; /* of the rank whose data is moved */
    int64_t done;         /* whole transfers */
    bool failed;          /* noted in test->faults */
};

/* Goes on until `last` steps were taken, a transfer failed, or the clock of timer_ns is past deadline_ns (0: never). In
 * lockstep with other ranks a failed rank goes on without bytes. */
void ior_move(struct ior_move *move, int64_t last, uint64_t deadline_ns);
