/* store_way: an open file as the loops over its transfers need it. */
#pragma once

#include "store/fd.h"

#include <unistd.h>

struct store_way {
    const struct store *store;
    struct store_file *file;
    struct store_fd at; /* at.fd -1: the store has no descriptor */
};

static inline struct store_way store_way(const struct store *store, struct store_file *file, bool one_attempt)
{
    int fd = store->descriptor != NULL ? store->descriptor(file) : -1;
    return (struct store_way){store, file, {fd, one_attempt}};
}

/* store->write and store->read. A system call leaves little of this process in the caches beside the processor, so that
 * each further function on the way there costs some 10 ns, 1% to 2% of 4 KiB: where it can be, the call is made here. What is
 * handed on is a copy, so that the descriptor may stay in a register. */
static inline int64_t store_write(const struct store_way *way, const void *buffer, int64_t bytes, int64_t offset)
{
    if (way->at.fd < 0)
        return way->store->write(way->file, buffer, bytes, offset);
    ssize_t moved = pwrite(way->at.fd, buffer, (size_t)bytes, offset);
    return moved == bytes ? bytes
                          : store_fd_go_on(&(struct store_fd){way->at.fd, way->at.one_attempt}, true, (void *)buffer, bytes,
                                           offset, moved);
}

static inline int64_t store_read(const struct store_way *way, void *buffer, int64_t bytes, int64_t offset)
{
    if (way->at.fd < 0)
        return way->store->read(way->file, buffer, bytes, offset);
    ssize_t moved = pread(way->at.fd, buffer, (size_t)bytes, offset);
    return moved == bytes ? bytes
                          : store_fd_go_on(&(struct store_fd){way->at.fd, way->at.one_attempt}, false, buffer, bytes, offset,
                                           moved);
}
