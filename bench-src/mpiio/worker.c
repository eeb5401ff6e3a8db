/* mpiio_worker: the thread of a process that moves bytes. */
#include "mpiio/worker.h"

#include "common/buf.h"
#include "common/die.h"
#include "common/quiet.h"
#include "common/timer.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mpiio_path(const char *base, int64_t rank, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s.%05" PRId64, base, rank) >= PATH_MAX)
        bug("file name '%s' is too long", base);
}

int64_t mpiio_block_index(const struct mpiio_task *task, int64_t offset)
{
    int64_t layout = task->layout_bytes, block = task->block_bytes, blocks = layout / block + (layout % block > 0);
    return offset / layout * blocks + offset % layout / block;
}

void mpiio_worker_stop(struct mpiio_worker *worker)
{
    atomic_store(&worker->stop, true);
}

/* --- pieces */

static void ask(struct mpiio_worker *worker)
{
    if (!worker->asked)
        mpiio_handover_ask(&worker->handover);
    worker->asked = true;
}

/* Takes the next piece over, if it is there; waits for it where there is nothing else to do. False: not there, or no more
 * work (the piece then has 0 bytes, and asked stays set for ever). */
static bool next_piece(struct mpiio_worker *worker, bool waits)
{
    ask(worker);
    uint64_t start_ns = timer_ns();
    bool got = mpiio_handover_take(&worker->handover, waits, &worker->piece);
    if (waits)
        worker->starved_s += timer_s(start_ns, timer_ns());
    if (!got || worker->piece.bytes == 0) {
        worker->piece_at = worker->piece.bytes;
        return false;
    }
    worker->asked = false;
    worker->piece_at = 0;
    worker->pieces++;
    if (worker->piece.file < 0)
        worker->piece.file = worker->task.rank;
    if (worker->piece.offset < 0) {
        worker->piece.offset = worker->own_file_bytes;
        worker->own_file_bytes += worker->piece.bytes;
    }
    return true;
}

/* --- files */

/* Notes the first failure; those of the transfers that are then under way follow from it. */
static void fail(struct mpiio_worker *worker, const char *operation, int error, const char *detail)
{
    if (worker->failed)
        return;
    faults_add(&worker->faults, operation, worker->path, error, detail);
    worker->failed = true;
}

static void close_file(struct mpiio_worker *worker)
{
    if (worker->file_of < 0)
        return;
    worker->file_of = -1;
    int error = worker->task.store->close(worker->file);
    if (error != 0)
        fail(worker, "close", -error, NULL);
}

static void open_file(struct mpiio_worker *worker, int64_t file_of)
{
    struct store_options options = {.comm = MPI_COMM_SELF, .writes = worker->task.writes, .direct = worker->task.direct,
                                    .depth = worker->task.depth};
    mpiio_path(worker->task.base, file_of, worker->path);
    int error = worker->task.store->open(&worker->file, worker->path, &options);
    if (error != 0)
        fail(worker, "open", -error, NULL);
    else
        worker->file_of = file_of;
}

/* --- blocks */

static void block_done(struct mpiio_worker *worker, struct mpiio_slot *slot)
{
    slot->busy = false;
    worker->busy--;
    if (slot->slice >= 0)
        worker->slice_taken[slot->slice] = false;
    worker->bytes += slot->bytes;
    if (!worker->task.writes && worker->file_of == worker->task.rank)
        worker->own_read_bytes += slot->bytes;
    timeline_add(&worker->timeline, timer_ns() - worker->start_ns, slot->bytes);
}

static void start_transfer(struct mpiio_worker *worker, int number)
{
    struct mpiio_slot *slot = &worker->slots[number];
    const struct store *store = worker->task.store;
    unsigned char *data = slot->data + slot->moved;
    int64_t bytes = slot->bytes - slot->moved, offset = slot->offset + slot->moved;
    int error = store->submit(worker->file, number, worker->task.writes, data, bytes, offset);
    if (error == 0)
        return;
    fail(worker, worker->task.writes ? "write" : "read", -error, NULL);
    slot->busy = false;
    worker->busy--;
}

