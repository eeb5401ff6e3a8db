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
#include "mbw_mr/point.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 64,
    SMALL_BYTES = 8192, /* the largest message with the iterations of small ones */
    SMALL_ITERATIONS = 100,
    SMALL_WARMUP = 10,
    LARGE_ITERATIONS = 20,
    LARGE_WARMUP = 2,
    AUTOMATIC = -1,
    MOST_SIZES = 32,
    VARIED_WINDOWS = 8, /* 1, 2, 4 … 128 */
};

struct config {
    int64_t pairs, window, iterations, warmup;
    bool vary, validate, sweep, each_window;
    const char *sizes_text;
    int64_t size_min, size_max;
};

/* What the measurements have in common. */
struct test {
    const struct config *config;
    struct run *run;
    MPI_Comm grouped; /* all processes, node after node */
    int distance;     /* from a sender to its receiver, in ranks of grouped */
    struct mbw_room room;
    struct faults faults;
};

static const char intro[] =
    "Measures bandwidth and message rate of several pairs of processes at once: the first half\n"
    "of the processes, counted node after node, sends to the second half. With --sweep-pairs\n"
    "from 1 pair to all, with total and per-pair bandwidth and the ratio to one pair.\n";

static bool read_options(struct config *c, int argc, char **argv, struct opt_common *common, int *status)
{
    const struct opt options[] = {
        {'p', "pairs", OPT_INT, &c->pairs, "PAIRS", "pairs, with 2 × PAIRS processes (default half of the processes)", 1, INT32_MAX, 0},
        {'W', "window-size", OPT_INT, &c->window, "COUNT", "messages under way before the sender waits (default 64)", 1, 1 << 20, 0},
        {'m', "message-size", OPT_TEXT, &c->sizes_text, "[MIN:]MAX", "bytes of a message (default 1:4m, with --sweep-pairs 1:1m)", 0, 0, 0},
        {'i', "iterations", OPT_INT, &c->iterations, "COUNT", "timed windows (default 100 up to 8 KiB, 20 above)", 1, 1 << 30, 0},
        {'x', "warmup", OPT_INT, &c->warmup, "COUNT", "windows before the clock starts (default 10 up to 8 KiB, 2 above)", 0, 1 << 30, 0},
        {'V', "vary-window", OPT_FLAG, &c->vary, NULL, "windows of 1, 2, 4 … 128 messages", 0, 0, 0},
        {'c', "validation", OPT_FLAG, &c->validate, NULL, "look after the clock at what arrived, byte by byte", 0, 0, 0},
        {0, "time-windows", OPT_FLAG, &c->each_window, NULL, "time each window by itself, after a barrier, as OSU 7.4 does", 0, 0, 0},
        /* of OSU's test */
        {'R', "print-rate", OPT_REFUSED, NULL, NULL, "the message rate is always printed", 0, 0, 0},
        {'T', "type", OPT_REFUSED, NULL, NULL, "messages are bytes", 0, 0, 0},
        {'d', "accelerator", OPT_REFUSED, NULL, NULL, "buffers lie in main memory", 0, 0, 0},
        {'M', "mem-limit", OPT_REFUSED, NULL, NULL, "-m limits the size of the messages", 0, 0, 0},
        {0, "sweep-pairs", OPT_FLAG, &c->sweep, NULL, "1, 2 … PAIRS pairs, sizes 4 times as large each", 0, 0, 0},
    };
    const struct opt_applet applet = {"mbw_mr", "[options]", intro, options, sizeof options / sizeof options[0]};
    return opt_parse(&applet, argc, argv, common, status);
}

static int parse_size(const char *text, int64_t *bytes)
{
    if (units_parse_int(text, UNITS_BINARY, bytes) == 0 && *bytes >= 1 && *bytes <= INT_MAX)
        return EXIT_CODE_OK;
    return usage_error("option -m: '%s' is not a number of bytes from 1 to %d (k, m, g: powers of 1024)", text, INT_MAX);
}

static int parse_sizes(struct config *config)
{
    config->size_min = 1;
    config->size_max = config->sweep ? 1 << 20 : 4 << 20;
    if (config->sizes_text == NULL)
        return EXIT_CODE_OK;
    const char *colon = strchr(config->sizes_text, ':');
    int status = EXIT_CODE_OK;
    if (colon != NULL) {
        char first[64];
        snprintf(first, sizeof first, "%.*s", (int)(colon - config->sizes_text), config->sizes_text);
        status = parse_size(first, &config->size_min);
    }
    if (status == EXIT_CODE_OK)
        status = parse_size(colon == NULL ? config->sizes_text : colon + 1, &config->size_max);
    if (status == EXIT_CODE_OK && config->size_min > config->size_max)
        status = usage_error("option -m: the smallest size %" PRId64 " is above the largest %" PRId64, config->size_min,
                             config->size_max);
    return status;
}

