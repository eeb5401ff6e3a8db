/* ior_phase: one timed write or read over all ranks.
 *
 * On every rank the clock runs from a barrier to a barrier; in between are open, transfers, fsync where asked for, and
 * close. The time that counts is the longest of the ranks': the rank that leaves the first barrier first saw it all. No
 * clock of one node is compared with another's. Making the data is before, looking at the page cache outside.
 *
 * In a mixed phase all ranks leave the first barrier together; each side has a closing barrier of its own,
 * and one for both is outside its time. */
#include "ior/phase.h"

#include "common/die.h"
#include "common/timer.h"
#include "ior/access.h"
#include "ior/move.h"
#include "ior/pages.h"
#include "ior/prefill.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank's own durations, in the order of the reduction. */
enum { OPEN, MOVE, SYNC, CLOSE, TOTAL, STONEWALL, PREPARE, TIMES };

struct timing {
    double s[TIMES];
    double own_s;      /* up to the end of its own close */
    int64_t bytes_at_stonewall;
};

static void fault(struct ior_test *test, const char *operation, const char *path, int error)
{
    bool opens = strcmp(operation, "open") == 0;
    const char *hint = opens && error == -EINVAL && test->config->direct
                           ? "the file system does not take O_DIRECT (-B, --posix.odirect)"
                       : opens && error == -EOPNOTSUPP && test->config->preallocate
                           ? "the file system cannot preallocate (-p)"
                           : NULL;
    faults_add(&test->faults, operation, path, -error, hint);
}

/* minTimeDuration: is there time for all transfers once more? Ranks in lockstep decide it together. */
static bool begins_anew(const struct ior_move *move, uint64_t start_ns)
{
    const struct ior_config *config = move->test->config;
    int more = config->least_s > 0 && !move->failed && timer_s(start_ns, timer_ns()) < (double)config->least_s;
    if (config->least_s > 0 && !config->file_per_process && ior_config_lockstep(config, move->operation == IOR_WRITE))
        MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MIN, ior_team(move->test));
    return more;
}

/* Transfers up to the deadline, and what wear-out asks for after it. In a mixed phase a side that has made all of them before
 * begins anew, so that the other is not alone. */
static void move_all(struct ior_move *move, struct timing *timing)
{
    struct ior_test *test = move->test;
    const struct ior_config *config = test->config;
    const struct ior_walk walk = move->walk;
    int64_t last = ior_steps(test, move->walk.rank);
    uint64_t start_ns = timer_ns();
    if (config->deadline_s == 0) {
        ior_move(move, last, 0);
        while (begins_anew(move, start_ns)) {
            move->walk = walk;
            ior_move(move, last, 0);
        }
        return;
    }
    uint64_t deadline_ns = start_ns + (uint64_t)config->deadline_s * 1000000000u;
    ior_move(move, last, deadline_ns);
    while (test->mixes && last > 0 && !move->failed && timer_ns() < deadline_ns) {
        move->walk = walk;
        ior_move(move, last, deadline_ns);
    }
    uint64_t now_ns = timer_ns();
    if (now_ns >= deadline_ns)
        timing->s[STONEWALL] = timer_s(start_ns, now_ns);
    timing->bytes_at_stonewall = move->done * test->plan.transfer;
    if (config->wear_out) {
        int64_t most;
        MPI_Allreduce(&move->walk.step, &most, 1, MPI_INT64_T, MPI_MAX, test->place.comm);
        if (!move->failed)
            ior_move(move, most < last ? most : last, 0);
    }
}

