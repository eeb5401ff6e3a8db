/* mpiio_agent: what the main thread of a process does while its worker moves bytes: it gets the worker's pieces, and on
 * rank 0 it is the tracker that gives pieces to all.
 *
 * A rank asks with a message and gets a message back. Why not one-sided operations on a counter in rank 0's memory:
 * over TCP they proceed only while rank 0 is inside MPI (measured with Open MPI 4.1: 1000 fetch-and-op took 3.0 s where
 * rank 0 slept for 3 s, 0.5 ms within a node), so that somebody has to look after them as well. The tracker's thread
 * does nothing else, and sleeps between looks: 20 µs after it had something to do, up to 1 ms after a while without.
 * Only the main threads call MPI: MPI_THREAD_FUNNELED. */
#pragma once

#include "common/place.h"
#include "common/pool.h"
#include "mpiio/worker.h"

#include <stdint.h>

struct mpiio_agent {
    const struct place *place;
    struct mpiio_worker *worker;
    struct pool *pool;               /* rank 0 with a pool, else NULL */
    const struct pool_piece *share;  /* the one piece of a static split, else NULL */

    /* Results. */
    int64_t asked;                   /* questions sent to the tracker; rank 0: those of its own worker */
    double wait_s, longest_wait_s;   /* for the answers */
    double cpu_s;                    /* processor time of this thread */
    int64_t answered;                /* rank 0: questions answered */
    double busy_s;                   /* rank 0: time spent on them */
};

/* Collective: until this rank's worker has ended and, on rank 0, every rank knows that nothing is left. */
void mpiio_agent_run(struct mpiio_agent *agent);
