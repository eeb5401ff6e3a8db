/* timer: the monotonic clock. Differences on one node have a meaning, values of two nodes have none together. */
#pragma once

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

/* The smallest time that the clock can tell here: its unit, or the smallest step between two readings where that is more. */
static inline double timer_step_s(void)
{
    struct timespec unit;
    clock_getres(CLOCK_MONOTONIC, &unit);
    uint64_t least_ns = UINT64_MAX, unit_ns = (uint64_t)unit.tv_sec * 1000000000u + (uint64_t)unit.tv_nsec;
    for (int i = 0; i < 100; i++) {
        uint64_t before_ns = timer_ns(), after_ns;
        do
            after_ns = timer_ns();
        while (after_ns == before_ns);
        least_ns = after_ns - before_ns < least_ns ? after_ns - before_ns : least_ns;
    }
    return (double)(least_ns > unit_ns ? least_ns : unit_ns) * 1e-9;
}

/* Seconds since 1970 with fraction: for stamps in reports, never for durations. */
static inline double timer_unix_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
