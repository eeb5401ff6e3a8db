/* ior_summary: IOR's summary files: JSON and CSV of -O summaryFormat, in the layout of IOR 4. */
#include "ior/report.h"

#include "common/emit.h"
#include "common/version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* A JSON file being written: members and items, with a comma before all but the first. */
struct writer {
    FILE *file;
    bool first;
    int error; /* first failure, as -errno */
};

static void check(struct writer *out, bool failed)
{
    if (failed && out->error == 0)
        out->error = errno != 0 ? -errno : -EIO;
}

static void put(struct writer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct writer *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    check(out, vfprintf(out->file, format, args) < 0);
    va_end(args);
}

static void key(struct writer *out, const char *name)
{
    put(out, out->first ? "\n" : ",\n");
    out->first = false;
    if (name != NULL)
        put(out, "\"%s\": ", name);
}

static void group(struct writer *out, const char *name, char bracket)
{
    key(out, name);
    put(out, "%c", bracket);
    out->first = true;
}

static void end(struct writer *out, char bracket)
{
    put(out, "\n%c", bracket);
    out->first = false;
}

static void text(struct writer *out, const char *name, const char *value)
{
    key(out, name);
    put(out, "\"");
    check(out, emit_escape(out->file, value) != 0);
    put(out, "\"");
}

static void whole(struct writer *out, const char *name, int64_t value)
{
    key(out, name);
    put(out, "%" PRId64, value);
}

static void real(struct writer *out, const char *name, double value)
{
    key(out, name);
    put(out, "%.6f", value);
}

static void share(struct writer *out, const char *name, double value)
{
    if (value >= 0) {
        real(out, name, value);
    } else {
        key(out, name);
        put(out, "null");
    }
}

static void put_parameters(struct writer *out, const struct ior_record *record)
{
    const struct ior_config *c = &record->config;
    group(out, "Parameters", '{');
    whole(out, "testID", record->number);
    whole(out, "refnum", c->reference);
    text(out, "api", record->api);
    text(out, "testFileName", c->test_file);
    whole(out, "deadlineForStonewall", c->deadline_s);
    whole(out, "stoneWallingWearOut", c->wear_out);
    whole(out, "maxTimeDuration", c->most_minutes);
    whole(out, "nodes", record->nodes);
    text(out, "memoryPerNode", c->memory == NULL ? "0" : c->memory);
    whole(out, "tasksPerNode", record->ranks_per_node);
    whole(out, "repetitions", c->repetitions);
    whole(out, "multiFile", c->multi_file);
    whole(out, "interTestDelay", c->delay_s);
    whole(out, "fsync", c->fsync);
    whole(out, "fsyncperwrite", c->fsync_each);
    whole(out, "useExistingTestFile", c->use_existing);
    whole(out, "uniqueDir", c->unique_dir);
    whole(out, "singleXferAttempt", c->one_attempt);
    whole(out, "readFile", c->read);
    whole(out, "writeFile", c->write);
    whole(out, "filePerProc", c->file_per_process);
    whole(out, "reorderTasks", c->reorder);
    whole(out, "taskPerNodeOffset", c->node_offset);
    whole(out, "reorderTasksRandom", c->random_tasks);
    whole(out, "reorderTasksRandomSeed", c->reorder_seed);
    whole(out, "randomOffset", c->random_offset);
    whole(out, "checkWrite", c->check_write);
    whole(out, "checkRead", c->check_read);
    text(out, "data packet type", c->packet);
    whole(out, "keepFile", c->keep);
    whole(out, "keepFileWithError", c->keep_with_error);
    whole(out, "verbose", c->verbosity);
    whole(out, "setTimeStampSignature/incompressibleSeed", c->signature);
    whole(out, "collective", c->collective);
    whole(out, "useO_DIRECT", c->direct);
    whole(out, "queueDepth", c->queue_depth);
    whole(out, "preallocate", c->reserve);
    whole(out, "segmentCount", c->segments);
    whole(out, "transferSize", c->transfer);
    whole(out, "blockSize", c->block);
    end(out, '}');
}

static void put_options(struct writer *out, const struct ior_record *record)
{
    const struct ior_config *c = &record->config;
    char size[32];
    group(out, "Options", '{');
    text(out, "api", record->api);
    text(out, "test filename", c->test_file);
    text(out, "access", c->file_per_process ? "file-per-process" : "single-shared-file");
    text(out, "type", c->collective ? "collective" : "independent");
    whole(out, "segments", c->segments);
    text(out, "ordering in a file", ior_order_name(c));
    text(out, "ordering inter file", ior_reorder_name(c));
    if (c->reorder || c->random_tasks > 0)
        whole(out, "task offset", c->node_offset);
    whole(out, "nodes", record->nodes);
    whole(out, "tasks", record->ranks);
    whole(out, "clients per node", record->ranks_per_node);
    whole(out, "repetitions", c->repetitions);
    ior_format_size(size, sizeof size, (double)c->transfer);
    text(out, "xfersize", size);
    ior_format_size(size, sizeof size, (double)c->block);
    text(out, "blocksize", size);
    ior_format_size(size, sizeof size, (double)c->block * (double)c->segments * record->ranks);
    text(out, "aggregate filesize", size);
    end(out, '}');
}

