/* mdtest_items: the inner loop of mdtest. Full paths; the part before the number is made once a directory. No clock is
 * read per item, except for a deadline or a latency histogram. */
#include "mdtest/items.h"

#include "common/buf.h"
#include "common/die.h"
#include "common/timer.h"
#include "common/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the pattern: the owner's, another one for each seed. */
static uint64_t data_stream(const struct mdtest_job *job)
{
    return (uint64_t)(int64_t)job->owner + job->seed * 0x9e3779b97f4a7c15u;
}

void mdtest_items_prepare(struct mdtest_job *job)
{
    job->place_start = job->place_stop = 0;
    if (job->data_bytes == 0)
        return;
    buf_fill(job->buffer, MDTEST_BUFFER_BYTES, data_stream(job), 0);
    for (uint64_t word = 0; job->data != PATTERN_UNIQUE && word < MDTEST_BUFFER_BYTES / 8; word++) {
        uint64_t value = pattern_word(job->seed, job->owner, word);
        memcpy(job->buffer + 8 * word, &value, sizeof value);
    }
}

/* Names the directory that holds the item at this place. Kept out of the loop's straight path. */
static void __attribute__((noinline)) enter_directory(struct mdtest_job *job, int64_t place)
{
    const struct mdtest_tree *tree = job->tree;
    int64_t nth = place / tree->items_per_dir, of_tree = tree->dirs - tree->first_dir;
    int64_t dir = tree->first_dir + nth % of_tree;
    size_t used = (size_t)snprintf(job->path, sizeof job->path, "%s%" PRId64 "/", job->base, nth / of_tree);
    int length = mdtest_tree_path(tree, dir, job->tree_owner, job->path + used, sizeof job->path - used);
    used += (size_t)length;
    if (job->owner < 0)
        used += (size_t)snprintf(job->path + used, sizeof job->path - used, "%s.mdtest.shared.", job->kind);
    else
        used += (size_t)snprintf(job->path + used, sizeof job->path - used, "%s.mdtest.%d.", job->kind, job->owner);
    if (length < 0 || used + 21 > sizeof job->path)
        bug("path of item %" PRId64 " is too long: '%s'", place, job->path);
    job->digits_at = (int)used;
    job->place_start = nth * tree->items_per_dir;
    job->place_stop = job->place_start + tree->items_per_dir;
    job->first_number = dir * tree->items_per_dir;
}

static void __attribute__((noinline)) note_failure(struct mdtest_job *job, int error)
{
    if (error < 0)
        faults_add(job->faults, job->operation, job->path, 0, job->detail);
    else
        faults_add(job->faults, job->operation, job->path, error, NULL);
}

static void name_item(struct mdtest_job *job, int64_t place)
{
    if (place < job->place_start || place >= job->place_stop)
        enter_directory(job, place);
    job->number = job->first_number + place - job->place_start;
    char *digits = job->path + job->digits_at;
    job->digits = units_digits(digits, (uint64_t)job->number);
    digits[job->digits] = '\0';
}

/* One more than a number that ends in nines. */
static char *__attribute__((noinline)) carry(char *digits, char *end)
{
    char *at = end - 1;
    while (at >= digits && *at == '9')
        *at-- = '0';
    if (at >= digits) {
        ++*at;
        return end;
    }
    digits[0] = '1';
    *end++ = '0';
    *end = '\0';
    return end;
}

/* The decimal number counts up where it stands, which is much cheaper than writing it again. Returns its end. */
static inline char *count_up(char *digits, char *end)
{
    if (end[-1] == '9')
        return carry(digits, end);
    ++end[-1];
    return end;
}

