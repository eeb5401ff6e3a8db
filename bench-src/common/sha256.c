/* sha256: FIPS 180-4 SHA-256. When a program starts, some 50 MB of libraries are hashed: by the processor's own
   instructions where it has some and the compiler is known to have them, which halves the time that the start takes.
*/
#include "common/sha256.h"

#include "common/raw.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) && (__GNUC__ >= 7 || defined(__clang__)) && !defined(SHA256_PLAIN)
#if !defined(__NVCOMPILER) && !defined(__INTEL_COMPILER)
#include <cpuid.h>
#include <immintrin.h>
#define SHA256_X86 1
#endif
#endif

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t value, int bits)
{
    return value >> bits | value << (32 - bits);
}

#ifdef SHA256_X86
static bool has_instructions(void)
{
    static int known = -1;
    unsigned int a, b = 0, c, d;
    if (known < 0)
        known = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
    return known > 0;
}

/* The state as (a, b, e, f) and (c, d, g, h), the first in the highest lane: two rounds change one of them, by turns. */
__attribute__((target("sha,sse4.1"))) static void add_block_x86(uint32_t state[8], const unsigned char block[64])
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    __m128i w[16];
    for (int i = 0; i < 16; i++) {
        if (i < 4) {
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)), big_endian);
        } else {
            w[i] = _mm_add_epi32(_mm_sha256msg1_epu32(w[i - 4], w[i - 3]), _mm_alignr_epi8(w[i - 1], w[i - 2], 4));
            w[i] = _mm_sha256msg2_epu32(w[i], w[i - 1]);
        }
        __m128i add = _mm_add_epi32(w[i], _mm_loadu_si128((const __m128i *)(const void *)(round_constants + 4 * i)));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, add);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(add, 0x0e));
    }
    uint32_t abef_lanes[4], cdgh_lanes[4];
    _mm_storeu_si128((__m128i *)(void *)abef_lanes, abef);
    _mm_storeu_si128((__m128i *)(void *)cdgh_lanes, cdgh);
    for (int i = 0; i < 2; i++) {
        state[i] += abef_lanes[3 - i];
        state[i + 4] += abef_lanes[1 - i];
        state[i + 2] += cdgh_lanes[3 - i];
        state[i + 6] += cdgh_lanes[1 - i];
    }
}
#endif

static void add_block(uint32_t state[8], const unsigned char block[64])
{
#ifdef SHA256_X86
    if (has_instructions()) {
        add_block_x86(state, block);
        return;
    }
#endif
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t low = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t high = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    uint32_t add[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += add[i];
}

void sha256_start(struct sha256 *sha)
{
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, initial, sizeof initial);
    sha->total = 0;
}

void sha256_add(struct sha256 *sha, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    while (bytes > 0) {
        size_t used = sha->total % sizeof sha->block, part = sizeof sha->block - used;
        part = part < bytes ? part : bytes;
        memcpy(sha->block + used, from, part);
        sha->total += part;
        from += part;
        bytes -= part;
        if (used + part == sizeof sha->block)
            add_block(sha->state, sha->block);
    }
}

void sha256_finish(struct sha256 *sha, unsigned char digest[SHA256_BYTES])
{
    uint64_t bits = sha->total * 8;
    unsigned char tail[72] = {0x80};
    size_t padding = (119 - sha->total % 64) % 64 + 1; /* until 8 bytes are left in the block */
    for (int i = 0; i < 8; i++)
        tail[padding + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(sha, tail, padding + 8);
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

int sha256_file(const char *path, unsigned char digest[SHA256_BYTES])
{
    static unsigned char buffer[65536];
    int fd = raw_open(path);
    if (fd < 0)
        return fd;
    struct sha256 sha;
    sha256_start(&sha);
    ssize_t got;
    while ((got = raw_read(fd, buffer, sizeof buffer)) > 0)
        sha256_add(&sha, buffer, (size_t)got);
    close(fd);
    sha256_finish(&sha, digest);
    return got < 0 ? (int)got : 0;
}

void sha256_hex(const unsigned char digest[SHA256_BYTES], char hex[SHA256_HEX_BYTES])
{
    for (int i = 0; i < SHA256_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
