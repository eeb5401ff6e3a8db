/* raw: files and the clock by system calls of the benchmark's own, not through the functions of the C library, which a
 * preloaded library can replace. For what a run says about itself; nothing that is measured goes this way. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file descriptor for reading, or -errno; the bytes read, or -errno. */
int raw_open(const char *path);
ssize_t raw_read(int fd, void *buffer, size_t bytes);

/* A small file's text with a zero byte behind it, to be freed; "" where it cannot be read. */
char *raw_text(const char *path);

/* The inode of the file that a path leads to, 0 if there is none. */
uint64_t raw_inode(const char *path);

/* The monotonic clock, in ns. */
uint64_t raw_ns(void);

/* A clock and the kernel's at the same moment, which a process that is stopped between two readings misses: of up to 100
 * attempts the one that took the kernel's clock the least time. */
void raw_beside(uint64_t (*clock)(void), uint64_t (*kernels)(void), uint64_t *clock_ns, uint64_t *kernels_ns);
