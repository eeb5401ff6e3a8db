/* stats: numbers over repetitions (max, min, mean, sample standard deviation) and a latency histogram. Pure. */
#pragma once

#include <stdint.h>

/* Starts as all zeros. */
struct stats {
    int64_t n;
    double max, min, mean;
    double square_sum; /* of the distances from the mean (Welford) */
};

void stats_add(struct stats *stats, double value);

/* Standard deviation of a sample (n - 1; 0 for fewer than two values), and of the values as all there are (n). */
double stats_stddev(const struct stats *stats);
double stats_population_stddev(const struct stats *stats);

/* Counts of durations in ns, in buckets of at most 1/32 relative width: the same size whatever is recorded, and two of
 * them merge by adding their counts element by element. Starts as all zeros. */
enum { STATS_HIST_BUCKETS = 32 * 60 };
struct stats_hist {
    int64_t counts[STATS_HIST_BUCKETS];
};

void stats_hist_add(struct stats_hist *hist, uint64_t ns);

/* Largest duration that counts in the bucket. */
uint64_t stats_hist_limit(int bucket);

/* Smallest bucket limit in ns that at least the share (0 to 1) of the counts does not exceed; 0 where nothing was counted. */
uint64_t stats_hist_quantile(const struct stats_hist *hist, double share);
