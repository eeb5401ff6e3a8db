/* mbw_point: one measurement of mbw_mr: so many pairs, one size, one window.
 *
 * An iteration: the sender starts `window` sends of `size_bytes`, waits for all, and receives 4 bytes; its partner starts as
 * many receives, waits for all, and sends the 4 bytes. The clock runs on each sender from a barrier after the warm-up
 * to the end of its last iteration; the time is the mean over the senders. With `each_window` every iteration begins with
 * a barrier, and the time is that of the iterations alone, as in OSU's test from 7.4 on. */
#pragma once

#include "common/faults.h"
#include "common/spread.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* The processes of some pairs. Ranks of comm: the senders, then their receivers in the same order. */
struct mbw_team {
    MPI_Comm comm; /* MPI_COMM_NULL on a process without a part */
    int pairs;
    bool sends;
    int peer;         /* rank in comm */
    int world_rank;   /* of this process */
    int across_nodes; /* pairs with their ends on two nodes */
};

struct mbw_load {
    int64_t size_bytes, window, iterations, warmup;
    bool validate;    /* after the clock: look at what arrived */
    bool each_window; /* has its own time, after a barrier that is in none */
};

struct mbw_result {
    double elapsed_s;  /* mean over senders */
    double phase_s;    /* likewise, with the barriers before each window */
    double rate_mb_s;  /* of all pairs, MB = 10^6 bytes; not a number where messages were wrong */
    double messages_s; /* of all pairs; likewise */
    struct spread pair_rate_mb_s;
    int slowest_rank;       /* sender of the slowest pair, rank in MPI_COMM_WORLD */
    int64_t wrong_messages; /* 0 where load->validate is false */
};

/* Pages to send from and to receive in, for messages of at most size_bytes and windows of at most `window`. */
struct mbw_room {
    unsigned char *out, *in;
    MPI_Request *requests;
};
void mbw_room_make(struct mbw_room *room, int64_t size_bytes, int64_t window);
void mbw_room_free(struct mbw_room *room);

/* Collective over team->comm, which is not null. The result is complete on rank 0 of it. Messages that did not arrive as
 * they were sent are added to faults. */
void mbw_point_measure(const struct mbw_team *team, const struct mbw_load *load, struct mbw_room *room,
                       struct mbw_result *result, struct faults *faults);
