/* mdtest: what its parts share. app reads options and drives; phase times; items is the inner loop; report prints and
 * writes JSON; tree knows names. */
#pragma once

#include "common/faults.h"
#include "common/latency.h"
#include "common/pattern.h"
#include "common/place.h"
#include "common/rank_rates.h"
#include "mdtest/tree.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum mdtest_object { MDTEST_DIRECTORY, MDTEST_FILE, MDTEST_OBJECTS };

enum {
    MDTEST_MOST_ROOTS = 64,
    MDTEST_PHASES = 2 + MDTEST_OBJECTS * MDTEST_OPERATIONS, /* of an iteration at most: those of the trees too */
};

/* The command line. */
struct mdtest_config {
    bool run[MDTEST_OPERATIONS]; /* -C -T -E -r, all where none is given; -U */
    bool files_only, directories_only, unique, shared, leaf_only, collective;
    bool sync_each, sync_phase, verify, no_barriers, time_unique;
    bool direct;           /* --posix.odirect */
    bool verify_writes, make_nodes, warnings_are_errors;
    enum pattern_kind data; /* --dataPacketType */
    bool no_storage;       /* -a DUMMY */
    bool print_time, print_rate_and_time, latency;
    int64_t items, items_per_dir, branch, depth, offset, iterations;
    int64_t write_bytes, read_bytes, stonewall_s, pause_s, verbosity;
    int64_t signature; /* of -G */
    int64_t seed; /* of -R: below 0 where the order is not random */
    int64_t random_seed; /* of --random-seed: below 0 where it is not given */
    int64_t first, last, stride;
    const char *directories, *stonewall_file, *api, *packet, *rank_file;
    char *roots_text, *roots[MDTEST_MOST_ROOTS]; /* directories, cut at the @ */
    int root_count;
};

/* One timed phase on this rank. The ranks put theirs together only at the end of the iteration (mdtest_phases_reduce): what
 * caches hold for a second must not run out between two phases. */
struct mdtest_phase {
    enum mdtest_operation operation;
    enum mdtest_object object; /* of a tree: MDTEST_DIRECTORY */
    bool tree;
    int rank_shift;
    uint64_t start_ns;
    double own_s, elapsed_s;
    int64_t tried, done;
    int64_t counted, failed;  /* of all ranks: mdtest's number of operations; failed ones */
    struct latency *latency; /* of --latency, or NULL */
};

/* One timed phase, over all ranks; the same on every rank. */
struct mdtest_result {
    double elapsed_s;
    double start_skew_s; /* below 0: not known, without barriers */
    double rate_ops_s, true_rate_ops_s;
    int64_t operations_counted, operations_done, failed;
    int64_t files_counted, files_true;
    struct rank_rates rank_rates_ops_s;
    double remote_share;           /* below 0: cannot be known */
    const struct latency *latency; /* of rank 0, or NULL */
};

/* The test of one number of tasks. */
struct mdtest_test {
    const struct mdtest_config *config;
    struct place place; /* of these tasks */
    MPI_Comm machine;   /* those that share this one's clock; virtual nodes of one machine do too */
    struct mdtest_tree tree;
    int64_t items; /* of a rank: tree.items, or fewer once a stonewall stopped creation */
    int64_t stonewall_least; /* items of the slowest rank when -W stopped the creation */
    int64_t iteration;
    struct faults faults;
    int64_t failed_operations;      /* so far, all ranks */
    unsigned char *buffer;          /* data of -w, -e */
    struct mdtest_phase phases[MDTEST_PHASES]; /* of this iteration */
    int phases_done;
};

/* What the summary tables are made of. */
struct mdtest_row {
    struct stats rate, time, true_rate;
    int64_t operations_counted, operations_done, failed; /* all iterations */
    struct stats_hist *hist;                             /* on rank 0 with --latency, else NULL */
};

struct mdtest_rows {
    struct mdtest_row items[MDTEST_OBJECTS][MDTEST_OPERATIONS];
    struct mdtest_row tree_create, tree_remove;
};

/* Are directories read, or files renamed? */
static inline bool mdtest_has_operation(enum mdtest_object object, enum mdtest_operation operation)
{
    return operation != (object == MDTEST_FILE ? MDTEST_RENAME : MDTEST_READ);
}

static inline bool mdtest_has_object(const struct mdtest_config *config, enum mdtest_object object)
{
    return object == MDTEST_FILE ? !config->directories_only : !config->files_only;
}
