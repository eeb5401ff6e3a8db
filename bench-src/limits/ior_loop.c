/* ior_loop: the limit that the ior applet is measured against: open, a loop of pwrite or pread that moves the same bytes
 * with one buffer and does nothing else, fsync where asked for, and close, between two barriers.
 *
 * usage: ior_loop PATH TRANSFER BYTES COUNT [direct] [fsync]    (BYTES for each process, in a file PATH.RANK of its own)
 * COUNT times it prints "write RATE", "read RATE" in MiB a second: all bytes over the slowest rank's time, closing barrier
 * included. */
#include "common/buf.h"
#include "common/die.h"
#include "common/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[PATH_MAX];

static void check(bool failed)
{
    if (failed)
        die("'%s' failed: %s", path, strerror(errno));
}

/* Not inlined: callgrind is told to look at it. */
static void __attribute__((noinline)) measure(bool writes, int flags, bool sync, char *buffer, long transfer, long count, int rank, int ranks)
{
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t start_ns = timer_ns();
    int fd = open(path, flags, 0666);
    check(fd < 0);
    if (writes)
        for (long i = 0; i < count; i++)
            check(pwrite(fd, buffer, (size_t)transfer, i * transfer) != transfer);
    else
        for (long i = 0; i < count; i++)
            check(pread(fd, buffer, (size_t)transfer, i * transfer) != transfer);
    if (sync)
        check(fsync(fd) != 0);
    check(close(fd) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
    double own_s = timer_s(start_ns, timer_ns()), slowest_s;
    MPI_Allreduce(&own_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %.3f\n", writes ? "write" : "read", (double)(transfer * count) * ranks / (1 << 20) / slowest_s);
}

int main(int argc, char **argv)
{
    int rank, ranks, direct = 0;
    bool sync = false;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 5)
        die("usage: ior_loop PATH TRANSFER BYTES COUNT [direct] [fsync]");
    for (int i = 5; i < argc; i++) {
        direct |= strcmp(argv[i], "direct") == 0 ? O_DIRECT : 0;
        sync |= strcmp(argv[i], "fsync") == 0;
    }
    long transfer = atol(argv[2]), count = atol(argv[3]) / transfer;
    snprintf(path, sizeof path, "%s.%d", argv[1], rank);
    char *buffer = buf_alloc_io((size_t)transfer);
    buf_fill(buffer, (size_t)transfer, 1, 0);
    for (long repetitions = atol(argv[4]); repetitions > 0; repetitions--) {
        measure(true, O_CREAT | O_RDWR | direct, sync, buffer, transfer, count, rank, ranks);
        measure(false, O_RDONLY | direct, false, buffer, transfer, count, rank, ranks);
        check(unlink(path) != 0);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
