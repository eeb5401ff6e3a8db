/* cold_cache: for LD_PRELOAD under valgrind's callgrind with a first-level cache of 32 KiB, 8-way, with lines of 64 bytes. After
 * each call that enters the kernel or MPI nothing of the program is left in it, as after a real one that works on other data.
 * So the misses of the program are the lines that it touches between two calls.
 *
 * Where callgrind starts without counting, it counts from the first MPI_Comm_free on: an applet has hashed its libraries then,
 * which takes longer under a simulator than all else. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <valgrind/callgrind.h>

enum { CACHE_BYTES = 32 << 10, LINE_BYTES = 64 };

static _Alignas(4096) volatile char other_data[CACHE_BYTES];

static void __attribute__((noinline)) empty_cache(void)
{
    for (int at = 0; at < CACHE_BYTES; at += LINE_BYTES)
        (void)other_data[at];
}

/* TYPE NAME(PARAMETERS), which calls the next one of this name. */
#define AROUND(TYPE, NAME, PARAMETERS, ARGUMENTS)                                                                                \
    TYPE NAME PARAMETERS                                                                                                         \
    {                                                                                                                            \
        static TYPE(*next) PARAMETERS;                                                                                           \
        if (next == NULL)                                                                                                        \
            *(void **)&next = dlsym(RTLD_NEXT, #NAME);                                                                           \
        TYPE result = next ARGUMENTS;                                                                                            \
        empty_cache();                                                                                                           \
        return result;                                                                                                           \
    }

AROUND(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
AROUND(int, close, (int fd), (fd))
AROUND(int, stat, (const char *path, struct stat *status), (path, status))
AROUND(int, unlink, (const char *path), (path))
AROUND(ssize_t, pread, (int fd, void *buffer, size_t bytes, off_t offset), (fd, buffer, bytes, offset))
AROUND(ssize_t, pwrite, (int fd, const void *buffer, size_t bytes, off_t offset), (fd, buffer, bytes, offset))
AROUND(ssize_t, read, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes))
AROUND(ssize_t, write, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes))
AROUND(int, MPI_Isend, (const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request),
       (buffer, count, type, peer, tag, comm, request))
AROUND(int, MPI_Irecv, (void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request),
       (buffer, count, type, peer, tag, comm, request))

int MPI_Comm_free(MPI_Comm *comm)
{
    CALLGRIND_START_INSTRUMENTATION;
    return PMPI_Comm_free(comm);
}