/* The timed part. */
static void run(struct ior_move *move, const struct store_options *options, struct timing *timing)
{
    struct ior_test *test = move->test;
    const struct ior_config *config = test->config;
    const struct store *store = test->store;
    MPI_Comm comm = test->place.comm;

    MPI_Barrier(comm);
    uint64_t begun = timer_ns();
    if (test->watch != NULL)
        latency_begin(test->watch->latency, begun); /* a rank's transfers are told from here */
    if (test->mixes && test->other_watch != NULL)
        latency_begin(test->other_watch->latency, begun);
    int error = store->open(&move->file, move->path, options);
    uint64_t opened = timer_ns();
    if (error != 0)
        fault(test, "open", move->path, error);
    move->failed = error != 0;
    if (config->barriers)
        MPI_Barrier(comm);
    uint64_t moving = timer_ns();
    if (error == 0)
        move_all(move, timing);
    else if (config->wear_out)
        MPI_Allreduce(&(int64_t){0}, &(int64_t){0}, 1, MPI_INT64_T, MPI_MAX, comm);
    uint64_t moved = timer_ns();
    if (error == 0 && config->fsync && move->operation == IOR_WRITE) {
        int failed = store->sync(move->file);
        if (failed != 0)
            fault(test, "fsync", move->path, failed);
    }
    uint64_t synced = timer_ns();
    if (config->barriers)
        MPI_Barrier(comm);
    uint64_t closing = timer_ns();
    if (error == 0) {
        int failed = store->close(move->file);
        if (failed != 0)
            fault(test, "close", move->path, failed);
    }
    uint64_t closed = timer_ns();
    MPI_Barrier(ior_team(test));
    uint64_t ended = timer_ns();
    if (test->mixes)
        MPI_Barrier(comm);
    if (test->watch != NULL)
        latency_end(test->watch->latency, ended);
    if (test->mixes && test->other_watch != NULL)
        latency_end(test->other_watch->latency, ended);

    timing->s[OPEN] = timer_s(begun, opened);
    timing->s[MOVE] = timer_s(moving, synced);
    timing->s[SYNC] = config->fsync ? timer_s(moved, synced) : 0;
    timing->s[CLOSE] = timer_s(closing, closed);
    timing->s[TOTAL] = timer_s(begun, ended);
    timing->own_s = timer_s(begun, closed);
}

/* Collective: of the ranks that take part. totals: what is known of the page cache already. */
static void reduce(const struct ior_test *test, const struct ior_move *move, const struct timing *timing, int target,
                   bool takes_part, struct totals *totals, struct ior_result *result)
{
    static const struct timing none = {.s[STONEWALL] = -1};
    const struct place *place = &test->place;
    const double mib = 1 << 20, *worst = totals->most;
    const int64_t done = takes_part ? move->done : 0, bytes = done * test->plan.transfer, *counts = totals->counts;
    timing = takes_part ? timing : &none;
    memcpy(totals->most, timing->s, sizeof timing->s);
    totals->sums[0] = (timing->s[MOVE] - timing->s[SYNC]) * ior_depth(test);
    totals->counts[IOR_BYTES] = bytes;
    totals->counts[IOR_TRANSFERS] = done;
    totals->counts[IOR_REMOTE] = ior_source_of(test, target)->node != place->node_index ? bytes : 0;
    totals->counts[IOR_STONEWALL_BYTES] = timing->bytes_at_stonewall;
    totals->counts[IOR_PROCESSES] = takes_part;
    totals->counts[IOR_FAILED] = test->faults.count;
    totals_rate(totals, takes_part ? (double)bytes / mib / timing->own_s : -1, place->rank, place->node);
    totals_of(totals, 1, place->comm);
    result->failed = counts[IOR_FAILED];
    result->processes = (int)counts[IOR_PROCESSES];
    result->beside_share = -1;
    result->bytes = counts[IOR_BYTES];
    result->transfers = counts[IOR_TRANSFERS];
    result->remote_share = result->bytes > 0 ? (double)counts[IOR_REMOTE] / (double)result->bytes : 0;
    result->stonewall_bytes = counts[IOR_STONEWALL_BYTES];
    result->open_s = worst[OPEN];
    result->move_s = worst[MOVE];
    result->sync_s = worst[SYNC];
    result->close_s = worst[CLOSE];
    result->total_s = worst[TOTAL];
    result->stonewall_s = worst[STONEWALL];
    result->prepare_s = worst[PREPARE];
    result->latency_s = result->transfers > 0 ? totals->sums[0] / (double)result->transfers : 0;
    result->rate_mib_s = (double)result->bytes / mib / worst[TOTAL];
    result->rate_ops_s = (double)result->transfers / worst[TOTAL];
    result->rank_rates_mib_s = totals->rates;
    result->share = ior_pages_share(totals);
}

