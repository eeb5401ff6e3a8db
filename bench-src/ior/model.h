/* ior: what the parts of the applet share: one test under way, and what a phase of it gave. */
#pragma once

#include "common/faults.h"
#include "common/place.h"
#include "common/totals.h"
#include "ior/config.h"
#include "ior/plan.h"
#include "ior/watch.h"

#include <stdbool.h>
#include <stdint.h>

/* Phases, of which a mixed one has two results. */
enum ior_operation { IOR_WRITE, IOR_READ, IOR_MIX_WRITE, IOR_MIX_READ, IOR_OPERATIONS };

/* Which part of what the ranks move is in the page caches of their nodes. Shares are from 0 to 1, -1 where unknown. */
struct ior_share {
    double cached, dirty;
    int64_t pages_asked; /* examined; large files are sampled */
    const char *method;  /* "cachestat", "mincore", "new files" (see ior/pages.h), or NULL: not known */
    double cost_s;       /* of the slowest rank */
};

/* One write or read phase, over all ranks; or one side of a mixed phase, over its ranks. */
struct ior_result {
    enum ior_operation operation;
    int64_t iteration;
    int64_t signature;       /* of the data: what -G takes; 0 where none was written or checked */
    int64_t failed;          /* operations; above 0 no other number has a meaning */
    int64_t bytes, transfers;
    double open_s, move_s, sync_s, close_s; /* each of the slowest rank; move_s includes sync_s */
    double total_s;          /* of the slowest rank, from the barrier before open to that of its side after close */
    int processes;           /* that moved the bytes */
    double beside_share;     /* of total_s, in which the other side was at work too; -1: there is none */
    double latency_s;        /* mean of a transfer */
    double rate_mib_s;       /* bytes / total_s */
    double rate_ops_s;       /* transfers / total_s: ranks need not move their bytes at the same time */
    struct rank_rates rank_rates_mib_s; /* each its own bytes over its own time */
    double stonewall_s;      /* when the last rank met the deadline; -1: none did */
    int64_t stonewall_bytes; /* moved by then */
    int64_t outliers;        /* ranks whose time is further from the mean than -j allows */
    int outlier_rank;        /* the furthest */
    double outlier_s, mean_s; /* its time, the mean */
    int shift;               /* of the readers, as ior_access_shift; 0 for writes */
    double remote_share;     /* bytes read on another node than wrote them */
    double prepare_s;        /* making the data, before the clock starts */
    struct ior_share share;  /* reads: before the clock starts; writes: after it stopped */
    const struct ior_watch *watch; /* of single transfers, or NULL; until the next phase */
};

/* One check of the data, over all ranks. */
struct ior_verdict {
    const char *operation; /* "write check", "read check" */
    int64_t failed;        /* operations and wrong transfers */
    int64_t bytes_checked, bytes_wrong, transfers_wrong;
};

/* Places in the totals of a phase, of which those of the times are in phase.c: */
enum { IOR_LOOK_S = TOTALS_MOST - 1 }; /* the largest: looking at the page cache */
enum ior_count { /* sums; a page counts as asked for, and may be cached, and dirty too */
    IOR_BYTES, IOR_TRANSFERS, IOR_REMOTE, IOR_STONEWALL_BYTES, IOR_PROCESSES, IOR_FAILED,
    IOR_PAGES, IOR_PAGES_CACHED, IOR_PAGES_DIRTY,
    IOR_RANKS_UNKNOWING, IOR_RANKS_WITHOUT_DIRTY, IOR_RANKS_LOOKED,
};

/* A rank and its data. */
struct ior_source {
    int rank, node, machine;
    int64_t steps;   /* that it wrote in this iteration */
    int64_t in_file; /* -zz: transfers that its file has room for (shared: rank 0's); 0: as planned */
};

struct ior_test {
    const struct ior_config *config;
    const struct store *store; /* config->store, or its fallback */
    int number;
    struct place place; /* the ranks that take part */
    struct ior_plan plan;
    struct pattern pattern;
    unsigned char *buffers;    /* one for each outstanding transfer */
    struct faults faults;
    struct ior_watch *watch;   /* of this phase, where single transfers are timed, else NULL */
    struct ior_watch *other_watch; /* in a mixed phase: of the other side */
    MPI_Comm side;             /* of a mixed phase: the ranks that read, or those that write; MPI_COMM_NULL: there is none */
    bool reads_beside;         /* this rank is of those that read */
    bool mixes;                /* one is under way */
    bool beside;               /* and this rank writes, into a file beside that of the data */
    int64_t beside_steps;      /* that it came to */
    bool beside_kept;          /* an earlier repetition left such files */
    int64_t iteration;
    int64_t signature;         /* of this iteration */
    uint64_t reorder_seed;     /* of this iteration */
    struct ior_source own;     /* this rank */
    struct ior_source sources[2]; /* those whose data it reads, and checks right after writing */
    bool is_uneven;            /* ranks may have different amounts of data */
    bool may_remove;           /* this run made the files */
    bool wrote;                /* this test or one before it did, perhaps into files that were there */
    const char *file_system;   /* of the test files, seen by rank 0; NULL: unknown */
    int in_memory;             /* it has no storage behind it */
    int64_t failed_operations;
};

static inline const char *ior_operation_name(enum ior_operation operation)
{
    static const char *const names[IOR_OPERATIONS] = {"write", "read", "mix-write", "mix-read"};
    return names[operation];
}

static inline bool ior_writes(enum ior_operation operation)
{
    return operation == IOR_WRITE || operation == IOR_MIX_WRITE;
}

/* The ranks that open a shared file together. */
static inline MPI_Comm ior_team(const struct ior_test *test)
{
    return test->mixes ? test->side : test->place.comm;
}

/* Of the data that this rank writes, or checks: what is written beside others' reads is not what they read. */
static inline int64_t ior_seed(const struct ior_test *test)
{
    return test->beside ? ~test->signature : test->signature;
}

static inline int ior_depth(const struct ior_test *test)
{
    return test->store->submit == NULL ? 1 : (int)test->config->queue_depth;
}

/* rank: this one, or one whose data it reads or checks. */
static inline const struct ior_source *ior_source_of(const struct ior_test *test, int rank)
{
    return rank == test->own.rank ? &test->own : &test->sources[rank != test->sources[0].rank];
}

/* Steps of such a rank's way in this iteration. */
static inline int64_t ior_steps(const struct ior_test *test, int rank)
{
    if (test->beside)
        return test->beside_steps;
    int64_t steps = ior_source_of(test, rank)->steps, most = test->config->most_steps;
    return most > 0 && most < steps ? most : steps;
}
