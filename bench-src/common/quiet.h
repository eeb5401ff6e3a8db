/* quiet: waiting for other ranks without burning a core. MPI's own waiting polls without a pause: right where the
 * answer is near, wrong where a rank waits for long on a node where others still work. */
#pragma once

#include <mpi.h>
#include <stdint.h>

/* Pauses between looks: each one twice as long as the one before, from 20 µs up to 1 ms. Starts as all zeros. */
struct quiet_pause {
    uint64_t last_ns;
};

/* Length of the next pause in ns. Pure: the caller waits. Set last_ns to 0 when something was found. */
uint64_t quiet_next_ns(struct quiet_pause *pause);

/* Sleeps for so long. */
void quiet_sleep_ns(uint64_t ns);

/* As MPI_Wait and MPI_Barrier, asleep between looks: they return up to 1 ms late. */
void quiet_wait(MPI_Request *request, MPI_Status *status);
void quiet_barrier(MPI_Comm comm);
