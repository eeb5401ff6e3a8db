/* ior_pages: which part of a rank's data lies in its node's page cache, and getting it out of there. */
#pragma once

#include "ior/model.h"

/* Collective: looks at the data of rank `target`, each rank at another's or its own; up to 8 MiB of it whole, beyond that
 * 64 pieces of up to 64 KiB all over it. */
void ior_pages_share(const struct ior_test *test, int target, struct ior_share *share);

/* Collective: writes back and drops the files that this rank wrote and that it is about to read; waits up to two seconds
 * for the pages to leave. Failures go to test->faults. */
void ior_pages_drop(struct ior_test *test, int target);
