/* stats: numbers over repetitions and a latency histogram. Pure. */
#include "common/stats.h"

#include <math.h>

void stats_add(struct stats *stats, double value)
{
    if (stats->n == 0 || value > stats->max)
        stats->max = value;
    if (stats->n == 0 || value < stats->min)
        stats->min = value;
    stats->n++;
    double before = value - stats->mean;
    stats->mean += before / (double)stats->n;
    stats->square_sum += before * (value - stats->mean);
}

double stats_stddev(const struct stats *stats)
{
    return stats->n < 2 ? 0.0 : sqrt(stats->square_sum / (double)(stats->n - 1));
}

double stats_population_stddev(const struct stats *stats)
{
    return stats->n == 0 ? 0.0 : sqrt(stats->square_sum / (double)stats->n);
}

/* Values below 64 have a bucket each; above, every power of two is cut into 32. */
static int bucket_of(uint64_t ns)
{
    if (ns < 64)
        return (int)ns;
    int shift = 63 - __builtin_clzll(ns) - 5;
    return 32 * shift + (int)(ns >> shift);
}

uint64_t stats_hist_limit(int bucket)
{
    if (bucket < 64)
        return (uint64_t)bucket;
    int shift = bucket / 32 - 1;
    uint64_t top = (uint64_t)(bucket - 32 * shift);
    return ((top + 1) << shift) - 1;
}

void stats_hist_add(struct stats_hist *hist, uint64_t ns)
{
    hist->counts[bucket_of(ns)]++;
}

uint64_t stats_hist_quantile(const struct stats_hist *hist, double share)
{
    int64_t total = 0, seen = 0;
    for (int i = 0; i < STATS_HIST_BUCKETS; i++)
        total += hist->counts[i];
    if (total == 0)
        return 0;
    for (int i = 0; i < STATS_HIST_BUCKETS; i++) {
        seen += hist->counts[i];
        if (hist->counts[i] > 0 && (double)seen >= share * (double)total)
            return stats_hist_limit(i);
    }
    return stats_hist_limit(STATS_HIST_BUCKETS - 1);
}
