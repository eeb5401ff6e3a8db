/* walk: all processes together through a directory tree.
 *
 * They read directories, and share what they find after at most some thousand names of each: a single directory is read by
 * one process and examined by all. */
#pragma once

#include "common/faults.h"
#include "common/place.h"
#include "find/entries.h"

#include <dirent.h>
#include <time.h>

struct find_config {
    const char *directory, *name, *newer;
    int64_t size;
};

struct walk {
    const struct find_config *config;
    struct timespec newer; /* of the file --newer */
    struct entries directories;
    size_t next; /* of those not read yet */
    DIR *open;
    const char *path; /* of the open one */
    int64_t files, found; /* of this process; found: those that fit */
    struct faults faults;
};

/* Collective: what cannot be read is a fault. */
void walk_tree(struct walk *walk, const struct place *place);
