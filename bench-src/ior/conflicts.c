/* ior_conflicts: completes a test's settings and looks for contradictions, before anything is measured. */
#include "ior/config.h"

#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DEFAULT_QUEUE_DEPTH = 16 };

static int find_store(struct ior_config *c, struct refusal *why)
{
    const char *lacks;
    bool is_hdf5 = strcasecmp(c->api, STORE_HDF5_NAME) == 0;
    c->store = is_hdf5 ? store_hdf5(&lacks) : store_find(c->api);
    if (c->store != NULL)
        return 0;
    if (is_hdf5)
        return refuse(why, "api (-a) HDF5 is not there: %s", lacks);
    char names[128] = "";
    for (size_t i = 0; store_at(i) != NULL; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s, ", store_at(i)->name);
    return refuse(why, "api (-a) '%s' is not one of %s" STORE_HDF5_NAME, c->api, names);
}

/* What the layout of HDF5's files forbids. */
static int check_layout(const struct ior_config *c, int ranks, struct refusal *why)
{
    int64_t tasks = c->file_per_process ? 1 : c->tasks == 0 ? ranks : c->tasks, elements = c->block / 8 * tasks;
    if (!c->store->own_layout)
        return 0;
    if (c->random_offset > 0)
        return refuse(why, "api %s goes through its datasets in order, as IOR's does: leave out -z", c->store->name);
    if (c->preallocate)
        return refuse(why, "api %s lays its files out itself: leave out -p", c->store->name);
    if (c->hdf5.chunk > elements)
        return refuse(why, "chunkSize %" PRId64 " is more than the %" PRId64 " elements of 8 bytes of a segment", c->hdf5.chunk,
                      elements);
    return 0;
}

static int check_store(struct ior_config *c, struct refusal *why)
{
    if (find_store(c, why) != 0)
        return -1;
    if (c->direct && !c->store->can_direct)
        return refuse(why, "api %s cannot go past the page cache: leave out O_DIRECT or take -a POSIX", c->store->name);
    if (c->collective && !c->store->can_collective)
        return refuse(why, "api %s has no collective calls: leave out -c or take -a MPIIO", c->store->name);
    if (c->file_view && c->random_offset > 0)
        return refuse(why, "a file view has the transfers of each process in order: leave out -z or the view (-V)");
    if (c->collective && !c->store->own_layout && c->transfer > STORE_MOST_AT_ONCE)
        return refuse(why, "transfer size (-t) %" PRId64 " is more than a collective call of MPI (-c) takes: %d", c->transfer,
                      STORE_MOST_AT_ONCE);
    if (c->file_view && c->block / c->transfer > INT_MAX)
        return refuse(why, "block size (-b) %" PRId64 " has more transfers (-t) than a file view (-V) takes: %d", c->block,
                      INT_MAX);
    if (c->file_view && c->transfer > INT_MAX)
        return refuse(why, "transfer size (-t) %" PRId64 " is more than a file view (-V) takes: %d", c->transfer, INT_MAX);
    if (c->queue_depth > 1 && c->store->submit == NULL)
        return refuse(why, "api %s has one transfer under way at a time: leave out --queue-depth or take -a URING",
                      c->store->name);
    if (c->queue_depth == 0)
        c->queue_depth = c->store->submit == NULL ? 1 : DEFAULT_QUEUE_DEPTH;
    if (c->transfer > INT64_MAX / 4 / c->queue_depth) /* the data's window is up to twice as large */
        return refuse(why, "transfer size (-t) %" PRId64 " is more than this program can hold in memory, %" PRId64 " times at once",
                      c->transfer, c->queue_depth);
    /* Writes past the page cache that make a file longer take turns, however many are under way: a file system locks the
     * file for each. Into blocks that are there already they overlap. */
    c->reserve = c->preallocate || (c->store->submit != NULL && c->direct && c->deadline_s == 0);
    if ((c->check_write || c->check_read) && !c->store->keeps_bytes)
        return refuse(why, "api %s keeps no data that -W or -R could check", c->store->name);
    return 0;
}

static int check_sizes(const struct ior_config *c, int ranks, struct refusal *why)
{
    int64_t total, tasks = c->tasks == 0 ? ranks : c->tasks;
    if (c->transfer % 8 != 0)
        return refuse(why, "transfer size (-t) %" PRId64 " is not a multiple of 8 bytes", c->transfer);
    if (c->block % c->transfer != 0)
        return refuse(why, "block size (-b) %" PRId64 " is not a multiple of the transfer size (-t) %" PRId64, c->block,
                      c->transfer);
    if (__builtin_mul_overflow(c->block, c->segments, &total) || __builtin_mul_overflow(total, tasks, &total))
        return refuse(why,
                      "%" PRId64 " processes × %" PRId64 " segments (-s) × %" PRId64 " bytes (-b) are beyond 64 bits",
                      tasks, c->segments, c->block);
    if (tasks > ranks)
        return refuse(why, "%" PRId64 " processes are asked for (-n, numTasks), %d were started", tasks, ranks);
    return 0;
}

static int check_memory(struct ior_config *c, struct refusal *why)
{
    c->memory_bytes = 0;
    c->memory_percent = 0;
    if (c->memory == NULL)
        return 0;
    if (c->memory_per_task > 0)
        return refuse(why, "memoryPerNode (-M) and memoryPerTask take the same memory: give one of them");
    size_t length = strlen(c->memory);
    if (c->memory[length - 1] != '%') {
        if (units_parse_int(c->memory, UNITS_BINARY, &c->memory_bytes) != 0 || c->memory_bytes < 0)
            return refuse(why, "memory per node (-M) '%s' is neither a size nor a percentage such as 50%%", c->memory);
        return 0;
    }
    char number[32];
    snprintf(number, sizeof number, "%.*s", (int)length - 1, c->memory);
    if (units_parse_real(number, &c->memory_percent) != 0 || c->memory_percent < 0 || c->memory_percent > 95)
        return refuse(why, "memory per node (-M) '%s' is not a percentage from 0%% to 95%%", c->memory);
    return 0;
}

static int check_data(struct ior_config *c, struct refusal *why)
{
    static const struct {
        const char *name, *letter;
        enum pattern_kind kind;
    } kinds[] = {
        {"unique", "u", PATTERN_UNIQUE},       {"incompressible", "i", PATTERN_UNIQUE}, {"random", "r", PATTERN_UNIQUE},
        {"timestamp", "t", PATTERN_TIMESTAMP}, {"offset", "o", PATTERN_OFFSET},
    };
    size_t i = 0;
    while (i < sizeof kinds / sizeof kinds[0] && strcasecmp(c->packet, kinds[i].name) != 0 &&
           strcasecmp(c->packet, kinds[i].letter) != 0)
        i++;
    if (i == sizeof kinds / sizeof kinds[0])
        return refuse(why, "kind of data (-l) '%s' is not one of unique (u, also i and r), timestamp (t), offset (o)",
                      c->packet);
    c->kind = kinds[i].kind;
    if ((c->check_write || c->check_read) && !c->write && c->signature == 0)
        return refuse(why,
                      "-W and -R need to know the data of a file that this test does not write: add -w, or -G with the "
                      "number that the writing run had");
    if ((c->check_write || c->check_read) && !c->write && c->random_offset == 2)
        return refuse(why,
                      "with -zz only the writing test knows which places have data: add -w, or leave out -W and -R");
    return 0;
}

static int check_files(struct ior_config *c, struct refusal *why)
{
    bool several = strchr(c->test_file, '@') != NULL;
    if (several && !c->file_per_process)
        return refuse(why, "several test files (-o '%s') need a file for each process: add -F", c->test_file);
    if (several && (strstr(c->test_file, "@@") != NULL || c->test_file[0] == '@' ||
                    c->test_file[strlen(c->test_file) - 1] == '@'))
        return refuse(why, "test file (-o) '%s' has an empty name beside an @", c->test_file);
    if (c->unique_dir && several)
        return refuse(why, "-u and several test files (-o '%s') exclude each other", c->test_file);
    if (c->unique_dir && !c->file_per_process)
        return refuse(why, "-u gives each process a directory for its file: add -F");
    if (c->test_file[strlen(c->test_file) - 1] == '/')
        return refuse(why, "test file (-o) '%s' is a directory: name a file", c->test_file);
    if (strlen(c->test_file) + 64 > PATH_MAX)
        return refuse(why, "test file (-o): the name is longer than the system allows (%d)", PATH_MAX);
    return 0;
}

bool ior_config_lockstep(const struct ior_config *config, bool writes)
{
    if (config->collective)
        return true;
    if (config->file_per_process)
        return false;
    return (config->store->segments_together && config->segments > 1) ||
           (config->store->syncs_together && config->fsync_each && writes);
}

/* What ends a phase before, or lets it go on after, each transfer was made once. */
static int check_length(const struct ior_config *c, struct refusal *why)
{
    if (c->preallocate && c->deadline_s > 0)
        return refuse(why,
                      "-p takes the blocks of all that could be written, which with -D nobody knows: leave one of them out");
    if (c->wear_out && c->deadline_s == 0 && c->write)
        return refuse(why, "stoneWallingWearOut goes on after the deadline of -D: add -D");
    if (c->stonewall_file != NULL && c->write && c->deadline_s > 0 && !c->wear_out)
        return refuse(why, "stoneWallingStatusFile keeps one number for all processes: add stoneWallingWearOut=1");
    if (c->deadline_s > 0 && ior_config_lockstep(c, c->write || c->mixed > 0))
        return refuse(why, "-D stops each process at another transfer, %s needs all to make the same",
                      c->collective                 ? "-c"
                      : c->store->segments_together ? "a shared file of several segments (-s) in HDF5"
                                                    : "-Y with a shared MPI-IO file");
    if (c->least_s > 0 && (c->deadline_s > 0 || c->most_steps > 0))
        return refuse(why, "minTimeDuration begins anew until then, %s ends before: leave one of them out",
                      c->deadline_s > 0 ? "-D" : "stoneWallingWearOutIterations");
    if (c->least_s > 0 && c->store->submit != NULL)
        return refuse(why, "minTimeDuration is for one transfer at a time: take -a POSIX");
    return 0;
}

static int check_order(struct ior_config *c, struct refusal *why)
{
    if (c->reorder && c->random_tasks > 0)
        return refuse(why, "-C and -Z exclude each other");
    if (c->random_tasks > 2)
        return refuse(why, "-Z may be given once or twice, not %" PRId64 " times", c->random_tasks);
    if (c->random_offset > 2)
        return refuse(why, "-z may be given once or twice, not %" PRId64 " times", c->random_offset);
    if (c->prefill > 0 && c->random_offset == 0)
        return refuse(why, "randomPrefill is for random transfers: add -z");
    if (c->prefill > 0 && (c->block % c->prefill != 0 || c->prefill % 8 != 0))
        return refuse(why, "randomPrefill %" PRId64 " does not divide the block size (-b) %" PRId64, c->prefill, c->block);
    if (c->transfer_pause_us > 0 && c->store->submit != NULL)
        return refuse(why, "interIODelay is for one transfer at a time: take -a POSIX");
    if (c->transfers_file != NULL && c->store->submit != NULL)
        return refuse(why, "savePerOpDataCSV is for one transfer at a time: take -a POSIX (--latency has percentiles)");
    return 0;
}

/* What has no place for two sides. */
static int check_mixed(struct ior_config *c, int ranks, struct refusal *why)
{
    if (c->mixed == 0)
        return 0;
    if ((c->tasks == 0 ? ranks : c->tasks) < 2)
        return refuse(why, "--mixed takes processes that read and others that write: start at least 2");
    if (c->prefill > 0)
        return refuse(why, "randomPrefill fills the files of -w alone, --mixed writes others: leave one of them out");
    if (c->wear_out)
        return refuse(why, "stoneWallingWearOut brings all processes to one amount, --mixed has two: leave one of them out");
    if (c->rank_file != NULL || c->transfers_file != NULL)
        return refuse(why, "%s does not tell the two sides of --mixed apart: leave one of them out (--latency and --json do)",
                      c->rank_file != NULL ? "saveRankPerformanceDetailsCSV" : "savePerOpDataCSV");
    return 0;
}

static int check_summary(struct ior_config *c, struct refusal *why)
{
    if (c->json && c->csv && c->json_file == NULL && c->csv_file == NULL)
        return refuse(why, "summaries in JSON and in CSV cannot both go to stdout: name a summaryFile for one of them");
    return 0;
}

int ior_config_check(struct ior_config *c, int ranks, struct refusal *why)
{
    static int (*const checks[])(struct ior_config *, struct refusal *) = {
        check_store, check_memory, check_data, check_files, check_order, check_summary,
    };
    if (!c->write && !c->read && !c->check_write && !c->check_read) {
        c->write = true;
        c->read = c->mixed == 0;
    }
    c->tasks = c->tasks < 0 ? 0 : c->tasks;
    int refused = check_sizes(c, ranks, why);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && refused == 0; i++)
        refused = checks[i](c, why);
    if (refused == 0)
        refused = check_length(c, why);
    if (refused == 0)
        refused = check_mixed(c, ranks, why);
    return refused == 0 ? check_layout(c, ranks, why) : refused;
}
