/* checkpoint_image: one process's memory image on its way to a file and back. */
#include "checkpoint/image.h"

#include "common/cache.h"
#include "common/timer.h"
#include "store/contract.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const struct store *const store = &store_posix;

/* Time since *mark, which moves on to now. */
static double lap(uint64_t *mark_ns)
{
    uint64_t now_ns = timer_ns(), last_ns = *mark_ns;
    *mark_ns = now_ns;
    return timer_s(last_ns, now_ns);
}

static bool fault(struct faults *faults, const char *operation, const char *path, int64_t error)
{
    faults_add(faults, operation, path, (int)-error, NULL);
    return false;
}

/* Moves the whole image. False with a fault where not all of it went. */
static bool move(struct store_file *file, bool writes, const char *path, unsigned char *image, int64_t bytes,
                 int64_t transfer_bytes, struct faults *faults)
{
    for (int64_t at = 0; at < bytes;) {
        int64_t part = bytes - at < transfer_bytes ? bytes - at : transfer_bytes;
        int64_t done = writes ? store->write(file, image + at, part, at) : store->read(file, image + at, part, at);
        if (done < 0)
            return fault(faults, writes ? "write" : "read", path, done);
        at += done;
        if (done == part)
            continue;
        char detail[128];
        snprintf(detail, sizeof detail, "%s after %" PRId64 " of %" PRId64 " bytes",
                 writes ? "nothing was taken any more" : "the file ends", at, bytes);
        faults_add(faults, writes ? "write" : "read", path, 0, detail);
        return false;
    }
    return true;
}

static bool open_file(struct store_file **file, bool writes, const char *path, struct faults *faults)
{
    const struct store_options options = {.comm = MPI_COMM_SELF, .writes = writes, .depth = 1};
    int error = store->open(file, path, &options);
    return error == 0 || fault(faults, "open", path, error);
}

bool image_move(bool writes, const char *path, unsigned char *image, int64_t bytes, int64_t transfer_bytes,
                struct image_times *times, struct faults *faults)
{
    struct store_file *file;
    uint64_t mark_ns = timer_ns();
    if (!open_file(&file, writes, path, faults))
        return false;
    times->open_s = lap(&mark_ns);
    bool right = move(file, writes, path, image, bytes, transfer_bytes, faults);
    times->transfer_s = lap(&mark_ns);
    int error = right && writes ? store->sync(file) : 0;
    if (error != 0)
        right = fault(faults, "fsync", path, error);
    times->sync_s = writes ? lap(&mark_ns) : 0;
    error = store->close(file);
    if (error != 0 && right)
        right = fault(faults, "close", path, error);
    times->close_s = lap(&mark_ns);
    return right;
}

void image_forget(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; /* said when the file is read */
    cache_drop(fd);
    close(fd);
}

void image_cached(const char *path, int64_t bytes, int64_t *cached, int64_t *all)
{
    struct cache_pages pages = {0};
    *cached = *all = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (cache_ask(fd, 0, bytes, &pages) == 0) {
        *cached = pages.cached;
        *all = pages.asked;
    }
    close(fd);
}
