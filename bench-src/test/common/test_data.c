/* Description: SHA-256 against its published vectors; the data pattern; random orders visit everything once. */
#include "common/buf.h"
#include "common/permute.h"
#include "common/sha256.h"
#include "test/check.h"

#include <stdlib.h>

static void sha_is(const char *text, int repeat, const char *expected)
{
    struct sha256 sha;
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    sha256_start(&sha);
    for (int i = 0; i < repeat; i++)
        sha256_add(&sha, text, strlen(text));
    sha256_finish(&sha, digest);
    sha256_hex(digest, hex);
    CHECK_TEXT(hex, expected);
}

static void sha256_gives_the_published_digests(void)
{
    sha_is("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha_is("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    sha_is("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void any_piece_of_the_pattern_is_checked_without_the_rest(void)
{
    unsigned char *data = buf_alloc(4096), expected, found;
    buf_fill(data, 4096, 42, 8 * 1000);
    CHECK_INT(buf_check(data, 4096, 42, 8 * 1000, &expected, &found), -1);
    CHECK_INT(buf_check(data + 64, 1001, 42, 8 * 1008, &expected, &found), -1);
    data[777] ^= 4;
    CHECK_INT(buf_check(data, 4096, 42, 8 * 1000, &expected, &found), 777);
    CHECK_INT(expected ^ found, 4);
    CHECK(found == data[777]);
    CHECK(buf_check(data, 4096, 43, 8 * 1000, &expected, &found) >= 0);
    free(data);
}

static void a_permutation_visits_every_number_once(void)
{
    for (uint64_t n = 1; n < 300; n++) {
        unsigned char seen[300] = {0};
        struct permute permute;
        permute_init(&permute, n, n * 7919);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = permute_at(&permute, i);
            CHECK(at < n && !seen[at]);
            seen[at < n ? at : 0] = 1;
        }
    }
}

static void a_permutation_is_no_plain_order(void)
{
    struct permute permute;
    int neighbours = 0, fixed = 0;
    permute_init(&permute, 10000, 1);
    for (uint64_t i = 0; i + 1 < 10000; i++) {
        int64_t step = (int64_t)permute_at(&permute, i + 1) - (int64_t)permute_at(&permute, i);
        neighbours += step == 1 || step == -1;
        fixed += permute_at(&permute, i) == i;
    }
    CHECK(neighbours < 100);
    CHECK(fixed < 100);
}

int main(void)
{
    sha256_gives_the_published_digests();
    any_piece_of_the_pattern_is_checked_without_the_rest();
    a_permutation_visits_every_number_once();
    a_permutation_is_no_plain_order();
    return CHECK_REPORT();
}
