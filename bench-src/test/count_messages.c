/* count_messages: for LD_PRELOAD into a program of MPI: what its ranks send one another, phase by phase, and what memory they
 * take. Written to COUNT_FILE, as one JSON object, when the program ends MPI.
 *
 * Every message is counted as Open MPI sends it, those that collective operations consist of too:
 * `--mca pml_monitoring_enable 1`. A timed part lies between two barriers in which a rank makes at least COUNT_LEAST calls for
 * files below COUNT_DIRECTORY, or without that directory calls that send and receive: no program is asked where its clock runs.
 * The barrier that ends a timed part is counted by itself: the clock of some programs runs on to its end. */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <malloc.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* --- memory: of each block the last usable byte says whether the program itself asked for it, or a library */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

enum { OF_LIBRARY, OF_PROGRAM, OWNERS };

static struct {
    uintptr_t first, end; /* code of the program */
    _Atomic int64_t now[OWNERS], most[OWNERS]; /* most: since the last step began */
    int64_t begun[OWNERS];                     /* what there was then */
} memory;

static void count_bytes(unsigned char *block, int owner, int sign)
{
    size_t bytes = malloc_usable_size(block);
    int64_t now = atomic_fetch_add(&memory.now[owner], sign * (int64_t)bytes) + sign * (int64_t)bytes;
    int64_t most = atomic_load(&memory.most[owner]);
    while (now > most && !atomic_compare_exchange_weak(&memory.most[owner], &most, now))
        ;
    block[bytes - 1] = (unsigned char)owner;
}

static void *keep(void *block, const void *caller)
{
    if (block != NULL)
        count_bytes(block, (uintptr_t)caller >= memory.first && (uintptr_t)caller < memory.end ? OF_PROGRAM : OF_LIBRARY, 1);
    return block;
}

static void forget(unsigned char *block)
{
    count_bytes(block, block[malloc_usable_size(block) - 1] == OF_PROGRAM ? OF_PROGRAM : OF_LIBRARY, -1);
}

void *malloc(size_t bytes)
{
    return keep(__libc_malloc(bytes + 1), __builtin_return_address(0));
}

void *calloc(size_t count, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? NULL : keep(__libc_calloc(1, all + 1), __builtin_return_address(0));
}

void *realloc(void *block, size_t bytes)
{
    if (block != NULL)
        forget(block);
    return keep(__libc_realloc(block, bytes + 1), __builtin_return_address(0));
}

