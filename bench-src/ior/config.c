/* ior_config: one table row a setting, from which come options, directives and their values. */
#include "ior/config.h"

#include "common/units.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define AT(member) offsetof(struct ior_config, member)
#define MOST INT64_MAX

/* A setting may have several rows, one for each of its names. */
static const struct row {
    const char *directive; /* NULL: only on the command line */
    char letter;
    const char *name;
    enum opt_type type;
    size_t at;
    const char *argument, *help;
    int64_t min, max;
} rows[] = {
    {"writeFile", 'w', NULL, OPT_FLAG, AT(write), NULL, "write", 0, 0},
    {"readFile", 'r', NULL, OPT_FLAG, AT(read), NULL, "read (without -w, -r, -W and -R: write and read)", 0, 0},
    {"checkWrite", 'W', NULL, OPT_FLAG, AT(check_write), NULL, "check the data after writing, outside the timed part", 0, 0},
    {"checkRead", 'R', NULL, OPT_FLAG, AT(check_read), NULL, "check the data after reading, outside the timed part", 0, 0},
    {"testFile", 'o', NULL, OPT_TEXT, AT(test_file), "PATH", "file to work on (default testFile); with -F also PATH@PATH…", 0, 0},
    {"transferSize", 't', NULL, OPT_SIZE, AT(transfer), "BYTES", "moved by one call (default 256k)", 8, MOST},
    {"blockSize", 'b', NULL, OPT_SIZE, AT(block), "BYTES", "contiguous for each process (default 1m)", 8, MOST},
    {"segmentCount", 's', NULL, OPT_SIZE, AT(segments), "COUNT", "blocks of each process (default 1)", 1, MOST},
    {"numTasks", 'n', NULL, OPT_INT, AT(tasks), "COUNT", "processes that take part (default 0: all)", 0, INT_MAX},
    {NULL, 'N', NULL, OPT_INT, AT(tasks), "COUNT", "the same as -n", 0, INT_MAX},
    {"filePerProc", 'F', NULL, OPT_FLAG, AT(file_per_process), NULL, "a file for each process", 0, 0},
    {"uniqueDir", 'u', NULL, OPT_FLAG, AT(unique_dir), NULL, "a directory for each process (with -F)", 0, 0},
    {"multiFile", 'm', NULL, OPT_FLAG, AT(multi_file), NULL, "other files in each repetition", 0, 0},
    {"api", 'a', NULL, OPT_TEXT, AT(api), "API", "how to access files (default POSIX), see above", 0, 0},
    {NULL, 0, "mmap.madv_dont_need", OPT_FLAG, AT(map_drops), NULL, "drop the pages of each transfer from the mapping (MMAP)", 0, 0},
    {NULL, 0, "mmap.madv_pattern", OPT_FLAG, AT(map_pattern), NULL, "tell the kernel the order of the accesses (MMAP)", 0, 0},
    {NULL, 0, "dummy.delay-create", OPT_INT, AT(delays.create_us), "USEC", "opening a file to write takes so long (DUMMY)", 0, 1000000000},
    {NULL, 0, "dummy.delay-xfer", OPT_INT, AT(delays.transfer_us), "USEC", "a transfer takes so long (DUMMY)", 0, 1000000000},
    {NULL, 0, "dummy.delay-sync", OPT_INT, AT(delays.sync_us), "USEC", "an fsync takes so long (DUMMY)", 0, 1000000000},
    {NULL, 0, "dummy.delay-close", OPT_INT, AT(delays.close_us), "USEC", "closing a file takes so long (DUMMY)", 0, 1000000000},
    {NULL, 0, "dummy.delay-only-rank0", OPT_FLAG, AT(delays_of_rank_0), NULL, "on the first process only (DUMMY)", 0, 0},
    {"queueDepth", 0, "queue-depth", OPT_INT, AT(queue_depth), "COUNT", "transfers under way in each process (URING, AIO; default 16)", 1, 4096},
    {"collective", 'c', NULL, OPT_FLAG, AT(collective), NULL, "collective calls (MPIIO)", 0, 0},
    {"showHints", 'H', "mpiio.showHints", OPT_FLAG, AT(show_hints), NULL, "print the hints of the open file (MPIIO)", 0, 0},
    {"useO_DIRECT", 'B', "posix.odirect", OPT_FLAG, AT(direct), NULL, "past the page cache (O_DIRECT)", 0, 0},
    {"preallocate", 'p', "mpiio.preallocate", OPT_FLAG, AT(preallocate), NULL, "give the file its blocks when it is opened, inside the timed part", 0, 0},
    {"fsync", 'e', NULL, OPT_FLAG, AT(fsync), NULL, "fsync after the last write, inside the timed part", 0, 0},
    {"fsyncPerWrite", 'Y', NULL, OPT_FLAG, AT(fsync_each), NULL, "fsync after each write", 0, 0},
    {"reorderTasks", 'C', NULL, OPT_FLAG, AT(reorder), NULL, "read what the processes Q nodes further on wrote", 0, 0},
    {"reorderTasksConstant", 0, NULL, OPT_FLAG, AT(reorder), NULL, NULL, 0, 0},
    {"taskPerNodeOffset", 'Q', NULL, OPT_INT, AT(node_offset), "NODES", "how far for -C, how far at least for -Z (default 1)", 0, INT_MAX},
    {"reorderTasksRandom", 'Z', NULL, OPT_COUNT, AT(random_tasks), NULL, "read from processes at random, at least Q nodes off; -ZZ: each process once", 0, 2},
    {"reorderTasksRandomSeed", 'X', NULL, OPT_INT, AT(reorder_seed), "SEED", "seed of -Z; 0, the default, and numbers below 0: another order in each repetition", 0, 0},
    {"randomOffset", 'z', NULL, OPT_COUNT, AT(random_offset), NULL, "transfers in random order; -zz: at random places, some several times", 0, 2},
    {"dropCache", 0, "drop-cache", OPT_FLAG, AT(drop_cache), NULL, "drop the files from the page cache before reading, and check that they left", 0, 0},
    {"cacheCheck", 0, "cache-check", OPT_FLAG, AT(cache_check), NULL, "look at the page cache before reading files of an earlier run too, which opens them", 0, 0},
    {"memoryPerNode", 'M', NULL, OPT_TEXT, AT(memory), "BYTES|PERCENT%", "take this much memory of each node, so that less is left for the page cache", 0, 0},
    {"repetitions", 'i', NULL, OPT_INT, AT(repetitions), "COUNT", "repetitions of the whole test (default 1)", 1, 1000000},
    {"interTestDelay", 'd', NULL, OPT_REAL, AT(delay_s), "SECONDS", "pause before each write and read", 0, 1000000},
    {"intraTestBarriers", 'g', NULL, OPT_FLAG, AT(barriers), NULL, "barriers between open, transfers and close", 0, 0},
    {"deadlineForStonewalling", 'D', NULL, OPT_INT, AT(deadline_s), "SECONDS", "stop writing or reading then; what was moved until then counts", 0, 1000000},
    {"stoneWallingWearOut", 0, NULL, OPT_FLAG, AT(wear_out), NULL, NULL, 0, 0},
    {"stoneWallingStatusFile", 0, NULL, OPT_TEXT, AT(stonewall_file), "FILE", NULL, 0, 0},
    {"outlierThreshold", 'j', NULL, OPT_INT, AT(outlier_s), "SECONDS", "warn of a process whose time is so far from the mean of all", 0, 1000000},
    {"latency", 0, "latency", OPT_FLAG, AT(latency), NULL, "time each transfer: percentiles and bandwidth over time (costs clock readings)", 0, 0},
    {"saveRankPerformanceDetailsCSV", 0, NULL, OPT_TEXT, AT(rank_file), "FILE", NULL, 0, 0},
    {"maxTimeDuration", 'T', NULL, OPT_INT, AT(most_minutes), "MINUTES", "start no further write or read after this time", 0, 10000000},
    {"keepFile", 'k', NULL, OPT_FLAG, AT(keep), NULL, "keep the files", 0, 0},
    {"keepFileWithError", 'K', NULL, OPT_FLAG, AT(keep_with_error), NULL, "keep files in which errors were found", 0, 0},
    {"useExistingTestFile", 'E', NULL, OPT_FLAG, AT(use_existing), NULL, "do not remove existing files before writing", 0, 0},
    {"setTimeStampSignature", 'G', NULL, OPT_INT, AT(signature), "NUMBER", "seed of the data (default 0: another one in each repetition)", 0, 0},
    {"dataPacketType", 'l', "dataPacketType", OPT_TEXT, AT(packet), "KIND", "of data: unique (default), timestamp or offset", 0, 0},
    {"singleXferAttempt", 'x', NULL, OPT_FLAG, AT(one_attempt), NULL, "a transfer that was cut short is an error at once", 0, 0},
    {"quitOnError", 'q', NULL, OPT_FLAG, AT(quit_on_error), NULL, "end at the first error; else go on with the next repetition", 0, 0},
    {"refNum", 'A', NULL, OPT_INT, AT(reference), "NUMBER", "a number of your own for the summary", 0, 0},
    {"verbose", 'v', NULL, OPT_COUNT, AT(verbosity), NULL, "print more: once each step, twice the spread over processes", 0, 5},
};

