/* store_fd: opening and moving bytes on a file descriptor. */
#include "store/fd.h"

#include "common/die.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Not posix_fallocate, which would write zeros where the file system cannot. */
static int reserve(int fd, const struct store_options *options)
{
    if (!options->writes || options->reserve_bytes == 0 || fallocate(fd, 0, 0, options->reserve_bytes) == 0)
        return 0;
    return errno == EOPNOTSUPP && !options->must_reserve ? 0 : -errno;
}

int store_fd_open(struct store_file **file, size_t file_bytes, const char *path, const struct store_options *options)
{
    int flags = (options->writes ? O_CREAT | O_RDWR : O_RDONLY) | (options->direct ? O_DIRECT : 0) | O_CLOEXEC;
    int fd = open(path, flags, 0666);
    if (fd < 0)
        return -errno;
    int error = reserve(fd, options);
    if (error != 0) {
        close(fd);
        return error;
    }
    struct store_fd *made = die_alloc(sizeof(void *), file_bytes);
    *made = (struct store_fd){fd, options->one_attempt};
    *file = (struct store_file *)made;
    return 0;
}

int64_t store_fd_go_on(const struct store_fd *at, bool writes, void *buffer, int64_t bytes, int64_t offset,
                       ssize_t moved)
{
    int64_t done = 0;
    for (;;) {
        if (moved < 0 && errno != EINTR)
            return -errno;
        done += moved > 0 ? moved : 0;
        if (moved == 0 || done == bytes || at->one_attempt)
            return done;
        char *next = (char *)buffer + done;
        size_t left = (size_t)(bytes - done);
        moved = writes ? pwrite(at->fd, next, left, offset + done) : pread(at->fd, next, left, offset + done);
    }
}

int64_t store_fd_write(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    const struct store_fd *at = store_fd_of(file);
    return store_fd_go_on(at, true, (void *)buffer, bytes, offset, pwrite(at->fd, buffer, (size_t)bytes, offset));
}

int64_t store_fd_read(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    const struct store_fd *at = store_fd_of(file);
    return store_fd_go_on(at, false, buffer, bytes, offset, pread(at->fd, buffer, (size_t)bytes, offset));
}

int store_fd_sync(struct store_file *file)
{
    return fsync(store_fd_of(file)->fd) != 0 ? -errno : 0;
}

int store_fd_close(struct store_file *file)
{
    /* Never again after EINTR: the descriptor is gone. */
    int error = close(store_fd_of(file)->fd) != 0 ? -errno : 0;
    free(file);
    return error;
}

int store_fd_remove(const char *path)
{
    return unlink(path) != 0 ? -errno : 0;
}
