/* ior_phase: one timed write or read over all ranks. */
#pragma once

#include "ior/model.h"

/* Collective: rank `target`'s data is written (target is the rank itself) or read. Failed operations are reported and
 * counted in result->failed. */
void ior_phase(struct ior_test *test, enum ior_operation operation, int target, struct ior_result *result);