void *memalign(size_t alignment, size_t bytes)
{
    return keep(__libc_memalign(alignment, bytes + 1), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return keep(__libc_memalign(alignment, bytes + 1), __builtin_return_address(0));
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = keep(__libc_memalign(alignment, bytes + 1), __builtin_return_address(0));
    return *block == NULL;
}

void free(void *block)
{
    if (block != NULL)
        forget(block);
    __libc_free(block);
}

/* The first object is the program. */
static int find_code(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && (object->dlpi_phdr[i].p_flags & PF_X) != 0) {
            memory.first = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
            memory.end = memory.first + object->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

static void __attribute__((constructor)) find_program(void)
{
    dl_iterate_phdr(find_code, NULL);
}

/* --- messages: intervals between barriers, put together to what is timed and what lies between */

enum { MOST_RANKS = 4096, MOST_PARTS = 4096 };

struct traffic {
    uint64_t count[MOST_RANKS], bytes[MOST_RANKS]; /* to each rank */
    uint64_t own;                                  /* messages that the program itself sent, outside of collective operations */
};

struct part {
    bool timed;
    double seconds;
    int64_t rises[OWNERS]; /* bytes of memory */
    uint64_t closing; /* messages of the barrier that ended it */
    struct traffic *sent;
};

static struct {
    int rank, ranks;
    struct part parts[MOST_PARTS];
    int done; /* parts; the next one is under way: what lies between two timed ones */
    double last_s;
} trace;

static struct traffic now;
static _Atomic uint64_t operations;

/* Open MPI's component calls it for each message that it is about to send, with a tag below 0 in collective operations. */
void mca_common_monitoring_record_pml(int rank, size_t bytes, int tag)
{
    now.count[rank]++;
    now.bytes[rank] += bytes;
    now.own += tag >= 0;
}

static void stop(const char *why)
{
    fprintf(stderr, "count_messages: rank %d: %s\n", trace.rank, why);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

/* That is not counted. */
static void *memory_of(size_t bytes)
{
    void *list = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        stop("out of memory");
    return list;
}

static void new_part(bool timed)
{
    if (trace.done + 1 >= MOST_PARTS)
        stop("too many timed parts");
    trace.parts[++trace.done] = (struct part){.timed = timed, .sent = memory_of(sizeof(struct traffic))};
}

/* Steps lie between two collective operations. What memory rises by in each is added up, or the largest rise would hide what
 * grows with the ranks while it is still small. */
static void end_step(void)
{
    for (int owner = 0; owner < OWNERS; owner++) {
        int64_t now_bytes = memory.now[owner];
        trace.parts[trace.done].rises[owner] += atomic_exchange(&memory.most[owner], now_bytes) - memory.begun[owner];
        memory.begun[owner] = now_bytes;
    }
}

/* Adds to the part under way what came since the last call. */
static void add(void)
{
    struct part *part = &trace.parts[trace.done];
    double now_s = PMPI_Wtime();
    for (int rank = 0; rank < trace.ranks; rank++) {
        part->sent->count[rank] += now.count[rank];
        part->sent->bytes[rank] += now.bytes[rank];
    }
    part->sent->own += now.own;
    end_step();
    part->seconds += now_s - trace.last_s;
    trace.last_s = now_s;
    memset(&now, 0, sizeof now);
}

/* At a barrier, or at the end of MPI: true where a timed part ends. */
static bool end_interval(void)
{
    bool timed = atomic_exchange(&operations, 0) >= strtoull(getenv("COUNT_LEAST"), NULL, 10);
    if (timed)
        new_part(true);
    add();
    if (timed)
        new_part(false);
    return timed;
}

static int begin(int error)
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &trace.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &trace.ranks);
    if (trace.ranks > MOST_RANKS)
        stop("too many ranks");
    PMPI_Barrier(MPI_COMM_WORLD);
    uint64_t sent = 0;
    for (int rank = 0; rank < trace.ranks; rank++)
        sent += now.count[rank];
    if (sent == 0 && trace.ranks > 1)
        stop("MPI counts no messages: it needs Open MPI with --mca pml_monitoring_enable 1");
    memset(&now, 0, sizeof now);
    trace.done = -1;
    trace.last_s = PMPI_Wtime();
    new_part(false);
    operations = 0;
    return error;
}

int MPI_Init(int *argc, char ***argv)
{
    return begin(PMPI_Init(argc, argv));
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return begin(PMPI_Init_thread(argc, argv, required, provided));
}

int MPI_Barrier(MPI_Comm comm)
{
    bool closes = end_interval();
    int error = PMPI_Barrier(comm);
    for (int rank = 0; closes && rank < trace.ranks; rank++)
        trace.parts[trace.done - 1].closing += now.count[rank];
    if (closes)
        memset(&now, 0, sizeof now);
    add();
    return error;
}

int MPI_Allreduce(const void *own, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    end_step();
    return PMPI_Allreduce(own, all, count, type, op, comm);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    end_step();
    return PMPI_Bcast(data, count, type, root, comm);
}

static bool in_barrier;

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    end_interval();
    in_barrier = true;
    return PMPI_Ibarrier(comm, request);
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    int error = PMPI_Test(request, done, status);
    if (*done && in_barrier) {
        in_barrier = false;
        add();
    }
    return error;
}

/* --- what a rank works on: files below a directory, or messages without one */

static unsigned char below[65536]; /* by descriptor */

static bool count_path(const char *path)
{
    const char *directory = getenv("COUNT_DIRECTORY");
    bool is_below = directory != NULL && path != NULL && strncmp(path, directory, strlen(directory)) == 0;
    operations += is_below;
    return is_below;
}

static bool count_fd(int fd)
{
    bool is_below = fd >= 0 && fd < (int)sizeof below && below[fd];
    operations += is_below;
    return is_below;
}

static int note_open(int fd, bool is_below)
{
    if (fd >= 0 && fd < (int)sizeof below)
        below[fd] = is_below;
    return fd;
}

