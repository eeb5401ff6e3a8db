/* ior_summary: IOR's summary files: JSON and CSV of -O summaryFormat, in the layout of IOR 4. */
#include "ior/report.h"

#include "common/emit.h"
#include "common/version.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* The machine's name up to its number, as IOR has it. */
static void put_platform(void)
{
    struct utsname machine;
    char platform[256];
    uname(&machine);
    snprintf(platform, sizeof platform, "%.*s(%s)", (int)strcspn(machine.nodename, ".0123456789"), machine.nodename,
             machine.sysname);
    emit_string("platform", platform);
}

/* Of the file system as the test began. */
static void put_space(const struct cache_space *space)
{
    char text[64];
    if (space->files < 0)
        return;
    ior_format_size(text, sizeof text, space->bytes);
    emit_string("Capacity", text);
    snprintf(text, sizeof text, "%.1f%%", space->used_percent);
    emit_string("Used Capacity", text);
    snprintf(text, sizeof text, "%.1f Mi", space->files / (1 << 20));
    emit_string("Inodes", text);
    snprintf(text, sizeof text, "%.1f%%", space->used_files_percent);
    emit_string("Used Inodes", text);
}

static void put_parameters(const struct ior_record *record)
{
    const struct ior_config *c = &record->config;
    emit_group("Parameters", '{');
    emit_int("testID", record->number);
    emit_int("refnum", c->reference);
    emit_string("api", record->api);
    put_platform();
    emit_string("testFileName", c->test_file);
    emit_int("deadlineForStonewall", c->deadline_s);
    emit_int("stoneWallingWearOut", c->wear_out);
    emit_int("maxTimeDuration", c->most_minutes);
    emit_int("outlierThreshold", c->outlier_s);
    emit_int("nodes", record->nodes);
    emit_string("memoryPerNode", c->memory == NULL ? "0" : c->memory);
    emit_int("tasksPerNode", record->ranks_per_node);
    emit_int("repetitions", c->repetitions);
    emit_int("multiFile", c->multi_file);
    emit_real("interTestDelay", c->delay_s, c->delay_s == floor(c->delay_s) ? 0 : 6);
    emit_int("fsync", c->fsync);
    emit_int("fsyncperwrite", c->fsync_each);
    emit_int("useExistingTestFile", c->use_existing);
    emit_int("uniqueDir", c->unique_dir);
    emit_int("singleXferAttempt", c->one_attempt);
    emit_int("readFile", c->read);
    emit_int("writeFile", c->write);
    emit_int("filePerProc", c->file_per_process);
    emit_int("reorderTasks", c->reorder);
    emit_int("taskPerNodeOffset", c->node_offset);
    emit_int("reorderTasksRandom", c->random_tasks);
    emit_int("reorderTasksRandomSeed", c->reorder_seed);
    emit_int("randomOffset", c->random_offset);
    emit_int("checkWrite", c->check_write);
    emit_int("checkRead", c->check_read);
    emit_string("data packet type", c->packet);
    emit_int("keepFile", c->keep);
    emit_int("keepFileWithError", c->keep_with_error);
    emit_int("verbose", c->verbosity);
    emit_int("setTimeStampSignature/incompressibleSeed", c->signature);
    emit_int("collective", c->collective);
    emit_int("useO_DIRECT", c->direct);
    emit_int("queueDepth", c->queue_depth);
    emit_int("preallocate", c->reserve);
    emit_int("segmentCount", c->segments);
    emit_int("transferSize", c->transfer);
    emit_int("blockSize", c->block);
    emit_group_end('}');
}

static void put_options(const struct ior_record *record)
{
    const struct ior_config *c = &record->config;
    char size[32];
    emit_group("Options", '{');
    emit_string("api", record->api);
    emit_string("test filename", c->test_file);
    emit_string("access", c->file_per_process ? "file-per-process" : "single-shared-file");
    emit_string("type", c->collective ? "collective" : "independent");
    emit_int("segments", c->segments);
    emit_string("ordering in a file", ior_order_name(c));
    emit_string("ordering inter file", ior_reorder_name(c));
    if (c->reorder || c->random_tasks > 0)
        emit_int("task offset", c->node_offset);
    emit_int("nodes", record->nodes);
    emit_int("tasks", record->ranks);
    emit_int("clients per node", record->ranks_per_node);
    emit_int("repetitions", c->repetitions);
    ior_format_size(size, sizeof size, (double)c->transfer);
    emit_string("xfersize", size);
    ior_format_size(size, sizeof size, (double)c->block);
    emit_string("blocksize", size);
    ior_format_size(size, sizeof size, (double)c->block * (double)c->segments * record->ranks);
    emit_string("aggregate filesize", size);
    emit_group_end('}');
}

static void put_result(const struct ior_record *record, const struct ior_result *r)
{
    emit_group(NULL, '{');
    emit_string("access", ior_operation_name(r->operation));
    emit_real("bwMiB", r->rate_mib_s, 6);
    emit_real("blockKiB", (double)record->config.block / 1024, 6);
    emit_real("xferKiB", (double)record->config.transfer / 1024, 6);
    emit_real("iops", r->rate_ops_s, 6);
    emit_real("latency", r->latency_s, 6);
    emit_real("openTime", r->open_s, 6);
    emit_real("wrRdTime", r->move_s, 6);
    emit_real("closeTime", r->close_s, 6);
    emit_real("totalTime", r->total_s, 6);
    emit_int("iteration", r->iteration);
    emit_share("remoteShare", r->remote_share);
    emit_share("cachedShare", r->share.cached);
    emit_share("dirtyShare", r->share.dirty);
    emit_group_end('}');
}

