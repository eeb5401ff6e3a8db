/* store_uring: io_uring through liburing, many transfers at a time. What submit was given goes to the kernel in one
 * system call with the wait of the next reap. */
#include "store/fd.h"

#include <errno.h>

#ifdef HAVE_LIBURING

#include <liburing.h>

struct store_file {
    struct store_fd at;
    struct io_uring ring;
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

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    int error = store_fd_open(file, sizeof **file, path, options);
    if (error != 0)
        return error;
    error = io_uring_queue_init((unsigned)options->depth, &(*file)->ring, 0);
    if (error != 0)
        store_fd_close(*file);
    return error;
}

static int submit(struct store_file *file, int slot, bool writes, void *buffer, int64_t bytes, int64_t offset)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&file->ring);
    if (entry == NULL)
        return -EBUSY;
    unsigned length = bytes > INT32_MAX ? INT32_MAX & ~4095 : (unsigned)bytes;
    if (writes)
        io_uring_prep_write(entry, file->at.fd, buffer, length, (uint64_t)offset);
    else
        io_uring_prep_read(entry, file->at.fd, buffer, length, (uint64_t)offset);
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