/* The item after the one at work, in the same directory. */
static inline void name_next_item(struct mdtest_job *job)
{
    char *digits = job->path + job->digits_at;
    job->number++;
    job->digits = (int)(count_up(digits, digits + job->digits) - digits);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Makes the data of every file its own: its number stands in its first eight bytes, mixed into the pattern. */
static void stamp(struct mdtest_job *job)
{
    if (job->data == PATTERN_OFFSET)
        pattern_stamp_offset(job->buffer, smaller(job->data_bytes, MDTEST_BUFFER_BYTES), job->owner, job->number);
    else
        buf_fill(job->buffer, 8, data_stream(job), 8 * (uint64_t)job->number);
}

static int write_data(struct mdtest_job *job, int fd)
{
    stamp(job);
    for (int64_t done = 0; done < job->data_bytes;) {
        int64_t in_buffer = done % MDTEST_BUFFER_BYTES;
        int64_t part = smaller(job->data_bytes - done, MDTEST_BUFFER_BYTES - in_buffer);
        ssize_t written = write(fd, job->buffer + in_buffer, (size_t)part);
        if (written < 0)
            return errno;
        done += written;
    }
    return 0;
}

static int different(struct mdtest_job *job, int64_t offset, const unsigned char *found, int64_t bytes)
{
    int64_t i = 0;
    while (i < bytes && job->buffer[i] == found[i])
        i++;
    snprintf(job->detail, sizeof job->detail, "byte %" PRId64 " differs: 0x%02x expected, 0x%02x found", offset + i,
             job->buffer[i], found[i]);
    return -1;
}

static int read_data(struct mdtest_job *job, int fd)
{
    unsigned char *found = job->buffer + MDTEST_BUFFER_BYTES;
    if (job->verify)
        stamp(job);
    for (int64_t done = 0; done < job->data_bytes;) {
        int64_t part = smaller(job->data_bytes - done, MDTEST_BUFFER_BYTES), filled = 0;
        while (filled < part) {
            ssize_t got = read(fd, found + filled, (size_t)(part - filled));
            if (got < 0)
                return errno;
            if (got == 0) {
                snprintf(job->detail, sizeof job->detail, "%" PRId64 " bytes are there, %" PRId64 " were to be read",
                         done + filled, job->data_bytes);
                return -1;
            }
            filled += got;
        }
        if (job->verify && memcmp(found, job->buffer, (size_t)part) != 0)
            return different(job, done, found, part);
        done += part;
    }
    return 0;
}

static int read_back(struct mdtest_job *job, int fd)
{
    const bool verify = job->verify;
    if (lseek(fd, 0, SEEK_SET) != 0)
        return errno;
    job->verify = true;
    int error = read_data(job, fd);
    job->verify = verify;
    return error;
}

/* Opens, moves the data, syncs, closes. */
static int open_and_write(struct mdtest_job *job, int flags)
{
    int fd = open(job->path, flags | job->open_flags, 0664);
    if (fd < 0)
        return errno;
    int error = job->data_bytes > 0 ? write_data(job, fd) : 0;
    if (error == 0 && job->verify_writes && job->data_bytes > 0)
        error = read_back(job, fd);
    if (error == 0 && job->sync_each && fsync(fd) != 0)
        error = errno;
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error;
}

int mdtest_nothing(struct mdtest_job *job)
{
    (void)job;
    return 0;
}

int mdtest_create_file(struct mdtest_job *job)
{
    return open_and_write(job, O_RDWR | O_CREAT);
}

/* The same where nothing is written and nothing is synced. */
static int create_empty_file(struct mdtest_job *job)
{
    int fd = open(job->path, O_RDWR | O_CREAT | job->open_flags, 0664);
    return fd < 0 || close(fd) != 0 ? errno : 0;
}

int mdtest_make_node(struct mdtest_job *job)
{
    return mknod(job->path, S_IFREG | 0664, 0) == 0 ? 0 : errno;
}

int mdtest_open_file(struct mdtest_job *job)
{
    return open_and_write(job, job->verify_writes ? O_RDWR : O_WRONLY);
}

int mdtest_create_directory(struct mdtest_job *job)
{
    return mkdir(job->path, 0775) == 0 ? 0 : errno;
}

int mdtest_stat(struct mdtest_job *job)
{
    struct stat status;
    return stat(job->path, &status) == 0 ? 0 : errno;
}

static int rename_item(const struct mdtest_job *job, bool back)
{
    char other[sizeof job->path + sizeof MDTEST_RENAMED];
    snprintf(other, sizeof other, "%s" MDTEST_RENAMED, job->path);
    return (back ? rename(other, job->path) : rename(job->path, other)) == 0 ? 0 : errno;
}

int mdtest_rename_directory(struct mdtest_job *job)
{
    return rename_item(job, false);
}

int mdtest_rename_back(struct mdtest_job *job)
{
    return rename_item(job, true);
}

int mdtest_read_file(struct mdtest_job *job)
{
    int fd = open(job->path, O_RDONLY | job->open_flags);
    if (fd < 0)
        return errno;
    int error = job->data_bytes > 0 ? read_data(job, fd) : 0;
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error;
}

int mdtest_remove_file(struct mdtest_job *job)
{
    return unlink(job->path) == 0 ? 0 : errno;
}

int mdtest_remove_directory(struct mdtest_job *job)
{
    return rmdir(job->path) == 0 ? 0 : errno;
}

/* Any order, any operation, with a deadline or a histogram. */
static int64_t run_any(struct mdtest_job *job, int64_t first, int64_t last)
{
    for (int64_t next = first; next < last; next++) {
        if (job->order != NULL)
            name_item(job, (int64_t)permute_at(job->order, (uint64_t)next));
        else if (next == first || next >= job->place_stop)
            name_item(job, next);
        else
            name_next_item(job);
        uint64_t start_ns = job->latency == NULL ? 0 : timer_ns();
        int error = job->perform(job);
        if (job->latency != NULL)
            latency_add(job->latency, start_ns, timer_ns());
        if (error != 0)
            note_failure(job, error);
        if (job->deadline_ns != 0 && timer_ns() >= job->deadline_ns)
            return next + 1;
    }
    return last;
}

/* The operation alone, from the first to the last. A loop is made for each operation, which is then in it: after a system call
 * little of this process is in the caches beside the processor, so that each line of code or data more takes some
 * nanoseconds. */
static inline int64_t __attribute__((always_inline))
run_plain(struct mdtest_job *job, int64_t first, int64_t last, int (*perform)(struct mdtest_job *))
{
    for (int64_t next = first; next < last;) {
        name_item(job, next);
        const int64_t stop = smaller(last, job->place_stop);
        char *const digits = job->path + job->digits_at, *end = digits + job->digits;
        for (;;) {
            int error = perform(job);
            if (error != 0)
                note_failure(job, error);
            if (++next == stop)
                break;
            end = count_up(digits, end);
        }
    }
    return last;
}

int64_t mdtest_items_run(struct mdtest_job *job, int64_t first, int64_t last)
{
    const bool plain = job->order == NULL && job->latency == NULL && job->deadline_ns == 0;
    if (plain && job->perform == mdtest_create_file && job->data_bytes == 0 && !job->sync_each)
        return run_plain(job, first, last, create_empty_file);
    if (plain && job->perform == mdtest_stat)
        return run_plain(job, first, last, mdtest_stat);
    if (plain && job->perform == mdtest_remove_file)
        return run_plain(job, first, last, mdtest_remove_file);
    return run_any(job, first, last);
}
