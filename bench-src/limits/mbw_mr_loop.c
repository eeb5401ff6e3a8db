/* The limit for mbw_mr: the same MPI calls in a plain loop, nothing around them.
 *
 *     mbw_mr_loop MIN MAX ITERATIONS WARMUP [one-clock]
 *
 * prints "SIZE MB/s" for sizes MIN, 2·MIN … MAX, window 64; each window is timed by itself, after a barrier, or one clock runs over
 * all of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64 };

static inline void window(int sends, char *buffer, int size, int peer, MPI_Request *requests)
{
    char ack[4] = "";
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

/* The seconds that the windows took, each by itself or together. */
static double windows(int sends, char *buffer, int size, int peer, int iterations, int one_clock)
{
    MPI_Request requests[WINDOW];
    double sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int i = 0; i < iterations; i++) {
        if (!one_clock)
            MPI_Barrier(MPI_COMM_WORLD);
        double start = one_clock ? 0 : MPI_Wtime();
        window(sends, buffer, size, peer, requests);
        sum += one_clock ? 0 : MPI_Wtime() - start;
    }
    return one_clock ? MPI_Wtime() - began : sum;
}

/* A function of its own, which callgrind is told to look at. */
static void __attribute__((noinline)) measure(int rank, int pairs, char *buffer, int size, const int counts[2], int one_clock)
{
    int sends = rank < pairs, peer = sends ? rank + pairs : rank - pairs;
    windows(sends, buffer, size, peer, counts[1], one_clock);
    double own = windows(sends, buffer, size, peer, counts[0], one_clock), sum;
    own = sends ? own : 0;
    MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d %.3f\n", size, (double)size * WINDOW * counts[0] * pairs / 1e6 / (sum / pairs));
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int one_clock = argc == 6 && strcmp(argv[5], "one-clock") == 0;
    if (argc != 5 + one_clock || ranks % 2 != 0) {
        fprintf(stderr, "usage: mbw_mr_loop MIN MAX ITERATIONS WARMUP [one-clock], with an even number of processes\n");
        return 2;
    }
    const int min = atoi(argv[1]), max = atoi(argv[2]), counts[] = {atoi(argv[3]), atoi(argv[4])};
    void *buffer;
    if (min < 1 || max < min || posix_memalign(&buffer, 4096, (size_t)max) != 0)
        return 2;
    memset(buffer, rank, (size_t)max);
    for (int size = min; size <= max; size *= 2)
        measure(rank, ranks / 2, buffer, size, counts, one_clock);
    free(buffer);
    MPI_Finalize();
    return 0;
}
