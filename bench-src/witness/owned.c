/* owned: directories on the target. */
#include "witness/owned.h"

#include "common/die.h"
#include "witness/say.h"
#include "witness/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static bool is_entry(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Some file systems give another owner to all that is created. */
static bool is_own(int fd)
{
    struct stat found, tried;
    if (fstat(fd, &found) != 0)
        return false;
    if (found.st_uid == geteuid())
        return true;
    char *name = text_of(".campaign-%d-%lx", (int)getpid(), (unsigned long)random());
    int probe = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool is = probe >= 0 && fstat(probe, &tried) == 0 && tried.st_uid == found.st_uid;
    if (probe >= 0) {
        close(probe);
        unlinkat(fd, name, 0);
    }
    free(name);
    return is;
}

static bool is_empty(int fd)
{
    int again = openat(fd, ".", OPEN_DIRECTORY);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    bool is = list != NULL;
    for (struct dirent *each; is && (each = readdir(list)) != NULL;)
        is = !is_entry(each->d_name);
    if (list != NULL)
        closedir(list);
    return is;
}

/* A directory of the job's own: -1 where something else is there. */
static int open_own(const char *directory)
{
    int fd = open(directory, OPEN_DIRECTORY);
    if (fd >= 0 && is_own(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int owned_open_new(const char *directory)
{
    int fd = open_own(directory);
    if (fd < 0 || is_empty(fd))
        return fd;
    close(fd);
    return -1;
}

static int parent_length(const char *directory)
{
    const char *slash = strrchr(directory, '/');
    return slash == NULL ? 0 : (int)(slash - directory);
}

char *owned_replaced(const char *directory)
{
    return text_of("%s is not the directory that the job created: somebody who can write in %.*s has replaced it; use a target "
                   "that nobody else can write in",
                   directory, parent_length(directory), directory);
}

/* Prints a text and frees it. */
static int refuse(char *text)
{
    printf("%s\n", text);
    free(text);
    return EXIT_CODE_FAILED;
}

int owned_make(const char *directory)
{
    struct stat made;
    /* Nobody else may replace a part of a path in it by a link: the benchmark's operations use paths, as users' do. */
    if (mkdir(directory, 0700) != 0)
        return refuse(text_of("%.*s is not writable on %s: %s", parent_length(directory), directory, say_node(), strerror(errno)));
    int fd = owned_open_new(directory);
    if (fd < 0 || fstat(fd, &made) != 0)
        return refuse(owned_replaced(directory));
    printf("%" PRIu64 "\n", (uint64_t)made.st_ino);
    return EXIT_CODE_OK;
}

static bool is_within(const char *directory)
{
    struct stat there, here;
    return lstat(directory, &there) == 0 && stat(".", &here) == 0 && there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

int owned_within(const char *directory, const char *inode)
{
    struct stat here;
    bool is = is_within(directory) && (inode == NULL || (stat(".", &here) == 0 && (uint64_t)here.st_ino == strtoull(inode, NULL, 10)));
    return is ? EXIT_CODE_OK : refuse(owned_replaced(directory));
}

/* Removes everything in a directory, but nothing of another file system that is mounted below it. */
static void empty(int fd, dev_t device, uint64_t *files)
{
    bool removed = true;
    int again = openat(fd, ".", OPEN_DIRECTORY);
    DIR *list = again < 0 ? NULL : fdopendir(again);
    while (list != NULL && removed) { /* until nothing more can be: what is removed may hide another entry from the list */
        removed = false;
        rewinddir(list);
        for (struct dirent *each; (each = readdir(list)) != NULL;) {
            struct stat found;
            if (!is_entry(each->d_name) || fstatat(fd, each->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0)
                continue;
            bool is_directory = S_ISDIR(found.st_mode);
            int below = is_directory && found.st_dev == device ? openat(fd, each->d_name, OPEN_DIRECTORY) : -1;
            if (below >= 0) {
                empty(below, device, files);
                close(below);
            }
            if (unlinkat(fd, each->d_name, is_directory ? AT_REMOVEDIR : 0) == 0) {
                removed = true;
                *files += !is_directory;
            }
        }
    }
    if (list != NULL)
        closedir(list);
}

static uint64_t empty_all(int fd)
{
    struct stat found;
    uint64_t files = 0;
    if (fstat(fd, &found) == 0)
        empty(fd, found.st_dev, &files);
    return files;
}

static int remove_empty(const char *directory)
{
    if (rmdir(directory) == 0)
        return EXIT_CODE_OK;
    warn("cannot remove '%s': %s", directory, strerror(errno));
    return EXIT_CODE_FAILED;
}

int owned_clear(const char *directory)
{
    char moved[PATH_MAX];
    uint64_t files = 0;
    int status = EXIT_CODE_OK;
    if (!is_within(directory)) {
        ssize_t length = readlink("/proc/self/cwd", moved, sizeof moved - 1);
        moved[length < 0 ? 0 : length] = '\0';
        directory = moved;
    }
    if (rmdir(directory) != 0) { /* mdtest up to 1.9 leaves its top directory behind when it is not asked for all of its phases */
        int fd = open(".", OPEN_DIRECTORY);
        if (fd >= 0)
            files = empty_all(fd);
        status = remove_empty(directory);
    }
    printf("%" PRIu64 "\n", files);
    return status;
}

int owned_remove_stale(const char *directory, const char *inode)
{
    struct stat found;
    int fd = open_own(directory);
    if (fd < 0 || fstat(fd, &found) != 0)
        return refuse(owned_replaced(directory));
    if (inode != NULL && (uint64_t)found.st_ino != strtoull(inode, NULL, 10))
        return refuse(text_of("%s has inode %" PRIu64 ", but the job that created it noted inode %s: another directory is in its "
                              "place, or the file system gives the same directory another number (FUSE); look what is in it, and "
                              "remove it yourself if it is what the benchmark left",
                              directory, (uint64_t)found.st_ino, inode));
    empty_all(fd);
    return remove_empty(directory);
}
