/* timeline: bytes moved in each interval of time, in memory that does not grow with the time: when the last interval is
 * over, pairs are merged and intervals become twice as long. Pure, except that allocation may die. */
#pragma once

#include <stdint.h>

enum { TIMELINE_FEWEST = 16, TIMELINE_MOST = 1024, TIMELINE_OF_ALL_RANKS = 1 << 20 };

struct timeline {
    int count;       /* intervals there is room for, even */
    int used;        /* the last one with something in it, plus 1 */
    int doublings;   /* how often the interval was doubled */
    uint64_t interval_ns;
    int64_t *bytes;
};

/* Room for so many intervals that those of all ranks together are about TIMELINE_OF_ALL_RANKS at most. */
int timeline_count(int64_t ranks);

void timeline_init(struct timeline *timeline, int count, uint64_t interval_ns);
void timeline_free(struct timeline *timeline);

/* Adds bytes that were moved `at_ns` after the start. */
void timeline_add(struct timeline *timeline, uint64_t at_ns, int64_t bytes);

/* Doubles until the interval was doubled so often: timelines of several ranks become alike. */
void timeline_coarsen(struct timeline *timeline, int doublings);
