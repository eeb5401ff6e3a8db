/* mdtest_report: mdtest's text and JSON lines. */
#include "mdtest/report.h"

#include "common/cache.h"
#include "common/emit.h"
#include "common/latency.h"
#include "common/run.h"
#include "common/units.h"
#include "common/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static void print_stamp(const char *what)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(stamp, sizeof stamp, "%m/%d/%Y %H:%M:%S", localtime_r(&now, &local));
    emit_text("-- %s at %s --\n", what, stamp);
}

/* "Nodemap: 1100": a digit a rank, 1 where it shares rank 0's node. */
static void print_node_range(int first, int last, void *data)
{
    int *next = data;
    for (; *next <= last; ++*next)
        emit_text("%c", *next < first ? '0' : '1');
}

static void print_nodemap(const struct place *place)
{
    int next = 0;
    emit_text("Nodemap: ");
    place_each_range(place, 0, print_node_range, &next);
    for (; next < place->ranks; next++)
        emit_text("0");
    emit_text("\n");
}

static void print_file_system(const char *path)
{
    struct cache_space space;
    char size[32];
    cache_space_of(path, &space);
    emit_text("Path                : %s\n", path);
    if (space.files < 0)
        return; /* what is wrong with the path is reported when the test uses it */
    units_format_bytes(size, sizeof size, space.bytes);
    emit_text("FS                  : %s   Used FS: %.1f%%   Inodes: %.1f Mi   Used Inodes: %.1f%%\n", size,
              space.used_percent, space.files / (1 << 20), space.used_files_percent);
}

void mdtest_report_header(const struct mdtest_config *config, const struct place *place)
{
    print_stamp("started");
    emit_text("\nmdtest (campaign bench %s) was launched with %d total task(s) on %d node(s)\n", version_number,
              place->ranks, place->nodes);
    run_print_command_line();
    print_nodemap(place);
    for (int i = 0; place->rank == 0 && i < config->root_count; i++)
        print_file_system(config->roots[i]);
}

void mdtest_report_footer(void)
{
    print_stamp("finished");
    emit_text("\n");
}

/* How many ranks' work does the shift of one phase move to another node? Collective. */
static int ranks_moved(const struct place *place, int shift)
{
    int moved = place_peer_node(place, shift) != place->node_index, all;
    MPI_Allreduce(&moved, &all, 1, MPI_INT, MPI_SUM, place->comm);
    return all;
}

static void report_shift(const struct mdtest_test *test)
{
    const struct place *place = &test->place;
    int64_t offset = test->config->offset;
    int shift = mdtest_shift(MDTEST_STAT, offset, place->ranks), moved = ranks_moved(place, shift);
    emit_line("shift");
    emit_int("processes", place->ranks);
    emit_int("requested", offset);
    emit_int("effective", shift);
    emit_int("ranks_per_node", place->ranks_per_node);
    emit_bool("whole_nodes", moved == place->ranks);
    emit_int("processes_moved", moved);
    emit_line_end();
    if (offset == 0)
        return;
    emit_text("Shifting ranks by %" PRId64 " for each phase.\n", offset);
    if (place->nodes == 1)
        emit_text("Note: all tasks are on one node: -N %" PRId64 " moves no task's work to another node.\n", offset);
    else if (moved < place->ranks)
        emit_text("Note: -N %" PRId64 " moves the work of only %d of %d tasks to another node.\n", offset, moved, place->ranks);
}

void mdtest_report_plan(const struct mdtest_test *test)
{
    const struct mdtest_config *config = test->config;
    const char *kind = config->files_only ? "files" : config->directories_only ? "directories" : "files/directories";
    report_shift(test);
    if (config->seed >= 0)
        emit_text("random seed: %" PRId64 "\n", config->seed);
    emit_text("%d tasks, %" PRId64 " %s\n", test->place.ranks, test->place.ranks * test->items, kind);
    if (config->shared)
        emit_text("Shared files (-S): %" PRId64 " files are made; mdtest counts each once for every task.\n", test->items);
}

static const char *row_name(enum mdtest_operation operation, enum mdtest_object object, bool tree)
{
    static const char *const names[MDTEST_OBJECTS][MDTEST_OPERATIONS] = {
        [MDTEST_DIRECTORY] = {"Directory creation", "Directory stat", "Directory read", "Directory rename", "Directory removal"},
        [MDTEST_FILE] = {"File creation", "File stat", "File read", "File rename", "File removal"},
    };
    if (tree)
        return operation == MDTEST_CREATE ? "Tree creation" : "Tree removal";
    return names[object][operation];
}

