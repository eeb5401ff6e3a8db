/* The limit for mbw_mr: the same MPI calls in a plain loop, nothing around them.
 *
 *     mbw_mr_loop MIN MAX ITERATIONS WARMUP      prints "SIZE MB/s" for sizes MIN, 2·MIN … MAX, window 64 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64 };

static void windows(int sends, char *buffer, int size, int peer, int iterations, MPI_Request *requests)
{
    char ack[4] = "";
    for (int i = 0; i < iterations; i++) {
        for (int j = 0; j < WINDOW; j++)
            if (sends)
                MPI_Isend(buffer, size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &requests[j]);
            else
                MPI_Irecv(buffer, size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &requests[j]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (sends)
            MPI_Recv(ack, 4, MPI_CHAR, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(ack, 4, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
    }
}

/* A function of its own, which callgrind is told to look at. */
static void __attribute__((noinline))
measure(int rank, int pairs, void *buffer, int size, int iterations, int warmup)
{
    MPI_Request requests[WINDOW];
    int sends = rank < pairs, peer = sends ? rank + pairs : rank - pairs;
    windows(sends, buffer, size, peer, warmup, requests);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    windows(sends, buffer, size, peer, iterations, requests);
    double own = sends ? MPI_Wtime() - start : 0, sum;
    MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d %.3f\n", size, (double)size * WINDOW * iterations * pairs / 1e6 / (sum / pairs));
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5 || ranks % 2 != 0) {
        fprintf(stderr, "usage: mbw_mr_loop MIN MAX ITERATIONS WARMUP, with an even number of processes\n");
        return 2;
    }
    int min = atoi(argv[1]), max = atoi(argv[2]), iterations = atoi(argv[3]), warmup = atoi(argv[4]);
    void *buffer;
    if (min < 1 || max < min || posix_memalign(&buffer, 4096, (size_t)max) != 0)
        return 2;
    memset(buffer, rank, (size_t)max);
    for (int size = min; size <= max; size *= 2)
        measure(rank, ranks / 2, buffer, size, iterations, warmup);
    free(buffer);
    MPI_Finalize();
    return 0;
}
