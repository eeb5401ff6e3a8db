/* sha256: FIPS 180-4 SHA-256. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX_BYTES = 65 };

struct sha256 {
    uint32_t state[8];
    uint64_t total; /* bytes added */
    unsigned char block[64];
};

void sha256_start(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t bytes);
void sha256_finish(struct sha256 *sha, unsigned char digest[SHA256_BYTES]);

/* Digest of a file's content: 0 or -errno. */
int sha256_file(const char *path, unsigned char digest[SHA256_BYTES]);

/* Lower-case hexadecimal digits and a closing zero byte. */
void sha256_hex(const unsigned char digest[SHA256_BYTES], char hex[SHA256_HEX_BYTES]);
