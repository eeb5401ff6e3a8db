/* clock_ahead: a library for LD_PRELOAD that shows the time of day, and the time since the start of the system in /proc/uptime, as
 * many seconds ahead as the file $CLOCK_AHEAD says: who writes it decides how long something took. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The content of a file, which is read by no call that is replaced below. */
static double first_number(const char *path)
{
    char text[64] = "";
    int fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            text[0] = '\0';
        close(fd);
    }
    return atof(text);
}

static double ahead_s(void)
{
    return first_number(getenv("CLOCK_AHEAD"));
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME)
        time->tv_sec += (time_t)ahead_s();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return result;
}

time_t time(time_t *result)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return result == NULL ? now.tv_sec : (*result = now.tv_sec);
}

/* /proc/uptime is a regular file to those that read it, and so is this one. */
int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (strcmp(path, "/proc/uptime") != 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    int fd = memfd_create("uptime", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    if (fd >= 0 && (dprintf(fd, "%.2f 0.00\n", first_number(path) + ahead_s()) < 0 || lseek(fd, 0, SEEK_SET) != 0))
        abort();
    return fd;
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
