/* raw: files and the clock by system calls. */
#include "common/raw.h"

#include "common/die.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h> /* musl's sys/stat.h has no statx before 1.2.5 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int raw_open(const char *path)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    return fd < 0 ? -errno : (int)fd;
}

ssize_t raw_read(int fd, void *buffer, size_t bytes)
{
    long got = syscall(SYS_read, fd, buffer, bytes);
    return got < 0 ? -errno : (ssize_t)got;
}

char *raw_text(const char *path)
{
    size_t room = 1 << 16, used = 0;
    char *text = malloc(room);
    int fd = raw_open(path);
    ssize_t got = 0;
    while (text != NULL && fd >= 0 && (got = raw_read(fd, text + used, room - used - 1)) > 0) {
        used += (size_t)got;
        if (room - used < 4096) {
            char *more = realloc(text, room *= 2);
            if (more == NULL)
                free(text);
            text = more;
        }
    }
    if (text == NULL)
        die("no memory for the text of '%s'", path);
    text[used] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

uint64_t raw_inode(const char *path)
{
    struct statx found;
    return syscall(SYS_statx, AT_FDCWD, path, 0, STATX_INO, &found) == 0 ? found.stx_ino : 0;
}

uint64_t raw_ns(void)
{
    struct timespec now = {0, 0};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void raw_beside(uint64_t (*clock)(void), uint64_t (*kernels)(void), uint64_t *clock_ns, uint64_t *kernels_ns)
{
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 100 && least_ns > 10000; i++) {
        uint64_t before_ns = kernels(), now_ns = clock(), took_ns = kernels() - before_ns;
        if (took_ns < least_ns) {
            least_ns = took_ns;
            *clock_ns = now_ns;
            *kernels_ns = before_ns + took_ns / 2;
        }
    }
}
