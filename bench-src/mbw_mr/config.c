/* mbw_config: the options of mbw_mr and what they may not be together. */
#include "mbw_mr/config.h"

#include "common/die.h"
#include "common/units.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WINDOW = 64, AUTOMATIC = -1, NOT_GIVEN = -1 };

static const char intro[] =
    "Measures bandwidth and message rate of several pairs of processes at once: the first half\n"
    "of the processes, counted node after node, sends to the second half. With --sweep-pairs\n"
    "from 1 pair to all, with total and per-pair bandwidth and the ratio to one pair.\n";

/* Rows that others ask for: was one of them given? */
enum { PAIRS, WINDOW_SIZE = 2 };

bool mbw_config_read(struct mbw_config *c, int argc, char **argv, struct opt_common *common, int *status)
{
    *c = (struct mbw_config){.window = WINDOW, .iterations = AUTOMATIC, .warmup = AUTOMATIC, .before_each = NOT_GIVEN,
                             .print_rate = 1, .buffers_text = "single", .type_text = "mpi_char"};
    const struct opt options[] = {
        [PAIRS] = {'p', "num-pairs", OPT_INT, &c->pairs, "PAIRS", "pairs, with 2 × PAIRS processes (default half of the processes)", 1, INT32_MAX, 0},
        {0, "pairs", OPT_INT, &c->pairs, "PAIRS", "the same as -p", 1, INT32_MAX, 0},
        [WINDOW_SIZE] = {'W', "window-size", OPT_INT, &c->window, "COUNT", "messages under way before the sender waits (default 64)", 1, 1 << 20, 0},
        {'m', "message-size", OPT_TEXT, &c->sizes_text, "[MIN]:[MAX]", "bytes of a message, or MAX alone (default 1:4m, with --sweep-pairs 1:1m)", 0, 0, 0},
        {'i', "iterations", OPT_INT, &c->iterations, "COUNT", "timed windows (default 100 up to 8 KiB, 20 above)", 1, 1 << 30, 0},
        {'x', "warmup", OPT_INT, &c->warmup, "COUNT", "windows before the clock starts (default 10 up to 8 KiB, 2 above)", 0, 1 << 30, 0},
        {'V', "vary-window", OPT_FLAG, &c->vary, NULL, "windows of 1, 2, 4 … 128 messages", 0, 0, 0},
        {'R', "print-rate", OPT_INT, &c->print_rate, "0|1", "print the message rate too (default 1)", 0, 1, 0},
        {'b', "buffer-num", OPT_TEXT, &c->buffers_text, "single|multiple", "one buffer for all messages of a window (default), or one for each", 0, 0, 0},
        {'T', "type", OPT_TEXT, &c->type_text, "TYPE", "of the elements of a message: mpi_char (default), mpi_int or mpi_float", 0, 0, 0},
        {'c', "validation", OPT_FLAG, &c->validate, NULL, "look after the clock at what arrived, byte by byte", 0, 0, 0},
        {'u', "validation-warmup", OPT_INT, &c->before_each, "COUNT", "with -c: untimed windows before each timed one, each timed by itself", 0, 10, 0},
        {'z', "tail-lat", OPT_MAYBE_TEXT, &c->percentiles_text, "P,P…", "print percentiles of the windows' bandwidths (default 50,90,99)", 0, 0, 0},
        {0, "time-windows", OPT_FLAG, &c->each_window, NULL, "time each window by itself, after a barrier, as OSU 7.4 does (default without --sweep-pairs)", 0, 0, 0},
        {0, "one-clock", OPT_FLAG, &c->one_clock, NULL, "one clock over all windows, as OSU 5.3 has it (default with --sweep-pairs)", 0, 0, 0},
        {0, "sweep-pairs", OPT_FLAG, &c->sweep, NULL, "1, 2 … PAIRS pairs, sizes 4 times as large each", 0, 0, 0},
        {'v', "version", OPT_FLAG, &c->version, NULL, "print the version and stop", 0, 0, 0},
        /* of OSU's test */
        {'G', "graph", OPT_REFUSED, NULL, NULL, "campaign report draws the results (--json has them)", 0, 0, 0},
        {'D', "ddt", OPT_REFUSED, NULL, NULL, "messages are contiguous", 0, 0, 0},
        {'P', "papi", OPT_REFUSED, NULL, NULL, "counters of the processor are read with perf stat", 0, 0, 0},
        {'I', "session", OPT_REFUSED, NULL, NULL, "MPI is initialised for all processes together", 0, 0, 0},
        {'d', "accelerator", OPT_REFUSED, NULL, NULL, "buffers lie in main memory", 0, 0, 0},
        {'M', "mem-limit", OPT_REFUSED, NULL, NULL, "-m limits the size of the messages", 0, 0, 0},
    };
    const struct opt_applet applet = {"mbw_mr", "[options]", intro, options, sizeof options / sizeof options[0]};
    return opt_parse(&applet, argc, argv, common, status);
}

static int parse_size(const char *text, int64_t *bytes)
{
    if (text[0] == '\0')
        return EXIT_CODE_OK;
    if (units_parse_int(text, UNITS_BINARY, bytes) == 0 && *bytes >= 1 && *bytes <= INT_MAX)
        return EXIT_CODE_OK;
    return usage_error("option -m: '%s' is not a number of bytes from 1 to %d (k, m, g: powers of 1024)", text, INT_MAX);
}

