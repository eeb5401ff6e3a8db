/* mpiio_phase: one timed phase of mpiio, the pool's or a static split's, and the check of what it left. */
#pragma once

#include "common/elsewhere.h"
#include "mpiio/model.h"

#include <stdbool.h>

struct mpiio_test {
    const struct mpiio_config *config;
    struct run *run;
    struct pattern pattern;
    uint64_t seed;
    struct elsewhere first; /* whose file this rank starts to read */
    int64_t own_file_bytes;
    bool writes; /* this run has begun to write its files */
    struct faults faults;
};

/* Collective: reports the faults of all ranks. True if there were any. */
bool mpiio_failed(struct mpiio_test *test);

/* Collective: one phase, from the barrier to its report. False where something failed. */
bool mpiio_phase(struct mpiio_test *test, bool writes);

/* Collective: every file is read and compared, by the rank that starts to read it. Untimed. */
bool mpiio_verify(struct mpiio_test *test);
