/* nfstest_file: writing and reading one file of nfstest, in portions of the buffer. */
#pragma once

#include "common/faults.h"

#include <stdbool.h>
#include <stdint.h>

struct nfstest_io {
    bool direct; /* write and read; else fwrite and fread */
    bool check;  /* look at every byte read */
    unsigned char *buffer;
    int64_t buffer_bytes; /* size of the buffer in use: the portion */
    uint64_t check_ns;    /* time spent looking, added up */
    struct faults *faults;
};

/* Writes a new file of `bytes` from the buffer's content, and closes it. False with a fault where that failed. */
bool nfstest_file_write(struct nfstest_io *io, const char *path, int64_t bytes);

/* Reads `bytes` of a file, every one of which should be `content` (examined with io->check). False with a fault. */
bool nfstest_file_read(struct nfstest_io *io, const char *path, int64_t bytes, unsigned char content);
