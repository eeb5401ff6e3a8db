/* faulty_io: a library for LD_PRELOAD whose file calls fail on request, in one rank and for one file.
 *
 * FAULT_CALL   write, read, pwrite, pread, fsync or close: the call that fails; mkdir or rmdir: the process is killed, after it has made
 *              the directory, before it removes it
 * FAULT_PATH   part of the file's name
 * FAULT_RANK   the rank in which it fails (default: all)
 * FAULT_AFTER  calls that work before (default 0); all after them fail
 * FAULT_SEEN   a file that is made once the call has failed; the same call of other ranks waits until it is there, since a
 *              rank that has nothing to do makes no call
 * FAULT_ERRNO  a number (default EIO); 0: calls for more than 4096 bytes do half of it; -1: they do half and say that they
 *              did it all; -2: they write what they were given with one bit turned over, in byte 3; -3: they wait
 *              until there is a file $FAULT_UNTIL
 * CLOCK_SPEED  how many times faster than it should the monotonic clock runs, for the program's own calls: a library that computes
 *              from it until when to wait would wait for years
 * CLOCK_TRANSFER_NS  from the program's first thread on, the monotonic clock, for the program's own calls, stands still but for what
 *              its threads do: each pread and pwrite takes so many nanoseconds, and a sleep its length, for which nobody waits
 * CLOCK_SLEEPS  how many times its length a sleep of the program takes on the monotonic clock, for the program's own calls, which
 *              stands still otherwise, but for a nanosecond a reading; nobody waits for a sleep
 * CLOCK_STALL_NS  how much longer one sleep takes: the one behind the first FAULT_AFTER that are longer
 *              than the pauses of who waits for other ranks, whose number nobody knows */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static long seen;

/* Read once, before there are threads: MPI's threads make these calls while MPI_Init changes the environment, and getenv
 * then crashes. */
static const char *wanted, *part, *number, *speed, *transfer_ns, *sleeps, *stall_ns, *until, *seen_file;
static long after;
static int other_rank;
static long long last_ns;           /* the last reading of a clock that went by itself */
static _Atomic long long passed_ns; /* of the clock that stands still, since then */
static int has_threads;

static ElfW(Addr) program_begin, program_end;

/* The first object is the program. */
static int find_program(struct dl_phdr_info *object, size_t bytes, void *unused)
{
    (void)bytes, (void)unused;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            program_begin = object->dlpi_addr + part->p_vaddr;
            program_end = program_begin + part->p_memsz;
        }
    }
    return 1;
}

__attribute__((constructor)) static void read_environment(void)
{
    dl_iterate_phdr(find_program, NULL);
    const char *rank = getenv("FAULT_RANK"), *own_rank = getenv("OMPI_COMM_WORLD_RANK"), *count = getenv("FAULT_AFTER");
    wanted = getenv("FAULT_CALL");
    part = getenv("FAULT_PATH");
    number = getenv("FAULT_ERRNO");
    speed = getenv("CLOCK_SPEED");
    transfer_ns = getenv("CLOCK_TRANSFER_NS");
    sleeps = getenv("CLOCK_SLEEPS");
    stall_ns = getenv("CLOCK_STALL_NS");
    until = getenv("FAULT_UNTIL");
    seen_file = getenv("FAULT_SEEN");
    after = count == NULL ? 0 : atol(count);
    other_rank = rank != NULL && (own_rank == NULL || strcmp(rank, own_rank) != 0);
}

static int is_program(const void *caller)
{
    return (ElfW(Addr))caller >= program_begin && (ElfW(Addr))caller < program_end;
}

/* Whether it is called in a thread that the program has started. */
static int is_counted(const void *caller)
{
    return transfer_ns != NULL && is_program(caller) && syscall(SYS_gettid) != getpid();
}

/* What the next call of that name would be. */
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static void wait_for(const char *path)
{
    struct timespec pause = {0, 10000000};
    while (access(path, F_OK) != 0)
        REAL(int (*)(const struct timespec *, struct timespec *), "nanosleep")(&pause, NULL);
}

static int is_meant_for(const char *call, const char *path)
{
    if (wanted == NULL || strcmp(wanted, call) != 0 || part == NULL)
        return 0;
    if (other_rank && seen_file != NULL)
        wait_for(seen_file);
    if (other_rank || strstr(path, part) == NULL || seen++ < after)
        return 0;
    int fd = seen_file == NULL ? -1 : open(seen_file, O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        REAL(int (*)(int), "close")(fd);
    return 1;
}

static int is_meant(const char *call, int fd)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return wanted != NULL && strcmp(wanted, call) == 0 && readlink(link, path, sizeof path - 1) >= 0 && is_meant_for(call, path);
}

static int fault_errno(void)
{
    return number == NULL ? EIO : atoi(number);
}

/* Half of it, unless it is little: who goes on with the rest comes to an end. */
static size_t cut(size_t bytes)
{
    return bytes > 4096 ? bytes / 2 : bytes;
}

