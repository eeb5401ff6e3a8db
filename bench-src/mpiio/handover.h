/* mpiio_handover: how pieces of work come from a process's main thread to its worker: the worker asks, the main thread
 * gives. A piece of 0 bytes says that nothing is left, and stays. */
#pragma once

#include "common/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* All under the lock. */
struct mpiio_handover {
    pthread_mutex_t lock;
    pthread_cond_t to_agent, to_worker;
    bool wants;    /* a piece is asked for */
    bool answered; /* `answer` holds it */
    bool ended;
    struct pool_piece answer;
};

void mpiio_handover_init(struct mpiio_handover *handover);
void mpiio_handover_free(struct mpiio_handover *handover);

/* By the main thread: waits until the worker wants a piece or has ended, but at most timeout_ns (0: without end).
 * True where it wants one. */
bool mpiio_handover_wants(struct mpiio_handover *handover, uint64_t timeout_ns, bool *ended);
void mpiio_handover_give(struct mpiio_handover *handover, struct pool_piece piece);

/* By the worker. take: false where the piece that was asked for is not there; with waits it is waited for. */
void mpiio_handover_ask(struct mpiio_handover *handover);
bool mpiio_handover_take(struct mpiio_handover *handover, bool waits, struct pool_piece *piece);
void mpiio_handover_end(struct mpiio_handover *handover);
