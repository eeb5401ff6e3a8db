/* mpiio: what the parts of the mpiio applet share: the settings, and what one phase came to. */
#pragma once

#include "common/rank_rates.h"
#include "common/run.h"
#include "mpiio/agent.h"
#include "mpiio/worker.h"
#include "store/contract.h"

#include <stdbool.h>
#include <stdint.h>

struct mpiio_config {
    int64_t block_bytes, outstanding, chunk_bytes, total_bytes;
    const char *base; /* files are BASE.00000 … */
    const struct store *store;
    bool split; /* static: every rank gets its share at once */
    bool no_write, read, verify, fsync, unlink, direct;
    double interval_s; /* of the timeline, before doubling */
    double slow;       /* this rank's factor, 1: not slowed */
    int64_t pace;      /* bytes a second and process, 0: none */
};

/* One phase. Sums, most and least are over all ranks. */
struct mpiio_result {
    bool writes;
    int64_t bytes, chunks;
    double elapsed_s, rate_mib_s;
    double rate_sum_mib_s; /* of the ranks' own rates: what they do together while none has to wait for others */
    struct rank_rates rank_rates_mib_s;
    double sync_s;                  /* most */
    double starved_s, starved_mean_s; /* most, mean */
    double longest_wait_s, wait_mean_s; /* for the tracker: longest, mean of all questions */
    double agent_cpu_s;             /* most, ranks other than 0 */
    double own_share;               /* reading: bytes that their reader wrote */
    double cached_share;            /* reading: of the file a rank starts on, in the page cache before; -1: not known */
};
