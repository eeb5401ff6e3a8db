/* ior_loop: the limit that the ior applet is measured against: open, a loop of pwrite or pread that moves the same bytes
 * with one buffer and does nothing else, fsync where asked for, and close, between two barriers.
 *
 * usage: ior_loop PATH TRANSFER BYTES COUNT [WORD…]    (BYTES for each process, in a file PATH.RANK of its own)
 *   direct    O_DIRECT        fsync    after the last write
 *   random    each transfer once, in random order: their number is a power of two
 *   clock     read after each transfer, as who has a deadline must
 *   shared    one file PATH, in which the ranks' bytes follow one another
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

static struct {
    long transfer, count, first; /* bytes, transfers, where the rank's bytes begin */
    int flags;
    bool sync, random, clock, shared;
} test;

static uint64_t last_ns;

/* Two loops are made of it, or more: what is not asked for is in none. */
static inline void __attribute__((always_inline)) move(int fd, char *buffer, bool writes, bool random, bool clock)
{
    unsigned long place = 0;
    const unsigned long mask = (unsigned long)test.count - 1;
    const size_t bytes = (size_t)test.transfer;
    for (long i = 0; i < test.count; i++) {
        if (random)
            place = (place * 2862933555777941757u + 3037000493u) & mask; /* each of them once */
        off_t at = test.first + (random ? (long)place : i) * test.transfer;
        check((writes ? pwrite(fd, buffer, bytes, at) : pread(fd, buffer, bytes, at)) != test.transfer);
        if (clock)
            last_ns = timer_ns();
    }
}

static void move_all(int fd, char *buffer, bool writes)
{
    if (test.random)
        move(fd, buffer, writes, true, false);
    else if (test.clock)
        move(fd, buffer, writes, false, true);
    else if (writes)
        move(fd, buffer, true, false, false);
    else
        move(fd, buffer, false, false, false);
}

/* Not inlined: callgrind is told to look at it. */
static void __attribute__((noinline)) measure(bool writes, char *buffer, int rank, int ranks)
{
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t start_ns = timer_ns();
    int fd = open(path, (writes ? O_CREAT | O_RDWR : O_RDONLY) | test.flags, 0666);
    check(fd < 0);
    move_all(fd, buffer, writes);
    if (test.sync && writes)
        check(fsync(fd) != 0);
    check(close(fd) != 0);
    MPI_Barrier(MPI_COMM_WORLD);
    double own_s = timer_s(start_ns, timer_ns()), slowest_s;
    MPI_Allreduce(&own_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %.3f\n", writes ? "write" : "read",
               (double)(test.transfer * test.count) * ranks / (1 << 20) / slowest_s);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 5)
        die("usage: ior_loop PATH TRANSFER BYTES COUNT [direct] [fsync] [random] [clock] [shared]");
    for (int i = 5; i < argc; i++) {
        test.flags |= strcmp(argv[i], "direct") == 0 ? O_DIRECT : 0;
        test.sync |= strcmp(argv[i], "fsync") == 0;
        test.random |= strcmp(argv[i], "random") == 0;
        test.clock |= strcmp(argv[i], "clock") == 0;
        test.shared |= strcmp(argv[i], "shared") == 0;
    }
    test.transfer = atol(argv[2]);
    test.count = atol(argv[3]) / test.transfer;
    test.first = test.shared ? rank * test.transfer * test.count : 0;
    if (test.random && (test.count & (test.count - 1)) != 0)
        die("%ld transfers are not a power of two", test.count);
    if (test.shared)
        snprintf(path, sizeof path, "%s", argv[1]);
    else
        snprintf(path, sizeof path, "%s.%d", argv[1], rank);
    char *buffer = buf_alloc_io((size_t)test.transfer);
    buf_fill(buffer, (size_t)test.transfer, 1, 0);
    for (long repetitions = atol(argv[4]); repetitions > 0; repetitions--) {
        measure(true, buffer, rank, ranks);
        measure(false, buffer, rank, ranks);
        MPI_Barrier(MPI_COMM_WORLD);
        check((rank == 0 || !test.shared) && unlink(path) != 0);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