/* Rows of tables that mdtest does not have begin with other words: scripts look for mdtest's by their first ones. */
static void emit_own_name(enum mdtest_operation operation, enum mdtest_object object, bool tree)
{
    emit_text("   %-6s %-15s", mdtest_operation_names[operation], tree ? "tree" : object == MDTEST_FILE ? "file" : "directory");
}

static void emit_operation(enum mdtest_operation operation, enum mdtest_object object, bool tree)
{
    const char *tree_name = operation == MDTEST_CREATE ? "tree_create" : "tree_remove";
    emit_string("operation", tree ? tree_name : mdtest_operation_names[operation]);
    emit_string("object", object == MDTEST_FILE && !tree ? "file" : "directory");
}

static void emit_phase(const struct mdtest_test *test, const struct mdtest_phase *phase,
                       const struct mdtest_result *result)
{
    emit_line("phase");
    emit_int("processes", test->place.ranks);
    emit_int("iteration", test->iteration);
    emit_operation(phase->operation, phase->object, phase->tree);
    emit_rate("rate_ops_s", result->rate_ops_s);
    emit_seconds("elapsed_s", result->elapsed_s);
    emit_seconds("start_skew_s", result->start_skew_s);
    emit_int("operations_counted", result->operations_counted);
    emit_int("operations_done", result->operations_done);
    emit_int("files_counted", result->files_counted);
    emit_int("files_true", result->files_true);
    emit_int("failed", result->failed);
    emit_rate("true_rate_ops_s", result->true_rate_ops_s);
    rank_rates_emit(&result->rank_rates_ops_s, "rank_rate_ops_s");
    emit_int("rank_shift", phase->rank_shift);
    emit_share("remote_share", result->remote_share);
    if (result->latency != NULL)
        latency_emit("latency_s", &result->latency->hist);
    emit_line_end();
    for (int i = 0; result->latency != NULL && i < result->latency->count; i++) {
        emit_line("latency");
        emit_int("processes", test->place.ranks);
        emit_int("iteration", test->iteration);
        emit_operation(phase->operation, phase->object, phase->tree);
        latency_emit_interval(result->latency, i);
        emit_line_end();
    }
}

static void print_phase(const struct mdtest_test *test, const char *name, const struct mdtest_result *result)
{
    const struct rank_rates *rates = &result->rank_rates_ops_s;
    if (test->config->verbosity >= 1)
        emit_text("iteration %" PRId64 ": %-18s %14.3f sec %17.3f ops/sec\n", test->iteration, name, result->elapsed_s,
                  result->rate_ops_s);
    if (test->config->verbosity >= 2 && rates->slowest_rank >= 0) /* some rank had something to do */
        emit_text("   ranks: fastest %.3f, median %.3f, slowest %.3f ops/sec (rank %d on %s)\n",
                  rates->fastest, rates->median, rates->slowest, rates->slowest_rank, rates->slowest_node);
}

static void add_to_row(struct mdtest_row *row, const struct mdtest_result *result)
{
    stats_add(&row->rate, result->rate_ops_s);
    stats_add(&row->time, result->elapsed_s);
    stats_add(&row->true_rate, result->true_rate_ops_s);
    row->operations_counted += result->operations_counted;
    row->operations_done += result->operations_done;
    row->failed += result->failed;
    for (int i = 0; row->hist != NULL && result->latency != NULL && i < STATS_HIST_BUCKETS; i++)
        row->hist->counts[i] += result->latency->hist.counts[i];
}

void mdtest_report_phase(const struct mdtest_test *test, const struct mdtest_phase *phase,
                         const struct mdtest_result *result, struct mdtest_rows *rows)
{
    emit_phase(test, phase, result);
    print_phase(test, row_name(phase->operation, phase->object, phase->tree), result);
    if (phase->tree)
        add_to_row(phase->operation == MDTEST_CREATE ? &rows->tree_create : &rows->tree_remove, result);
    else
        add_to_row(&rows->items[phase->object][phase->operation], result);
}

typedef void print_row(enum mdtest_operation operation, enum mdtest_object object, bool tree, const struct mdtest_row *row);

/* Calls print for every row of mdtest's table, in its order; rows of phases that were not asked for hold zeros. */
static void each_row(const struct mdtest_test *test, const struct mdtest_rows *rows, print_row *print)
{
    for (int object = 0; object < MDTEST_OBJECTS; object++)
        for (int operation = 0; operation < MDTEST_OPERATIONS; operation++)
            if (mdtest_has_object(test->config, object) && mdtest_has_operation(object, operation) &&
                (operation != MDTEST_RENAME || test->config->run[MDTEST_RENAME]))
                print(operation, object, false, &rows->items[object][operation]);
    print(MDTEST_CREATE, MDTEST_DIRECTORY, true, &rows->tree_create);
    print(MDTEST_REMOVE, MDTEST_DIRECTORY, true, &rows->tree_remove);
}

