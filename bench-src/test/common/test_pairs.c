/* Description: which position of mbw_mr sends to which. */
#include "common/pairs.h"
#include "test/check.h"

static void peer_is(int position, int pairs, int distance, int peer, bool sends)
{
    bool found = !sends;
    CHECK_INT(pairs_peer(position, pairs, distance, &found), peer);
    if (peer >= 0)
        CHECK(found == sends);
}

static void the_first_half_sends_to_the_second(void)
{
    peer_is(0, 8, 8, 8, true);
    peer_is(7, 8, 8, 15, true);
    peer_is(8, 8, 8, 0, false);
    peer_is(15, 8, 8, 7, false);
}

static void an_odd_position_idles(void)
{
    peer_is(16, 8, 8, -1, false);
}

static void fewer_pairs_keep_their_distance_in_a_sweep(void)
{
    peer_is(0, 2, 8, 8, true);
    peer_is(9, 2, 8, 1, false);
    peer_is(2, 2, 8, -1, false);
    peer_is(7, 2, 8, -1, false);
    peer_is(10, 2, 8, -1, false);
}

static void both_ends_of_a_pair_agree(void)
{
    for (int pairs = 1; pairs <= 20; pairs++)
        for (int distance = pairs; distance <= 20; distance++) {
            int senders = 0;
            for (int position = 0; position < 2 * distance + 1; position++) {
                bool sends, peer_sends;
                int peer = pairs_peer(position, pairs, distance, &sends);
                if (peer < 0)
                    continue;
                senders += sends;
                CHECK_INT(pairs_peer(peer, pairs, distance, &peer_sends), position);
                CHECK(sends != peer_sends);
            }
            CHECK_INT(senders, pairs);
        }
}

int main(void)
{
    the_first_half_sends_to_the_second();
    an_odd_position_idles();
    fewer_pairs_keep_their_distance_in_a_sweep();
    both_ends_of_a_pair_agree();
    return CHECK_REPORT();
}
