/* The limit for the memory of a rank: a program of MPI that does nothing.
 *
 *     mpi_alone SECONDS
 *
 * starts all ranks, lets them meet twice as an applet does before it measures, says "ready" and sleeps. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, one = 1, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("ready\n");
        fflush(stdout);
    }
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    MPI_Finalize();
    return 0;
}
