/* buf: aligned buffers and a data pattern that storage can neither compress nor deduplicate.
 *
 * Byte at position p of the stream `seed` is a byte of a 64-bit mix of seed and p / 8: no two places repeat, and any
 * piece can be made or checked without the rest. Pure, except that allocation may die. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory, aligned to 4096 bytes as O_DIRECT asks. Free with free(). */
void *buf_alloc(size_t bytes);

/* The same for what storage reads and writes: 1 MiB and more lies in huge pages where the system gives them, so that the
 * rate of O_DIRECT does not depend on how far apart in memory the pages happen to be. */
void *buf_alloc_io(size_t bytes);

/* Writes the pattern of the stream's bytes [offset, offset + bytes). offset is a multiple of 8. */
void buf_fill(void *data, size_t bytes, uint64_t seed, uint64_t offset);

/* Index of the first byte that differs from the pattern, or -1. *expected and *found are set where one differs. */
int64_t buf_check(const void *data, size_t bytes, uint64_t seed, uint64_t offset, unsigned char *expected,
                  unsigned char *found);
