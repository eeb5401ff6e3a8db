/* store_posix: pwrite and pread, one transfer at a time; on request each holds a lock on its bytes. */
#include "store/fd.h"

#include <errno.h>
#include <fcntl.h>

struct store_file {
    struct store_fd at;
    bool range_locks;
};

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    int error = store_fd_open(file, sizeof(struct store_file), path, options);
    if (error == 0)
        (*file)->range_locks = options->range_locks;
    return error;
}

/* 0, or -errno. */
static int lock(const struct store_file *file, short kind, int64_t bytes, int64_t offset)
{
    struct flock range = {.l_type = kind, .l_whence = SEEK_SET, .l_start = offset, .l_len = bytes};
    while (fcntl(file->at.fd, F_SETLKW, &range) != 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static int64_t move_locked(struct store_file *file, bool writes, void *buffer, int64_t bytes, int64_t offset)
{
    int error = lock(file, writes ? F_WRLCK : F_RDLCK, bytes, offset);
    if (error != 0)
        return error;
    int64_t moved = writes ? store_fd_write(file, buffer, bytes, offset) : store_fd_read(file, buffer, bytes, offset);
    error = lock(file, F_UNLCK, bytes, offset);
    return error != 0 ? error : moved;
}

static int64_t write_bytes(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    return file->range_locks ? move_locked(file, true, (void *)buffer, bytes, offset)
                             : store_fd_write(file, buffer, bytes, offset);
}

static int64_t read_bytes(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    return file->range_locks ? move_locked(file, false, buffer, bytes, offset) : store_fd_read(file, buffer, bytes, offset);
}

/* Whoever writes to the descriptor takes no locks. */
static int descriptor(struct store_file *file)
{
    return file->range_locks ? -1 : file->at.fd;
}

const struct store store_posix = {
    .name = "POSIX",
    .uses_page_cache = true,
    .keeps_bytes = true,
    .can_direct = true,
    .open = open_file,
    .write = write_bytes,
    .read = read_bytes,
    .sync = store_fd_sync,
    .close = store_fd_close,
    .remove = store_fd_remove,
    .descriptor = descriptor,
};
