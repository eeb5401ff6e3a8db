/* ior_files: making room for the test files, and removing them, whatever ends the run. */
#pragma once

#include "ior/model.h"

/* Collective, before writing: removes what is there already (not with -E), makes the directories of -u. From here on
 * a signal that ends this process removes its files. Failures go to test->faults. */
void ior_files_prepare(struct ior_test *test);

/* Collective, before a mixed phase: makes sure that the files that are written beside it are no others', which stay. */
void ior_files_prepare_beside(struct ior_test *test);

/* Collective, after it: removes them, or keeps them. */
void ior_files_remove_beside(struct ior_test *test, bool keep);

/* A signal removes nothing any more. */
void ior_files_let_go(void);

/* Collective: removes the files of this iteration. Returns the slowest rank's time in seconds. */
double ior_files_remove(struct ior_test *test);
