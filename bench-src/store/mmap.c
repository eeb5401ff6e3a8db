/* store_mmap: memcpy to and from a mapping of the whole file, which has its full length from its opening on. An error of the
 * storage behind a page ends the process (SIGBUS), as there is no call that could return it; so the blocks are taken at the
 * opening where the file system can, and a full one is an error there. */
#include "store/fd.h"

#include "common/die.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct store_file {
    int fd;
    unsigned char *map; /* NULL: the file is empty */
    int64_t bytes;
    bool drops; /* the pages of a transfer leave the mapping after it */
};

/* Makes the file as long as it will be; one that is longer stays so. */
static int make_room(int fd, const struct store_options *options)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -errno;
    if (status.st_size >= options->file_bytes || fallocate(fd, 0, 0, options->file_bytes) == 0)
        return 0;
    if (errno != EOPNOTSUPP || options->must_reserve)
        return -errno;
    return ftruncate(fd, options->file_bytes) == 0 ? 0 : -errno;
}

static int map_file(struct store_file *file, const struct store_options *options)
{
    struct stat status;
    int error = options->writes ? make_room(file->fd, options) : 0;
    if (error != 0)
        return error;
    if (fstat(file->fd, &status) != 0)
        return -errno;
    file->bytes = status.st_size;
    if (file->bytes == 0)
        return 0;
    int access = PROT_READ | (options->writes ? PROT_WRITE : 0);
    void *map = mmap(NULL, (size_t)file->bytes, access, MAP_SHARED, file->fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    file->map = map;
    if (options->map_advice != MADV_NORMAL)
        madvise(map, (size_t)file->bytes, options->map_advice);
    return 0;
}

static int open_file(struct store_file **file, const char *path, const struct store_options *options)
{
    int fd = open(path, (options->writes ? O_CREAT | O_RDWR : O_RDONLY) | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    *file = die_alloc(sizeof(void *), sizeof **file);
    **file = (struct store_file){.fd = fd, .drops = options->map_drops};
    int error = map_file(*file, options);
    if (error == 0)
        return 0;
    close(fd);
    free(*file);
    return error;
}

/* How much of the transfer is within the file. */
static int64_t within(const struct store_file *file, int64_t bytes, int64_t offset)
{
    return offset >= file->bytes ? 0 : bytes < file->bytes - offset ? bytes : file->bytes - offset;
}

static void drop(const struct store_file *file, int64_t bytes, int64_t offset)
{
    int64_t page = sysconf(_SC_PAGESIZE), start = offset / page * page;
    if (file->drops && bytes > 0)
        madvise(file->map + start, (size_t)(bytes + offset - start), MADV_DONTNEED);
}

static int64_t write_bytes(struct store_file *file, const void *buffer, int64_t bytes, int64_t offset)
{
    int64_t moved = within(file, bytes, offset);
    if (moved > 0)
        memcpy(file->map + offset, buffer, (size_t)moved);
    drop(file, moved, offset);
    return moved;
}

static int64_t read_bytes(struct store_file *file, void *buffer, int64_t bytes, int64_t offset)
{
    int64_t moved = within(file, bytes, offset);
    if (moved > 0)
        memcpy(buffer, file->map + offset, (size_t)moved);
    drop(file, moved, offset);
    return moved;
}

static int sync_file(struct store_file *file)
{
    bool failed = (file->map != NULL && msync(file->map, (size_t)file->bytes, MS_SYNC) != 0) || fsync(file->fd) != 0;
    return failed ? -errno : 0;
}

static int close_file(struct store_file *file)
{
    int error = 0;
    if (file->map != NULL && munmap(file->map, (size_t)file->bytes) != 0)
        error = -errno;
    if (close(file->fd) != 0 && error == 0)
        error = -errno;
    free(file);
    return error;
}

const struct store store_mmap = {
    .name = "MMAP",
    .uses_page_cache = true,
    .keeps_bytes = true,
    .needs_length = true,
    .open = open_file,
    .write = write_bytes,
    .read = read_bytes,
    .sync = sync_file,
    .close = close_file,
    .remove = store_fd_remove,
};
