/* mdtest_loop: the limit that the mdtest applet is measured against: the same system calls on the same full paths, and
 * nothing else in the loop than counting up the decimal number at the end of the path.
 *
 * usage: mdtest_loop DIR COUNT    (DIR exists; COUNT files a process, names as `mdtest -F -C -T -r -n COUNT -d DIR` has them)
 * Prints "create RATE", "stat RATE", "remove RATE" in operations per second: all operations over the slowest rank's time,
 * closing barrier included. */
#include "common/die.h"
#include "common/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[PATH_MAX];
static size_t digits_at, length; /* of the number in path, and of path */

static void first_name(void)
{
    memcpy(path + digits_at, "0", 2);
    length = digits_at + 1;
}

/* 9 becomes 10, in place. */
static inline void next_name(void)
{
    size_t at = length - 1;
    while (path[at] == '9')
        path[at--] = '0';
    if (at >= digits_at) {
        path[at]++;
        return;
    }
    path[digits_at] = '1';
    path[length++] = '0';
    path[length] = '\0';
}

static void check(int failed)
{
    if (failed)
        die("'%s' failed: %s", path, strerror(errno));
}

static void create(long count)
{
    for (long i = 0; i < count; i++, next_name()) {
        int fd = open(path, O_RDWR | O_CREAT, 0664);
        check(fd < 0);
        check(close(fd) != 0);
    }
}

static void stat_all(long count)
{
    struct stat status;
    for (long i = 0; i < count; i++, next_name())
        check(stat(path, &status) != 0);
}

static void remove_all(long count)
{
    for (long i = 0; i < count; i++, next_name())
        check(unlink(path) != 0);
}

/* Not inlined: callgrind is told to look at it. */
static void __attribute__((noinline)) measure(const char *name, void (*phase)(long), long count, int rank, int ranks)
{
    first_name();
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t start_ns = timer_ns();
    phase(count);
    MPI_Barrier(MPI_COMM_WORLD);
    double own_s = timer_s(start_ns, timer_ns()), slowest_s;
    MPI_Allreduce(&own_s, &slowest_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %.3f\n", name, (double)count * ranks / slowest_s);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    die_identify("mdtest_loop", rank, "");
    long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (count < 1)
        die("usage: mdtest_loop DIR COUNT");
    char test_dir[PATH_MAX - 64];
    snprintf(test_dir, sizeof test_dir, "%s/test-dir.0-0", argv[1]);
    digits_at = (size_t)snprintf(path, sizeof path, "%s/mdtest_tree.0/", test_dir);
    if (rank == 0)
        check(mkdir(test_dir, 0775) != 0 || mkdir(path, 0775) != 0);
    digits_at += (size_t)snprintf(path + digits_at, sizeof path - digits_at, "file.mdtest.%d.", rank);
    measure("create", create, count, rank, ranks);
    measure("stat", stat_all, count, rank, ranks);
    measure("remove", remove_all, count, rank, ranks);
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/mdtest_tree.0", test_dir);
        check(rmdir(path) != 0 || rmdir(test_dir) != 0);
    }
    MPI_Finalize();
    return 0;
}
