/* mbw_point: one measurement of mbw_mr: so many pairs, one size, one window.
 *
 * An iteration: the sender starts `window` sends of `size_bytes`, waits for all, and receives 4 bytes; its partner starts as
 * many receives, waits for all, and sends the 4 bytes. With `each_window` every iteration begins with a barrier, and a sender's
 * time is that of its iterations alone, as in OSU's test from 7.4 on; untimed iterations may go before each. Without it the
 * clock runs on each sender from a barrier after the warm-up to the end of its last iteration. The time is the mean over the
 * senders. */
#pragma once

#include "common/faults.h"
#include "common/rank_rates.h"

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
    MPI_Datatype type; /* of the elements of a message, whose size divides size_bytes */
    bool validate;     /* after the clock: look at what arrived */
    bool each_window;  /* has its own time, after a barrier that is in none */
    int64_t before_each; /* with each_window: untimed windows before each timed one */
    bool many_buffers; /* each message of a window has its own */
    bool list;         /* keep the duration of each window */
};

enum { MBW_MOST_PERCENTILES = 5 };

struct mbw_result {
    double elapsed_s;  /* mean over senders */
    double phase_s;    /* likewise, with the barriers before each window */
    double rate_mb_s;  /* of all pairs, MB = 10^6 bytes; not a number where messages were wrong */
    double messages_s; /* of all pairs; likewise */
    struct rank_rates pair_rate_mb_s; /* of the senders, ranks in MPI_COMM_WORLD */
    double percentiles_mb_s[MBW_MOST_PERCENTILES]; /* filled by whoever prints them */
    int64_t wrong_messages; /* 0 where load->validate is false */
};

/* Pages to send from and to receive in, for messages of at most size_bytes and windows of at most `window`; for all of a window
 * at once with many_buffers. */
struct mbw_room {
    unsigned char *out, *in;
    MPI_Request *requests;
    uint64_t *windows_ns; /* with load->list, on the first sender: the duration of each window of the last measurement */
};
void mbw_room_make(struct mbw_room *room, int64_t size_bytes, int64_t window, bool many_buffers);
void mbw_room_free(struct mbw_room *room);

/* Collective over team->comm, which is not null. The result is complete on rank 0 of it. Messages that did not arrive as
 * they were sent are added to faults. */
void mbw_point_measure(const struct mbw_team *team, const struct mbw_load *load, struct mbw_room *room,
                       struct mbw_result *result, struct faults *faults);
