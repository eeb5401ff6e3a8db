/* store_posix: pwrite and pread, one transfer at a time. */
#include "store/fd.h"

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    return store_fd_open(file, sizeof(struct store_fd), path, options);
}

static int descriptor(struct store_file *file)
{
    return store_fd_of(file)->fd;
}

const struct store store_posix = {
    .name = "POSIX",
    .summary = "pwrite and pread",
    .uses_page_cache = true,
    .keeps_bytes = true,
    .can_direct = true,
    .open = open_file,
    .write = store_fd_write,
    .read = store_fd_read,
    .sync = store_fd_sync,
    .close = store_fd_close,
    .remove = store_fd_remove,
    .descriptor = descriptor,
};