static int check_config(struct config *config, int ranks)
{
    if (ranks < 2)
        return usage_error("1 process makes no pair: start at least 2");
    if (config->pairs > ranks / 2)
        return usage_error("option -p: %" PRId64 " pairs need %" PRId64 " processes, there are %d: at most %d", config->pairs,
                           2 * config->pairs, ranks, ranks / 2);
    if (config->vary && config->sweep)
        return usage_error("options -V and --sweep-pairs exclude each other: vary one thing at a time");
    if (config->pairs == 0)
        config->pairs = ranks / 2;
    return parse_sizes(config);
}

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

static struct mbw_load load_of(const struct config *config, int64_t size_bytes, int64_t window)
{
    bool small = size_bytes <= SMALL_BYTES;
    return (struct mbw_load){
        .size_bytes = size_bytes,
        .window = window,
        .iterations = config->iterations != AUTOMATIC ? config->iterations : small ? SMALL_ITERATIONS : LARGE_ITERATIONS,
        .warmup = config->warmup != AUTOMATIC ? config->warmup : small ? SMALL_WARMUP : LARGE_WARMUP,
        .validate = config->validate,
        .each_window = config->each_window,
    };
}

/* For JSON lines: ratios of what they hold are as exact as those that are printed. */
static void emit_figure(const char *key, double value)
{
    emit_real(key, value, units_decimals(value) + 6);
}

/* OSU's two decimals, and more where they would leave little of a number: a busy machine sends few small messages. */
static void print_figure(int width, double value)
{
    emit_text("%*.*f", width, units_decimals(value), value);
}

static void emit_point(const struct mbw_team *team, const struct mbw_load *load, const struct mbw_result *result)
{
    emit_line("bandwidth");
    emit_int("size_bytes", load->size_bytes);
    emit_int("pairs", team->pairs);
    emit_int("pairs_across_nodes", team->across_nodes);
    emit_int("window", load->window);
    emit_int("iterations", load->iterations);
    emit_int("warmup", load->warmup);
    emit_seconds("elapsed_s", result->elapsed_s);
    emit_seconds("phase_s", result->phase_s);
    emit_figure("rate_mb_s", result->rate_mb_s);
    emit_figure("rate_messages_s", result->messages_s);
    emit_figure("pair_rate_mb_s", result->rate_mb_s / team->pairs);
    emit_group("pair_spread_mb_s", '{');
    emit_figure("fastest", result->pair_rate_mb_s.highest);
    emit_figure("median", result->pair_rate_mb_s.median);
    emit_figure("slowest", result->pair_rate_mb_s.lowest);
    emit_group_end('}');
    emit_int("slowest_rank", result->slowest_rank);
    emit_known("wrong_messages", load->validate ? result->wrong_messages : -1);
    emit_line_end();
}

/* Ends the line of a number of so many pairs, with this name and this unit. */
static void emit_number(const struct mbw_team *team, const struct mbw_load *load, const struct mbw_result *result,
                        bool windows, const char *name, const char *unit, double value)
{
    if (windows)
        emit_record(value, units_decimals(value), unit, "%s-%d-%" PRId64 "-w%" PRId64, name, team->pairs, load->size_bytes, load->window);
    else
        emit_record(value, units_decimals(value), unit, "%s-%d-%" PRId64, name, team->pairs, load->size_bytes);
    emit_seconds("elapsed_s", result->elapsed_s);
}

/* What is printed of a measurement; of messages that arrived damaged there is nothing. */
static void emit_records(const struct test *test, const struct mbw_team *team, const struct mbw_load *load,
                         const struct mbw_result *result)
{
    if (result->wrong_messages > 0)
        return;
    emit_number(team, load, result, test->config->vary, "total", "MB/s", result->rate_mb_s);
    emit_line_end();
    emit_number(team, load, result, test->config->vary, "rate", "messages/s", result->messages_s);
    emit_line_end();
}

/* What a sweep prints beside these. */
static void emit_sweep(const struct mbw_team *team, const struct mbw_load *load, const struct mbw_result *result,
                       double one_pair_mb_s)
{
    if (result->wrong_messages > 0)
        return;
    double pair = result->rate_mb_s / team->pairs;
    emit_number(team, load, result, false, "pair", "MB/s", pair);
    emit_group("ranks", '{');
    emit_figure("fastest", result->pair_rate_mb_s.highest);
    emit_figure("median", result->pair_rate_mb_s.median);
    emit_figure("slowest", result->pair_rate_mb_s.lowest);
    emit_group_end('}');
    emit_line_end();
    emit_number(team, load, result, false, "rise", "x", result->rate_mb_s / one_pair_mb_s);
    emit_line_end();
    emit_number(team, load, result, false, "fall", "x", one_pair_mb_s / pair);
    emit_line_end();
}

/* One measurement with its JSON line. */
static struct mbw_result measure(struct test *test, const struct mbw_team *team, int64_t size_bytes, int64_t window)
{
    struct mbw_load load = load_of(test->config, size_bytes, window);
    struct mbw_result result;
    mbw_point_measure(team, &load, &test->room, &result, &test->faults);
    emit_point(team, &load, &result);
    emit_records(test, team, &load, &result);
    return result;
}

