/* nfstest_file: writing and reading one file of nfstest. */
#include "nfstest/file.h"

#include "common/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One of the two is in use. */
struct file {
    int fd;
    FILE *stream;
};

static bool fault(struct nfstest_io *io, const char *operation, const char *path, int error, const char *detail)
{
    faults_add(io->faults, operation, path, error, detail);
    return false;
}

static bool open_file(const struct nfstest_io *io, struct file *file, const char *path, bool writes)
{
    file->stream = NULL;
    file->fd = open(path, (writes ? O_WRONLY | O_CREAT | O_EXCL : O_RDONLY) | O_CLOEXEC, 0644);
    if (file->fd < 0)
        return false;
    if (io->direct)
        return true;
    file->stream = fdopen(file->fd, writes ? "w" : "r");
    if (file->stream != NULL)
        return true;
    close(file->fd);
    return false;
}

static bool close_file(struct file *file)
{
    return (file->stream != NULL ? fclose(file->stream) : close(file->fd)) == 0;
}

/* One call's worth: bytes moved, 0 at the end of the file, -1 with errno. */
static int64_t put_some(struct file *file, const unsigned char *data, int64_t bytes)
{
    if (file->stream == NULL)
        return write(file->fd, data, (size_t)bytes);
    errno = 0;
    int64_t done = (int64_t)fwrite(data, 1, (size_t)bytes, file->stream);
    return done == bytes ? done : -1;
}

static int64_t get_some(struct file *file, unsigned char *data, int64_t bytes)
{
    if (file->stream == NULL)
        return read(file->fd, data, (size_t)bytes);
    errno = 0;
    int64_t done = (int64_t)fread(data, 1, (size_t)bytes, file->stream);
    return ferror(file->stream) ? -1 : done;
}

/* 0 or an errno. A call that moved only a part is followed by one for the rest. */
static int put_all(struct file *file, const unsigned char *data, int64_t bytes)
{
    for (int64_t at = 0; at < bytes;) {
        int64_t done = put_some(file, data + at, bytes - at);
        if (done < 0 && errno == EINTR && file->stream == NULL)
            continue;
        if (done <= 0)
            return done < 0 && errno != 0 ? errno : EIO;
        at += done;
    }
    return 0;
}

/* Number of bytes that came, fewer than asked at the end of the file, or -errno. */
static int64_t get_all(struct file *file, unsigned char *data, int64_t bytes)
{
    int64_t at = 0;
    while (at < bytes) {
        int64_t done = get_some(file, data + at, bytes - at);
        if (done < 0 && errno == EINTR && file->stream == NULL)
            continue;
        if (done < 0)
            return errno != 0 ? -errno : -EIO;
        if (done == 0)
            break;
        at += done;
    }
    return at;
}

bool nfstest_file_write(struct nfstest_io *io, const char *path, int64_t bytes)
{
    struct file file;
    if (!open_file(io, &file, path, true))
        return fault(io, "create", path, errno, NULL);
    int error = 0;
    for (int64_t left = bytes; left > 0 && error == 0; left -= io->buffer_bytes)
        error = put_all(&file, io->buffer, left < io->buffer_bytes ? left : io->buffer_bytes);
    if (!close_file(&file) && error == 0)
        return fault(io, "close", path, errno, NULL);
    return error == 0 || fault(io, "write", path, error, NULL);
}

/* Is every byte of the buffer the same as `content`? Compares it with itself one byte on: one call of the library's
 * fastest loop. */
static bool is_filled(const unsigned char *data, int64_t bytes, unsigned char content)
{
    return data[0] == content && memcmp(data, data + 1, (size_t)(bytes - 1)) == 0;
}

static bool check_portion(struct nfstest_io *io, const char *path, int64_t offset, int64_t bytes, unsigned char content)
{
    uint64_t start_ns = timer_ns();
    bool right = is_filled(io->buffer, bytes, content);
    io->check_ns += timer_ns() - start_ns;
    if (right)
        return true;
    int64_t at = 0;
    while (io->buffer[at] == content)
        at++;
    char detail[128];
    snprintf(detail, sizeof detail, "byte %" PRId64 " is 0x%02x, its writer wrote 0x%02x", offset + at, io->buffer[at],
             content);
    return fault(io, "check", path, 0, detail);
}

static bool read_portions(struct nfstest_io *io, struct file *file, const char *path, int64_t bytes,
                          unsigned char content)
{
    for (int64_t offset = 0; offset < bytes;) {
        int64_t portion = bytes - offset < io->buffer_bytes ? bytes - offset : io->buffer_bytes;
        int64_t got = get_all(file, io->buffer, portion);
        if (got < 0)
            return fault(io, "read", path, (int)-got, NULL);
        if (got < portion) {
            char detail[128];
            snprintf(detail, sizeof detail, "the file ends after %" PRId64 " of %" PRId64 " bytes", offset + got, bytes);
            return fault(io, "read", path, 0, detail);
        }
        if (io->check && !check_portion(io, path, offset, portion, content))
            return false;
        offset += portion;
    }
    return true;
}

bool nfstest_file_read(struct nfstest_io *io, const char *path, int64_t bytes, unsigned char content)
{
    struct file file;
    if (!open_file(io, &file, path, false))
        return fault(io, "open", path, errno, NULL);
    bool right = read_portions(io, &file, path, bytes, content);
    if (!close_file(&file) && right)
        return fault(io, "close", path, errno, NULL);
    return right;
}