/* A copy with one bit turned over, which stays until the process ends. */
static const void *turned(const void *data, size_t bytes)
{
    unsigned char *copy = malloc(bytes);
    if (copy == NULL || bytes < 4)
        abort();
    memcpy(copy, data, bytes);
    copy[3] ^= 4;
    return copy;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
    if (is_meant("write", fd)) {
        if (fault_errno() > 0)
            return errno = fault_errno(), -1;
        if (fault_errno() == -2)
            return REAL(ssize_t (*)(int, const void *, size_t), "write")(fd, turned(data, bytes), bytes);
        ssize_t done = REAL(ssize_t (*)(int, const void *, size_t), "write")(fd, data, cut(bytes));
        return fault_errno() < 0 ? (ssize_t)bytes : done;
    }
    return REAL(ssize_t (*)(int, const void *, size_t), "write")(fd, data, bytes);
}

ssize_t read(int fd, void *data, size_t bytes)
{
    if (is_meant("read", fd)) {
        if (fault_errno() > 0)
            return errno = fault_errno(), -1;
        bytes = cut(bytes);
    }
    return REAL(ssize_t (*)(int, void *, size_t), "read")(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    if (is_counted(__builtin_return_address(0)))
        passed_ns += atoll(transfer_ns);
    if (is_meant("pwrite", fd)) {
        if (fault_errno() == -3) {
            wait_for(until);
            return REAL(ssize_t (*)(int, const void *, size_t, off_t), "pwrite")(fd, data, bytes, offset);
        }
        if (fault_errno() > 0)
            return errno = fault_errno(), -1;
        if (fault_errno() == -2)
            return REAL(ssize_t (*)(int, const void *, size_t, off_t), "pwrite")(fd, turned(data, bytes), bytes, offset);
        ssize_t done = REAL(ssize_t (*)(int, const void *, size_t, off_t), "pwrite")(fd, data, cut(bytes), offset);
        return fault_errno() < 0 ? (ssize_t)bytes : done;
    }
    return REAL(ssize_t (*)(int, const void *, size_t, off_t), "pwrite")(fd, data, bytes, offset);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
    if (is_counted(__builtin_return_address(0)))
        passed_ns += atoll(transfer_ns);
    if (is_meant("pread", fd)) {
        if (fault_errno() > 0)
            return errno = fault_errno(), -1;
        bytes = cut(bytes);
    }
    return REAL(ssize_t (*)(int, void *, size_t, off_t), "pread")(fd, data, bytes, offset);
}

int fsync(int fd)
{
    if (is_meant("fsync", fd))
        return errno = fault_errno(), -1;
    return REAL(int (*)(int), "fsync")(fd);
}

int close(int fd)
{
    int fails = is_meant("close", fd), error = REAL(int (*)(int), "close")(fd);
    return fails ? errno = fault_errno(), -1 : error;
}

int mkdir(const char *path, mode_t mode)
{
    int status = REAL(int (*)(const char *, mode_t), "mkdir")(path, mode);
    if (is_meant_for("mkdir", path))
        kill(getpid(), SIGKILL);
    return status;
}

int rmdir(const char *path)
{
    if (is_meant_for("rmdir", path))
        kill(getpid(), SIGKILL);
    return REAL(int (*)(const char *), "rmdir")(path);
}

static long long to_ns(const struct timespec *time)
{
    return time->tv_sec * 1000000000LL + time->tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int own = clock == CLOCK_MONOTONIC && is_program(__builtin_return_address(0));
    int status = REAL(int (*)(clockid_t, struct timespec *), "clock_gettime")(clock, now);
    if (!own || (speed == NULL && transfer_ns == NULL && sleeps == NULL))
        return status;
    long long ns = speed == NULL ? to_ns(now) : to_ns(now) * atol(speed);
    if (sleeps != NULL && last_ns > 0)
        ns = last_ns + ++passed_ns;
    else if (has_threads)
        ns = last_ns + passed_ns;
    else
        last_ns = ns;
    *now = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    return status;
}

int nanosleep(const struct timespec *length, struct timespec *left)
{
    const void *caller = __builtin_return_address(0);
    if (!is_counted(caller) && (sleeps == NULL || !is_program(caller)))
        return REAL(int (*)(const struct timespec *, struct timespec *), "nanosleep")(length, left);
    enum { LONGEST_PAUSE_NS = 1000000 };
    passed_ns += to_ns(length) * (sleeps == NULL ? 1 : atol(sleeps));
    if (stall_ns != NULL && !other_rank && to_ns(length) > LONGEST_PAUSE_NS && seen++ == after)
        passed_ns += atoll(stall_ns);
    return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *data)
{
    has_threads = has_threads || (transfer_ns != NULL && is_program(__builtin_return_address(0)));
    return REAL(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *), "pthread_create")(thread, attributes, function,
                                                                                                            data);
}