static void print_header(const struct test *test, const struct mbw_team *team)
{
    const struct config *config = test->config;
    const struct place *place = &test->run->place;
    emit_text("# MPI Multiple Bandwidth / Message Rate Test (campaign bench %s, output as of osu_mbw_mr)\n",
              version_number);
    if (config->sweep)
        emit_text("# [ pairs: 1 to %" PRId64 " ] [ window size: %" PRId64 " ]\n", config->pairs, config->window);
    else if (config->vary)
        emit_text("# [ pairs: %d ] [ window size: varied ]\n", team->pairs);
    else
        emit_text("# [ pairs: %d ] [ window size: %" PRId64 " ]\n", team->pairs, config->window);
    emit_text("# Datatype: MPI_CHAR.\n");
    if (config->each_window)
        emit_text("# Each window is timed by itself, after a barrier, which is in no time.\n");
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
    const struct config *config = test->config;
    emit_text("%-10s%18s%18s%s\n", "# Size", "MB/s", "Messages/s", config->validate ? "        Validation" : "");
    for (int64_t size = config->size_min; size <= config->size_max; size *= 2) {
        struct mbw_result result = measure(test, team, size, config->window);
        emit_text("%-10" PRId64, size);
        print_figure(18, result.rate_mb_s);
        print_figure(18, result.messages_s);
        if (config->validate)
            emit_text("%18s", result.wrong_messages > 0 ? "Fail" : "Pass");
        emit_text("\n");
        emit_flush_text();
    }
}

static void print_row(int64_t size, const double *values)
{
    emit_text("%-10" PRId64, size);
    for (int i = 0; i < VARIED_WINDOWS; i++)
        print_figure(18, values[i]);
    emit_text("\n");
}

static void print_windows(const char *title)
{
    emit_text("\n# %s\n%-10s", title, "# Size");
    for (int i = 0; i < VARIED_WINDOWS; i++)
        emit_text("%10s%8d", "Window", 1 << i);
    emit_text("\n");
}

/* Size by size, a column a window. */
static void run_windows(struct test *test, const struct mbw_team *team)
{
    const struct config *config = test->config;
    double messages_s[MOST_SIZES][VARIED_WINDOWS];
    int row = 0;
    print_windows("Bandwidth (MB/s)");
    for (int64_t size = config->size_min; size <= config->size_max; size *= 2, row++) {
        double rates_mb_s[VARIED_WINDOWS];
        for (int i = 0; i < VARIED_WINDOWS; i++) {
            struct mbw_result result = measure(test, team, size, 1 << i);
            rates_mb_s[i] = result.rate_mb_s;
            messages_s[row][i] = result.messages_s;
        }
        print_row(size, rates_mb_s);
        emit_flush_text();
    }
    print_windows("Message rate (Messages/s)");
    row = 0;
    for (int64_t size = config->size_min; size <= config->size_max; size *= 2)
        print_row(size, messages_s[row++]);
}

/* All sizes with one number of pairs. one_pair_mb_s is filled by the first, with one pair. */
static void run_sweep_step(struct test *test, const struct mbw_team *team, double one_pair_mb_s[MOST_SIZES])
{
    const struct config *config = test->config;
    int row = 0;
    for (int64_t size = config->size_min; size <= config->size_max; size *= 4, row++) {
        struct mbw_result result = measure(test, team, size, config->window);
        double total = result.rate_mb_s, pair = total / team->pairs;
        if (team->pairs == 1)
            one_pair_mb_s[row] = total;
        emit_text("%-10" PRId64 "%8d", size, team->pairs);
        print_figure(18, total);
        struct mbw_load load = load_of(config, size, config->window);
        emit_sweep(team, &load, &result, one_pair_mb_s[row]);
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
    double one_pair_mb_s[MOST_SIZES];
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

static int run_test(const struct config *config, struct run *run)
{
    struct test test = {.config = config, .run = run};
    const struct place *place = &run->place;
    MPI_Comm_split(place->comm, 0, place->node_index, &test.grouped);
    /* One pair of a sweep is as far apart as all of them: on two nodes, never on one. */
    test.distance = config->sweep ? place->ranks / 2 : (int)config->pairs;
    mbw_room_make(&test.room, config->size_max, config->vary ? 1 << (VARIED_WINDOWS - 1) : config->window);
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
    struct config config = {.window = WINDOW, .iterations = AUTOMATIC, .warmup = AUTOMATIC};
    struct opt_common common;
    struct run run;
    int status, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!read_options(&config, argc, argv, &common, &status))
        return status;
    status = check_config(&config, ranks);
    if (status != EXIT_CODE_OK)
        return status;
    status = run_begin(&run, "mbw_mr", &common, NULL);
    if (status == EXIT_CODE_OK)
        status = run_test(&config, &run);
    return run_end(&run, status);
}
