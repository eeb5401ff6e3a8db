/* pool: which piece of the work a process gets next. Pure: the tracker's knowledge, without the asking.
 *
 * Writing: every process appends to its own file, and a piece is only a number of bytes: a chunk, the last one what is
 * left. Reading: pieces are chunks of the files that exist. A process starts on the file of its first choice, goes on
 * with the next that has something left, and comes to its own file last. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pool_piece {
    int64_t file; /* whose file: a rank; -1: the asker's own */
    int64_t offset; /* -1: behind what it has */
    int64_t bytes;  /* 0: nothing is left */
};

/* What the pool knows of one file, for reading. */
struct pool_file {
    int64_t bytes;
    int64_t first_choice; /* the file that this file's owner starts on */
};

struct pool {
    int64_t chunk_bytes, chunks, given; /* numbers of chunks */
    int64_t left_bytes;                 /* writing */
    int64_t ranks;                      /* reading: number of files; 0 for writing */
    struct pool_file *files;            /* bytes: the file's size */
    int64_t *offsets;                   /* next byte of each file */
    int64_t *open_from;                 /* of each file and one more: a file at or after it that may have something left */
};

/* chunk_bytes is at least 1. */
void pool_write(struct pool *pool, int64_t total_bytes, int64_t chunk_bytes);
void pool_read(struct pool *pool, struct pool_file *files, int64_t ranks, int64_t chunk_bytes); /* takes files over */
void pool_free(struct pool *pool);

/* The next piece for a rank. */
struct pool_piece pool_take(struct pool *pool, int64_t rank);

/* Nothing is given out any more. */
void pool_close(struct pool *pool);

/* Rank's share of total_bytes in an equal split of whole blocks: no two differ by more than one block. */
int64_t pool_share(int64_t total_bytes, int64_t block_bytes, int64_t ranks, int64_t rank);
