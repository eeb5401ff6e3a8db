/* mbw_mr: bandwidth (MB/s, MB = 10^6 bytes) and message rate (messages/s) of several pairs of processes at once.
 *
 * The first half of the processes, counted node after node, sends to the second half. What an iteration is and when the
 * clock runs stands in mbw_mr/point.h. Without a part in a measurement a process sleeps. */
#include "common/die.h"
#include "common/emit.h"
#include "common/opt.h"
#include "common/pairs.h"
#include "common/quiet.h"
#include "common/run.h"
#include "common/units.h"
#include "common/version.h"
#include "mbw_mr/lines.h"

#include <inttypes.h>
#include <math.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_ITERATIONS = 100, SMALL_WARMUP = 10, LARGE_ITERATIONS = 20, LARGE_WARMUP = 2 };

/* What the measurements have in common. */
struct test {
    const struct mbw_config *config;
    struct run *run;
    MPI_Comm grouped; /* all processes, node after node */
    int distance;     /* from a sender to its receiver, in ranks of grouped */
    struct mbw_room room;
    struct faults faults;
};

/* Collective: who sends to whom with so many pairs. */
static void make_team(const struct test *test, int pairs, struct mbw_team *team)
{
    int position, here = test->run->place.node_index, there = here;
    MPI_Comm_rank(test->grouped, &position);
    int far = pairs_peer(position, pairs, test->distance, &team->sends);
    team->pairs = pairs;
    team->world_rank = test->run->place.rank;
    MPI_Comm_split(test->grouped, far < 0 ? MPI_UNDEFINED : 0, position, &team->comm);
    if (team->comm == MPI_COMM_NULL)
        return;
    int rank;
    MPI_Comm_rank(team->comm, &rank);
    team->peer = team->sends ? rank + pairs : rank - pairs;
    MPI_Sendrecv(&here, 1, MPI_INT, team->peer, 0, &there, 1, MPI_INT, team->peer, 0, team->comm, MPI_STATUS_IGNORE);
    int across = team->sends && there != here;
    MPI_Allreduce(&across, &team->across_nodes, 1, MPI_INT, MPI_SUM, team->comm);
}

static void free_team(struct mbw_team *team)
{
    if (team->comm != MPI_COMM_NULL)
        MPI_Comm_free(&team->comm);
}

static struct mbw_load load_of(const struct mbw_config *config, int64_t size_bytes, int64_t window)
{
    bool small = size_bytes <= MBW_SMALL_BYTES;
    return (struct mbw_load){
        .size_bytes = size_bytes,
        .window = window,
        .iterations = config->iterations >= 0 ? config->iterations : small ? SMALL_ITERATIONS : LARGE_ITERATIONS,
        .warmup = config->warmup >= 0 ? config->warmup : small ? SMALL_WARMUP : LARGE_WARMUP,
        .type = config->type,
        .validate = config->validate,
        .each_window = config->each_window,
        .before_each = config->before_each,
        .many_buffers = config->many_buffers,
        .list = config->percentile_count > 0,
    };
}

/* OSU's two decimals, and more where they would leave little of a number: a busy machine sends few small messages. */
static void print_figure(int width, double value)
{
    emit_text("%*.*f", width, units_decimals(value), value);
}

