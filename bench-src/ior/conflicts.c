/* ior_conflicts: completes a test's settings and looks for contradictions, before anything is measured. */
#include "ior/config.h"

#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DEFAULT_QUEUE_DEPTH = 16 };

static int check_store(struct ior_config *c, struct refusal *why)
{
    c->store = store_find(c->api);
    if (c->store == NULL) {
        char names[128] = "";
        for (size_t i = 0; store_at(i) != NULL; i++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i == 0 ? "" : ", ", store_at(i)->name);
        return refuse(why, "api (-a) '%s' is not one of %s", c->api, names);
    }
    if (c->direct && !c->store->can_direct)
        return refuse(why, "api %s cannot go past the page cache: leave out O_DIRECT or take -a POSIX", c->store->name);
    if (c->collective && !c->store->can_collective)
        return refuse(why, "api %s has no collective calls: leave out -c or take -a MPIIO", c->store->name);
    if (c->queue_depth > 1 && c->store->submit == NULL)
        return refuse(why, "api %s has one transfer under way at a time: leave out --queue-depth or take -a URING",
                      c->store->name);
    if (c->queue_depth == 0)
        c->queue_depth = c->store->submit == NULL ? 1 : DEFAULT_QUEUE_DEPTH;
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

bool ior_config_lockstep(const struct ior_config *config)
{
    return config->collective ||
           (config->store->syncs_together && config->fsync_each && config->write && !config->file_per_process);
}

static int check_order(struct ior_config *c, struct refusal *why)
{
    if (c->reorder && c->random_tasks > 0)
        return refuse(why, "-C and -Z exclude each other");
    if (c->random_tasks > 2)
        return refuse(why, "-Z may be given once or twice, not %" PRId64 " times", c->random_tasks);
    if (c->random_offset > 2)
        return refuse(why, "-z may be given once or twice, not %" PRId64 " times", c->random_offset);
    if (c->preallocate && c->deadline_s > 0)
        return refuse(why,
                      "-p takes the blocks of all that could be written, which with -D nobody knows: leave one of them out");
    if (c->wear_out && c->deadline_s == 0 && c->write)
        return refuse(why, "stoneWallingWearOut goes on after the deadline of -D: add -D");
    if (c->stonewall_file != NULL && c->write && c->deadline_s > 0 && !c->wear_out)
        return refuse(why, "stoneWallingStatusFile keeps one number for all processes: add stoneWallingWearOut=1");
    if (c->deadline_s > 0 && ior_config_lockstep(c))
        return refuse(why, "-D stops each process at another transfer, %s needs all to make the same",
                      c->collective ? "-c" : "-Y with a shared MPI-IO file");
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
    static int (*const checks[])(struct ior_config *, struct refusal *) = {check_store, check_memory, check_data,
                                                                           check_files, check_order,  check_summary};
    if (!c->write && !c->read && !c->check_write && !c->check_read)
        c->write = c->read = true;
    int refused = check_sizes(c, ranks, why);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && refused == 0; i++)
        refused = checks[i](c, why);
    return refused;
}
