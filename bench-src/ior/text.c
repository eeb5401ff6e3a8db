/* ior_text: text in the form of IOR 4: header, options, a row for each phase, summary. */
#include "ior/report.h"

#include "common/emit.h"
#include "common/latency.h"
#include "common/version.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static bool silent;

void ior_text_silence(void)
{
    silent = true;
}

bool ior_text_is_silent(void)
{
    return silent;
}

void ior_text_say(const char *format, ...)
{
    char text[PATH_MAX + 1024];
    va_list args;
    if (silent)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    emit_text("%s", text);
}

/* As a shell takes it. */
static void say_argument(const char *argument)
{
    bool plain = argument[0] != '\0' && argument[strspn(argument, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                                 "0123456789%+,-./:=@_")] == '\0';
    ior_text_say(plain ? " " : " '");
    for (const char *at = argument; *at != '\0'; at++)
        ior_text_say(*at == '\'' ? "'\\''" : "%c", *at);
    ior_text_say(plain ? "" : "'");
}

void ior_text_header(int argc, char **argv)
{
    struct utsname machine;
    char stamp[64];
    ior_format_time(stamp, sizeof stamp, time(NULL));
    uname(&machine);
    ior_text_say("ior (campaign bench %s): parallel reads and writes, output in the form of IOR 4\n", version_number);
    ior_text_say("Began               : %s\n", stamp);
    ior_text_say("Command line        :");
    for (int i = 0; i < argc; i++)
        say_argument(argv[i]);
    ior_text_say("\n");
    ior_text_say("Machine             : %s %s\n", machine.sysname, machine.nodename);
}

static void say_space(const struct cache_space *space)
{
    char size[32];
    if (space->files < 0)
        return; /* what is wrong with the path is reported when the test uses it */
    ior_format_size(size, sizeof size, space->bytes);
    ior_text_say("FS                  : %s   Used FS: %.1f%%   Inodes: %.1f Mi   Used Inodes: %.1f%%\n", size,
                 space->used_percent, space->files / (1 << 20), space->used_files_percent);
}

static void say_reorder(const struct ior_test *test)
{
    const struct ior_config *c = test->config;
    ior_text_say("ordering inter file : %s\n", ior_reorder_name(c));
    if (c->reorder || c->random_tasks > 0)
        ior_text_say("task offset         : %" PRId64 "\n", c->node_offset);
    if (c->random_tasks > 0)
        ior_text_say("reorder random seed : %" PRId64 "\n", c->reorder_seed);
}

static void say_data(const struct ior_test *test)
{
    static const char *const kinds[] = {"unique", "timestamp", "offset"};
    const struct ior_config *c = test->config;
    if (c->signature != 0)
        ior_text_say("data                : %s, signature %" PRId64 "\n", kinds[c->kind], c->signature);
    else
        ior_text_say("data                : %s, signature chosen for each repetition\n", kinds[c->kind]);
}

static void say_size(const char *name, double bytes)
{
    char size[32];
    ior_format_size(size, sizeof size, bytes);
    ior_text_say("%-20s: %s\n", name, size);
}

