/* timer: the monotonic clock. Differences on one node have a meaning, values of two nodes have none together. */
#ifndef TIMER_H
#define TIMER_H

#include <stdint.h>
#include <time.h>

static inline uint64_t timer_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Seconds between two readings of timer_ns. */
static inline double timer_s(uint64_t start_ns, uint64_t stop_ns)
{
    return (double)(stop_ns - start_ns) * 1e-9;
}

/* Seconds since 1970 with fraction: for stamps in reports, never for durations. */
static inline double timer_unix_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
