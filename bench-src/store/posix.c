/* store_posix: pwrite and pread, one transfer at a time. */
#include "store/contract.h"

#include "common/die.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct store_file {
    int fd;
    bool one_attempt;
};

/* Not posix_fallocate, which would write zeros where the file system cannot. */
static int reserve(int fd, const struct store_options *options)
{
    if (!options->writes || options->reserve_bytes == 0 || fallocate(fd, 0, 0, options->reserve_bytes) == 0)
        return 0;
    return errno == EOPNOTSUPP && !options->must_reserve ? 0 : -errno;
}

int store_fd_open(const char *path, const struct store_options *options)
{
    int flags = (options->writes ? O_CREAT | O_RDWR : O_RDONLY) | (options->direct ? O_DIRECT : 0) | O_CLOEXEC;
    int fd = open(path, flags, 0666);
    if (fd < 0)
        return -errno;
    int error = reserve(fd, options);
    if (error == 0)
        return fd;
    close(fd);
    return error;
}

int64_t store_fd_write_on(int fd, bool one_attempt, const void *buffer, int64_t bytes, int64_t offset, ssize_t moved)
{
    int64_t done = 0;
    for (;;) {
        if (moved < 0 && errno != EINTR)
            return -errno;
        done += moved > 0 ? moved : 0;
        if (moved == 0 || done == bytes || one_attempt)
            return done;
        moved = pwrite(fd, (const char *)buffer + done, (size_t)(bytes - done), offset + done);
    }
}

int64_t store_fd_read_on(int fd, bool one_attempt, void *buffer, int64_t bytes, int64_t offset, ssize_t moved)
{
    int64_t done = 0;
    for (;;) {
        if (moved < 0 && errno != EINTR)
            return -errno;
        done += moved > 0 ? moved : 0;
        if (moved == 0 || done == bytes || one_attempt)
            return done;
        moved = pread(fd, (char *)buffer + done, (size_t)(bytes - done), offset + done);
    }
}

int64_t store_fd_write(int fd, bool one_attempt, const void *buffer, int64_t bytes, int64_t offset)
{
    return store_fd_write_on(fd, one_attempt, buffer, bytes, offset, pwrite(fd, buffer, (size_t)bytes, offset));
}

int64_t store_fd_read(int fd, bool one_attempt, void *buffer, int64_t bytes, int64_t offset)
{
    return store_fd_read_on(fd, one_attempt, buffer, bytes, offset, pread(fd, buffer, (size_t)bytes, offset));
}

int store_fd_sync(int fd)
{
    return fsync(fd) != 0 ? -errno : 0;
}

int store_fd_close(int fd)
{
    /* Never again after EINTR: the descriptor is gone. */
    return close(fd) != 0 ? -errno : 0;
}

int store_path_remove(const char *path)
{
    return unlink(path) != 0 ? -errno : 0;
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    int fd = store_fd_open(path, options);
    if (fd < 0)
        return fd;
    *file = die_alloc(sizeof(void *), sizeof **file);
    (*file)->fd = fd;
    (*file)->one_attempt = options->one_attempt;
    return 0;
}

static int64_t write_bytes(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    return store_fd_write(file->fd, file->one_attempt, buffer, bytes, offset);
}

static int64_t read_bytes(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    return store_fd_read(file->fd, file->one_attempt, buffer, bytes, offset);
}

static int descriptor(struct store_file *file)
{
    return file->fd;
}

static int sync_file(struct store_file *file)
{
    return store_fd_sync(file->fd);
}

static int close_file(struct store_file *file)
{
    int error = store_fd_close(file->fd);
    free(file);
    return error;
}

const struct store store_posix = {
    .name = "POSIX",
    .summary = "pwrite and pread",
    .uses_page_cache = true,
    .keeps_bytes = true,
    .can_direct = true,
    .open = open_file,
    .write = write_bytes,
    .read = read_bytes,
    .sync = sync_file,
    .close = close_file,
    .remove = store_path_remove,
    .descriptor = descriptor,
};