void ior_text_test(const struct ior_test *test, const struct ior_record *record)
{
    const struct ior_config *c = test->config;
    const struct ior_plan *plan = &test->plan;
    char stamp[64];
    ior_format_time(stamp, sizeof stamp, record->started);
    ior_text_say("TestID              : %d\nStartTime           : %s\n", record->number, stamp);
    ior_text_say("Path                : %s\n", record->path);
    say_space(&record->space);
    ior_text_say("\nOptions: \napi                 : %s\napiVersion          : %s\n", record->api,
                 test->store->version == NULL ? "" : test->store->version());
    ior_text_say("test filename       : %s\n", c->test_file);
    ior_text_say("access              : %s\n", c->file_per_process ? "file-per-process" : "single-shared-file");
    ior_text_say("type                : %s\n", c->collective ? "collective" : "independent");
    ior_text_say("segments            : %" PRId64 "\n", c->segments);
    ior_text_say("ordering in a file  : %s\n", ior_order_name(c));
    say_reorder(test);
    ior_text_say("nodes               : %d\ntasks               : %d\nclients per node    : %d\n", record->nodes,
                 record->ranks, record->ranks_per_node);
    if (c->memory != NULL)
        ior_text_say("memoryPerNode       : %s\n", c->memory);
    if (c->memory_per_task > 0)
        say_size("memoryPerTask", (double)c->memory_per_task);
    if (test->store->submit != NULL)
        ior_text_say("queue depth         : %" PRId64 "\n", c->queue_depth);
    if (c->reserve)
        ior_text_say("preallocated        : 1\n");
    ior_text_say("repetitions         : %" PRId64 "\n", c->repetitions);
    say_size("xfersize", (double)c->transfer);
    say_size("blocksize", (double)c->block);
    say_size("aggregate filesize", (double)plan->per_rank * (double)c->transfer * plan->ranks);
    if (c->deadline_s > 0)
        ior_text_say("stonewallingTime    : %" PRId64 "\nstoneWallingWearOut : %d\n", c->deadline_s, c->wear_out);
    if (c->least_s > 0)
        ior_text_say("minTimeDuration     : %" PRId64 "\n", c->least_s);
    if (c->most_steps > 0)
        ior_text_say("transfers at most   : %" PRId64 "\n", c->most_steps);
    if (c->transfer_pause_us > 0)
        ior_text_say("interIODelay        : %" PRId64 " us\n", c->transfer_pause_us);
    if (c->mixed > 0) {
        int readers = ior_mix_readers(c->mixed, record->ranks);
        ior_text_say("mixed               : %d tasks read, %d write\n", readers, record->ranks - readers);
    }
    if (c->prefill > 0)
        say_size("randomPrefill", (double)c->prefill);
    if (c->verbosity > 0)
        ior_text_say("verbose             : %" PRId64 "\n", c->verbosity);
    say_data(test);
    if (test->file_system != NULL)
        ior_text_say("file system         : %s\n", test->file_system);
    ior_text_say("\nResults: \n\n");
}

void ior_text_columns(void)
{
    ior_text_say("access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   "
                 "total(s)   iter\n"
                 "------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   "
                 "--------   ----\n");
}

void ior_text_share(const struct ior_test *test, const struct ior_result *result)
{
    const struct ior_share *share = &result->share;
    if (!test->store->uses_page_cache)
        return;
    if (share->method == NULL)
        ior_text_say("Page cache before read: unknown; ");
    else
        ior_text_say("Page cache before read: %.1f%% of the bytes (%s); ", 100 * share->cached, share->method);
    ior_text_say("written on another node: %.1f%%\n", 100 * result->remote_share);
}

void ior_text_row(const struct ior_test *test, const struct ior_result *r)
{
    const struct rank_rates *rates = &r->rank_rates_mib_s;
    ior_text_say("%-10s%-10.3f %-10.3f %-11.6f %-10.2f %-10.2f %-10.6f %-10.6f %-10.6f %-10.6f %-4" PRId64 "\n",
                 ior_operation_name(r->operation), r->rate_mib_s, r->rate_ops_s, r->latency_s,
                 (double)test->plan.block / 1024, (double)test->plan.transfer / 1024, r->open_s, r->move_s, r->close_s,
                 r->total_s, r->iteration);
    if (r->operation == IOR_WRITE && test->config->signature == 0 && (test->config->keep || test->config->verbosity > 0))
        ior_text_say("Signature of the data (for -G): %" PRId64 "\n", r->signature);
    if (test->config->verbosity > 1)
        ior_text_say("Ranks: fastest %.3f, median %.3f, slowest %.3f MiB/s (rank %d on %s); fsync %.6f s\n",
                     rates->fastest, rates->median, rates->slowest, rates->slowest_rank, rates->slowest_node, r->sync_s);
}

