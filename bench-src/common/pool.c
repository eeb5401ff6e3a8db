/* pool: which piece of the work a process gets next. */
#include "common/pool.h"

#include "common/die.h"

#include <stdlib.h>
#include <string.h>

static int64_t chunks_of(int64_t bytes, int64_t chunk_bytes)
{
    return bytes / chunk_bytes + (bytes % chunk_bytes > 0);
}

void pool_write(struct pool *pool, int64_t total_bytes, int64_t chunk_bytes)
{
    memset(pool, 0, sizeof *pool);
    pool->chunk_bytes = chunk_bytes;
    pool->left_bytes = total_bytes;
    pool->chunks = chunks_of(total_bytes, chunk_bytes);
}

void pool_read(struct pool *pool, struct pool_file *files, int64_t ranks, int64_t chunk_bytes)
{
    memset(pool, 0, sizeof *pool);
    pool->chunk_bytes = chunk_bytes;
    pool->ranks = ranks;
    pool->files = files;
    pool->offsets = die_alloc(sizeof(int64_t), (size_t)ranks * sizeof(int64_t));
    pool->open_from = die_alloc(sizeof(int64_t), ((size_t)ranks + 1) * sizeof(int64_t));
    for (int64_t i = 0; i <= ranks; i++)
        pool->open_from[i] = i;
    for (int64_t i = 0; i < ranks; i++) {
        pool->chunks += chunks_of(files[i].bytes, chunk_bytes);
        if (files[i].bytes == 0)
            pool->open_from[i] = i + 1;
    }
}

void pool_free(struct pool *pool)
{
    free(pool->files);
    free(pool->offsets);
    free(pool->open_from);
}

void pool_close(struct pool *pool)
{
    pool->given = pool->chunks;
}

/* First file at or after `file` with something left; pool->ranks if there is none. Shortens the way for the next
 * search. */
static int64_t open_file(struct pool *pool, int64_t file)
{
    int64_t found = file;
    while (pool->open_from[found] != found)
        found = pool->open_from[found];
    while (pool->open_from[file] != found) {
        int64_t next = pool->open_from[file];
        pool->open_from[file] = found;
        file = next;
    }
    return found;
}

/* The same, going round at the end. There is one. */
static int64_t open_file_round(struct pool *pool, int64_t file)
{
    int64_t found = open_file(pool, file);
    return found < pool->ranks ? found : open_file(pool, 0);
}

static struct pool_piece take_of_file(struct pool *pool, int64_t file)
{
    int64_t left = pool->files[file].bytes - pool->offsets[file];
    struct pool_piece piece = {file, pool->offsets[file], left < pool->chunk_bytes ? left : pool->chunk_bytes};
    pool->offsets[file] += piece.bytes;
    if (pool->offsets[file] == pool->files[file].bytes)
        pool->open_from[file] = file + 1;
    return piece;
}

struct pool_piece pool_take(struct pool *pool, int64_t rank)
{
    if (pool->given == pool->chunks)
        return (struct pool_piece){-1, -1, 0};
    pool->given++;
    if (pool->ranks == 0) {
        int64_t bytes = pool->left_bytes < pool->chunk_bytes ? pool->left_bytes : pool->chunk_bytes;
        pool->left_bytes -= bytes;
        return (struct pool_piece){-1, -1, bytes};
    }
    int64_t file = open_file_round(pool, pool->files[rank].first_choice);
    if (file == rank)
        file = open_file_round(pool, rank + 1);
    pool->files[rank].first_choice = file;
    return take_of_file(pool, file);
}

int64_t pool_share(int64_t total_bytes, int64_t block_bytes, int64_t ranks, int64_t rank)
{
    int64_t blocks = chunks_of(total_bytes, block_bytes), each = blocks / ranks, more = blocks % ranks;
    int64_t first = rank * each + (rank < more ? rank : more), end = first + each + (rank < more);
    int64_t from = first == blocks ? total_bytes : first * block_bytes;
    int64_t to = end == blocks ? total_bytes : end * block_bytes;
    return to - from;
}