/* stoneWallingStatusFile: how many transfers each rank has made, for a later run that reads. */
static void keep_stonewall(struct ior_test *test, int64_t steps)
{
    const char *path = test->config->stonewall_file;
    if (path == NULL || test->place.rank != 0)
        return;
    FILE *file = fopen(path, "we");
    bool failed = file == NULL || fprintf(file, "%" PRId64 "\n", steps) < 0;
    if (file != NULL && fclose(file) != 0)
        failed = true;
    if (failed)
        faults_add(&test->faults, "write", path, errno, NULL);
}

/* saveRankPerformanceDetailsCSV, in IOR's units: seconds and bytes a second. */
static void save_ranks(struct ior_test *test, enum ior_operation operation, const struct timing *timing, int64_t moved)
{
    const char *path = test->config->rank_file;
    double bytes = (double)moved, own_s = timing->own_s, move_s = timing->s[MOVE];
    double numbers[] = {own_s, move_s, bytes / own_s, move_s > 0 ? bytes / move_s : 0};
    if (path == NULL)
        return;
    int error = rank_rates_save(&test->place, path,
                                "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput",
                                ior_operation_name(operation), numbers, sizeof numbers / sizeof numbers[0]);
    if (error != 0)
        faults_add(&test->faults, "write", path, error, NULL);
}

/* savePerOpDataCSV: a file of each rank. */
static void save_transfers(struct ior_test *test)
{
    char path[PATH_MAX];
    const char *prefix = test->config->transfers_file;
    if (prefix == NULL)
        return;
    snprintf(path, sizeof path, "%s-%" PRId64 "-%05d.csv", prefix, test->iteration, test->place.rank);
    int error = ior_watch_save(test->watch, path);
    if (error != 0)
        faults_add(&test->faults, "write", path, error, NULL);
}

/* -j */
static void find_outliers(const struct ior_test *test, const struct timing *timing, bool takes_part, struct ior_result *result)
{
    const struct place *place = &test->place;
    struct {
        double distance_s;
        int rank;
    } own, furthest;
    result->outlier_rank = -1;
    if (test->config->outlier_s == 0)
        return;
    double own_s = takes_part ? timing->own_s : 0;
    MPI_Allreduce(&own_s, &result->mean_s, 1, MPI_DOUBLE, MPI_SUM, place->comm);
    result->mean_s /= result->processes;
    own.distance_s = takes_part ? fabs(own_s - result->mean_s) : -1;
    own.rank = place->rank;
    int64_t far = own.distance_s > (double)test->config->outlier_s;
    MPI_Allreduce(&far, &result->outliers, 1, MPI_INT64_T, MPI_SUM, place->comm);
    MPI_Allreduce(&own, &furthest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, place->comm);
    result->outlier_rank = furthest.rank;
    result->outlier_s = own_s;
    MPI_Bcast(&result->outlier_s, 1, MPI_DOUBLE, furthest.rank, place->comm);
}

static struct ior_result result_of(const struct ior_test *test, enum ior_operation operation, int64_t signature)
{
    return (struct ior_result){.operation = operation, .iteration = test->iteration, .signature = signature};
}

/* Seconds that it took. */
static double prepare_data(struct ior_test *test, int target)
{
    uint64_t start_ns = timer_ns();
    pattern_prepare(&test->pattern, (uint64_t)ior_seed(test), target);
    return timer_s(start_ns, timer_ns());
}

static void take_watch(const struct ior_test *test, struct ior_watch *watch, struct ior_result *result)
{
    result->watch = watch;
    if (watch != NULL)
        ior_watch_reduce(watch, test->place.comm);
}