void ior_text_watch(const struct ior_test *test, const struct ior_result *r)
{
    const struct ior_watch *watch = r->watch;
    if (!test->config->latency)
        return;
    double interval_s = (double)watch->timeline.interval_ns * 1e-9;
    ior_text_say("Latency of %s (us):", ior_operation_name(r->operation));
    for (int i = 0; i < LATENCY_QUANTILES; i++)
        ior_text_say(" %s %.3f", latency_name(i), latency_us(&watch->latency->hist, i));
    ior_text_say("\nBandwidth of %s over time (MiB/s in each %.3f s):", ior_operation_name(r->operation), interval_s);
    for (int i = 0; i < watch->timeline.used; i++)
        ior_text_say(" %.1f", (double)watch->timeline.bytes[i] / (1 << 20) / interval_s);
    ior_text_say("\n");
}

void ior_text_invalid(const struct ior_test *test, enum ior_operation operation, int64_t failed)
{
    ior_text_say("%-10sINVALID: %" PRId64 " operations failed in repetition %" PRId64 "\n", ior_operation_name(operation),
                 failed, test->iteration);
}

void ior_text_removed(const struct ior_test *test, double elapsed_s)
{
    if (test->config->verbosity > 0)
        ior_text_say("%-10s%-10s %-10s %-11s %-10s %-10s %-10s %-10s %-10s %-10.6f %-4" PRId64 "\n", "remove", "-", "-",
                     "-", "-", "-", "-", "-", "-", elapsed_s, test->iteration);
}

void ior_text_best(const struct ior_record *record)
{
    static const char *const names[] = {"Max Write: ", "Max Read:  ", "Max Mix-Write: ", "Max Mix-Read:  "};
    struct ior_statistics s;
    for (int operation = 0; operation < IOR_OPERATIONS; operation++) {
        ior_record_statistics(record, operation, &s);
        if (s.n > 0)
            ior_text_say("%s%.3f MiB/sec (%.3f MB/sec)\n", names[operation], s.mib_s.max, s.mib_s.max * 1.048576);
    }
    ior_text_say("\n");
}

static void say_summary_line(const struct ior_record *record, enum ior_operation operation)
{
    const struct ior_config *c = &record->config;
    struct ior_statistics s;
    char stonewall_s[32] = "NA", stonewall_mib[32] = "NA";
    ior_record_statistics(record, operation, &s);
    if (s.n == 0)
        return;
    if (s.stonewall_s >= 0) {
        snprintf(stonewall_s, sizeof stonewall_s, "%.2f", s.stonewall_s);
        snprintf(stonewall_mib, sizeof stonewall_mib, "%.2f", s.stonewall_mib);
    }
    ior_text_say("%-9s %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.3f %10.5f", ior_operation_name(operation),
                 s.mib_s.max, s.mib_s.min, s.mib_s.mean, stats_population_stddev(&s.mib_s), s.ops_s.max, s.ops_s.min,
                 s.ops_s.mean, stats_population_stddev(&s.ops_s), s.mean_s);
    ior_text_say(" %10s %13s %5d %6d %3d %4d %3d %5d %8" PRId64 " %9" PRId64 " %4" PRId64, stonewall_s, stonewall_mib,
                 record->number, record->ranks, record->ranks_per_node, s.n, c->file_per_process, c->reorder,
                 c->node_offset, c->random_tasks, c->reorder_seed);
    ior_text_say(" %6" PRId64 " %8" PRId64 " %8" PRId64 " %9.1f %-5s %6" PRId64 "\n", c->segments, c->block, c->transfer,
                 s.mib, record->api, c->reference);
}

void ior_text_summary(const struct ior_record *records, int count, int64_t failed)
{
    char stamp[64];
    ior_text_say("Summary of all tests:\n"
                 "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    "
                 "Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   "
                 "blksiz    xsize aggs(MiB)   API RefNum\n");
    for (int i = 0; i < count; i++)
        for (int operation = 0; operation < IOR_OPERATIONS; operation++)
            say_summary_line(&records[i], operation);
    if (failed > 0)
        ior_text_say("INVALID: %" PRId64 " operations failed: the repetitions in which they did are in no number above.\n", failed);
    ior_format_time(stamp, sizeof stamp, time(NULL));
    ior_text_say("Finished            : %s\n", stamp);
}