#define NEXT(TYPE, NAME, PARAMETERS)                \
    static TYPE(*next) PARAMETERS;                  \
    if (next == NULL)                               \
        *(void **)&next = dlsym(RTLD_NEXT, #NAME)

#define OPEN(NAME)                                                   \
    int NAME(const char *path, int flags, ...)                       \
    {                                                                \
        NEXT(int, NAME, (const char *, int, ...));                   \
        va_list rest;                                                \
        va_start(rest, flags);                                       \
        mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                \
        return note_open(next(path, flags, mode), count_path(path)); \
    }
OPEN(open)
OPEN(open64)

#define COUNT(TYPE, NAME, PARAMETERS, ARGUMENTS, OPERATION) \
    TYPE NAME PARAMETERS                                    \
    {                                                       \
        NEXT(TYPE, NAME, PARAMETERS);                       \
        OPERATION;                                          \
        return next ARGUMENTS;                              \
    }
#define COUNT_PATH(NAME, PARAMETERS, ARGUMENTS) COUNT(int, NAME, PARAMETERS, ARGUMENTS, count_path(path))
COUNT_PATH(stat, (const char *path, struct stat *found), (path, found))
COUNT_PATH(stat64, (const char *path, struct stat64 *found), (path, found))
COUNT_PATH(lstat, (const char *path, struct stat *found), (path, found))
COUNT_PATH(unlink, (const char *path), (path))
COUNT_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
COUNT_PATH(rmdir, (const char *path), (path))
#define COUNT_FD(NAME, PARAMETERS, ARGUMENTS) COUNT(ssize_t, NAME, PARAMETERS, ARGUMENTS, count_fd(fd))
COUNT_FD(read, (int fd, void *data, size_t bytes), (fd, data, bytes))
COUNT_FD(write, (int fd, const void *data, size_t bytes), (fd, data, bytes))
COUNT_FD(pread, (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at))
COUNT_FD(pwrite, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at))

/* Without a directory. */
static void count_message(void)
{
    operations += getenv("COUNT_DIRECTORY") == NULL;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    count_message();
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    count_message();
    return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

/* --- the end */

enum { SENT, RECEIVED, BYTES_SENT, BYTES_RECEIVED, OWN_SENT, CLOSING_SENT, PROGRAM_BYTES, LIBRARY_BYTES, NUMBERS };
static const char *const names[NUMBERS] = {"messages_sent", "messages_received", "bytes_sent", "bytes_received",
                                           "own_sent", "closing_sent", "program_bytes", "library_bytes"};

/* Of each part of this rank. In one operation, since with many ranks on a processor each takes long. */
static void sum_up(int count, uint64_t (*own)[NUMBERS])
{
    uint64_t(*sent)[2] = memory_of((size_t)trace.ranks * (size_t)count * sizeof *sent), received[count][2];
    for (int i = 0; i < count; i++) {
        const struct part *part = &trace.parts[i];
        for (int rank = 0; rank < trace.ranks; rank++) {
            uint64_t *to = sent[rank * count + i];
            own[i][SENT] += to[0] = part->sent->count[rank];
            own[i][BYTES_SENT] += to[1] = part->sent->bytes[rank];
        }
        own[i][OWN_SENT] = part->sent->own;
        own[i][CLOSING_SENT] = part->closing;
        own[i][PROGRAM_BYTES] = (uint64_t)part->rises[OF_PROGRAM];
        own[i][LIBRARY_BYTES] = (uint64_t)part->rises[OF_LIBRARY];
    }
    PMPI_Reduce_scatter_block(sent, received, 2 * count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        own[i][RECEIVED] = received[i][0];
        own[i][BYTES_RECEIVED] = received[i][1];
    }
}

/* Each number of rank 0, and the largest of the others. */
static void write_part(FILE *file, const struct part *part, int index, int count, uint64_t (*all)[NUMBERS])
{
    fprintf(file, "%s\n{\"timed\": %s, \"seconds\": %.6f", index > 0 ? "," : "", part->timed ? "true" : "false", part->seconds);
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t most = 0;
        for (int rank = 1; rank < trace.ranks; rank++)
            most = all[rank * count + index][i] > most ? all[rank * count + index][i] : most;
        fprintf(file, ", \"%s\": [%" PRIu64 ", %" PRIu64 "]", names[i], all[index][i], most);
    }
    fprintf(file, "}");
}

int MPI_Finalize(void)
{
    end_interval();
    int count = trace.done + 1, counts[2] = {count, -count}, most[2];
    PMPI_Allreduce(counts, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (most[0] != -most[1])
        stop("ranks have different numbers of timed parts");
    uint64_t(*own)[NUMBERS] = memory_of((size_t)count * sizeof *own), (*all)[NUMBERS] = NULL;
    if (trace.rank == 0)
        all = memory_of((size_t)trace.ranks * (size_t)count * sizeof *all);
    sum_up(count, own);
    PMPI_Gather(own, count * NUMBERS, MPI_UINT64_T, all, count * NUMBERS, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (trace.rank == 0) {
        FILE *file = fopen(getenv("COUNT_FILE"), "w");
        if (file == NULL)
            stop("cannot write COUNT_FILE");
        fprintf(file, "{\"ranks\": %d, \"parts\": [", trace.ranks);
        for (int i = 0; i < count; i++)
            write_part(file, &trace.parts[i], i, count, all);
        fprintf(file, "]}\n");
        fclose(file);
    }
    return PMPI_Finalize();
}
