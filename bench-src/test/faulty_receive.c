/* faulty_receive: a library for LD_PRELOAD that turns over one bit of what a rank receives.
 *
 * FAULT_BYTES  the size of the messages
 * FAULT_RANK   the rank that receives
 * FAULT_AFTER  receives of that size before the one */
#include <mpi.h>
#include <stdlib.h>

static unsigned char *last;
static long seen;

int MPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (type == MPI_CHAR && count == atoi(getenv("FAULT_BYTES")) && rank == atoi(getenv("FAULT_RANK")) &&
        ++seen == 1 + atol(getenv("FAULT_AFTER")))
        last = data;
    return PMPI_Irecv(data, count, type, source, tag, comm, request);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int error = PMPI_Waitall(count, requests, statuses);
    if (last != NULL)
        last[3] ^= 4;
    last = NULL;
    return error;
}
