/* ior_move: the loops inside the timed part. What they do beside the calls of the store: the next offset, eight bytes of
 * data in every 4096 when writing, and the clock only where there is a deadline or transfers are timed. */
#include "ior/move.h"

#include "common/die.h"
#include "common/quiet.h"
#include "common/timer.h"
#include "store/way.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* What an alignment error of O_DIRECT means. */
static void explain_alignment(const struct ior_move *move, int64_t offset, char *detail, size_t detail_bytes)
{
    unsigned need = 0;
#ifdef STATX_DIOALIGN
    struct statx status;
    if (statx(AT_FDCWD, move->path, 0, STATX_DIOALIGN, &status) == 0 && (status.stx_mask & STATX_DIOALIGN) != 0)
        need = status.stx_dio_offset_align;
#endif
    char multiple[64] = "the storage's block size (often 512 or 4096)";
    if (need > 0)
        snprintf(multiple, sizeof multiple, "%u", need);
    snprintf(detail, detail_bytes, "O_DIRECT wants -t and offsets in multiples of %s: -t %" PRId64 ", offset %" PRId64,
             multiple, move->test->plan.transfer, offset);
}

/* moved is less than a transfer, or -errno. */
static void note(struct ior_move *move, const char *operation, int64_t moved, int64_t offset)
{
    char detail[128] = "";
    int64_t bytes = move->test->plan.transfer;
    move->failed = true;
    if (moved == -EINVAL && move->test->config->direct)
        explain_alignment(move, offset, detail, sizeof detail);
    else if (moved < 0)
        snprintf(detail, sizeof detail, "at offset %" PRId64, offset);
    else if (move->operation == IOR_READ)
        snprintf(detail, sizeof detail, "got %" PRId64 " of %" PRId64 " bytes at offset %" PRId64 "%s", moved, bytes, offset,
                 move->test->config->one_attempt ? " (one attempt, -x)" : ": the file ends there");
    else
        snprintf(detail, sizeof detail, "%" PRId64 " of %" PRId64 " bytes were taken at offset %" PRId64 "%s", moved, bytes,
                 offset, move->test->config->one_attempt ? " (one attempt, -x)" : "");
    faults_add(&move->test->faults, operation, move->path, moved < 0 ? (int)-moved : 0, detail);
}

/* False where it failed. */
static bool sync_after_write(struct ior_move *move, int64_t offset)
{
    int error = move->test->store->sync(move->file);
    if (error != 0)
        note(move, "fsync", error, offset);
    return error == 0;
}

/* interIODelay */
static void pause_after(const struct ior_move *move)
{
    if (move->test->config->transfer_pause_us > 0)
        quiet_sleep_ns((uint64_t)move->test->config->transfer_pause_us * 1000);
}

/* What a loop has beside the transfers. */
enum beside {
    NOTHING, /* they are in order, on a descriptor, without a deadline */
    ANYTHING,
    WATCHED, /* and they are timed, or followed by a pause */
};

/* Loops are made of this one, so that one in which something is not asked for has nothing of it. */
static inline void __attribute__((always_inline))
move_one_by_one(struct ior_move *move, int64_t last, uint64_t deadline_ns, const bool writes, const enum beside beside)
{
    struct ior_test *test = move->test;
    const struct store_way way = store_way(test->store, move->file, test->config->one_attempt);
    /* Copies: see store_write. */
    const struct ior_plan plan = *move->walk.plan;
    struct ior_walk walk = move->walk;
    const struct pattern pattern = test->pattern;
    void *const buffer = test->buffers;
    const bool plain = beside == NOTHING, watched = beside == WATCHED;
    const bool sync_each = !plain && writes && test->config->fsync_each;
    const bool lockstep = !plain && ior_config_lockstep(test->config, writes);
    walk.plan = &plan;
    if (plain)
        walk.order = IOR_SEQUENTIAL;
    if (plain && way.at.fd < 0)
        __builtin_unreachable();
    int64_t done = 0;
    int64_t bytes = move->failed ? 0 : test->plan.transfer, offset;
    while (walk.step < last) {
        int64_t place = ior_walk_next(&walk, &offset);
        uint64_t start_ns = watched ? timer_ns() : 0;
        int64_t moved = writes ? store_write(&way, pattern_data(&pattern, place, offset), bytes, offset)
                               : store_read(&way, buffer, bytes, offset);
        bool failed = moved != bytes;
        if (watched && !failed && bytes > 0 && test->watch != NULL)
            ior_watch_add(test->watch, start_ns, bytes);
        if (watched)
            pause_after(move);
        if (failed)
            note(move, ior_operation_name(move->operation), moved, offset);
        if (sync_each && (!failed || lockstep) && !sync_after_write(move, offset))
            failed = true;
        if (failed && !lockstep)
            break;
        if (failed)
            bytes = 0;
        else if (bytes > 0)
            done++;
        if (!plain && deadline_ns > 0 && timer_ns() >= deadline_ns)
            break;
    }
    move->walk.step = walk.step;
    move->walk.offset = walk.offset;
    move->walk.left_in_block = walk.left_in_block;
    move->done += done;
}

/* The loops with nothing beside the transfers are functions of their own: what they use of the stack lies close together. */
static void __attribute__((noinline)) write_in_order(struct ior_move *move, int64_t last)
{
    move_one_by_one(move, last, 0, true, NOTHING);
}

