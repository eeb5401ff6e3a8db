/* ior_record: results of a test, and numbers over them. */
#include "ior/report.h"

#include "common/die.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ior_record_add(struct ior_record *record, const struct ior_result *result)
{
    if (record->count == record->room) {
        record->room = record->room == 0 ? 16 : 2 * record->room;
        record->results = realloc(record->results, (size_t)record->room * sizeof *record->results);
        if (record->results == NULL)
            die("out of memory: %d results", record->room);
    }
    record->results[record->count++] = *result;
}

void ior_record_statistics(const struct ior_record *record, enum ior_operation operation, struct ior_statistics *s)
{
    struct stats seconds = {0}, mib = {0}, stonewall_s = {0}, stonewall_mib = {0};
    *s = (struct ior_statistics){0};
    for (int i = 0; i < record->count; i++) {
        const struct ior_result *r = &record->results[i];
        if (r->operation != operation)
            continue;
        stats_add(&s->mib_s, r->rate_mib_s);
        stats_add(&s->ops_s, r->rate_ops_s);
        stats_add(&seconds, r->total_s);
        stats_add(&mib, (double)r->bytes / (1 << 20));
        if (r->stonewall_s < 0)
            continue;
        stats_add(&stonewall_s, r->stonewall_s);
        stats_add(&stonewall_mib, (double)r->stonewall_bytes / (1 << 20));
    }
    s->n = (int)seconds.n;
    s->mean_s = seconds.mean;
    s->mib = mib.mean;
    s->stonewall_s = stonewall_s.n > 0 ? stonewall_s.mean : -1;
    s->stonewall_mib = stonewall_mib.mean;
}

void ior_format_size(char *out, size_t out_bytes, double bytes)
{
    static const char *const units[] = {"MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1 << 20) {
        snprintf(out, out_bytes, "%.0f bytes", bytes);
        return;
    }
    double value = bytes / (1 << 20);
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    bool whole = value == floor(value);
    snprintf(out, out_bytes, "%.*f %s", whole ? 0 : 2, value, units[unit]);
}

void ior_format_time(char *out, size_t out_bytes, time_t when)
{
    struct tm local;
    strftime(out, out_bytes, "%a %b %e %H:%M:%S %Y", localtime_r(&when, &local));
}

const char *ior_order_name(const struct ior_config *config)
{
    static const char *const names[] = {"sequential", "random", "random, with repetitions"};
    return names[config->random_offset];
}

const char *ior_reorder_name(const struct ior_config *config)
{
    return config->reorder                ? "constant task offset"
           : config->random_tasks == 1 ? "random task offset"
           : config->random_tasks == 2 ? "random permutation of tasks"
                                       : "no tasks offsets";
}