static void put_test(const struct ior_record *record)
{
    char stamp[64];
    ior_format_time(stamp, sizeof stamp, record->started);
    emit_group(NULL, '{');
    emit_int("TestID", record->number);
    emit_string("StartTime", stamp);
    emit_string("Path", record->path);
    put_space(&record->space);
    put_parameters(record);
    put_options(record);
    emit_group("Results", '[');
    for (int i = 0; i < record->count; i++)
        put_result(record, &record->results[i]);
    emit_group_end(']');
    emit_group_end('}');
}

static void put_summary(const struct ior_record *record, enum ior_operation operation)
{
    const struct ior_config *c = &record->config;
    struct ior_statistics s;
    ior_record_statistics(record, operation, &s);
    if (s.n == 0)
        return;
    emit_group(NULL, '{');
    emit_string("operation", ior_operation_name(operation));
    emit_string("API", record->api);
    emit_int("TestID", record->number);
    emit_int("ReferenceNumber", c->reference);
    emit_int("segmentCount", c->segments);
    emit_int("blockSize", c->block);
    emit_int("transferSize", c->transfer);
    emit_int("numTasks", record->ranks);
    emit_int("tasksPerNode", record->ranks_per_node);
    emit_int("repetitions", s.n);
    emit_int("filePerProc", c->file_per_process);
    emit_int("reorderTasks", c->reorder);
    emit_int("taskPerNodeOffset", c->node_offset);
    emit_int("reorderTasksRandom", c->random_tasks);
    emit_int("reorderTasksRandomSeed", c->reorder_seed);
    emit_real("bwMaxMIB", s.mib_s.max, 6);
    emit_real("bwMinMIB", s.mib_s.min, 6);
    emit_real("bwMeanMIB", s.mib_s.mean, 6);
    emit_real("bwStdMIB", stats_population_stddev(&s.mib_s), 6);
    emit_real("OPsMax", s.ops_s.max, 6);
    emit_real("OPsMin", s.ops_s.min, 6);
    emit_real("OPsMean", s.ops_s.mean, 6);
    emit_real("OPsSD", stats_population_stddev(&s.ops_s), 6);
    emit_real("MeanTime", s.mean_s, 6);
    if (s.stonewall_s >= 0) {
        emit_real("StoneWallTime", s.stonewall_s, 6);
        emit_real("StoneWallMiB", s.stonewall_mib, 6);
    }
    emit_real("xsizeMiB", s.mib, 6);
    emit_group_end('}');
}

int ior_summary_json(const char *path, const struct ior_record *records, int count, time_t began, int argc, char **argv)
{
    struct utsname machine;
    char stamp[64], version[64], system[256];
    int error = emit_document(path);
    if (error != 0)
        return error;
    uname(&machine);
    snprintf(version, sizeof version, "campaign bench %s", version_number);
    snprintf(system, sizeof system, "%s %s", machine.sysname, machine.nodename);
    emit_string("Version", version);
    ior_format_time(stamp, sizeof stamp, began);
    emit_string("Began", stamp);
    emit_open_string("Command line");
    for (int i = 0; i < argc; i++) {
        emit_string_part(i == 0 ? "" : " ");
        emit_string_part(argv[i]);
    }
    emit_close_string();
    emit_string("Machine", system);
    emit_group("tests", '[');
    for (int i = 0; i < count; i++)
        put_test(&records[i]);
    emit_group_end(']');
    emit_group("summary", '[');
    for (int i = 0; i < count; i++)
        for (int operation = 0; operation < IOR_OPERATIONS; operation++)
            put_summary(&records[i], operation);
    emit_group_end(']');
    ior_format_time(stamp, sizeof stamp, time(NULL));
    emit_string("Finished", stamp);
    return emit_document_end();
}

int ior_summary_csv(const char *path, const struct ior_record *records, int count)
{
    FILE *file = path == NULL ? stdout : fopen(path, "we");
    if (file == NULL)
        return -errno;
    fprintf(file, "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n");
    for (int i = 0; i < count; i++)
        for (int j = 0; j < records[i].count; j++) {
            const struct ior_record *record = &records[i];
            const struct ior_result *r = &record->results[j];
            fprintf(file, "%s,%.6f,%.6f,%.9f,%.4f,%.4f,%.6f,%.6f,%.6f,%.6f,%d,%" PRId64 "\n",
                    ior_operation_name(r->operation), r->rate_mib_s, r->rate_ops_s, r->latency_s,
                    (double)record->config.block / 1024, (double)record->config.transfer / 1024, r->open_s, r->move_s,
                    r->close_s, r->total_s, record->ranks, r->iteration);
        }
    bool failed = ferror(file) != 0;
    failed = (file == stdout ? fflush(file) : fclose(file)) != 0 || failed;
    return !failed ? 0 : errno != 0 ? -errno : -EIO;
}
