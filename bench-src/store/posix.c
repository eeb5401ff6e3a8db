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
    STORE_FD_HOOKS,
    .open = open_file,
    .close = store_fd_close,
    .descriptor = descriptor,
};
