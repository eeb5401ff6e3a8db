/* latency: percentiles of a histogram of single operations' times. */
#pragma once

#include "common/stats.h"

enum { LATENCY_QUANTILES = 5 };

/* In microseconds, with their names: p50, p90, p99, p99.9 and max. */
const char *latency_name(int quantile);
double latency_us(const struct stats_hist *hist, int quantile);

/* A group of a JSON line, in seconds: {"p50": …, "p90": …, "p99": …, "p999": …, "max": …}. */
void latency_emit(const char *key, const struct stats_hist *hist);
