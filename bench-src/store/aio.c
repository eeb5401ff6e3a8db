/* store_aio: POSIX AIO, many transfers at a time. glibc works through the requests of one file descriptor one after the
 * other, so that each slot has a descriptor of its own. */
#include "store/fd.h"

#include "common/die.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct store_file {
    struct store_fd first; /* the descriptor of slot 0 */
    int depth;
    struct aiocb *blocks;        /* of each slot; aio_fildes stays the slot's descriptor */
    const struct aiocb **listed; /* of each slot: its block while it is under way, else NULL */
};

/* Closes the descriptors of the first `count` slots. */
static int close_slots(struct store_file *file, int count)
{
    int first_error = 0;
    for (int slot = 1; slot < count; slot++)
        if (close(file->blocks[slot].aio_fildes) != 0 && first_error == 0)
            first_error = -errno;
    free(file->blocks);
    free(file->listed);
    int error = store_fd_close(file);
    return error != 0 ? error : first_error;
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
#ifdef __GLIBC__ /* musl starts a thread for each request by itself */
    struct aioinit settings = {.aio_threads = options->depth, .aio_num = options->depth};
    aio_init(&settings);
#endif
    struct store_file *made;
    int error = store_fd_open(&made, sizeof *made, path, options);
    if (error != 0)
        return error;
    made->depth = options->depth;
    made->blocks = die_alloc(sizeof(void *), (size_t)made->depth * sizeof *made->blocks);
    made->listed = die_alloc(sizeof(void *), (size_t)made->depth * sizeof *made->listed);
    for (int slot = 0; slot < made->depth; slot++) {
        int fd = slot == 0 ? made->first.fd : fcntl(made->first.fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            error = -errno;
            close_slots(made, slot);
            return error;
        }
        made->blocks[slot].aio_fildes = fd;
    }
    *file = made;
    return 0;
}

static int submit(struct store_file *file, int slot, bool writes, void *buffer, int64_t bytes, int64_t offset)
{
    struct aiocb *block = &file->blocks[slot];
    block->aio_offset = offset;
    block->aio_buf = buffer;
    block->aio_nbytes = (size_t)bytes;
    block->aio_sigevent.sigev_notify = SIGEV_NONE;
    if ((writes ? aio_write(block) : aio_read(block)) != 0)
        return -errno;
    file->listed[slot] = block;
    return 0;
}

static int reap(struct store_file *file, struct store_done *done, int most)
{
    int seen = 0;
    while (aio_suspend(file->listed, file->depth, NULL) != 0)
        if (errno != EINTR)
            return -errno;
    for (int slot = 0; slot < file->depth && seen < most; slot++) {
        if (file->listed[slot] == NULL)
            continue;
        int error = aio_error(&file->blocks[slot]);
        if (error == EINPROGRESS)
            continue;
        ssize_t moved = aio_return(&file->blocks[slot]);
        file->listed[slot] = NULL;
        done[seen].slot = slot;
        done[seen].result = error != 0 ? -error : moved;
        seen++;
    }
    return seen;
}

static int close_file(struct store_file *file)
{
    return close_slots(file, file->depth);
}

const struct store store_aio = {
    .name = "AIO",
    STORE_FD_HOOKS,
    .open = open_file,
    .submit = submit,
    .reap = reap,
    .close = close_file,
};
