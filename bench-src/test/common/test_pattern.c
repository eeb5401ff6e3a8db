/* pattern: unique data, IOR's kinds, and that every flipped bit is seen. */
#include "common/pattern.h"
#include "test/check.h"

#include <stdlib.h>
#include <string.h>

enum { TRANSFER = 16 << 10 };

static int compare_blocks(const void *a, const void *b)
{
    return memcmp(a, b, 4096);
}

/* Two ranks, several laps through the window: no 4 KiB block comes twice. */
static void test_no_block_repeats(void)
{
    enum { TRANSFERS = 200, BLOCKS = 2 * TRANSFERS * TRANSFER / 4096 };
    unsigned char *all = malloc((size_t)BLOCKS * 4096);
    struct pattern pattern;
    pattern_init(&pattern, PATTERN_UNIQUE, TRANSFER, 1);
    CHECK(pattern.slices < TRANSFERS / 2);
    for (int rank = 0; rank < 2; rank++) {
        pattern_prepare(&pattern, 42, rank);
        for (int64_t i = 0; i < TRANSFERS; i++)
            memcpy(all + (rank * TRANSFERS + i) * TRANSFER, pattern_data(&pattern, i, i * TRANSFER), TRANSFER);
    }
    qsort(all, BLOCKS, 4096, compare_blocks);
    for (int i = 1; i < BLOCKS; i++)
        CHECK(compare_blocks(all + (i - 1) * 4096, all + i * 4096) != 0);
    free(all);
    pattern_free(&pattern);
}

/* Stamps in one cache set push each other out of the processor's cache: each is in another one than its neighbours. */
static void test_stamps_are_spread_over_the_cache(void)
{
    struct pattern pattern;
    static unsigned char before[TRANSFER];
    pattern_init(&pattern, PATTERN_UNIQUE, TRANSFER, 1);
    pattern_prepare(&pattern, 42, 0);
    for (int64_t i = 0; i < pattern.slices; i++) {
        memcpy(before, pattern_data(&pattern, i, 0), TRANSFER);
        const unsigned char *after = pattern_data(&pattern, i + pattern.slices, 0);
        for (int64_t block = 0; block < TRANSFER / 4096; block++) {
            const int64_t line = (i * (TRANSFER / 4096) + block) % 64, stamp = block * 4096 + line * 64;
            CHECK(memcmp(before + stamp, after + stamp, 8) != 0);
            CHECK(memcmp(before + block * 4096, after + block * 4096, (size_t)line * 64) == 0);
            CHECK(memcmp(before + stamp + 8, after + stamp + 8, (size_t)(4096 - line * 64 - 8)) == 0);
        }
    }
    pattern_free(&pattern);
}

static void test_the_window_is_a_quarter_mebibyte_at_least_and_holds_what_is_under_way(void)
{
    struct pattern pattern;
    pattern_init(&pattern, PATTERN_UNIQUE, 4096, 1);
    CHECK_INT(pattern.slices * 4096, 128 << 10);
    pattern_free(&pattern);
    pattern_init(&pattern, PATTERN_UNIQUE, 1 << 20, 5);
    CHECK_INT(pattern.slices, 8);
    pattern_free(&pattern);
}

/* Each byte of a transfer, for each kind of data, in turn with each bit of the bytes of a word. */
static void test_a_single_flipped_bit_is_seen(void)
{
    for (int kind = PATTERN_UNIQUE; kind <= PATTERN_OFFSET; kind++) {
        struct pattern pattern;
        struct pattern_difference difference;
        unsigned char data[8200];
        pattern_init(&pattern, kind, sizeof data, 1);
        pattern_prepare(&pattern, 7, 3);
        memcpy(data, pattern_data(&pattern, 5, 5 * (int64_t)sizeof data), sizeof data);
        CHECK(pattern_matches(&pattern, data, 5, 5 * (int64_t)sizeof data, &difference));
        for (size_t byte = 0; byte < sizeof data; byte++) {
            const unsigned char right = data[byte];
            data[byte] ^= (unsigned char)(1 << (byte + byte / 8) % 8);
            CHECK(!pattern_matches(&pattern, data, 5, 5 * (int64_t)sizeof data, &difference));
            CHECK_INT(difference.first, (int64_t)byte);
            CHECK_INT(difference.bytes, 1);
            CHECK_INT(difference.expected, right);
            CHECK_INT(difference.found, data[byte]);
            data[byte] = right;
        }
        pattern_free(&pattern);
    }
}

