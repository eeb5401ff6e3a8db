/* checkpoint_memory: do the images fit? */
#pragma once

#include "common/place.h"

#include <stdint.h>

/* Collective: do images of so many bytes, one for each of the first `ranks` ranks, fit into the machines' memory? Those
 * that do not would end in processes killed by the system, not necessarily these. A tenth is left for what else is
 * needed. EXIT_CODE_OK, or EXIT_CODE_USAGE with an error that was printed. */
int checkpoint_check_memory(const struct place *place, int64_t ranks, int64_t bytes);
