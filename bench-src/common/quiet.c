/* quiet: waiting for other ranks without burning a core. */
#include "common/quiet.h"

#include <time.h>

enum { SHORTEST_NS = 20000, LONGEST_NS = 1000000 };

uint64_t quiet_next_ns(struct quiet_pause *pause)
{
    uint64_t next_ns = pause->last_ns == 0 ? SHORTEST_NS : 2 * pause->last_ns;
    return pause->last_ns = next_ns > LONGEST_NS ? LONGEST_NS : next_ns;
}

void quiet_sleep_ns(uint64_t ns)
{
    struct timespec length = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&length, NULL);
}

void quiet_wait(MPI_Request *request, MPI_Status *status)
{
    struct quiet_pause pause = {0};
    int done;
    for (;;) {
        MPI_Test(request, &done, status);
        if (done)
            return;
        quiet_sleep_ns(quiet_next_ns(&pause));
    }
}

void quiet_barrier(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    quiet_wait(&request, MPI_STATUS_IGNORE);
}