/* What one transfer of a block came to. True where the block is complete; false where the rest has to follow, or where
 * it failed, and is then no longer busy. */
static bool take_result(struct mpiio_worker *worker, struct mpiio_slot *slot, int64_t result)
{
    const char *operation = worker->task.writes ? "write" : "read";
    char detail[128];
    if (result > 0) {
        slot->moved += result;
        return slot->moved >= slot->bytes;
    }
    snprintf(detail, sizeof detail, "at byte %" PRId64, slot->offset + slot->moved);
    if (result < 0 || worker->task.writes) {
        fail(worker, operation, result < 0 ? (int)-result : EIO, detail);
    } else {
        snprintf(detail, sizeof detail, "the file ends at byte %" PRId64 ", %" PRId64 " bytes more were expected",
                 slot->offset + slot->moved, slot->bytes - slot->moved);
        fail(worker, operation, 0, detail);
    }
    slot->busy = false;
    worker->busy--;
    return false;
}

/* Moves a block at once, with a back end that has no transfers that overlap. */
static void move_now(struct mpiio_worker *worker, struct mpiio_slot *slot)
{
    const struct store *store = worker->task.store;
    bool writes = worker->task.writes;
    while (slot->busy) {
        unsigned char *data = slot->data + slot->moved;
        int64_t bytes = slot->bytes - slot->moved, offset = slot->offset + slot->moved;
        int64_t result = writes ? store->write(worker->file, data, bytes, offset)
                                : store->read(worker->file, data, bytes, offset);
        if (take_result(worker, slot, result))
            block_done(worker, slot);
    }
}

static int free_slot(const struct mpiio_worker *worker)
{
    for (int number = 0; number < worker->task.depth; number++)
        if (!worker->slots[number].busy)
            return number;
    return -1;
}

/* Sleeps until the pace allows another block. */
static void keep_pace(const struct mpiio_worker *worker)
{
    double pace = worker->task.pace_bytes_s / worker->task.slow;
    if (pace <= 0)
        return;
    uint64_t due_ns = worker->start_ns + (uint64_t)((double)worker->handed_bytes / pace * 1e9), now_ns = timer_ns();
    if (due_ns > now_ns)
        quiet_sleep_ns(due_ns - now_ns);
}

/* Starts the next block of the piece. False where its part of the pattern is still being written. */
static bool start_block(struct mpiio_worker *worker, int number)
{
    const struct mpiio_task *task = &worker->task;
    struct mpiio_slot *slot = &worker->slots[number];
    int64_t left = worker->piece.bytes - worker->piece_at, offset = worker->piece.offset + worker->piece_at;
    slot->slice = -1;
    if (task->writes) {
        int64_t index = mpiio_block_index(task, offset);
        slot->slice = pattern_slice(task->pattern, index);
        if (worker->slice_taken[slot->slice])
            return false;
        worker->slice_taken[slot->slice] = true;
        slot->data = pattern_data(task->pattern, index, offset);
    }
    slot->busy = true;
    slot->offset = offset;
    slot->bytes = left < task->block_bytes ? left : task->block_bytes;
    slot->moved = 0;
    worker->busy++;
    worker->piece_at += slot->bytes;
    worker->handed_bytes += slot->bytes;
    if (worker->piece_at > worker->piece.bytes - worker->piece.bytes / 10 || worker->piece_at == worker->piece.bytes)
        ask(worker);
    if (task->store->submit != NULL)
        start_transfer(worker, number);
    else
        move_now(worker, slot);
    return true;
}

/* Starts blocks until all slots are busy or there is nothing to start. */
static void fill(struct mpiio_worker *worker)
{
    /* With a back end that moves at once, slots are always free. At a pace, what is submitted goes out at once. */
    int most = worker->task.pace_bytes_s > 0 ? 1 : worker->task.depth;
    for (int number; !worker->failed && !atomic_load(&worker->stop) && most > 0 && (number = free_slot(worker)) >= 0; most--) {
        if (worker->piece_at == worker->piece.bytes && !next_piece(worker, worker->busy == 0))
            return;
        if (worker->file_of != worker->piece.file) {
            if (worker->busy > 0)
                return; /* a file is closed with nothing outstanding */
            close_file(worker);
            open_file(worker, worker->piece.file);
            if (worker->failed)
                return;
        }
        keep_pace(worker);
        if (!start_block(worker, number))
            return;
    }
}

