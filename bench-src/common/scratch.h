/* scratch: a flat directory of the benchmark's own below one of the user's, and its removal however the run ends; also
 * for numbered files that have to lie in the user's directory.
 *
 * Between scratch_make and scratch_remove a signal removes the directory with all files in it before it ends the process
 * (common/rescue.h). The first and the last rank of each node do that work, so the loss of any one process, or of a whole
 * node, leaves somebody who does. */
#pragma once

#include "common/faults.h"
#include "common/place.h"

#include <limits.h>
#include <stdbool.h>

struct scratch {
    char path[PATH_MAX];
};

/* Collective: makes PARENT/NAME.XXXXXX, and looks for it from every rank. False where that failed: the reasons are
 * added to faults and nothing is left. One scratch directory at a time. */
bool scratch_make(struct scratch *scratch, const struct place *place, const char *parent, const char *name,
                  struct faults *faults);

/* Files BASE.00000 … of all ranks, in the user's own directory: only the removal on a signal, until rescue_disarm. */
void scratch_watch_files(const char *base, const struct place *place);

/* Collective: removes the directory. If it is not empty then, that is a fault. */
void scratch_remove(struct scratch *scratch, const struct place *place, struct faults *faults);
