/* pattern: what a rank's transfers contain, generated with almost no work per transfer, and checked afterwards.
 *
 * Ready-made data for a number of transfers lies in a window; each transfer takes its slice of it and only gets stamps,
 * 8 bytes in every 4096. PATTERN_UNIQUE: the window is random, different for each rank and seed, 128 KiB or more, and no
 * two stamps of a run are the same: 4 KiB blocks are all different, and a compressor finds nothing in pieces smaller
 * than the window. The other kinds are IOR's (64-bit words, little-endian on the usual machines):
 *   PATTERN_TIMESTAMP  word j of each transfer is rank << 32 | seed + j, the seed being the 32-bit number that IOR makes of
 *                      it: below 0 its sign fills the upper half too, so that no word before seed + j = 0 tells the rank
 *   PATTERN_OFFSET     the same, but word 512·k is rank << 32 | (offset · (k + 1)) mod 2^32, as IOR 4 writes it
 * No MPI, no I/O. */
#pragma once

#include <stdint.h>
#include <string.h>

enum pattern_kind { PATTERN_UNIQUE, PATTERN_TIMESTAMP, PATTERN_OFFSET };

enum { PATTERN_STAMP_STEP = 4096, PATTERN_CACHE_LINE = 64 };
#define PATTERN_STAMP_MORE 0x9e3779b97f4a7c15u /* odd: no stamp comes twice in 2^64 */

struct pattern {
    enum pattern_kind kind;
    int64_t transfer_bytes;
    int64_t slices; /* a power of two */
    unsigned char *window;
    uint64_t seed, key; /* key: of PATTERN_UNIQUE's stamps */
    int rank;           /* whose data the window has, -1: none yet */
};

/* transfer_bytes is a multiple of 8; at_once is the number of transfers whose data must stay intact together. */
void pattern_init(struct pattern *pattern, enum pattern_kind kind, int64_t transfer_bytes, int at_once);
void pattern_free(struct pattern *pattern);

/* Makes the window of a rank's data; nothing to do where it is there already. Not for the timed part. */
void pattern_prepare(struct pattern *pattern, uint64_t seed, int rank);

/* Which slice the rank's index'th transfer takes: transfers that overlap in time need different ones. */
static inline int64_t pattern_slice(const struct pattern *pattern, int64_t index)
{
    return index & (pattern->slices - 1);
}

/* Word j of PATTERN_TIMESTAMP. */
static inline uint64_t pattern_word(uint64_t seed, int rank, uint64_t word)
{
    return (uint64_t)rank << 32 | ((uint64_t)(int64_t)(int32_t)seed + word);
}

/* For pattern_data. */
void pattern_stamp_offset(unsigned char *data, int64_t bytes, int rank, int64_t offset);

/* The data of the rank's index'th transfer, which goes to `offset` of the file: intact until the slice is taken again. */
static inline void *pattern_data(const struct pattern *pattern, int64_t index, int64_t offset)
{
    unsigned char *data = pattern->window + pattern_slice(pattern, index) * pattern->transfer_bytes;
    int64_t bytes = pattern->transfer_bytes;
    if (pattern->kind == PATTERN_UNIQUE) {
        /* All at the start of their 4 KiB they would share one set of the processor's cache, and cost ten times as much:
         * each is a cache line further on. Not where transfers are no whole number of 4 KiB: a block could lack one. */
        int64_t stamps = (bytes + PATTERN_STAMP_STEP - 1) / PATTERN_STAMP_STEP;
        uint64_t stamp = pattern->key + (uint64_t)(index * stamps) * PATTERN_STAMP_MORE;
        int64_t further = bytes % PATTERN_STAMP_STEP == 0 ? PATTERN_CACHE_LINE : 0;
        uint64_t block = (uint64_t)(pattern_slice(pattern, index) * stamps);
        for (int64_t at = 0; at < bytes; at += PATTERN_STAMP_STEP, stamp += PATTERN_STAMP_MORE, block++)
            memcpy(data + at + (int64_t)(block % (PATTERN_STAMP_STEP / PATTERN_CACHE_LINE)) * further, &stamp, sizeof stamp);
    } else if (pattern->kind == PATTERN_OFFSET) {
        pattern_stamp_offset(data, bytes, pattern->rank, offset);
    }
    return data;
}

/* Where data differs from what it should be. */
struct pattern_difference {
    int64_t first; /* byte of the transfer */
    int64_t bytes; /* how many are wrong */
    unsigned char expected, found;
};

/* True where data is what the rank's index'th transfer should hold. */
int pattern_matches(struct pattern *pattern, const void *data, int64_t index, int64_t offset,
                    struct pattern_difference *difference);
