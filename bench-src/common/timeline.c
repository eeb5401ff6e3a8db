/* timeline: bytes moved in each interval of time. */
#include "common/timeline.h"

#include "common/die.h"

#include <stdlib.h>
#include <string.h>

int timeline_count(int64_t ranks)
{
    int64_t count = TIMELINE_OF_ALL_RANKS / ranks / 2 * 2;
    return (int)(count < TIMELINE_FEWEST ? TIMELINE_FEWEST : count > TIMELINE_MOST ? TIMELINE_MOST : count);
}

void timeline_init(struct timeline *timeline, int count, uint64_t interval_ns)
{
    memset(timeline, 0, sizeof *timeline);
    timeline->count = count;
    timeline->interval_ns = interval_ns;
    timeline->bytes = die_alloc(sizeof(int64_t), (size_t)count * sizeof(int64_t));
}

void timeline_free(struct timeline *timeline)
{
    free(timeline->bytes);
    timeline->bytes = NULL;
}

static void merge_pairs(struct timeline *timeline)
{
    int half = timeline->count / 2;
    for (int i = 0; i < half; i++)
        timeline->bytes[i] = timeline->bytes[2 * i] + timeline->bytes[2 * i + 1];
    memset(timeline->bytes + half, 0, (size_t)(timeline->count - half) * sizeof(int64_t));
    timeline->used = (timeline->used + 1) / 2;
    timeline->interval_ns *= 2;
    timeline->doublings++;
}

void timeline_add(struct timeline *timeline, uint64_t at_ns, int64_t bytes)
{
    while (at_ns / timeline->interval_ns >= (uint64_t)timeline->count)
        merge_pairs(timeline);
    int at = (int)(at_ns / timeline->interval_ns);
    timeline->bytes[at] += bytes;
    timeline->used = at + 1 > timeline->used ? at + 1 : timeline->used;
}

void timeline_coarsen(struct timeline *timeline, int doublings)
{
    while (timeline->doublings < doublings)
        merge_pairs(timeline);
}
