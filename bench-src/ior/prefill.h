/* ior_prefill: randomPrefill: a rank's part of the file is written in order before it is written at random. */
#pragma once

#include "ior/model.h"

/* Collective, outside the timed part. What fails is in test->faults. */
void ior_prefill(struct ior_test *test, const char *path);