#define PER_OPERATION "--latency has the percentiles of single transfers"
#define BY_FILE "a read learns how far each process wrote from stoneWallingStatusFile, or in the same run (-w -r)"

/* Options of IOR 4 that people type. */
static const struct {
    char letter;
    const char *name, *why;
} refused[] = {
    {'y', NULL, "there is one mount point for all processes (-o PATH@PATH… with -F gives them several)"},
    {0, "dryRun", "campaign plan shows what would run"},
    {0, "warningAsErrors", "warnings are in the JSON lines (--json), for whoever wants to act on them"},
    {0, "randomPrefill", "write the file first, without -z and with -k, and then use -E -z"},
    {0, "random-offset-seed", "the order of -z follows from the seed of the data, -G"},
    {0, "posix.rangelocks", "transfers are made without locks"},
    {0, "mpiio.useFileView", "transfers have explicit offsets"},
    {0, "mpiio.useStridedDatatype", "transfers have explicit offsets"},
    {0, "mpiio.hintsFileName", "set hints in ROMIO_HINTS, a file that the MPI library reads; -H shows them"},
};

enum { REFUSED = sizeof refused / sizeof refused[0] };

enum { ROWS = sizeof rows / sizeof rows[0] };

/* Directives of IOR that stand in scripts of today, and the values at which they ask for nothing (NULL: there is none). */
static const struct {
    const char *name, *allowed, *why;
} not_offered[] = {
    {"allocateBufferOnGPU", "0", "data lies in main memory"},
    {"collectiveMetadata", "0", NULL},
    {"dryRun", "0", NULL},
    {"dualMount", "0", NULL},
    {"gpuDirect", "0", "data lies in main memory"},
    {"gpuID", "-1", "data lies in main memory"},
    {"hintsFileName", "", "set hints in ROMIO_HINTS, a file that the MPI library reads; -H shows them"},
    {"individualDataSets", "0", NULL},
    {"memoryPerTask", "0", "memoryPerNode is"},
    {"minTimeDuration", "0", "write more, or repeat with -i"},
    {"noFill", "0", NULL},
    {"rangeLocks", "0", NULL},
    {"savePerOpDataCSV", NULL, PER_OPERATION},
    {"setAlignment", "1", NULL},
    {"showHelp", "0", NULL},
    {"stoneWallingWearOutIterations", "0", BY_FILE},
    {"storeFileOffset", "0", NULL},
    {"summaryAlways", "0", NULL},
    {"useFileView", "0", "transfers have explicit offsets"},
    {"useSharedFilePointer", "0", NULL},
    {"useStridedDatatype", "0", NULL},
    {"warningAsErrors", "0", NULL},
};

