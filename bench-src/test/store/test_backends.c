/* store: every back end keeps the contract in store/contract.h. */
#include "common/buf.h"
#include "store/way.h"
#include "test/check.h"
#include "test/without.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8192, DEPTH = 4, COUNT = 37 };

static char directory[] = "/tmp/test_store.XXXXXX", path[64];

static struct store_options options(bool writes)
{
    return (struct store_options){.comm = MPI_COMM_SELF, .writes = writes, .file_bytes = 4 * BYTES, .depth = DEPTH};
}

static struct store_file *open_with(const struct store *store, struct store_options how)
{
    struct store_file *file = NULL;
    CHECK_INT(store->open(&file, path, &how), 0);
    return file;
}

static struct store_file *open_file(const struct store *store, bool writes)
{
    return open_with(store, options(writes));
}

static void test_what_is_written_is_read(const struct store *store)
{
    char *out = buf_alloc(BYTES), *in = buf_alloc(BYTES);
    buf_fill(out, BYTES, 1, 0);
    struct store_file *file = open_file(store, true);
    struct store_way writing = store_way(store, file, false);
    CHECK_INT(store_write(&writing, out, BYTES, 0), BYTES);
    CHECK_INT(store->write(file, out, BYTES, 3 * BYTES), BYTES);
    CHECK_INT(store->sync(file), 0);
    CHECK_INT(store->close(file), 0);
    file = open_file(store, false);
    CHECK_INT(store->read(file, in, BYTES, 3 * BYTES), BYTES);
    CHECK(!store->keeps_bytes || memcmp(in, out, BYTES) == 0);
    struct store_way way = store_way(store, file, false);
    memset(in, 0, BYTES);
    CHECK_INT(store_read(&way, in, BYTES, 3 * BYTES), BYTES);
    CHECK(!store->keeps_bytes || memcmp(in, out, BYTES) == 0);
    if (store->keeps_bytes) {
        CHECK_INT(store->read(file, in, BYTES, 4 * BYTES - 100), 100); /* up to the end */
        CHECK_INT(store_read(&way, in, BYTES, 4 * BYTES - 100), 100);
        if (!store->needs_length) /* a write to a mapping that is read only ends the process */
            CHECK(store_write(&way, out, BYTES, 0) < 0);
    }
    CHECK_INT(store->close(file), 0);
    CHECK_INT(store->remove(path), 0);
    if (store->keeps_bytes)
        CHECK_INT(access(path, F_OK), -1);
    free(out);
    free(in);
}

/* Moves COUNT pieces with DEPTH under way; the store knows beforehand where the first `known` of them lie. */
static void move_queued(const struct store *store, bool writes, char *data, int known)
{
    struct store_options how = options(writes);
    how.memory[0] = (struct store_memory){data, known * BYTES};
    struct store_file *file = open_with(store, how);
    struct store_done done[DEPTH];
    int idle[DEPTH], idle_count = 0, next = 0, ended = 0;
    for (int i = 0; i < DEPTH; i++)
        idle[idle_count++] = i;
    while (ended < COUNT) {
        while (idle_count > 0 && next < COUNT) {
            int slot = idle[--idle_count];
            CHECK_INT(store->submit(file, slot, writes, data + next * BYTES, BYTES, (int64_t)next * BYTES), 0);
            next++;
        }
        int count = store->reap(file, done, DEPTH);
        CHECK(count >= 1);
        if (count < 1)
            break;
        for (int i = 0; i < count; i++, ended++) {
            CHECK_INT(done[i].result, BYTES);
            idle[idle_count++] = done[i].slot;
        }
    }
    CHECK_INT(store->close(file), 0);
}

static void test_transfers_overlap(const struct store *store)
{
    char *out = buf_alloc((size_t)COUNT * BYTES), *in = buf_alloc((size_t)COUNT * BYTES);
    struct store_done done;
    const int known[] = {0, COUNT / 2, COUNT};
    for (int i = 0; i < 3; i++) {
        buf_fill(out, (size_t)COUNT * BYTES, 3 + (uint64_t)i, 0);
        move_queued(store, true, out, known[i]);
        move_queued(store, false, in, known[i]);
        CHECK(memcmp(in, out, (size_t)COUNT * BYTES) == 0);
    }
    struct store_file *file = open_file(store, false);
    CHECK_INT(store->submit(file, 2, false, in, BYTES, (int64_t)COUNT * BYTES - 8), 0);
    CHECK_INT(store->reap(file, &done, 1), 1);
    CHECK_INT(done.slot, 2);
    CHECK_INT(done.result, 8); /* the caller asks again, and gets 0 */
    CHECK_INT(store->close(file), 0);
    store->remove(path);
    free(out);
    free(in);
}

/* To a device that takes as much as the system lets it, from memory that takes no room. */
static void test_more_than_a_call_takes_is_moved_by_several(const struct store *store)
{
    const int64_t bytes = INT64_C(5) << 30;
    struct store_file *file;
    struct store_options how = options(true);
    void *data = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(data != MAP_FAILED);
    CHECK_INT(store->open(&file, "/dev/null", &how), 0);
    struct store_way way = store_way(store, file, false);
    CHECK_INT(store_write(&way, data, bytes, 0), bytes);
    CHECK_INT(store->write(file, data, bytes, INT64_C(1) << 40), bytes);
    for (int64_t moved = 0; store->submit != NULL && moved < bytes;) {
        struct store_done done;
        CHECK_INT(store->submit(file, 0, true, (char *)data + moved, bytes - moved, moved), 0);
        CHECK_INT(store->reap(file, &done, 1), 1);
        CHECK(done.result > 0 && done.result <= bytes - moved);
        if (done.result <= 0)
            break;
        moved += done.result;
    }
    CHECK_INT(store->close(file), 0);
    munmap(data, (size_t)bytes);
}

static void test_errors_are_errnos(const struct store *store)
{
    struct store_file *file;
    struct store_options how = options(false);
    CHECK_INT(store->open(&file, path, &how), -ENOENT);
    CHECK_INT(store->remove(path), -ENOENT);
}

/* Where the kernel has no io_uring its back end says so, and names another. */
static int test_uring_says_when_it_is_absent(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        CHECK_INT(without_call(425), 0);
        CHECK_INT(store_uring.probe(), -ENOSYS);
        CHECK(store_find(store_uring.fallback) == &store_aio);
        _exit(CHECK_REPORT());
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    CHECK_INT(test_uring_says_when_it_is_absent(), 0);
    MPI_Init(&argc, &argv);
    CHECK(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/file", directory);
    for (size_t i = 0; store_at(i) != NULL; i++) {
        const struct store *store = store_at(i);
        CHECK(store_find(store->name) == store);
        if (store->probe != NULL && store->probe() != 0)
            continue; /* this machine cannot; what happens then is tested above */
        test_what_is_written_is_read(store);
        if (store->submit != NULL)
            test_transfers_overlap(store);
        if (!store->needs_length)
            test_more_than_a_call_takes_is_moved_by_several(store);
        if (store->keeps_bytes)
            test_errors_are_errnos(store);
    }
    CHECK(store_find("null") == &store_null);
    CHECK(store_find("tape") == NULL);
    rmdir(directory);
    MPI_Finalize();
    return CHECK_REPORT();
}
