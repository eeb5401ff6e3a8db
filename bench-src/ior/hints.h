/* ior_hints: the file of hintsFileName. Pure.
 *
 *     # a comment
 *     IOR_HINT__MPI__cb_nodes = 4
 *     setenv IOR_HINT__MPI__striping_unit 1048576
 *     IOR_HINT__GPFS__hint = value        # of a layer that is none of the program's
 */
#pragma once

#include "common/refusal.h"
#include "store/contract.h"

/* Cuts text (a file's content, changed and used as long as the hints are) into hints: 0, or -1 with a message that names the
 * line. name is the file's, for messages. */
int ior_hints_parse(struct store_hints *hints, char *text, const char *name, struct refusal *why);

void ior_hints_free(struct store_hints *hints);