/* Copies of directives. */
static struct text {
    struct text *next;
    char characters[];
} *texts;

void ior_config_default(struct ior_config *config)
{
    memset(config, 0, sizeof *config);
    config->api = "POSIX";
    config->test_file = "testFile";
    config->packet = "unique";
    config->block = 1 << 20;
    config->transfer = 1 << 18;
    config->segments = config->repetitions = config->node_offset = 1;
}

size_t ior_config_options(struct ior_config *config, struct opt_call *directives, struct opt *options)
{
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        if (row->letter == 0 && row->name == NULL)
            continue;
        options[count++] = (struct opt){row->letter, row->name, row->type, (char *)config + row->at,
                                        row->argument, row->help, row->min, row->max, 0};
    }
    for (size_t i = 0; i < REFUSED; i++)
        options[count++] = (struct opt){refused[i].letter, refused[i].name, OPT_REFUSED, NULL, NULL, refused[i].why, 0, 0, 0};
    options[count++] = (struct opt){'O', NULL, OPT_CALL, directives, "NAME=VALUE,…", "settings by name, see above", 0, 0, 0};
    return count;
}

static int set_summary_format(struct ior_config *config, const char *value, struct refusal *why)
{
    config->summary_format = strcasecmp(value, "JSON") == 0 ? 'J' : strcasecmp(value, "CSV") == 0 ? 'C' : 0;
    if (config->summary_format == 0 && strcasecmp(value, "default") != 0)
        return refuse(why, "summaryFormat: '%s' is not known: default, JSON or CSV", value);
    config->json = config->json || config->summary_format == 'J';
    config->csv = config->csv || config->summary_format == 'C';
    return 0;
}

