/* ior_phase: one timed write or read over all ranks, or both at once, each over some. */
#pragma once

#include "ior/model.h"

/* Collective: rank `target`'s data is written (target is the rank itself) or read. Failed operations are reported and
 * counted in result->failed. */
void ior_phase(struct ior_test *test, enum ior_operation operation, int target, struct ior_result *result);

/* The same with test->mixes: the ranks with test->beside write their own data, the others read that of `target`. Gives both
 * sides on every rank, with the failed operations of both in each. */
void ior_phase_mixed(struct ior_test *test, int target, struct ior_result *writes, struct ior_result *reads);