static int by_size(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* -z: MB/s of the window below which P% of the windows are, as OSU has it: of the first sender, times the pairs. Sorts them. */
static void find_percentiles(const struct test *test, const struct mbw_team *team, const struct mbw_load *load,
                             struct mbw_result *result)
{
    uint64_t *windows_ns = test->room.windows_ns;
    if (test->config->percentile_count == 0 || test->run->place.rank != 0)
        return;
    qsort(windows_ns, (size_t)load->iterations, sizeof *windows_ns, by_size);
    for (int i = 0; i < test->config->percentile_count; i++) {
        int64_t place = load->iterations * test->config->percentiles[i] / 100;
        uint64_t elapsed_ns = windows_ns[load->iterations - (place < 1 ? 1 : place)];
        double bytes = (double)load->size_bytes * (double)load->window * team->pairs;
        result->percentiles_mb_s[i] = result->wrong_messages > 0 ? NAN : bytes * 1e3 / (double)elapsed_ns;
    }
}

/* One measurement with its JSON lines. */
static struct mbw_result measure(struct test *test, const struct mbw_team *team, int64_t size_bytes, int64_t window)
{
    struct mbw_load load = load_of(test->config, size_bytes, window);
    struct mbw_result result;
    mbw_point_measure(team, &load, &test->room, &result, &test->faults);
    find_percentiles(test, team, &load, &result);
    mbw_lines_point(test->config, team, &load, &result);
    return result;
}

static void print_title(void)
{
    emit_text("# MPI Multiple Bandwidth / Message Rate Test (campaign bench %s, output as of osu_mbw_mr)\n",
              version_number);
}

static void print_header(const struct test *test, const struct mbw_team *team)
{
    const struct mbw_config *config = test->config;
    const struct place *place = &test->run->place;
    print_title();
    if (config->sweep)
        emit_text("# [ pairs: 1 to %" PRId64 " ] [ window size: %" PRId64 " ]\n", config->pairs, config->window);
    else if (config->vary)
        emit_text("# [ pairs: %d ] [ window size: varied ]\n", team->pairs);
    else
        emit_text("# [ pairs: %d ] [ window size: %" PRId64 " ]\n", team->pairs, config->window);
    emit_text("# Datatype: %s.\n", config->type_name);
    if (config->many_buffers)
        emit_text("# Each message of a window has a buffer of its own.\n");
    if (config->each_window)
        emit_text("# Each window is timed by itself, after a barrier, which is in no time.\n");
    if (config->before_each > 0)
        emit_text("# Before each timed window there are %" PRId64 " untimed ones.\n", config->before_each);
    if (config->unused != NULL)
        emit_warning("%s", config->unused);
    if (place->nodes > 1 && team->across_nodes < team->pairs)
        emit_warning("%d of %d pairs stay on one node: give every node the same number of processes, and start two for "
                     "each pair",
                     team->pairs - team->across_nodes, team->pairs);
    int idle = place->ranks - 2 * team->pairs;
    if (idle == 1 && place->ranks % 2 == 1)
        emit_text("# The number of processes is odd: the last one, counted node after node, idles.\n");
    else if (idle > 0)
        emit_text("# %d of %d processes idle.\n", idle, place->ranks);
}

/* Size by size with one window: OSU's table. */
static void run_sizes(struct test *test, const struct mbw_team *team)
{
    const struct mbw_config *config = test->config;
    emit_text("%-10s%18s", "# Size", "MB/s");
    if (config->print_rate)
        emit_text("%18s", "Messages/s");
    if (config->validate)
        emit_text("%18s", "Validation");
    for (int i = 0; i < config->percentile_count; i++)
        emit_text(" P%" PRId64 " Tail BW(MB/s)", config->percentiles[i]);
    emit_text("\n");
    for (int64_t size = config->size_min; size <= config->size_max; size *= 2) {
        struct mbw_result result = measure(test, team, size, config->window);
        emit_text("%-10" PRId64, size);
        print_figure(18, result.rate_mb_s);
        if (config->print_rate)
            print_figure(18, result.messages_s);
        if (config->validate)
            emit_text("%18s", result.wrong_messages > 0 ? "Fail" : "Pass");
        for (int i = 0; i < config->percentile_count; i++)
            print_figure(18, result.percentiles_mb_s[i]);
        emit_text("\n");
        emit_flush_text();
    }
}

static void print_row(int64_t size, const double *values)
{
    emit_text("%-10" PRId64, size);
    for (int i = 0; i < MBW_VARIED_WINDOWS; i++)
        print_figure(18, values[i]);
    emit_text("\n");
}

static void print_windows(const char *title)
{
    emit_text("\n# %s\n%-10s", title, "# Size");
    for (int i = 0; i < MBW_VARIED_WINDOWS; i++)
        emit_text("%10s%8d", "Window", 1 << i);
    emit_text("\n");
}

/* Size by size, a column a window. */
static void run_windows(struct test *test, const struct mbw_team *team)
{
    const struct mbw_config *config = test->config;
    double messages_s[MBW_MOST_SIZES][MBW_VARIED_WINDOWS];
    int row = 0;
    print_windows("Bandwidth (MB/s)");
    for (int64_t size = config->size_min; size <= config->size_max; size *= 2, row++) {
        double rates_mb_s[MBW_VARIED_WINDOWS];
        for (int i = 0; i < MBW_VARIED_WINDOWS; i++) {
            struct mbw_result result = measure(test, team, size, 1 << i);
            rates_mb_s[i] = result.rate_mb_s;
            messages_s[row][i] = result.messages_s;
        }
        print_row(size, rates_mb_s);
        emit_flush_text();
    }
    if (!config->print_rate)
        return;
    print_windows("Message rate (Messages/s)");
    row = 0;
    for (int64_t size = config->size_min; size <= config->size_max; size *= 2)
        print_row(size, messages_s[row++]);
}

/* All sizes with one number of pairs. one_pair_mb_s is filled by the first, with one pair. */
static void run_sweep_step(struct test *test, const struct mbw_team *team, double one_pair_mb_s[MBW_MOST_SIZES])
{
    const struct mbw_config *config = test->config;
    int row = 0;
    for (int64_t size = config->size_min; size <= config->size_max; size *= 4, row++) {
        struct mbw_result result = measure(test, team, size, config->window);
        double total = result.rate_mb_s, pair = total / team->pairs;
        if (team->pairs == 1)
            one_pair_mb_s[row] = total;
        emit_text("%-10" PRId64 "%8d", size, team->pairs);
        print_figure(18, total);
        struct mbw_load load = load_of(config, size, config->window);
        mbw_lines_sweep(team, &load, &result, one_pair_mb_s[row]);
        print_figure(12, total / one_pair_mb_s[row]);
        print_figure(18, pair);
        print_figure(12, one_pair_mb_s[row] / pair);
        print_figure(18, result.messages_s);
        emit_text("\n");
        emit_flush_text();
    }
}

static void run_sweep(struct test *test)
{
    double one_pair_mb_s[MBW_MOST_SIZES];
    struct mbw_team team;
    make_team(test, (int)test->config->pairs, &team);
    if (team.comm != MPI_COMM_NULL)
        print_header(test, &team);
    free_team(&team);
    emit_text("# Rise: total over that of one pair. Fall: one pair's over what a pair has left.\n");
    emit_text("%-10s%8s%18s%12s%18s%12s%18s\n", "# Size", "Pairs", "Total MB/s", "Rise", "MB/s a pair", "Fall",
              "Messages/s");
    for (int pairs = 1; pairs <= test->config->pairs; pairs++) {
        make_team(test, pairs, &team);
        if (team.comm != MPI_COMM_NULL)
            run_sweep_step(test, &team, one_pair_mb_s);
        quiet_barrier(test->grouped);
        free_team(&team);
    }
}

static void run_pairs(struct test *test)
{
    struct mbw_team team;
    make_team(test, (int)test->config->pairs, &team);
    if (team.comm != MPI_COMM_NULL) {
        print_header(test, &team);
        if (test->config->vary)
            run_windows(test, &team);
        else
            run_sizes(test, &team);
    }
    quiet_barrier(test->grouped);
    free_team(&team);
}

static int run_test(const struct mbw_config *config, struct run *run)
{
    struct test test = {.config = config, .run = run};
    const struct place *place = &run->place;
    MPI_Comm_split(place->comm, 0, place->node_index, &test.grouped);
    /* One pair of a sweep is as far apart as all of them: on two nodes, never on one. */
    test.distance = config->sweep ? place->ranks / 2 : (int)config->pairs;
    mbw_room_make(&test.room, config->size_max, config->vary ? 1 << (MBW_VARIED_WINDOWS - 1) : config->window,
                  config->many_buffers);
    if (config->sweep)
        run_sweep(&test);
    else
        run_pairs(&test);
    run->failed_operations = faults_report(&test.faults, place);
    mbw_room_free(&test.room);
    MPI_Comm_free(&test.grouped);
    return EXIT_CODE_OK;
}

int app_mbw_mr(int argc, char **argv)
{
    struct mbw_config config;
    struct opt_common common;
    struct run run;
    int status, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!mbw_config_read(&config, argc, argv, &common, &status))
        return status;
    if (config.version) {
        print_title();
        return EXIT_CODE_OK;
    }
    status = mbw_config_check(&config, &common, ranks);
    if (status != EXIT_CODE_OK)
        return status;
    status = run_begin(&run, "mbw_mr", &common, NULL);
    if (status == EXIT_CODE_OK)
        status = run_test(&config, &run);
    return run_end(&run, status);
}
