/* Description: bytes over time in bounded memory, and the pauses of a quiet wait. */
#include "common/quiet.h"
#include "common/timeline.h"
#include "test/check.h"

static struct timeline timeline;

static void bytes_are(const char *expected)
{
    char found[256] = "";
    for (int i = 0; i < timeline.used; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%" PRId64 " ", timeline.bytes[i]);
    CHECK_TEXT(found, expected);
}

static void bytes_go_to_the_interval_in_which_they_were_moved(void)
{
    timeline_init(&timeline, 4, 100);
    timeline_add(&timeline, 0, 1);
    timeline_add(&timeline, 99, 2);
    timeline_add(&timeline, 100, 4);
    timeline_add(&timeline, 399, 8);
    bytes_are("3 4 0 8 ");
    CHECK_INT((int64_t)timeline.interval_ns, 100);
    timeline_free(&timeline);
}

static void intervals_become_longer_where_room_runs_out_and_no_byte_is_lost(void)
{
    timeline_init(&timeline, 4, 100);
    timeline_add(&timeline, 50, 1);
    timeline_add(&timeline, 150, 2);
    timeline_add(&timeline, 350, 4);
    timeline_add(&timeline, 400, 8);
    bytes_are("3 4 8 ");
    CHECK_INT((int64_t)timeline.interval_ns, 200);
    timeline_add(&timeline, 5000, 16);
    bytes_are("15 0 0 16 ");
    CHECK_INT((int64_t)timeline.interval_ns, 1600);
    CHECK_INT(timeline.doublings, 4);
    timeline_free(&timeline);
}

static void a_timeline_can_be_made_as_coarse_as_another(void)
{
    timeline_init(&timeline, 4, 100);
    timeline_add(&timeline, 0, 1);
    timeline_add(&timeline, 200, 2);
    timeline_coarsen(&timeline, 1);
    bytes_are("1 2 ");
    timeline_coarsen(&timeline, 2);
    bytes_are("3 ");
    CHECK_INT((int64_t)timeline.interval_ns, 400);
    timeline_free(&timeline);
}

static void room_is_bounded_for_all_ranks_together(void)
{
    CHECK_INT(timeline_count(1), TIMELINE_MOST);
    CHECK_INT(timeline_count(1024), 1024);
    CHECK_INT(timeline_count(4096), 256);
    CHECK_INT(timeline_count(100000), TIMELINE_FEWEST);
    CHECK_INT(timeline_count(10000) % 2, 0);
}

static void pauses_double_up_to_a_millisecond(void)
{
    struct quiet_pause pause = {0};
    CHECK_INT((int64_t)quiet_next_ns(&pause), 20000);
    CHECK_INT((int64_t)quiet_next_ns(&pause), 40000);
    for (int i = 0; i < 10; i++)
        quiet_next_ns(&pause);
    CHECK_INT((int64_t)quiet_next_ns(&pause), 1000000);
    pause.last_ns = 0;
    CHECK_INT((int64_t)quiet_next_ns(&pause), 20000);
}

int main(void)
{
    bytes_go_to_the_interval_in_which_they_were_moved();
    intervals_become_longer_where_room_runs_out_and_no_byte_is_lost();
    a_timeline_can_be_made_as_coarse_as_another();
    room_is_bounded_for_all_ranks_together();
    pauses_double_up_to_a_millisecond();
    return CHECK_REPORT();
}