static void print_stats(const char *name, const struct stats *stats, int64_t failed)
{
    emit_text("   %-22s%15.3f%15.3f%15.3f%15.3f%s\n", name, stats->max, stats->min, stats->mean, stats_stddev(stats),
              failed > 0 ? "   INVALID" : "");
}

static void print_rate_row(enum mdtest_operation operation, enum mdtest_object object, bool tree,
                           const struct mdtest_row *row)
{
    print_stats(row_name(operation, object, tree), &row->rate, row->failed);
}

static void print_time_row(enum mdtest_operation operation, enum mdtest_object object, bool tree,
                           const struct mdtest_row *row)
{
    print_stats(row_name(operation, object, tree), &row->time, row->failed);
}

static void print_count_row(enum mdtest_operation operation, enum mdtest_object object, bool tree,
                            const struct mdtest_row *row)
{
    if (row->rate.n == 0)
        return;
    emit_own_name(operation, object, tree);
    emit_text("%15" PRId64 "%15" PRId64 "%19.3f\n", row->operations_counted, row->operations_done, row->true_rate.max);
}

static void print_latency_row(enum mdtest_operation operation, enum mdtest_object object, bool tree,
                              const struct mdtest_row *row)
{
    if (row->rate.n == 0 || row->hist == NULL)
        return;
    emit_own_name(operation, object, tree);
    for (int i = 0; i < LATENCY_QUANTILES; i++)
        emit_text("%12.3f", latency_us(row->hist, i));
    emit_text("\n");
}

static void print_table(const struct mdtest_test *test, const struct mdtest_rows *rows, const char *title,
                        print_row *print)
{
    emit_text("\nSUMMARY %s: (of %" PRId64 " iterations)\n"
              "   Operation                     Max            Min           Mean        Std Dev\n"
              "   ---------                     ---            ---           ----        -------\n",
              title, test->config->iterations);
    each_row(test, rows, print);
}

static void emit_result(const struct mdtest_test *test, enum mdtest_operation operation, enum mdtest_object object,
                        bool tree, const struct mdtest_row *row)
{
    if (row->rate.n == 0)
        return;
    emit_line("result");
    emit_int("processes", test->place.ranks);
    emit_operation(operation, object, tree);
    emit_stats(&row->rate, "ops/s");
    emit_line_end();
}

void mdtest_report_summary(const struct mdtest_test *test, const struct mdtest_rows *rows)
{
    const struct mdtest_config *config = test->config;
    if (test->iteration == 0) {
        emit_text("INVALID: %" PRId64 " operations failed before anything could be measured.\n", test->failed_operations);
        return;
    }
    if (!config->print_time || config->print_rate_and_time)
        print_table(test, rows, "rate (in ops/sec)", print_rate_row);
    if (config->print_time || config->print_rate_and_time) {
        print_table(test, rows, "time (in ms/op)", print_time_row);
        emit_text("Note: as with mdtest 4.1, these are seconds of a whole phase, whatever its title says.\n");
    }
    if (config->shared) {
        emit_text("\nShared files (-S): what was really performed (of %" PRId64 " iterations)\n"
                  "   Operation                  Counted      Performed   Max true ops/sec\n"
                  "   ---------                  -------      ---------   ----------------\n",
                  config->iterations);
        each_row(test, rows, print_count_row);
    }
    if (config->latency) {
        emit_text("\nSUMMARY latency (in microseconds an operation): (of %" PRId64 " iterations)\n"
                  "   Operation                      p50         p90         p95         p99       p99.9         max\n"
                  "   ---------                      ---         ---         ---         ---       -----         ---\n",
                  config->iterations);
        each_row(test, rows, print_latency_row);
    }
    for (int object = 0; object < MDTEST_OBJECTS; object++)
        for (int operation = 0; operation < MDTEST_OPERATIONS; operation++)
            emit_result(test, operation, object, false, &rows->items[object][operation]);
    emit_result(test, MDTEST_CREATE, MDTEST_DIRECTORY, true, &rows->tree_create);
    emit_result(test, MDTEST_REMOVE, MDTEST_DIRECTORY, true, &rows->tree_remove);
    if (test->failed_operations > 0)
        emit_text("INVALID: %" PRId64 " operations failed: no number of this run is a result.\n", test->failed_operations);
}