/* "MAX", or "MIN:MAX" where either may be left out. */
static int parse_sizes(struct mbw_config *config)
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

/* Sizes begin at the first that has an element, and are multiples of it from there. */
static int check_type(struct mbw_config *config)
{
    static const struct {
        const char *name, *shown;
        int bytes;
    } types[] = {{"mpi_char", "MPI_CHAR", 1}, {"mpi_int", "MPI_INT", 4}, {"mpi_float", "MPI_FLOAT", 4}};
    const MPI_Datatype values[] = {MPI_CHAR, MPI_INT, MPI_FLOAT};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(config->type_text, types[i].name) != 0)
            continue;
        config->type = values[i];
        config->type_name = types[i].shown;
        int64_t first = config->size_min;
        while (first < types[i].bytes)
            first *= 2;
        if (first % types[i].bytes != 0 || first > config->size_max)
            return usage_error("option -m: sizes from %" PRId64 " to %" PRId64 " are no multiples of the %d bytes of %s",
                               config->size_min, config->size_max, types[i].bytes, types[i].shown);
        config->size_min = first;
        return EXIT_CODE_OK;
    }
    if (strcasecmp(config->type_text, "all") == 0)
        return usage_error("option -T: one type at a time, so that a size has one result: start mbw_mr for each");
    return usage_error("option -T: '%s' is not one of mpi_char, mpi_int, mpi_float", config->type_text);
}

static int check_buffers(struct mbw_config *config)
{
    config->many_buffers = strcmp(config->buffers_text, "multiple") == 0;
    if (config->many_buffers || strcmp(config->buffers_text, "single") == 0)
        return EXIT_CODE_OK;
    return usage_error("option -b: '%s' is not one of single, multiple", config->buffers_text);
}

/* "50,90,99". */
static int parse_percentiles(struct mbw_config *config)
{
    static const int64_t usual[] = {50, 90, 99};
    if (config->percentiles_text == NULL)
        return EXIT_CODE_OK;
    if (config->percentiles_text[0] == '\0') {
        memcpy(config->percentiles, usual, sizeof usual);
        config->percentile_count = sizeof usual / sizeof usual[0];
        return EXIT_CODE_OK;
    }
    char *copy = strdup(config->percentiles_text), *rest = copy, *one;
    int status = EXIT_CODE_OK;
    while (status == EXIT_CODE_OK && (one = strsep(&rest, ",")) != NULL) {
        int64_t value;
        if (config->percentile_count == MBW_MOST_PERCENTILES)
            status = usage_error("option -z: '%s' has more than %d numbers", config->percentiles_text, MBW_MOST_PERCENTILES);
        else if (units_parse_int(one, UNITS_PLAIN, &value) != 0 || value < 1 || value > 100)
            status = usage_error("option -z: '%s' is not a percentile from 1 to 100", one);
        else
            config->percentiles[config->percentile_count++] = value;
    }
    free(copy);
    return status;
}

static int check_conflicts(struct mbw_config *config, const struct opt_common *common)
{
    bool counted = config->before_each != NOT_GIVEN;
    if (config->vary && config->sweep)
        return usage_error("options -V and --sweep-pairs exclude each other: vary one thing at a time");
    if (config->vary && common->given[WINDOW_SIZE])
        return usage_error("options -V and -W exclude each other: -V has windows of its own");
    if (config->percentile_count > 0 && config->sweep)
        return usage_error("option -z: the table of --sweep-pairs has no percentiles");
    if (config->print_rate == 0 && config->sweep)
        return usage_error("option -R: the table of --sweep-pairs has the message rate");
    if (config->one_clock && config->each_window)
        return usage_error("options --one-clock and --time-windows exclude each other: a rate has one of them");
    if (config->one_clock && counted && config->validate)
        return usage_error("options --one-clock and -u exclude each other: the clock would contain the untimed windows");
    if (config->percentile_count > 0 && config->vary)
        config->unused = "option -z is not used: the table of -V has no percentiles";
    if (counted && !config->validate)
        config->unused = "option -u is not used: it is for the validation (-c)";
    config->before_each = counted && config->validate ? config->before_each : 0;
    config->each_window |= (counted && config->validate) || (!config->one_clock && !config->sweep);
    return EXIT_CODE_OK;
}

int mbw_config_check(struct mbw_config *config, const struct opt_common *common, int ranks)
{
    if (ranks < 2)
        return usage_error("1 process makes no pair: start at least 2");
    if (config->pairs > ranks / 2)
        return usage_error("option -p: %" PRId64 " pairs need %" PRId64 " processes, there are %d: at most %d", config->pairs,
                           2 * config->pairs, ranks, ranks / 2);
    if (config->pairs == 0)
        config->pairs = ranks / 2;
    config->unused = NULL;
    int status = parse_percentiles(config);
    if (status == EXIT_CODE_OK)
        status = check_conflicts(config, common);
    if (status == EXIT_CODE_OK)
        status = check_buffers(config);
    if (status == EXIT_CODE_OK)
        status = parse_sizes(config);
    return status == EXIT_CODE_OK ? check_type(config) : status;
}
