/* store_uring: io_uring through liburing, many transfers at a time. What submit was given goes to the kernel in one
 * system call with the wait of the next reap. */
#include "store/fd.h"

#include <errno.h>

#ifdef HAVE_LIBURING

#include <liburing.h>
#include <string.h>
#include <sys/uio.h>

enum { MOST_REGISTERED = 4 << 20 }; /* bytes: looking up the pages of larger transfers is a small part of them */

struct store_file {
    struct store_fd at;
    struct io_uring ring;
    struct store_memory registered[STORE_MEMORIES]; /* 0 bytes: not */
};

/* The kernel may lack it, or forbid it. */
static int probe(void)
{
    struct io_uring ring;
    int error = io_uring_queue_init(1, &ring, 0);
    if (error == 0)
        io_uring_queue_exit(&ring);
    return error;
}

/* Completions are to come when reap asks for them (from Linux 6.1 on), or at the next system call (5.19); otherwise each
 * interrupts this thread. */
static int make_ring(struct io_uring *ring, unsigned depth)
{
    static const unsigned ways[] = {
#ifdef IORING_SETUP_DEFER_TASKRUN
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
#endif
#ifdef IORING_SETUP_COOP_TASKRUN
        IORING_SETUP_COOP_TASKRUN,
#endif
        0};
    int error = -EINVAL; /* as of a kernel that does not know a flag */
    for (size_t i = 0; error == -EINVAL && i < sizeof ways / sizeof ways[0]; i++)
        error = io_uring_queue_init(depth, ring, ways[i]);
    return error;
}

/* The kernel then need not look up the pages of each transfer. It may refuse: a user may lock only so much memory. */
static void register_memory(struct store_file *file, const struct store_options *options)
{
    struct iovec pieces[STORE_MEMORIES];
    unsigned count = 0;
    int64_t bytes = 0;
    for (; count < STORE_MEMORIES && options->memory[count].bytes > 0; count++) {
        pieces[count] = (struct iovec){options->memory[count].start, (size_t)options->memory[count].bytes};
        bytes += options->memory[count].bytes;
    }
    if (count == 0 || bytes > MOST_REGISTERED || io_uring_register_buffers(&file->ring, pieces, count) != 0)
        return;
    memcpy(file->registered, options->memory, sizeof file->registered);
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    int error = store_fd_open(file, sizeof **file, path, options);
    if (error != 0)
        return error;
    error = make_ring(&(*file)->ring, (unsigned)options->depth);
    if (error != 0)
        store_fd_close(*file);
    else
        register_memory(*file, options);
    return error;
}

/* Which of the registered memories a buffer lies in, -1: none. */
static int place_of(const struct store_file *file, const void *buffer, unsigned bytes)
{
    for (int i = 0; i < STORE_MEMORIES; i++) {
        uint64_t within = (uintptr_t)buffer - (uintptr_t)file->registered[i].start;
        if (within + bytes <= (uint64_t)file->registered[i].bytes && within + bytes >= within)
            return i;
    }
    return -1;
}

static int submit(struct store_file *file, int slot, bool writes, void *buffer, int64_t bytes, int64_t offset)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&file->ring);
    if (entry == NULL)
        return -EBUSY;
    unsigned length = bytes > STORE_MOST_AT_ONCE ? STORE_MOST_AT_ONCE : (unsigned)bytes;
    int fd = file->at.fd, place = place_of(file, buffer, length);
    if (writes && place >= 0)
        io_uring_prep_write_fixed(entry, fd, buffer, length, (uint64_t)offset, place);
    else if (writes)
        io_uring_prep_write(entry, fd, buffer, length, (uint64_t)offset);
    else if (place >= 0)
        io_uring_prep_read_fixed(entry, fd, buffer, length, (uint64_t)offset, place);
    else
        io_uring_prep_read(entry, fd, buffer, length, (uint64_t)offset);
    entry->user_data = (uint64_t)slot;
    return 0;
}

static int reap(struct store_file *file, struct store_done *done, int most)
{
    int started;
    do
        started = io_uring_submit_and_wait(&file->ring, 1);
    while (started == -EINTR);
    if (started < 0)
        return started;
    struct io_uring_cqe *entry;
    unsigned head, seen = 0;
    io_uring_for_each_cqe(&file->ring, head, entry)
    {
        if ((int)seen == most)
            break;
        done[seen].slot = (int)entry->user_data;
        done[seen].result = entry->res;
        seen++;
    }
    io_uring_cq_advance(&file->ring, seen);
    return (int)seen;
}

static int close_file(struct store_file *file)
{
    io_uring_queue_exit(&file->ring);
    return store_fd_close(file);
}

#define HOOKS .open = open_file, .submit = submit, .reap = reap, .close = close_file

#else

static int probe(void)
{
    return -ENOSYS;
}

#define HOOKS .open = NULL /* probe says no, so that none is called */

#endif

const struct store store_uring = {
    .name = "URING",
    STORE_FD_HOOKS,
    .fallback = "AIO",
    .probe = probe,
    HOOKS,
};