static void __attribute__((noinline)) read_in_order(struct ior_move *move, int64_t last)
{
    move_one_by_one(move, last, 0, false, NOTHING);
}

/* An outstanding transfer. */
struct slot {
    unsigned char *buffer;
    int64_t slice; /* of the pattern, -1: of a read */
    int64_t offset;
    int64_t moved;
    uint64_t start_ns; /* with --latency */
};

struct queue {
    struct ior_move *move;
    struct slot *slots;
    int *idle; /* slots that are free */
    int idle_count, depth;
    bool *slice_taken; /* by an outstanding write */
};

/* Hands a slot to the store, or what is left of it. */
static bool start(struct queue *queue, int number)
{
    struct ior_move *move = queue->move;
    struct slot *slot = &queue->slots[number];
    int error = move->test->store->submit(move->file, number, move->operation == IOR_WRITE, slot->buffer + slot->moved,
                                          move->test->plan.transfer - slot->moved, slot->offset + slot->moved);
    if (error != 0)
        note(move, ior_operation_name(move->operation), error, slot->offset);
    return error == 0;
}

static void release(struct queue *queue, int number)
{
    struct slot *slot = &queue->slots[number];
    if (slot->slice >= 0)
        queue->slice_taken[slot->slice] = false;
    queue->idle[queue->idle_count++] = number;
}

/* Fills the queue; stops at a place whose slice of the pattern is still being written. */
static void fill(struct queue *queue, int64_t last)
{
    struct ior_move *move = queue->move;
    struct ior_test *test = move->test;
    while (queue->idle_count > 0 && move->walk.step < last && !move->failed) {
        struct ior_walk before = move->walk;
        int number = queue->idle[queue->idle_count - 1];
        struct slot *slot = &queue->slots[number];
        int64_t place = ior_walk_next(&move->walk, &slot->offset);
        slot->slice = -1;
        slot->moved = 0;
        slot->start_ns = test->watch == NULL ? 0 : timer_ns();
        if (move->operation == IOR_WRITE) {
            slot->slice = pattern_slice(&test->pattern, place);
            if (queue->slice_taken[slot->slice]) {
                move->walk = before;
                return;
            }
            queue->slice_taken[slot->slice] = true;
            slot->buffer = pattern_data(&test->pattern, place, slot->offset);
        }
        queue->idle_count--;
        if (!start(queue, number))
            release(queue, number);
    }
}

/* A transfer came back: done, to be continued, or failed. */
static void finish(struct queue *queue, const struct store_done *done)
{
    struct ior_move *move = queue->move;
    struct slot *slot = &queue->slots[done->slot];
    const int64_t bytes = move->test->plan.transfer;
    slot->moved += done->result > 0 ? done->result : 0;
    if (done->result > 0 && slot->moved < bytes && !move->test->config->one_attempt && start(queue, done->slot))
        return;
    if (slot->moved == bytes) {
        move->done++;
        if (move->test->watch != NULL)
            ior_watch_add(move->test->watch, slot->start_ns, bytes);
    } else if (!move->failed)
        note(move, ior_operation_name(move->operation), done->result < 0 ? done->result : slot->moved, slot->offset);
    if (move->operation == IOR_WRITE && move->test->config->fsync_each && !move->failed)
        sync_after_write(move, slot->offset);
    release(queue, done->slot);
}

static void move_queued(struct ior_move *move, int64_t last, uint64_t deadline_ns)
{
    struct ior_test *test = move->test;
    const int depth = ior_depth(test);
    struct queue queue = {.move = move, .depth = depth};
    struct slot slots[depth];
    struct store_done done[depth];
    int idle[depth];
    queue.slots = slots;
    queue.idle = idle;
    queue.slice_taken = die_alloc(sizeof(void *), (size_t)test->pattern.slices);
    for (int i = 0; i < depth; i++) {
        slots[i].buffer = test->buffers + i * test->plan.transfer;
        idle[queue.idle_count++] = depth - 1 - i;
    }
    for (;;) {
        fill(&queue, last);
        if (queue.idle_count == depth)
            break;
        int count = test->store->reap(move->file, done, depth);
        if (count < 0)
            /* The buffers still belong to the kernel: nothing can be cleaned up. */
            die("cannot wait for transfers of '%s': %s", move->path, die_errno_name(-count));
        for (int i = 0; i < count; i++)
            finish(&queue, &done[i]);
        if (deadline_ns > 0 && timer_ns() >= deadline_ns)
            last = move->walk.step;
    }
    free(queue.slice_taken);
}

void ior_move(struct ior_move *move, int64_t last, uint64_t deadline_ns)
{
    const struct ior_test *test = move->test;
    const struct ior_config *config = test->config;
    const bool writes = move->operation == IOR_WRITE;
    const bool in_order = move->walk.order == IOR_SEQUENTIAL && !config->fsync_each && !ior_config_lockstep(config, writes);
    const bool on_descriptor = !move->failed && store_way(test->store, move->file, false).at.fd >= 0;
    if (test->store->submit != NULL)
        move_queued(move, last, deadline_ns);
    else if (test->watch != NULL || config->transfer_pause_us > 0)
        move_one_by_one(move, last, deadline_ns, writes, WATCHED);
    else if (deadline_ns > 0 || !in_order || !on_descriptor)
        move_one_by_one(move, last, deadline_ns, writes, ANYTHING);
    else if (writes)
        write_in_order(move, last);
    else
        read_in_order(move, last);
}
