/* ior_check: reads a rank's data again, outside the timed part, and compares every byte. */
#pragma once

#include "ior/model.h"

/* Collective: each rank, or those that take part, checks the data of rank `target`. Differences are reported with their place, the expected and
 * the found byte; operation is "write check" or "read check". */
void ior_check(struct ior_test *test, const char *operation, int target, bool takes_part, struct ior_verdict *verdict);
