/* scratch: a directory of the benchmark's own. The signal handler uses system calls only, as handlers must: no
 * opendir, which allocates. */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static struct sigaction before[SIGNALS];
static char doomed[PATH_MAX]; /* what the handler removes; empty: nothing */

/* The kernel's struct linux_dirent64, which no header has. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static void remove_files(int directory)
{
    _Alignas(struct entry) char entries[4096];
    long bytes;
    while ((bytes = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0)
        for (long at = 0; at < bytes;) {
            struct entry *entry = (struct entry *)(entries + at);
            unlinkat(directory, entry->name, 0); /* "." and ".." are directories: refused */
            at += entry->length;
        }
}

/* Other ranks may still be making files: tries again for a while. */
static void remove_doomed(void)
{
    for (int attempt = 0; attempt < 50; attempt++) {
        int directory = open(doomed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0)
            return;
        remove_files(directory);
        close(directory);
        if (rmdir(doomed) == 0)
            return;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}

static void on_signal(int number)
{
    if (doomed[0] != '\0')
        remove_doomed();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(const struct scratch *scratch, const struct place *place)
{
    if (place->starts_range || place->ends_range)
        memcpy(doomed, scratch->path, sizeof doomed);
    struct sigaction action = {.sa_handler = on_signal};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &before[i]);
}

static void forget_signals(void)
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    doomed[0] = '\0';
}

static bool nowhere(bool failed, MPI_Comm comm)
{
    int own = failed, any;
    MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, comm);
    return any == 0;
}

bool scratch_make(struct scratch *scratch, const struct place *place, const char *parent, const char *name,
                  struct faults *faults)
{
    int error = 0;
    memset(scratch, 0, sizeof *scratch);
    if (place->rank == 0) {
        int length = snprintf(scratch->path, sizeof scratch->path, "%s/%s.XXXXXX", parent, name);
        if (length >= (int)sizeof scratch->path)
            error = ENAMETOOLONG;
        else if (mkdtemp(scratch->path) == NULL)
            error = errno;
        else
            chmod(scratch->path, 0755); /* as mkdir would: its owner may want to look at it from elsewhere */
    }
    MPI_Bcast(&error, 1, MPI_INT, 0, place->comm);
    if (error != 0) {
        if (place->rank == 0)
            faults_add(faults, "mkdir below", parent, error, NULL);
        return false;
    }
    MPI_Bcast(scratch->path, sizeof scratch->path, MPI_CHAR, 0, place->comm);
    watch_signals(scratch, place);
    struct stat found;
    bool absent = stat(scratch->path, &found) != 0;
    if (absent)
        faults_add(faults, "stat", scratch->path, errno, "is it the same file system on every node?");
    if (nowhere(absent, place->comm))
        return true;
    struct faults ignored = {0};
    scratch_remove(scratch, place, &ignored);
    return false;
}

void scratch_remove(struct scratch *scratch, const struct place *place, struct faults *faults)
{
    MPI_Barrier(place->comm);
    if (place->rank == 0 && rmdir(scratch->path) != 0)
        faults_add(faults, "rmdir", scratch->path, errno, NULL);
    MPI_Barrier(place->comm);
    forget_signals();
}
