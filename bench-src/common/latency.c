/* latency: how long single operations took. */
#include "common/latency.h"

#include "common/die.h"
#include "common/emit.h"
#include "common/timer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t shortest_ns = 1000000000; /* interval */

static const struct {
    const char *key, *name;
    double share;
} quantiles[LATENCY_QUANTILES] = {
    {"p50", "p50", 0.5}, {"p90", "p90", 0.9},      {"p95", "p95", 0.95},
    {"p99", "p99", 0.99}, {"p999", "p99.9", 0.999}, {"max", "max", 1},
};

struct latency *latency_new(void)
{
    return die_alloc(sizeof(void *), sizeof(struct latency));
}

void latency_free(struct latency *latency)
{
    if (latency != NULL)
        free(latency->kept);
    free(latency);
}

void latency_begin(struct latency *latency, uint64_t now_ns)
{
    memset(&latency->hist, 0, sizeof latency->hist);
    latency->begun_ns = now_ns;
    latency->interval_ns = shortest_ns;
    latency->until_ns = now_ns + shortest_ns;
    latency->count = 0;
}

/* Puts what the histogram has behind the intervals that are over. */
static void keep(struct latency *latency)
{
    int64_t end = latency->from[latency->count];
    if (latency->room - end < STATS_HIST_BUCKETS) {
        latency->room = 2 * latency->room + STATS_HIST_BUCKETS;
        latency->kept = realloc(latency->kept, (size_t)latency->room * sizeof *latency->kept);
        if (latency->kept == NULL)
            die("out of memory: %" PRId64 " buckets of --latency", latency->room);
    }
    for (uint64_t i = 0; i < STATS_HIST_BUCKETS; i++)
        if (latency->hist.counts[i] > 0)
            latency->kept[end++] = (uint64_t)latency->hist.counts[i] << 16 | i;
    latency->from[++latency->count] = end;
    memset(&latency->hist, 0, sizeof latency->hist);
}

static void add_interval(const struct latency *latency, int interval, struct stats_hist *hist)
{
    for (int64_t i = latency->from[interval]; i < latency->from[interval + 1]; i++)
        hist->counts[latency->kept[i] & 0xffff] += (int64_t)(latency->kept[i] >> 16);
}

/* None is at work. What a pair comes to is never longer than what it was. */
static void merge_pairs(struct latency *latency)
{
    int pairs = (latency->count + 1) / 2;
    latency_extend(latency, 2 * pairs);
    latency->count = 0;
    for (int pair = 0; pair < pairs; pair++) {
        add_interval(latency, 2 * pair, &latency->hist);
        add_interval(latency, 2 * pair + 1, &latency->hist);
        keep(latency);
    }
    latency->interval_ns *= 2;
}

void latency_extend(struct latency *latency, int count)
{
    for (; latency->count < count; latency->count++)
        latency->from[latency->count + 1] = latency->from[latency->count];
}

void latency_coarsen(struct latency *latency, uint64_t interval_ns)
{
    while (latency->interval_ns < interval_ns)
        merge_pairs(latency);
}

void latency_turn(struct latency *latency, uint64_t now_ns)
{
    uint64_t elapsed_ns = now_ns - latency->begun_ns;
    keep(latency);
    while (elapsed_ns / latency->interval_ns >= LATENCY_INTERVALS) {
        latency_extend(latency, LATENCY_INTERVALS);
        merge_pairs(latency);
    }
    latency_extend(latency, (int)(elapsed_ns / latency->interval_ns));
    latency->until_ns = latency->begun_ns + ((uint64_t)latency->count + 1) * latency->interval_ns;
}

void latency_end(struct latency *latency, uint64_t now_ns)
{
    if (now_ns >= latency->until_ns)
        latency_turn(latency, now_ns);
    keep(latency);
    latency->elapsed_s = timer_s(latency->begun_ns, now_ns);
}

void latency_reduce(struct latency *latency, MPI_Comm comm)
{
    struct latency all = {.begun_ns = latency->begun_ns};
    int rank, count;
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(&latency->elapsed_s, &all.elapsed_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(&latency->interval_ns, &all.interval_ns, 1, MPI_UINT64_T, MPI_MAX, comm);
    latency_coarsen(latency, all.interval_ns);
    MPI_Allreduce(&latency->count, &count, 1, MPI_INT, MPI_MAX, comm);
    latency_extend(latency, count);
    for (int i = 0; i < count; i++) {
        struct stats_hist hist;
        latency_interval(latency, i, &hist);
        MPI_Reduce(hist.counts, all.hist.counts, STATS_HIST_BUCKETS, MPI_INT64_T, MPI_SUM, 0, comm);
        if (rank == 0)
            keep(&all);
    }
    if (rank != 0)
        return;
    free(latency->kept);
    *latency = all;
    for (int i = 0; i < count; i++)
        add_interval(latency, i, &latency->hist);
}

void latency_interval(const struct latency *latency, int interval, struct stats_hist *hist)
{
    memset(hist, 0, sizeof *hist);
    add_interval(latency, interval, hist);
}

const char *latency_name(int quantile)
{
    return quantiles[quantile].name;
}

double latency_us(const struct stats_hist *hist, int quantile)
{
    return (double)stats_hist_quantile(hist, quantiles[quantile].share) * 1e-3;
}

void latency_emit(const char *key, const struct stats_hist *hist)
{
    emit_group(key, '{');
    for (int i = 0; i < LATENCY_QUANTILES; i++)
        emit_seconds(quantiles[i].key, latency_us(hist, i) * 1e-6);
    emit_group_end('}');
}

void latency_emit_interval(const struct latency *latency, int interval)
{
    const int64_t first = latency->from[interval], end = latency->from[interval + 1];
    const double interval_s = (double)latency->interval_ns * 1e-9, start_s = interval * interval_s;
    const double left_s = latency->elapsed_s - start_s;
    struct stats_hist hist;
    int64_t count = 0;
    latency_interval(latency, interval, &hist);
    for (int64_t i = first; i < end; i++)
        count += (int64_t)(latency->kept[i] >> 16);
    emit_seconds("start_s", start_s);
    emit_seconds("length_s", left_s < interval_s ? left_s : interval_s);
    emit_int("count", count);
    if (count > 0)
        latency_emit("percentiles_s", &hist);
    else
        emit_null("percentiles_s");
    emit_group("bucket_ns", '[');
    for (int64_t i = first; i < end; i++)
        emit_int(NULL, (int64_t)stats_hist_limit((int)(latency->kept[i] & 0xffff)));
    emit_group_end(']');
    emit_group("counts", '[');
    for (int64_t i = first; i < end; i++)
        emit_int(NULL, (int64_t)(latency->kept[i] >> 16));
    emit_group_end(']');
}
