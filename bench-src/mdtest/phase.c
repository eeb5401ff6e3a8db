/* mdtest_phase: one timed phase of mdtest. */
#include "mdtest/phase.h"

#include "common/run.h"
#include "common/timer.h"
#include "common/totals.h"
#include "mdtest/dirs.h"
#include "mdtest/items.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct mdtest_phase *next_phase(struct mdtest_test *test, enum mdtest_operation operation,
                                       enum mdtest_object object)
{
    struct mdtest_phase *phase = &test->phases[test->phases_done++];
    struct latency *latency = phase->latency; /* the room for one, from the first iteration to the last */
    *phase = (struct mdtest_phase){.operation = operation, .object = object, .latency = latency};
    return phase;
}

static void start_clock(const struct mdtest_test *test, struct mdtest_phase *phase)
{
    if (!test->config->no_barriers)
        MPI_Barrier(test->place.comm);
    phase->start_ns = timer_ns();
}

static void stop_clock(const struct mdtest_test *test, struct mdtest_phase *phase)
{
    uint64_t own_stop_ns = timer_ns(), stop_ns = own_stop_ns;
    if (!test->config->no_barriers) {
        MPI_Barrier(test->place.comm);
        stop_ns = timer_ns();
    }
    /* A clock may stand still over very little work; nothing takes less than its unit. */
    phase->own_s = fmax(1e-9, timer_s(phase->start_ns, own_stop_ns));
    phase->elapsed_s = fmax(1e-9, timer_s(phase->start_ns, stop_ns));
    if (phase->latency != NULL && !phase->tree)
        latency_end(phase->latency, stop_ns);
}

/* After the clock, as short as can be: what ranks tell one another of a phase before the next. All wait here for rank 0,
 * which may have a command to run. */
static void end_phase(struct mdtest_test *test, struct mdtest_phase *phase, int64_t counted)
{
    if (!phase->tree)
        run_between(&test->place, mdtest_operation_names[phase->operation]);
    phase->counted = counted;
    phase->failed = faults_report(&test->faults, &test->place);
    test->failed_operations += phase->failed;
}

int64_t mdtest_phase_tree(struct mdtest_test *test, bool make)
{
    const struct mdtest_config *config = test->config;
    struct mdtest_phase *phase = next_phase(test, make ? MDTEST_CREATE : MDTEST_REMOVE, MDTEST_DIRECTORY);
    phase->tree = true;
    start_clock(test, phase);
    phase->tried = mdtest_trees_change(test, make);
    stop_clock(test, phase);
    phase->done = phase->tried - test->faults.count;
    int64_t trees = config->unique ? test->place.ranks : mdtest_roots_used(config, &test->place);
    end_phase(test, phase, trees * test->tree.dirs * test->tree.test_dirs);
    return phase->failed;
}

/* Which of the ranks work on items in this phase? With -S one rank removes the files that all share; with -c rank 0
 * creates and removes everybody's. */
static bool takes_part(const struct mdtest_test *test, enum mdtest_operation operation)
{
    const struct mdtest_config *config = test->config;
    if (test->place.rank == 0)
        return true;
    if (config->collective)
        return operation != MDTEST_CREATE && operation != MDTEST_REMOVE;
    return !config->shared || operation != MDTEST_REMOVE;
}

static void prepare_job(struct mdtest_test *test, const struct mdtest_phase *phase, struct mdtest_job *job)
{
    enum mdtest_operation operation = phase->operation;
    enum mdtest_object object = phase->object;
    static int (*const perform[MDTEST_OBJECTS][MDTEST_OPERATIONS])(struct mdtest_job *) = {
        [MDTEST_DIRECTORY] = {mdtest_create_directory, mdtest_stat, NULL, mdtest_rename_directory,
                              mdtest_remove_directory},
        [MDTEST_FILE] = {mdtest_create_file, mdtest_stat, mdtest_read_file, NULL, mdtest_remove_file},
    };
    const struct mdtest_config *config = test->config;
    job->tree = &test->tree;
    job->kind = object == MDTEST_FILE ? "file" : "dir";
    job->perform = config->no_storage ? mdtest_nothing : perform[object][operation];
    if (config->make_nodes && job->perform == mdtest_create_file)
        job->perform = mdtest_make_node;
    job->operation = mdtest_operation_names[operation];
    job->order = NULL;
    job->deadline_ns = 0;
    job->latency = phase->latency;
    job->faults = &test->faults;
    job->buffer = test->buffer;
    job->data_bytes = 0;
    if (object == MDTEST_FILE && operation == MDTEST_CREATE)
        job->data_bytes = config->write_bytes;
    else if (operation == MDTEST_READ)
        job->data_bytes = config->read_bytes;
    job->sync_each = config->sync_each;
    job->verify = config->verify;
    job->verify_writes = config->verify_writes;
    job->data = config->data;
    job->seed = (uint64_t)config->signature;
    job->open_flags = config->direct ? O_DIRECT : 0;
}