void ior_phase(struct ior_test *test, enum ior_operation operation, int target, struct ior_result *result)
{
    char path[PATH_MAX];
    struct store_options options;
    struct timing timing = {.s[STONEWALL] = -1};
    struct ior_move move = {.test = test, .path = path, .operation = operation};
    struct totals totals = {0};
    *result = result_of(test, operation, test->signature);
    ior_access_path(test, target, path);
    ior_access_options(test, target, operation == IOR_WRITE, &options);
    if (operation == IOR_WRITE) {
        timing.s[PREPARE] = prepare_data(test, target);
        test->own.steps = test->plan.per_rank;
    } else {
        result->shift = ior_access_shift(test);
        ior_pages_before_read(test, target, &totals);
    }
    ior_access_walk(test, target, &move.walk);
    if (test->watch != NULL)
        ior_watch_clear(test->watch, test->place.ranks);
    if (operation == IOR_WRITE && test->config->prefill > 0)
        ior_prefill(test, path);

    run(&move, &options, &timing);

    if (operation == IOR_WRITE) {
        if (test->config->deadline_s > 0)
            test->own.steps = move.walk.step;
        ior_pages_after_write(test, &totals);
    }
    reduce(test, &move, &timing, target, true, &totals, result);
    faults_list(&test->faults, &test->place, result->failed);
    test->failed_operations += result->failed;
    find_outliers(test, &timing, true, result);
    take_watch(test, test->watch, result);
    if (result->failed == 0) {
        save_ranks(test, operation, &timing, move.done * test->plan.transfer);
        save_transfers(test);
    }
    if (operation == IOR_WRITE) {
        if (test->is_uneven)
            ior_access_sources(test);
        keep_stonewall(test, move.walk.step);
    }
}

/* One side's part of a mixed phase. */
static void reduce_side(const struct ior_test *test, const struct ior_move *move, const struct timing *timing, int target,
                        struct totals *totals, struct ior_result *result)
{
    const bool takes_part = test->beside == ior_writes(result->operation);
    reduce(test, move, timing, target, takes_part, totals, result);
    find_outliers(test, timing, takes_part, result);
    take_watch(test, takes_part ? test->watch : test->other_watch, result);
}

void ior_phase_mixed(struct ior_test *test, int target, struct ior_result *writes, struct ior_result *reads)
{
    char path[PATH_MAX];
    struct store_options options;
    struct timing timing = {.s[STONEWALL] = -1};
    struct ior_move move = {.test = test, .path = path, .operation = test->beside ? IOR_WRITE : IOR_READ};
    const int64_t steps = ior_steps(test, target);
    struct totals of_writes = {0}, of_reads = {0};
    *writes = result_of(test, IOR_MIX_WRITE, ~test->signature);
    *reads = result_of(test, IOR_MIX_READ, test->signature);
    reads->shift = ior_access_shift(test);
    ior_access_path(test, target, path);
    ior_access_options(test, target, test->beside, &options);
    if (test->beside)
        timing.s[PREPARE] = prepare_data(test, target);
    ior_pages_before_read(test, target, &of_reads);
    ior_access_walk(test, target, &move.walk);
    if (test->watch != NULL)
        ior_watch_clear(test->watch, test->place.ranks);
    if (test->other_watch != NULL)
        ior_watch_clear(test->other_watch, test->place.ranks);

    run(&move, &options, &timing);
    test->beside_steps = move.done < steps ? move.walk.step : steps;

    ior_pages_after_write(test, &of_writes);
    reduce_side(test, &move, &timing, target, &of_writes, writes);
    reduce_side(test, &move, &timing, target, &of_reads, reads);
    faults_list(&test->faults, &test->place, writes->failed);
    test->failed_operations += writes->failed;
    double both_s = fmin(writes->total_s, reads->total_s);
    writes->beside_share = both_s / writes->total_s;
    reads->beside_share = both_s / reads->total_s;
}
