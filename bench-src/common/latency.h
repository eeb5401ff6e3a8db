/* latency: how long single operations took: a histogram of each second of a phase. Pure but for latency_reduce, and except
 * that allocation may die.
 *
 * An operation counts in the interval in which it ended. Memory does not grow with the time: of intervals that are over only
 * buckets with something in them are kept, and where there would be more than LATENCY_INTERVALS, pairs are merged and
 * intervals become twice as long. */
#pragma once

#include "common/stats.h"

#include <mpi.h>

enum { LATENCY_INTERVALS = 256, LATENCY_QUANTILES = 6 };

struct latency {
    struct stats_hist hist;  /* of the interval at work; after latency_reduce, on rank 0: of the phase */
    uint64_t begun_ns;       /* of timer_ns: when the phase began */
    uint64_t until_ns;       /* when the interval at work is over */
    uint64_t interval_ns;    /* a second, times two as often as they were merged */
    int count;               /* intervals that are over */
    uint64_t *kept;          /* the buckets of each in turn: count << 16 | bucket */
    int64_t from[LATENCY_INTERVALS + 1], room; /* where an interval's begin, and the last one's end */
    double elapsed_s;        /* after latency_end */
};

struct latency *latency_new(void);
void latency_free(struct latency *latency); /* NULL: nothing */

/* Empty; the phase begins. */
void latency_begin(struct latency *latency, uint64_t now_ns);

/* The interval at work is over before now_ns. */
void latency_turn(struct latency *latency, uint64_t now_ns);

/* An operation from start_ns to end_ns, which is not before that of the last call. */
static inline void latency_add(struct latency *latency, uint64_t start_ns, uint64_t end_ns)
{
    if (__builtin_expect(end_ns >= latency->until_ns, 0))
        latency_turn(latency, end_ns);
    stats_hist_add(&latency->hist, end_ns - start_ns);
}

/* The phase is over: intervals reach up to here, those without an operation too. */
void latency_end(struct latency *latency, uint64_t now_ns);

/* Merges pairs of intervals until they are so long, and adds empty ones until there are so many. */
void latency_coarsen(struct latency *latency, uint64_t interval_ns);
void latency_extend(struct latency *latency, int count);

/* Collective, after latency_end, with the clock stopped: rank 0 has the operations of all ranks, each told from the start of
 * its own clock. */
void latency_reduce(struct latency *latency, MPI_Comm comm);

/* Of an interval that is over. */
void latency_interval(const struct latency *latency, int interval, struct stats_hist *hist);

/* In microseconds, with their names: p50, p90, p95, p99, p99.9 and max. */
const char *latency_name(int quantile);
double latency_us(const struct stats_hist *hist, int quantile);

/* A group of a JSON line, in seconds: {"p50": …, "p90": …, "p95": …, "p99": …, "p999": …, "max": …}. */
void latency_emit(const char *key, const struct stats_hist *hist);

/* Members of a JSON line: what one interval of the phase was. */
void latency_emit_interval(const struct latency *latency, int interval);
