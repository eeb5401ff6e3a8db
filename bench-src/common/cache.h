/* cache: which part of a file is in the page cache of this node. Asked of cachestat(2), of mincore(2) where the kernel
 * has no cachestat. Every function returns 0 or -errno. */
#pragma once

#include <stdint.h>

/* Pages of the ranges that were asked about; starts as all zeros, each question adds. */
struct cache_pages {
    int64_t asked, cached;
    int64_t dirty; /* not yet written back, or being written back; -1 where only mincore answered */
};

/* Adds the pages of [offset, offset + bytes) of an open file, which ends no earlier. */
int cache_ask(int fd, int64_t offset, int64_t bytes, struct cache_pages *pages);

/* "cachestat" or "mincore": what cache_ask uses on this node. */
const char *cache_method(void);

/* Writes back what is dirty of an open file and asks the kernel to drop its pages. It may drop them late, or not. */
int cache_drop(int fd);

/* How large the file system that holds path is and how much of it is in use; files below 0 where that is unknown. */
struct cache_space {
    double bytes, used_percent;
    double files, used_files_percent;
};
void cache_space_of(const char *path, struct cache_space *space);

/* Name of the file system that holds path, such as "ext4", or "unknown (0x1234)"; *in_memory is 1 where it has no storage
 * behind it. The reply lives until the next call. NULL where path cannot be asked. */
const char *cache_file_system(const char *path, int *in_memory);