/* Turns the job to the names of one rank. With -u a rank's files lie in the tree that the rank one shift further on
 * has made, as mdtest does it: creation too works in a directory that is not its own. With -c rank 0 makes all alike. */
static void take_names(const struct mdtest_test *test, struct mdtest_job *job, int owner, char base[PATH_MAX])
{
    const struct mdtest_config *config = test->config;
    int shift = config->collective ? 0 : mdtest_shift(MDTEST_STAT, config->offset, test->place.ranks);
    job->owner = config->shared ? -1 : owner;
    job->tree_owner = config->unique ? (int)(((int64_t)owner + shift) % test->place.ranks) : -1;
    mdtest_base(test, config->unique ? job->tree_owner : job->owner, base);
    job->base = base;
    mdtest_items_prepare(job);
}

/* -W: every rank goes on to the number of items that the fastest one reached; that is n from then on. */
static int64_t wear_out(struct mdtest_test *test, struct mdtest_job *job, int64_t reached)
{
    MPI_Allreduce(&reached, &test->stonewall_least, 1, MPI_INT64_T, MPI_MIN, test->place.comm);
    MPI_Allreduce(&reached, &test->items, 1, MPI_INT64_T, MPI_MAX, test->place.comm);
    job->deadline_ns = 0;
    mdtest_items_run(job, reached, test->items);
    return test->items;
}

/* The operations of one rank, while the clock runs. */
static void work(struct mdtest_test *test, struct mdtest_phase *phase, int owner, struct mdtest_job *job)
{
    enum mdtest_operation operation = phase->operation;
    const struct mdtest_config *config = test->config;
    char base[PATH_MAX];
    int64_t failed_before = test->faults.count;
    bool for_all = config->collective && (operation == MDTEST_CREATE || operation == MDTEST_REMOVE);
    phase->tried = 0;
    if (takes_part(test, operation)) {
        int owners = for_all ? test->place.ranks : 1;
        for (int i = 0; i < owners; i++) {
            take_names(test, job, for_all ? i : owner, base);
            int64_t reached = mdtest_items_run(job, 0, test->items);
            phase->tried += job->deadline_ns != 0 ? wear_out(test, job, reached) : reached;
        }
    }
    phase->done = phase->tried - (test->faults.count - failed_before);
    if (for_all && operation == MDTEST_CREATE && phase->object == MDTEST_FILE) {
        /* -c: the files are there; now every rank opens its own. */
        MPI_Barrier(test->place.comm);
        job->perform = config->no_storage ? mdtest_nothing : mdtest_open_file;
        job->operation = "open";
        take_names(test, job, owner, base);
        mdtest_items_run(job, 0, test->items);
    }
}

void mdtest_phase_items(struct mdtest_test *test, enum mdtest_operation operation, enum mdtest_object object,
                        bool first_object, bool last_object)
{
    const struct mdtest_config *config = test->config;
    struct mdtest_phase *phase = next_phase(test, operation, object);
    phase->rank_shift = mdtest_shift(operation, config->offset, test->place.ranks);
    int owner = (int)(((int64_t)test->place.rank + phase->rank_shift) % test->place.ranks);
    struct mdtest_job job;
    struct permute order;
    prepare_job(test, phase, &job);
    if (config->seed >= 0 && (operation == MDTEST_STAT || operation == MDTEST_READ)) {
        permute_init(&order, (uint64_t)test->items, (uint64_t)config->seed + (uint64_t)test->place.rank);
        job.order = &order;
    }

    start_clock(test, phase);
    if (phase->latency != NULL)
        latency_begin(phase->latency, phase->start_ns);
    if (config->stonewall_s > 0 && operation == MDTEST_CREATE && object == MDTEST_FILE)
        job.deadline_ns = phase->start_ns + (uint64_t)config->stonewall_s * 1000000000u;
    if (config->time_unique && operation == MDTEST_CREATE && first_object) {
        mdtest_trees_change(test, true);
        if (config->offset > 0) /* the trees that ranks work in are others' */
            MPI_Barrier(test->place.comm);
    }
    work(test, phase, owner, &job);
    if (config->sync_phase && !config->no_storage)
        sync();
    if (config->time_unique && operation == MDTEST_REMOVE && last_object) {
        /* A tree is empty only once the rank that removes its items is done. */
        MPI_Barrier(test->place.comm);
        mdtest_trees_change(test, false);
    }
    stop_clock(test, phase);
    if (operation == MDTEST_RENAME && !config->no_storage) {
        job.perform = mdtest_rename_back;
        job.latency = NULL;
        mdtest_items_run(&job, 0, test->items);
    }
    end_phase(test, phase, test->place.ranks * test->items);
}

/* Of this rank's operations, those on files that another node created; below 0 where that cannot be known: files that all
 * ranks open have no one creator, and the creators of another run's files are not on record. Collective. */
