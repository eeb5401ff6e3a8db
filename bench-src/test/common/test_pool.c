/* Description: which piece of the work a process gets next from mpiio's pool. */
#include "common/pool.h"
#include "test/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct pool pool;

/* The pool frees what it is given. */
static void begin_reading(const struct pool_file *files, int64_t ranks, int64_t chunk_bytes)
{
    struct pool_file *own = malloc((size_t)ranks * sizeof *own);
    memcpy(own, files, (size_t)ranks * sizeof *own);
    pool_read(&pool, own, ranks, chunk_bytes);
}

static void piece_is(int64_t rank, int64_t file, int64_t offset, int64_t bytes)
{
    struct pool_piece piece = pool_take(&pool, rank);
    CHECK_INT(piece.file, file);
    CHECK_INT(piece.offset, offset);
    CHECK_INT(piece.bytes, bytes);
}

static void chunks_are_given_until_all_bytes_are_the_remainder_too(void)
{
    pool_write(&pool, 250, 100);
    CHECK_INT(pool.chunks, 3);
    piece_is(1, -1, -1, 100);
    piece_is(0, -1, -1, 100);
    piece_is(1, -1, -1, 50);
    piece_is(0, -1, -1, 0);
    piece_is(1, -1, -1, 0);
    pool_free(&pool);
}

static void a_closed_pool_gives_nothing(void)
{
    pool_write(&pool, 1000, 100);
    piece_is(0, -1, -1, 100);
    pool_close(&pool);
    piece_is(0, -1, -1, 0);
    pool_free(&pool);
}

static void a_reader_stays_on_its_first_choice_and_then_helps_the_next(void)
{
    const struct pool_file files[] = {{150, 1}, {250, 2}, {100, 0}};
    begin_reading(files, 3, 100);
    CHECK_INT(pool.chunks, 6);
    piece_is(0, 1, 0, 100);
    piece_is(0, 1, 100, 100);
    piece_is(2, 0, 0, 100);
    piece_is(0, 1, 200, 50);
    piece_is(0, 2, 0, 100);
    piece_is(0, 0, 100, 50); /* its own, as nothing else is left */
    piece_is(1, -1, -1, 0);
    pool_free(&pool);
}

static void nobody_reads_its_own_file_while_another_has_something(void)
{
    const struct pool_file files[] = {{100, 1}, {0, 0}, {100, 0}};
    begin_reading(files, 3, 100);
    piece_is(2, 0, 0, 100);
    piece_is(2, 2, 0, 100);
    pool_free(&pool);
    begin_reading(files, 3, 100);
    piece_is(0, 2, 0, 100); /* its first choice is empty */
    piece_is(0, 0, 0, 100);
    piece_is(0, -1, -1, 0);
    pool_free(&pool);
}

/* Any order of askers: every byte of every file once. */
static void every_byte_is_read_once(void)
{
    enum { RANKS = 9, MOST = 400 };
    for (unsigned seed = 1; seed <= 200; seed++) {
        static unsigned char seen[RANKS][MOST];
        struct pool_file files[RANKS];
        memset(seen, 0, sizeof seen);
        srand(seed);
        int64_t chunks = 0, chunk = 1 + rand() % 50;
        for (int i = 0; i < RANKS; i++) {
            files[i] = (struct pool_file){rand() % 3 == 0 ? 0 : rand() % MOST, (i + 4) % RANKS};
            chunks += (files[i].bytes + chunk - 1) / chunk;
        }
        begin_reading(files, RANKS, chunk);
        CHECK_INT(pool.chunks, chunks);
        for (int64_t i = 0; i < chunks; i++) {
            struct pool_piece piece = pool_take(&pool, rand() % RANKS);
            CHECK(piece.bytes > 0 && piece.bytes <= chunk && piece.offset + piece.bytes <= files[piece.file].bytes);
            for (int64_t at = 0; at < piece.bytes; at++)
                seen[piece.file][piece.offset + at]++;
        }
        piece_is(rand() % RANKS, -1, -1, 0);
        for (int file = 0; file < RANKS; file++)
            for (int64_t at = 0; at < MOST; at++)
                if (seen[file][at] != (at < files[file].bytes))
                    CHECK_INT(seen[file][at], at < files[file].bytes);
        pool_free(&pool);
    }
}

static void shares_are_equal_but_for_a_block_and_add_up(void)
{
    CHECK_INT(pool_share(400, 100, 4, 0), 100);
    CHECK_INT(pool_share(400, 100, 4, 3), 100);
    CHECK_INT(pool_share(450, 100, 2, 0), 300);
    CHECK_INT(pool_share(450, 100, 2, 1), 150);
    CHECK_INT(pool_share(50, 100, 2, 0), 50);
    CHECK_INT(pool_share(50, 100, 2, 1), 0);
    for (int64_t total = 1; total < 500; total += 7)
        for (int64_t ranks = 1; ranks < 12; ranks++) {
            int64_t sum = 0, least = INT64_MAX, most = 0;
            for (int64_t rank = 0; rank < ranks; rank++) {
                int64_t share = pool_share(total, 10, ranks, rank);
                sum += share;
                least = share < least ? share : least;
                most = share > most ? share : most;
            }
            CHECK_INT(sum, total);
            CHECK(most - least <= 19);
        }
}

int main(void)
{
    chunks_are_given_until_all_bytes_are_the_remainder_too();
    a_closed_pool_gives_nothing();
    a_reader_stays_on_its_first_choice_and_then_helps_the_next();
    nobody_reads_its_own_file_while_another_has_something();
    every_byte_is_read_once();
    shares_are_equal_but_for_a_block_and_add_up();
    return CHECK_REPORT();
}
