/* scratch: a directory of the benchmark's own. */
#include "common/scratch.h"

#include "common/rescue.h"
#include "common/units.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char doomed[PATH_MAX]; /* what a signal removes: a directory, or the start of the files' names */
static int doomed_files;      /* number of the files; 0: it is a directory */

/* DOOMED.00000 and so on, as printf's %05d would have it, which a handler must not call. */
static void remove_numbered_files(void)
{
    size_t length = strlen(doomed);
    for (int file = 0; file < doomed_files; file++) {
        char digits[20], *end = doomed + length;
        int count = units_digits(digits, (uint64_t)file);
        *end++ = '.';
        for (int zeros = count; zeros < 5; zeros++)
            *end++ = '0';
        memcpy(end, digits, (size_t)count);
        end[count] = '\0';
        unlink(doomed);
    }
}

static void remove_doomed(void)
{
    if (doomed_files > 0)
        remove_numbered_files();
    else
        rescue_remove(doomed);
}

static void watch_signals(const char *what, int files, const struct place *place)
{
    snprintf(doomed, sizeof doomed, "%s", what);
    doomed_files = files;
    rescue_arm(place->starts_range || place->ends_range ? remove_doomed : NULL);
}

void scratch_watch_files(const char *base, const struct place *place)
{
    watch_signals(base, place->ranks, place);
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
    watch_signals(scratch->path, 0, place);
    struct stat found;
    int absent = stat(scratch->path, &found) != 0;
    if (absent)
        faults_add(faults, "stat", scratch->path, errno, "is it the same file system on every node?");
    MPI_Allreduce(MPI_IN_PLACE, &absent, 1, MPI_INT, MPI_MAX, place->comm);
    if (!absent)
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
    rescue_disarm();
}
