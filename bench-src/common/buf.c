/* buf: aligned buffers and the data pattern. */
#include "common/buf.h"

#include "common/die.h"
#include "common/permute.h"

#include <string.h>

void *buf_alloc(size_t bytes)
{
    return die_alloc(4096, bytes);
}

void *buf_alloc_io(size_t bytes)
{
    if (bytes < DIE_HUGE_PAGE / 2)
        return buf_alloc(bytes);
    return die_alloc(DIE_HUGE_PAGE, (bytes + DIE_HUGE_PAGE - 1) / DIE_HUGE_PAGE * DIE_HUGE_PAGE);
}

static uint64_t word_at(uint64_t stream, uint64_t index)
{
    return permute_mix(stream + index * 0x9e3779b97f4a7c15u);
}

void buf_fill(void *data, size_t bytes, uint64_t seed, uint64_t offset)
{
    unsigned char *at = data;
    uint64_t stream = permute_mix(seed), index = offset / 8;
    size_t words = bytes / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t word = word_at(stream, index + i);
        memcpy(at + 8 * i, &word, 8);
    }
    if (bytes % 8 > 0) {
        uint64_t word = word_at(stream, index + words);
        memcpy(at + 8 * words, &word, bytes % 8);
    }
}

int64_t buf_check(const void *data, size_t bytes, uint64_t seed, uint64_t offset, unsigned char *expected,
                  unsigned char *found)
{
    const unsigned char *at = data;
    uint64_t stream = permute_mix(seed), index = offset / 8;
    for (size_t start = 0; start < bytes; start += 8, index++) {
        size_t part = bytes - start < 8 ? bytes - start : 8;
        uint64_t word = word_at(stream, index);
        if (memcmp(at + start, &word, part) == 0)
            continue;
        size_t i = start;
        while (at[i] == ((unsigned char *)&word)[i - start])
            i++;
        *expected = ((unsigned char *)&word)[i - start];
        *found = at[i];
        return (int64_t)i;
    }
    return -1;
}
