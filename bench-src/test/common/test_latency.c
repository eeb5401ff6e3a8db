/* Description: latencies over time in bounded memory: which interval an operation counts in, and that none is lost. */
#include "common/latency.h"
#include "test/check.h"

static const uint64_t second = 1000000000, begun = 77;

/* An operation of so many ns that ended at this time of the phase. */
static void add(struct latency *latency, uint64_t end_ns, uint64_t ns)
{
    latency_add(latency, begun + end_ns - ns, begun + end_ns);
}

/* "10x2 3x1 | | 9x1": what each interval has, as limit of the bucket x count. */
static void intervals_are(const struct latency *latency, const char *expected)
{
    char found[512] = "";
    for (int interval = 0; interval < latency->count; interval++) {
        struct stats_hist hist;
        latency_interval(latency, interval, &hist);
        snprintf(found + strlen(found), sizeof found - strlen(found), interval == 0 ? "" : "| ");
        for (int i = 0; i < STATS_HIST_BUCKETS; i++)
            if (hist.counts[i] > 0)
                snprintf(found + strlen(found), sizeof found - strlen(found), "%" PRIu64 "x%" PRId64 " ", stats_hist_limit(i),
                         hist.counts[i]);
    }
    CHECK_TEXT(found, expected);
}

static int64_t count_of(const struct latency *latency)
{
    int64_t count = 0;
    for (int interval = 0; interval < latency->count; interval++) {
        struct stats_hist hist;
        latency_interval(latency, interval, &hist);
        for (int i = 0; i < STATS_HIST_BUCKETS; i++)
            count += hist.counts[i];
    }
    return count;
}

static void an_operation_counts_in_the_second_in_which_it_ended(struct latency *latency)
{
    latency_begin(latency, begun);
    add(latency, 10, 10);
    add(latency, second - 1, 10);
    add(latency, second, 20); /* began in the first */
    latency_end(latency, begun + second + 5);
    intervals_are(latency, "10x2 | 20x1 ");
    CHECK(latency->elapsed_s > 1 && latency->elapsed_s < 1.1);
}

static void seconds_without_an_operation_are_empty_up_to_the_end_of_the_phase(struct latency *latency)
{
    latency_begin(latency, begun);
    add(latency, 10, 10);
    add(latency, 3 * second + 1, 1);
    latency_end(latency, begun + 5 * second + 1);
    intervals_are(latency, "10x1 | | | 1x1 | | ");
    latency_begin(latency, begun);
    latency_end(latency, begun);
    intervals_are(latency, "");
    CHECK_INT(latency->count, 1);
}

static void intervals_become_longer_where_there_would_be_too_many(struct latency *latency)
{
    latency_begin(latency, begun);
    for (uint64_t i = 0; i < 3 * LATENCY_INTERVALS; i++)
        add(latency, i * second + 5, 1 + i % 3);
    CHECK_INT((int64_t)latency->interval_ns, 4 * (int64_t)second);
    latency_end(latency, begun + 3 * LATENCY_INTERVALS * second - 1);
    CHECK_INT(latency->count, 3 * LATENCY_INTERVALS / 4);
    CHECK_INT(count_of(latency), 3 * LATENCY_INTERVALS);
    for (int i = 0; i < latency->count; i++) {
        struct stats_hist hist;
        latency_interval(latency, i, &hist);
        CHECK_INT(hist.counts[1] + hist.counts[2] + hist.counts[3], 4);
    }
}

static void a_stall_of_any_length_fits(struct latency *latency)
{
    latency_begin(latency, begun);
    add(latency, 1, 1);
    add(latency, second, 1);
    add(latency, 1000000 * second, 2);
    latency_end(latency, begun + 1000000 * second);
    CHECK(latency->count <= LATENCY_INTERVALS);
    CHECK_INT(count_of(latency), 3);
    struct stats_hist hist;
    latency_interval(latency, 0, &hist);
    CHECK_INT(hist.counts[1], 2);
    latency_interval(latency, latency->count - 1, &hist);
    CHECK_INT(hist.counts[2], 1);
}

static void memory_is_bounded_whatever_is_recorded(struct latency *latency)
{
    latency_begin(latency, 0);
    for (uint64_t i = 0; i < 2 * LATENCY_INTERVALS; i++)
        for (int shift = 0; shift < 64; shift++)
            for (uint64_t step = 0; step < 32; step++)
                latency_add(latency, i * second - ((uint64_t)(32 + step) << shift >> 5), i * second);
    CHECK_INT((int64_t)latency->interval_ns, 2 * (int64_t)second);
    latency_end(latency, 2 * LATENCY_INTERVALS * second - 1);
    CHECK_INT(latency->count, LATENCY_INTERVALS);
    CHECK_INT(count_of(latency), 2 * LATENCY_INTERVALS * 64 * 32);
    CHECK(latency->room <= 4 * LATENCY_INTERVALS * STATS_HIST_BUCKETS);
}

static void latencies_can_be_made_as_coarse_and_as_long_as_another_ranks(struct latency *latency)
{
    latency_begin(latency, begun);
    add(latency, 1, 1);
    add(latency, second, 2);
    add(latency, 2 * second, 3);
    latency_end(latency, begun + 2 * second);
    latency_coarsen(latency, 2 * second);
    intervals_are(latency, "1x1 2x1 | 3x1 ");
    latency_extend(latency, 4);
    intervals_are(latency, "1x1 2x1 | 3x1 | | ");
    latency_coarsen(latency, 8 * second);
    intervals_are(latency, "1x1 2x1 3x1 ");
}

int main(void)
{
    struct latency *latency = latency_new();
    an_operation_counts_in_the_second_in_which_it_ended(latency);
    seconds_without_an_operation_are_empty_up_to_the_end_of_the_phase(latency);
    intervals_become_longer_where_there_would_be_too_many(latency);
    a_stall_of_any_length_fits(latency);
    memory_is_bounded_whatever_is_recorded(latency);
    latencies_can_be_made_as_coarse_and_as_long_as_another_ranks(latency);
    latency_free(latency);
    return CHECK_REPORT();
}
