/* ior_pages: which part of a rank's data is in its node's page cache, and getting it out of there. */
#include "ior/pages.h"

#include "common/cache.h"
#include "common/timer.h"
#include "ior/access.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { WHOLE_UP_TO = 8 << 20, PIECES = 64, PIECE_BYTES = 64 << 10, DROP_TRIES = 20, DROP_PAUSE_US = 100000 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Asks about `bytes` of the rank's data, which begin at `start` of it and may lie in several blocks. */
static int ask(const struct ior_test *test, int fd, int rank, int64_t start, int64_t bytes, struct cache_pages *pages)
{
    const struct ior_plan *plan = &test->plan;
    int64_t contiguous = plan->file_per_process ? INT64_MAX : plan->block;
    for (int64_t part; bytes > 0; start += part, bytes -= part) {
        int64_t offset = ior_plan_offset(plan, rank, start / plan->transfer) + start % plan->transfer;
        part = least(bytes, contiguous - start % contiguous);
        int error = cache_ask(fd, offset, part, pages);
        if (error != 0)
            return error;
    }
    return 0;
}

/* The same where nobody knows which bytes of the file are the rank's: those of its part, as large as the others'. */
static int ask_part(const struct ior_test *test, int fd, int rank, int64_t start, int64_t bytes, struct cache_pages *pages)
{
    int64_t first = test->plan.file_per_process ? 0 : rank * test->plan.per_rank * test->plan.transfer;
    return cache_ask(fd, first + start, bytes, pages);
}

/* Pages of a rank's data: 0, or -errno where they cannot be seen. */
static int look(const struct ior_test *test, int rank, struct cache_pages *pages)
{
    char path[PATH_MAX];
    int64_t bytes = ior_steps(test, rank) * test->plan.transfer;
    int (*asks)(const struct ior_test *, int, int, int64_t, int64_t, struct cache_pages *) =
        test->store->own_layout ? ask_part : ask;
    ior_access_path(test, rank, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
    if (fd < 0)
        return -errno;
    if (bytes <= WHOLE_UP_TO) {
        error = asks(test, fd, rank, 0, bytes, pages);
    } else {
        for (int64_t piece = 0; piece < PIECES && error == 0; piece++) {
            int64_t start = bytes / PIECES * piece / 4096 * 4096;
            error = asks(test, fd, rank, start, least(PIECE_BYTES, bytes - start), pages);
        }
    }
    close(fd);
    return error;
}

/* What a rank knows of the pages of the data that it is about to read, or has written. */
enum knowledge { LOOKED, DEDUCED, UNKNOWN, NOT_ASKED };

static void look_for(const struct ior_test *test, int rank, enum knowledge knowledge, struct totals *totals)
{
    struct cache_pages pages = {0};
    int64_t *counts = totals->counts;
    if (!test->store->uses_page_cache)
        return;
    if (knowledge == LOOKED) {
        uint64_t start_ns = timer_ns();
        knowledge = look(test, rank, &pages) == 0 ? LOOKED : UNKNOWN;
        totals->most[IOR_LOOK_S] = timer_s(start_ns, timer_ns());
    } else if (knowledge == DEDUCED) {
        int64_t bytes = ior_steps(test, rank) * test->plan.transfer;
        pages.asked = (least(bytes, bytes > WHOLE_UP_TO ? PIECES * PIECE_BYTES : bytes) + 4095) / 4096;
    }
    counts[IOR_PAGES] = pages.asked;
    counts[IOR_PAGES_CACHED] = pages.cached;
    counts[IOR_PAGES_DIRTY] = pages.dirty < 0 ? 0 : pages.dirty;
    counts[IOR_RANKS_WITHOUT_DIRTY] = pages.dirty < 0;
    counts[IOR_RANKS_UNKNOWING] = knowledge == UNKNOWN;
    counts[IOR_RANKS_LOOKED] = knowledge == LOOKED;
}

void ior_pages_after_write(const struct ior_test *test, struct totals *totals)
{
    look_for(test, test->place.rank, test->mixes && !test->beside ? NOT_ASKED : LOOKED, totals);
}

void ior_pages_before_read(const struct ior_test *test, int target, struct totals *totals)
{
    const struct ior_config *config = test->config;
    bool made_here = ior_source_of(test, target)->machine == test->own.machine;
    enum knowledge knowledge = UNKNOWN;
    if (test->beside)
        knowledge = NOT_ASKED;
    else if (config->cache_check || config->drop_cache || (config->write && (config->check_write || made_here)) ||
        (config->write && !config->file_per_process))
        knowledge = LOOKED;
    else if (config->write && !config->use_existing)
        knowledge = DEDUCED;
    look_for(test, target, knowledge, totals);
}

struct ior_share ior_pages_share(const struct totals *totals)
{
    const int64_t *counts = totals->counts;
    bool no_dirty = counts[IOR_RANKS_WITHOUT_DIRTY] > 0;
    struct ior_share share = {.cached = -1, .dirty = -1, .cost_s = totals->most[IOR_LOOK_S]};
    if (counts[IOR_RANKS_UNKNOWING] > 0 || counts[IOR_PAGES] == 0)
        return share;
    share.method = counts[IOR_RANKS_LOOKED] == 0 ? "new files" : no_dirty ? "mincore" : cache_method();
    share.pages_asked = counts[IOR_PAGES];
    share.cached = (double)counts[IOR_PAGES_CACHED] / (double)counts[IOR_PAGES];
    share.dirty = no_dirty ? -1 : (double)counts[IOR_PAGES_DIRTY] / (double)counts[IOR_PAGES];
    return share;
}

/* Drops one file, and again until the pages of the rank's data have left or time is up. */
static void drop_file(struct ior_test *test, int rank)
{
    char path[PATH_MAX];
    ior_access_path(test, rank, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = fd < 0 ? -errno : 0;
    for (int try = 0; try < DROP_TRIES && error == 0; try++) {
        struct cache_pages pages = {0};
        if (try > 0)
            usleep(DROP_PAUSE_US);
        error = cache_drop(fd);
        if (error != 0 || look(test, rank, &pages) != 0 || pages.cached == 0)
            break;
        if (test->in_memory)
            break; /* they have nowhere to go to */
    }
    if (fd >= 0)
        close(fd);
    /* A file that is absent is named by the read that wants it. */
    if (error != 0 && error != -ENOENT)
        faults_add(&test->faults, "drop cache", path, -error, NULL);
}

void ior_pages_drop(struct ior_test *test, int target)
{
    if (!test->store->uses_page_cache)
        return;
    /* What this rank wrote is in its node's cache as dirty pages, what it read in an earlier repetition as clean ones.
     * Everybody's dirty pages must be on their way before anybody looks. */
    drop_file(test, test->place.rank);
    MPI_Barrier(test->place.comm);
    drop_file(test, target);
    MPI_Barrier(test->place.comm);
}