/* Data of another rank, seed or place is not taken for the right one. */
static void test_other_data_is_seen(void)
{
    struct pattern pattern;
    struct pattern_difference difference;
    unsigned char data[TRANSFER];
    pattern_init(&pattern, PATTERN_UNIQUE, TRANSFER, 1);
    pattern_prepare(&pattern, 7, 3);
    memcpy(data, pattern_data(&pattern, 5, 0), TRANSFER);
    CHECK(!pattern_matches(&pattern, data, 6, 0, &difference));
    CHECK(!pattern_matches(&pattern, data, 5 + pattern.slices, 0, &difference)); /* the same slice, a lap later */
    pattern_prepare(&pattern, 7, 4);
    CHECK(!pattern_matches(&pattern, data, 5, 0, &difference));
    pattern_prepare(&pattern, 8, 3);
    CHECK(!pattern_matches(&pattern, data, 5, 0, &difference));
    pattern_prepare(&pattern, 7, 3);
    CHECK(pattern_matches(&pattern, data, 5, 0, &difference));
    pattern_free(&pattern);
}

static uint64_t word(const void *data, int index)
{
    uint64_t value;
    memcpy(&value, (const char *)data + 8 * index, sizeof value);
    return value;
}

/* As IOR 4 wrote it with -G 7 -t 16k. */
static void test_words_are_those_of_ior(void)
{
    struct pattern pattern;
    pattern_init(&pattern, PATTERN_TIMESTAMP, TRANSFER, 1);
    pattern_prepare(&pattern, 7, 1);
    const void *data = pattern_data(&pattern, 2, 0x8000);
    CHECK(word(data, 0) == UINT64_C(0x100000007));
    CHECK(word(data, 1) == UINT64_C(0x100000008));
    CHECK(word(data, 512) == UINT64_C(0x100000207));
    pattern_free(&pattern);
    pattern_init(&pattern, PATTERN_OFFSET, TRANSFER, 1);
    pattern_prepare(&pattern, 7, 1);
    data = pattern_data(&pattern, 2, 0x8000);
    CHECK(word(data, 0) == UINT64_C(0x100008000));
    CHECK(word(data, 1) == UINT64_C(0x100000008));
    CHECK(word(data, 512) == UINT64_C(0x100010000));
    CHECK(word(data, 513) == UINT64_C(0x100000208));
    pattern_free(&pattern);
}

/* As IOR 4 wrote them with -G -5 and with numbers that 32 bits do not hold. */
static void test_words_of_other_seeds_are_those_of_ior(void)
{
    struct pattern pattern;
    for (int kind = PATTERN_TIMESTAMP; kind <= PATTERN_OFFSET; kind++) {
        pattern_init(&pattern, kind, TRANSFER, 1);
        pattern_prepare(&pattern, (uint64_t)-5, 1);
        const void *data = pattern_data(&pattern, 2, 0x8000);
        CHECK(word(data, 0) == (kind == PATTERN_OFFSET ? UINT64_C(0x100008000) : UINT64_C(0xfffffffffffffffb)));
        CHECK(word(data, 1) == UINT64_C(0xfffffffffffffffc));
        CHECK(word(data, 4) == UINT64_C(0xffffffffffffffff));
        CHECK(word(data, 5) == UINT64_C(0x100000000));
        CHECK(word(data, 513) == UINT64_C(0x1000001fc));
        pattern_free(&pattern);
    }
    CHECK(pattern_word((uint64_t)INT32_MAX, 1, 1) == UINT64_C(0x180000000));
    CHECK(pattern_word(UINT64_C(0x100000005), 1, 0) == UINT64_C(0x100000005));
    CHECK(pattern_word(UINT64_C(0x80000000), 1, 1) == UINT64_C(0xffffffff80000001));
}

int main(void)
{
    test_no_block_repeats();
    test_stamps_are_spread_over_the_cache();
    test_the_window_is_a_quarter_mebibyte_at_least_and_holds_what_is_under_way();
    test_a_single_flipped_bit_is_seen();
    test_other_data_is_seen();
    test_words_are_those_of_ior();
    test_words_of_other_seeds_are_those_of_ior();
    return CHECK_REPORT();
}
