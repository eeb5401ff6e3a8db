/* find_loop: the limit that the find applet is measured against: one process reads the names of a directory and counts
 * them.
 *
 * usage: find_loop DIR
 * Prints "find RATE" in names a second. */
#include "common/die.h"
#include "common/timer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Not inlined: callgrind is told to look at it. */
static void __attribute__((noinline)) measure(const char *path)
{
    uint64_t start_ns = timer_ns();
    DIR *directory = opendir(path);
    if (directory == NULL)
        die("'%s' failed: %s", path, strerror(errno));
    long names = -2; /* . and .. */
    errno = 0;
    while (readdir(directory) != NULL)
        names++;
    if (errno != 0 || closedir(directory) != 0)
        die("'%s' failed: %s", path, strerror(errno));
    printf("find %.3f\n", (double)names / timer_s(start_ns, timer_ns()));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        die("usage: find_loop DIR");
    measure(argv[1]);
    return 0;
}
