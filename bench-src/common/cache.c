/* cache: which part of a file is in the page cache of this node. */
#include "common/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The C library of the clusters in service does not know the call yet: Linux 6.5, the same number on all machines. */
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum { MINCORE_PAGES = 1024 };

struct range {
    uint64_t offset, bytes;
};

struct counts {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

static bool has_cachestat(void)
{
    static int known = -1;
    if (known < 0)
        /* A bad descriptor is seen only by a kernel that has the call. */
        known = syscall(SYS_cachestat, -1, NULL, NULL, 0) != 0 && (errno == EBADF || errno == EFAULT);
    return known;
}

const char *cache_method(void)
{
    return has_cachestat() ? "cachestat" : "mincore";
}

static int ask_mincore(int fd, int64_t start, int64_t bytes, int64_t page, struct cache_pages *pages)
{
    unsigned char resident[MINCORE_PAGES];
    void *view = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, start);
    if (view == MAP_FAILED)
        return -errno;
    int error = 0;
    for (int64_t at = 0; at < bytes && error == 0; at += MINCORE_PAGES * page) {
        int64_t part = bytes - at < MINCORE_PAGES * page ? bytes - at : MINCORE_PAGES * page;
        if (mincore((char *)view + at, (size_t)part, resident) != 0)
            error = -errno;
        for (int64_t i = 0; i < (part + page - 1) / page && error == 0; i++)
            pages->cached += resident[i] & 1;
    }
    munmap(view, (size_t)bytes);
    return error;
}

int cache_ask(int fd, int64_t offset, int64_t bytes, struct cache_pages *pages)
{
    int64_t page = sysconf(_SC_PAGESIZE), start = offset / page * page;
    bytes += offset - start;
    if (!has_cachestat()) {
        int error = ask_mincore(fd, start, bytes, page, pages);
        pages->asked += error == 0 ? (bytes + page - 1) / page : 0;
        pages->dirty = -1;
        return error;
    }
    struct range range = {(uint64_t)start, (uint64_t)bytes};
    struct counts counts;
    if (syscall(SYS_cachestat, fd, &range, &counts, 0) != 0)
        return -errno;
    pages->asked += (bytes + page - 1) / page;
    pages->cached += (int64_t)counts.cached;
    pages->dirty += (int64_t)(counts.dirty + counts.writeback);
    return 0;
}

int cache_drop(int fd)
{
    if (fdatasync(fd) != 0)
        return -errno;
    return -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static double percent_used(double all, double free)
{
    return all > 0 ? 100 * (1 - free / all) : 0;
}

void cache_space_of(const char *path, struct cache_space *space)
{
    struct statvfs fs;
    *space = (struct cache_space){.files = -1};
    if (statvfs(path, &fs) == 0)
        *space = (struct cache_space){(double)fs.f_blocks * (double)fs.f_frsize,
                                      percent_used((double)fs.f_blocks, (double)fs.f_bfree), (double)fs.f_files,
                                      percent_used((double)fs.f_files, (double)fs.f_ffree)};
}

const char *cache_file_system(const char *path, int *in_memory)
{
    static const struct {
        unsigned long magic;
        const char *name;
        int in_memory;
    } known[] = {
        {0xef53, "ext4", 0},          {0x58465342, "xfs", 0},       {0x9123683e, "btrfs", 0},
        {0x6969, "nfs", 0},           {0x0bd00bd0, "lustre", 0},    {0x47504653, "gpfs", 0},
        {0x19830326, "beegfs", 0},    {0x00c36400, "ceph", 0},      {0x2fc12fc1, "zfs", 0},
        {0x65735546, "fuse", 0},      {0x794c7630, "overlayfs", 0}, {0x01021994, "tmpfs", 1},
        {0x858458f6, "ramfs", 1},     {0x01021997, "9p", 0},        {0xff534d42, "cifs", 0},
        {0x7461636f, "ocfs2", 0},     {0x01161970, "gfs2", 0},      {0xaad7aaea, "panfs", 0},
    };
    static char other[40];
    struct statfs fs;
    *in_memory = 0;
    if (statfs(path, &fs) != 0)
        return NULL;
    unsigned long magic = (unsigned long)fs.f_type & 0xffffffff;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].magic == magic) {
            *in_memory = known[i].in_memory;
            return known[i].name;
        }
    snprintf(other, sizeof other, "unknown (0x%lx)", magic);
    return other;
}
