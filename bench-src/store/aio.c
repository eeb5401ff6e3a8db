/* store_aio: POSIX AIO, many transfers at a time. glibc works through the requests of one file descriptor one after the
 * other, so that each slot has a descriptor of its own. */
#include "store/contract.h"

#include "common/die.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

struct store_file {
    bool one_attempt;
    int depth;
    struct aiocb *blocks;        /* of each slot; aio_fildes stays the slot's descriptor */
    const struct aiocb **listed; /* of each slot: its block while it is under way, else NULL */
};

static int close_descriptors(struct store_file *file, int count)
{
    int first_error = 0;
    for (int slot = 0; slot < count; slot++) {
        int error = store_fd_close(file->blocks[slot].aio_fildes);
        first_error = first_error == 0 ? error : first_error;
    }
    free(file->blocks);
    free(file->listed);
    free(file);
    return first_error;
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    struct aioinit settings = {.aio_threads = options->depth, .aio_num = options->depth};
    aio_init(&settings);
    struct store_file *made = die_alloc(sizeof(void *), sizeof *made);
    made->one_attempt = options->one_attempt;
    made->depth = options->depth;
    made->blocks = die_alloc(sizeof(void *), (size_t)made->depth * sizeof *made->blocks);
    made->listed = die_alloc(sizeof(void *), (size_t)made->depth * sizeof *made->listed);
    for (int slot = 0; slot < made->depth; slot++) {
        int fd = slot == 0 ? store_fd_open(path, options) : fcntl(made->blocks[0].aio_fildes, F_DUPFD_CLOEXEC, 0);
        if (fd < 0) {
            int error = slot == 0 ? fd : -errno;
            close_descriptors(made, slot);
            return error;
        }
        made->blocks[slot].aio_fildes = fd;
    }
    *file = made;
    return 0;
}

static int64_t write_bytes(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    return store_fd_write(file->blocks[0].aio_fildes, file->one_attempt, buffer, bytes, offset);
}

static int64_t read_bytes(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    return store_fd_read(file->blocks[0].aio_fildes, file->one_attempt, buffer, bytes, offset);
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

static int sync_file(struct store_file *file)
{
    return store_fd_sync(file->blocks[0].aio_fildes);
}

static int close_file(struct store_file *file)
{
    return close_descriptors(file, file->depth);
}

const struct store store_aio = {
    .name = "AIO",
    .summary = "POSIX AIO, --queue-depth transfers at a time",
    .uses_page_cache = true,
    .keeps_bytes = true,
    .can_direct = true,
    .open = open_file,
    .write = write_bytes,
    .read = read_bytes,
    .submit = submit,
    .reap = reap,
    .sync = sync_file,
    .close = close_file,
    .remove = store_path_remove,
};
