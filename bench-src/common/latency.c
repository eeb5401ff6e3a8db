/* latency: percentiles of a histogram. */
#include "common/latency.h"

#include "common/emit.h"

static const struct {
    const char *key, *name;
    double share;
} quantiles[LATENCY_QUANTILES] = {
    {"p50", "p50", 0.5}, {"p90", "p90", 0.9}, {"p99", "p99", 0.99}, {"p999", "p99.9", 0.999}, {"max", "max", 1},
};

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
