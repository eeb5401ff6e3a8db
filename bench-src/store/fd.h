/* store_fd: what the back ends on file descriptors share. Their struct store_file begins with a struct store_fd, so that
 * these functions are their hooks. */
#pragma once

#include "store/contract.h"

#include <sys/types.h>

struct store_fd {
    int fd;
    bool one_attempt;
};

static inline const struct store_fd *store_fd_of(const struct store_file *file)
{
    return (const struct store_fd *)file;
}

/* What all of them are and have. */
#define STORE_FD_HOOKS                                                                                                 \
    .uses_page_cache = true, .keeps_bytes = true, .can_direct = true, .write = store_fd_write, .read = store_fd_read,  \
    .sync = store_fd_sync, .remove = store_fd_remove

/* As the hook, for a struct store_file of file_bytes; all behind its struct store_fd is 0. */
int store_fd_open(struct store_file **file, size_t file_bytes, const char *path, const struct store_options *options);

/* The rest of a transfer whose first system call has returned `moved`. Returns what the hook does. */
int64_t store_fd_go_on(const struct store_fd *at, bool writes, void *buffer, int64_t bytes, int64_t offset,
                       ssize_t moved);

int64_t store_fd_write(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset);
int64_t store_fd_read(struct store_file *file, void *buffer, int64_t bytes, int64_t offset);
int store_fd_sync(struct store_file *file);
int store_fd_close(struct store_file *file);
int store_fd_remove(const char *path);
