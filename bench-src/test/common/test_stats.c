/* Description: numbers over repetitions, and quantiles of the latency histogram. */
#include "common/stats.h"
#include "test/check.h"

#include <math.h>
#include <stdbool.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

int main(void)
{
    struct stats stats = {0};
    CHECK(stats_stddev(&stats) == 0);
    stats_add(&stats, 290419.014);
    CHECK(stats.max == 290419.014 && stats.min == 290419.014 && stats.mean == 290419.014);
    CHECK(stats_stddev(&stats) == 0);
    stats_add(&stats, 2);
    stats_add(&stats, 7);
    CHECK(stats.max == 290419.014 && stats.min == 2);
    CHECK(near(stats.mean, (290419.014 + 2 + 7) / 3));

    struct stats even = {0};
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    for (int i = 0; i < 8; i++)
        stats_add(&even, values[i]);
    CHECK(near(even.mean, 5));
    CHECK(near(stats_stddev(&even), sqrt(32.0 / 7))); /* sample, not population */

    struct stats_hist hist = {{0}};
    CHECK_INT((int64_t)stats_hist_quantile(&hist, 0.5), 0);
    for (uint64_t ns = 1; ns <= 100000; ns++)
        stats_hist_add(&hist, ns);
    const double shares[] = {0.001, 0.5, 0.9, 0.99, 0.999, 1};
    for (int i = 0; i < 6; i++) {
        double exact = shares[i] * 100000, found = (double)stats_hist_quantile(&hist, shares[i]);
        CHECK(found >= exact && found <= exact * (1 + 1.0 / 32) + 1);
    }
    stats_hist_add(&hist, UINT64_MAX);
    stats_hist_add(&hist, 0);
    CHECK(stats_hist_quantile(&hist, 1) == UINT64_MAX);
    CHECK(stats_hist_quantile(&hist, 0) == 0);
    return CHECK_REPORT();
}