static int64_t remote_operations(const struct mdtest_test *test, const struct mdtest_phase *phase)
{
    const struct place *place = &test->place;
    if (phase->tree || phase->operation == MDTEST_CREATE || place->nodes == 1)
        return 0;
    if (test->config->shared || !test->config->run[MDTEST_CREATE])
        return -1;
    bool by_rank_0 = test->config->collective; /* nodes are counted from rank 0's */
    int creator_node = by_rank_0 ? 0 : place_peer_node(place, phase->rank_shift);
    return creator_node != place->node_index ? phase->tried : 0;
}

/* --saveRankPerformanceDetails. */
static void save_ranks(struct mdtest_test *test, const struct mdtest_phase *phase)
{
    const char *path = test->config->rank_file;
    char row[64];
    double numbers[] = {(double)phase->done, phase->own_s, (double)phase->done / phase->own_s};
    if (path == NULL)
        return;
    const char *object = phase->tree ? "tree" : phase->object == MDTEST_FILE ? "file" : "dir";
    snprintf(row, sizeof row, "%" PRId64 ",%s,%s", test->iteration, object, mdtest_operation_names[phase->operation]);
    int error = rank_rates_save(&test->place, path, "iteration,object,operation,rank,items,runtime,rate", row, numbers,
                                sizeof numbers / sizeof numbers[0]);
    if (error != 0)
        faults_add(&test->faults, "write", path, error, NULL);
}

/* How far apart the ranks of this rank's clock started each phase, in seconds. Collective. */
static void find_skews(const struct mdtest_test *test, double skews_s[MDTEST_PHASES])
{
    uint64_t starts[MDTEST_PHASES][2];
    for (int i = 0; i < test->phases_done; i++) {
        starts[i][0] = test->phases[i].start_ns;
        starts[i][1] = ~test->phases[i].start_ns; /* the first start's complement is the largest */
    }
    MPI_Allreduce(MPI_IN_PLACE, starts, 2 * test->phases_done, MPI_UINT64_T, MPI_MAX, test->machine);
    for (int i = 0; i < test->phases_done; i++)
        skews_s[i] = (double)(starts[i][0] - ~starts[i][1]) * 1e-9;
}

enum { SKEW, LONGEST, MINUS_SHORTEST, MOST_DONE };
enum { DONE, TRIED, REMOTE };

static void take_totals(const struct mdtest_test *test, const struct mdtest_phase *phase, const struct totals *totals,
                        struct mdtest_result *result)
{
    const double *most = totals->most;
    const int64_t *counts = totals->counts;
    memset(result, 0, sizeof *result);
    result->elapsed_s = most[LONGEST];
    result->start_skew_s = test->config->no_barriers ? -1 : fmax(most[SKEW], most[LONGEST] + most[MINUS_SHORTEST]);
    result->operations_done = counts[DONE];
    result->operations_counted = result->files_counted = phase->counted;
    result->files_true = test->config->shared ? (int64_t)most[MOST_DONE] : counts[DONE];
    result->rate_ops_s = (double)phase->counted / result->elapsed_s;
    result->true_rate_ops_s = (double)counts[DONE] / result->elapsed_s;
    result->failed = phase->failed;
    result->rank_rates_ops_s = totals->rates;
    if (counts[REMOTE] < 0)
        result->remote_share = -1;
    else
        result->remote_share = counts[TRIED] > 0 ? (double)counts[REMOTE] / (double)counts[TRIED] : 0;
}

/* Clocks of two machines have nothing in common. On each machine the starts are compared directly; between machines the elapsed
 * times are: who left the opening barrier later has less time until the closing one. The larger one counts. */
void mdtest_phases_reduce(struct mdtest_test *test, struct mdtest_result results[MDTEST_PHASES])
{
    const int count = test->phases_done;
    const struct place *place = &test->place;
    struct totals totals[MDTEST_PHASES];
    double skews_s[MDTEST_PHASES];
    find_skews(test, skews_s);
    for (int i = 0; i < count; i++) {
        const struct mdtest_phase *phase = &test->phases[i];
        totals[i] = (struct totals){
            .most = {skews_s[i], phase->elapsed_s, -phase->elapsed_s, (double)phase->done},
            .counts = {phase->done, phase->tried, remote_operations(test, phase)},
        };
        totals_rate(&totals[i], phase->tried > 0 ? (double)phase->done / phase->own_s : -1, place->rank, place->node);
    }
    totals_of(totals, count, place->comm);
    for (int i = 0; i < count; i++) {
        take_totals(test, &test->phases[i], &totals[i], &results[i]);
        save_ranks(test, &test->phases[i]);
    }
}

void mdtest_phase_latencies(const struct mdtest_test *test, struct mdtest_phase *phase, struct mdtest_result *result)
{
    if (phase->latency == NULL || phase->tree)
        return;
    latency_reduce(phase->latency, test->place.comm);
    result->latency = phase->latency;
}