static void put_result(struct writer *out, const struct ior_record *record, const struct ior_result *r)
{
    group(out, NULL, '{');
    text(out, "access", ior_operation_name(r->operation));
    real(out, "bwMiB", r->rate_mib_s);
    real(out, "blockKiB", (double)record->config.block / 1024);
    real(out, "xferKiB", (double)record->config.transfer / 1024);
    real(out, "iops", r->rate_ops_s);
    real(out, "latency", r->latency_s);
    real(out, "openTime", r->open_s);
    real(out, "wrRdTime", r->move_s);
    real(out, "closeTime", r->close_s);
    real(out, "totalTime", r->total_s);
    whole(out, "iteration", r->iteration);
    share(out, "remoteShare", r->remote_share);
    share(out, "cachedShare", r->share.cached);
    share(out, "dirtyShare", r->share.dirty);
    end(out, '}');
}

static void put_test(struct writer *out, const struct ior_record *record)
{
    char stamp[64];
    ior_format_time(stamp, sizeof stamp, record->started);
    group(out, NULL, '{');
    whole(out, "TestID", record->number);
    text(out, "StartTime", stamp);
    text(out, "Path", record->path);
    put_parameters(out, record);
    put_options(out, record);
    group(out, "Results", '[');
    for (int i = 0; i < record->count; i++)
        put_result(out, record, &record->results[i]);
    end(out, ']');
    end(out, '}');
}

static void put_summary(struct writer *out, const struct ior_record *record, enum ior_operation operation)
{
    const struct ior_config *c = &record->config;
    struct ior_statistics s;
    ior_record_statistics(record, operation, &s);
    if (s.n == 0)
        return;
    group(out, NULL, '{');
    text(out, "operation", ior_operation_name(operation));
    text(out, "API", record->api);
    whole(out, "TestID", record->number);
    whole(out, "ReferenceNumber", c->reference);
    whole(out, "segmentCount", c->segments);
    whole(out, "blockSize", c->block);
    whole(out, "transferSize", c->transfer);
    whole(out, "numTasks", record->ranks);
    whole(out, "tasksPerNode", record->ranks_per_node);
    whole(out, "repetitions", s.n);
    whole(out, "filePerProc", c->file_per_process);
    whole(out, "reorderTasks", c->reorder);
    whole(out, "taskPerNodeOffset", c->node_offset);
    whole(out, "reorderTasksRandom", c->random_tasks);
    whole(out, "reorderTasksRandomSeed", c->reorder_seed);
    real(out, "bwMaxMIB", s.max_mib_s);
    real(out, "bwMinMIB", s.min_mib_s);
    real(out, "bwMeanMIB", s.mean_mib_s);
    real(out, "bwStdMIB", s.stddev_mib_s);
    real(out, "OPsMax", s.max_ops_s);
    real(out, "OPsMin", s.min_ops_s);
    real(out, "OPsMean", s.mean_ops_s);
    real(out, "OPsSD", s.stddev_ops_s);
    real(out, "MeanTime", s.mean_s);
    if (s.stonewall_s >= 0) {
        real(out, "StoneWallTime", s.stonewall_s);
        real(out, "StoneWallMiB", s.stonewall_mib);
    }
    real(out, "xsizeMiB", s.mib);
    end(out, '}');
}

static FILE *open_summary(const char *path)
{
    return path == NULL ? stdout : fopen(path, "we");
}

static int close_summary(struct writer *out)
{
    bool failed = out->file == stdout ? fflush(stdout) != 0 : fclose(out->file) != 0;
    check(out, failed);
    return out->error;
}

static void put_arguments(struct writer *out, int argc, char **argv)
{
    key(out, "Command line");
    put(out, "\"");
    for (int i = 0; i < argc; i++) {
        put(out, "%s", i == 0 ? "" : " ");
        check(out, emit_escape(out->file, argv[i]) != 0);
    }
    put(out, "\"");
}

int ior_summary_json(const char *path, const struct ior_record *records, int count, time_t began, int argc, char **argv)
{
    struct writer out = {.file = open_summary(path), .first = true};
    struct utsname machine;
    char stamp[64], version[64], system[256];
    if (out.file == NULL)
        return -errno;
    uname(&machine);
    snprintf(version, sizeof version, "campaign bench %s", version_number);
    snprintf(system, sizeof system, "%s %s", machine.sysname, machine.nodename);
    put(&out, "{");
    text(&out, "Version", version);
    ior_format_time(stamp, sizeof stamp, began);
    text(&out, "Began", stamp);
    put_arguments(&out, argc, argv);
    text(&out, "Machine", system);
    group(&out, "tests", '[');
    for (int i = 0; i < count; i++)
        put_test(&out, &records[i]);
    end(&out, ']');
    group(&out, "summary", '[');
    for (int i = 0; i < count; i++)
        for (int operation = IOR_WRITE; operation <= IOR_READ; operation++)
            put_summary(&out, &records[i], operation);
    end(&out, ']');
    ior_format_time(stamp, sizeof stamp, time(NULL));
    text(&out, "Finished", stamp);
    put(&out, "\n}\n");
    return close_summary(&out);
}

int ior_summary_csv(const char *path, const struct ior_record *records, int count)
{
    struct writer out = {.file = open_summary(path)};
    if (out.file == NULL)
        return -errno;
    put(&out, "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n");
    for (int i = 0; i < count; i++)
        for (int j = 0; j < records[i].count; j++) {
            const struct ior_record *record = &records[i];
            const struct ior_result *r = &record->results[j];
            put(&out, "%s,%.6f,%.6f,%.9f,%.4f,%.4f,%.6f,%.6f,%.6f,%.6f,%d,%" PRId64 "\n",
                ior_operation_name(r->operation), r->rate_mib_s, r->rate_ops_s, r->latency_s,
                (double)record->config.block / 1024, (double)record->config.transfer / 1024, r->open_s, r->move_s,
                r->close_s, r->total_s, record->ranks, r->iteration);
        }
    return close_summary(&out);
}
