/* ior_pages: which part of a rank's data is in its node's page cache, and getting it out of there. */
#pragma once

#include "ior/model.h"

/* Examines the data that this rank has written; up to 8 MiB of it whole, beyond that 64 pieces of up to 64 KiB all over it.
 * What it finds becomes part of the phase's totals. */
void ior_pages_after_write(const struct ior_test *test, struct totals *totals);

/* The same for the data of rank `target`, which this rank is about to read. Examining opens the file, which
 * brings its metadata to this machine: it is examined only where this machine has had it open in this repetition anyway,
 * or where that was asked for (--cache-check). Of a file that another machine made in this repetition nothing can be in
 * this machine's cache. Of other files it is not known. */
void ior_pages_before_read(const struct ior_test *test, int target, struct totals *totals);

/* By what all ranks found. */
struct ior_share ior_pages_share(const struct totals *totals);

/* Collective: writes back and drops the files that this rank wrote and that it is about to read; waits up to two seconds
 * for the pages to leave. Failures go to test->faults. */
void ior_pages_drop(struct ior_test *test, int target);