/* Waits for one transfer at least. */
static void reap(struct mpiio_worker *worker)
{
    struct store_done done[64];
    int count = worker->task.store->reap(worker->file, done, 64);
    if (count < 0) {
        /* Nothing tells when the transfers end: their buffers must stay, and so must the process that has them. */
        die("waiting for transfers of '%s' failed: %s (%s)", worker->path, strerror(-count), die_errno_name(-count));
    }
    for (int i = 0; i < count; i++) {
        struct mpiio_slot *slot = &worker->slots[done[i].slot];
        if (take_result(worker, slot, done[i].result))
            block_done(worker, slot);
        else if (slot->busy)
            start_transfer(worker, done[i].slot);
    }
}

/* A slowed process works in bursts, and sleeps after each so long that the burst took `slow` times its time. */
static void slow_down(const struct mpiio_worker *worker, uint64_t burst_start_ns)
{
    double rest_s = (worker->task.slow - 1) * timer_s(burst_start_ns, timer_ns());
    quiet_sleep_ns((uint64_t)(rest_s * 1e9));
}

static void move_all(struct mpiio_worker *worker)
{
    bool in_bursts = worker->task.slow > 1 && worker->task.pace_bytes_s == 0;
    for (;;) {
        if (worker->busy == 0 && !worker->failed && worker->piece_at == worker->piece.bytes && !next_piece(worker, true))
            return;
        uint64_t burst_start_ns = in_bursts ? timer_ns() : 0;
        fill(worker);
        if (worker->busy > 0)
            reap(worker);
        while (worker->busy > 0 && (in_bursts || worker->failed))
            reap(worker);
        if (worker->failed || (worker->busy == 0 && atomic_load(&worker->stop)))
            return;
        if (in_bursts)
            slow_down(worker, burst_start_ns);
    }
}

static void *work(void *data)
{
    struct mpiio_worker *worker = data;
    if (worker->task.writes)
        open_file(worker, worker->task.rank); /* a process that gets nothing to do leaves an empty file */
    if (!worker->failed)
        move_all(worker);
    if (worker->task.sync && worker->task.writes && !worker->failed && !atomic_load(&worker->stop)) {
        uint64_t start_ns = timer_ns();
        int error = worker->task.store->sync(worker->file);
        worker->sync_s = timer_s(start_ns, timer_ns());
        if (error != 0)
            fail(worker, "fsync", -error, NULL);
    }
    close_file(worker);
    worker->own_s = timer_s(worker->start_ns, timer_ns());
    mpiio_handover_end(&worker->handover);
    return NULL;
}

/* --- start and end */

void mpiio_worker_start(struct mpiio_worker *worker, const struct mpiio_task *task, int timeline_intervals,
                        uint64_t interval_ns)
{
    memset(worker, 0, sizeof *worker);
    worker->task = *task;
    worker->file_of = -1;
    timeline_init(&worker->timeline, timeline_intervals, interval_ns);
    worker->slots = die_alloc(sizeof(void *), (size_t)task->depth * sizeof *worker->slots);
    if (task->writes)
        worker->slice_taken = die_alloc(sizeof(void *), (size_t)task->pattern->slices);
    for (int number = 0; number < task->depth && !task->writes; number++)
        worker->slots[number].data = buf_alloc_io((size_t)task->block_bytes);
    mpiio_handover_init(&worker->handover);

    /* Signals are for the main thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker->start_ns = timer_ns();
    int error = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        die("cannot start a thread: %s (%s)", strerror(error), die_errno_name(error));
}

void mpiio_worker_join(struct mpiio_worker *worker)
{
    pthread_join(worker->thread, NULL);
}

void mpiio_worker_free(struct mpiio_worker *worker)
{
    for (int number = 0; number < worker->task.depth && !worker->task.writes; number++)
        free(worker->slots[number].data);
    free(worker->slots);
    free(worker->slice_taken);
    timeline_free(&worker->timeline);
    mpiio_handover_free(&worker->handover);
}