static int set_summary_file(struct ior_config *config, const char *value, struct refusal *why)
{
    if (config->summary_format == 0)
        return refuse(why, "summaryFile '%s': give summaryFormat=JSON or summaryFormat=CSV before it", value);
    if (value[0] == '\0')
        return refuse(why, "summaryFile has no value");
    *(config->summary_format == 'J' ? &config->json_file : &config->csv_file) = value;
    return 0;
}

/* Flags and counts, which take no value on the command line. */
static int set_number(struct ior_config *config, const struct row *row, const char *value, struct refusal *why)
{
    int64_t number, most = row->type == OPT_FLAG ? 1 : row->max;
    if (units_parse_int(value, UNITS_PLAIN, &number) != 0 || number < 0 || number > most)
        return refuse(why, "%s: '%s' is not a number from 0 to %" PRId64,
                      row->directive != NULL ? row->directive : row->name, value, most);
    if (row->type == OPT_FLAG)
        *(bool *)((char *)config + row->at) = number == 1;
    else
        *(int64_t *)((char *)config + row->at) = number;
    return 0;
}

/* The option of the same value, so that both have one parser. */
static int set_as_option(struct ior_config *config, const struct row *row, const char *value, struct refusal *why)
{
    const char *own = row->directive != NULL ? row->directive : row->name;
    struct opt option = {0, own, row->type, (char *)config + row->at, row->argument, row->help,
                         row->min, row->max, 0};
    char name[64];
    snprintf(name, sizeof name, "--%s", own);
    char *arguments[] = {"", name, (char *)value};
    bool help;
    return opt_read(&option, 1, 3, arguments, &help, why);
}

/* By its directive, or by the long option as scripts of IOR 4 have it: --posix.odirect=1. */
static bool is_named(const struct row *row, const char *name)
{
    if (row->directive != NULL && strcasecmp(row->directive, name) == 0)
        return true;
    return row->name != NULL && strncmp(name, "--", 2) == 0 && strcasecmp(row->name, name + 2) == 0;
}

int ior_config_set(struct ior_config *config, const char *name, const char *value, struct refusal *why)
{
    if (strcasecmp(name, "summaryFormat") == 0)
        return set_summary_format(config, value, why);
    if (strcasecmp(name, "summaryFile") == 0)
        return set_summary_file(config, value, why);
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        if (!is_named(row, name))
            continue;
        if (row->type == OPT_FLAG || row->type == OPT_COUNT)
            return set_number(config, row, value, why);
        return set_as_option(config, row, value, why);
    }
    for (size_t i = 0; i < sizeof not_offered / sizeof not_offered[0]; i++) {
        if (strcasecmp(not_offered[i].name, name) != 0)
            continue;
        const char *allowed = not_offered[i].allowed, *reason = not_offered[i].why, *colon = reason == NULL ? "" : "; ";
        if (allowed != NULL && strcmp(allowed, value) == 0)
            return 0;
        reason = reason == NULL ? "" : reason;
        if (allowed == NULL || allowed[0] == '\0')
            return refuse(why, "%s is not offered here%s%s", not_offered[i].name, colon, reason);
        return refuse(why, "%s is not offered here: '%s' was given, only '%s' is allowed%s%s", not_offered[i].name, value,
                      allowed, colon, reason);
    }
    return refuse(why, "unknown setting '%s' (the names stand in docs/ior.md)", name);
}

int ior_config_directives(void *data, const char *text, struct refusal *why)
{
    size_t bytes = strlen(text) + 1;
    struct text *copy = malloc(sizeof *copy + bytes);
    if (copy == NULL)
        return refuse(why, "out of memory");
    memcpy(copy->characters, text, bytes);
    copy->next = texts;
    texts = copy;
    char *rest = copy->characters, *setting;
    while ((setting = strsep(&rest, ",")) != NULL) {
        char *value = strchr(setting, '=');
        if (value == NULL)
            return refuse(why, "'%s' is not NAME=VALUE", setting);
        *value++ = '\0';
        if (ior_config_set(data, setting, value, why) != 0)
            return -1;
    }
    return 0;
}

void ior_config_free(void)
{
    while (texts != NULL) {
        struct text *next = texts->next;
        free(texts);
        texts = next;
    }
}
