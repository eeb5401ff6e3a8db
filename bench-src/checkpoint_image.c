/* checkpoint_image: one process's memory image on its way to a file and back. */
#include "checkpoint_image.h"

#include "timer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Time since *mark, which moves on to now. */
static double lap(uint64_t *mark_ns)
{
    uint64_t now_ns = timer_ns(), last_ns = *mark_ns;
    *mark_ns = now_ns;
    return timer_s(last_ns, now_ns);
}

static bool fault(struct faults *faults, const char *operation, const char *path, int error)
{
    faults_add(faults, operation, path, error, NULL);
    return false;
}

/* 0 or an errno. */
static int put_all(int fd, const unsigned char *image, int64_t bytes, int64_t transfer_bytes)
{
    for (int64_t at = 0; at < bytes;) {
        int64_t part = bytes - at < transfer_bytes ? bytes - at : transfer_bytes;
        int64_t done = write(fd, image + at, (size_t)part);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        at += done;
    }
    return 0;
}

bool image_write(const char *path, const unsigned char *image, int64_t bytes, int64_t transfer_bytes,
                 struct image_times *times, struct faults *faults)
{
    uint64_t mark_ns = timer_ns();
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return fault(faults, "create", path, errno);
    times->open_s = lap(&mark_ns);
    int error = put_all(fd, image, bytes, transfer_bytes);
    times->transfer_s = lap(&mark_ns);
    bool right = error == 0 || fault(faults, "write", path, error);
    if (right && fsync(fd) != 0)
        right = fault(faults, "fsync", path, errno);
    times->sync_s = lap(&mark_ns);
    if (close(fd) != 0 && right)
        right = fault(faults, "close", path, errno);
    times->close_s = lap(&mark_ns);
    return right;
}

/* Bytes that came, or -errno. */
static int64_t get_all(int fd, unsigned char *image, int64_t bytes, int64_t transfer_bytes)
{
    int64_t at = 0;
    while (at < bytes) {
        int64_t part = bytes - at < transfer_bytes ? bytes - at : transfer_bytes;
        int64_t done = read(fd, image + at, (size_t)part);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        if (done == 0)
            break;
        at += done;
    }
    return at;
}

bool image_read(const char *path, unsigned char *image, int64_t bytes, int64_t transfer_bytes, struct image_times *times,
                struct faults *faults)
{
    uint64_t mark_ns = timer_ns();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fault(faults, "open", path, errno);
    times->open_s = lap(&mark_ns);
    int64_t got = get_all(fd, image, bytes, transfer_bytes);
    times->transfer_s = lap(&mark_ns);
    bool right = got >= 0 || fault(faults, "read", path, (int)-got);
    if (right && got < bytes) {
        char detail[128];
        snprintf(detail, sizeof detail, "the file ends after %" PRId64 " of %" PRId64 " bytes", got, bytes);
        faults_add(faults, "read", path, 0, detail);
        right = false;
    }
    if (close(fd) != 0 && right)
        right = fault(faults, "close", path, errno);
    times->close_s = lap(&mark_ns);
    return right;
}

void image_forget(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; /* said when the file is read */
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}
