/* mdtest_dirs: the directories around mdtest's items: those of -d, the test directories, the trees.
 *
 * Every rank calls; each does its share: rank k the k'th directory of -d and what is common below it, with -u each rank
 * its own tree. Failures go to test->faults. Only what mdtest makes is ever removed, and only while it is empty. */
#pragma once

#include "mdtest/model.h"

/* Number of directories of -d that are in use: no more than there are tasks. */
int mdtest_roots_used(const struct mdtest_config *config, const struct place *place);

/* Makes this rank's directory of -d with its parents. Returns how many directories that made. */
int mdtest_root_make(const struct mdtest_config *config, const struct place *place, struct faults *faults);

/* Removes the directories that mdtest_root_make made, as far as they are empty. */
void mdtest_root_remove(const struct mdtest_config *config, const struct place *place, int made);

/* Where the names of `owner` (-1: shared names) are, up to the number of the test directory: "/scratch/u/test-dir.0-". */
void mdtest_base(const struct mdtest_test *test, int owner, char base[PATH_MAX]);

/* One of this iteration's test directories that exists is an error: it is not this run's. */
void mdtest_test_dir_look(struct mdtest_test *test);

/* Once none is there: until rescue_disarm a signal that ends a run with -r removes them, by the first and the last rank of
 * each node. */
void mdtest_test_dir_guard(const struct mdtest_test *test);

/* Makes them; one that exists is an error, unless another rank of -u made it by another path. True where this rank made all
 * of its own. */
bool mdtest_test_dir_make(struct mdtest_test *test);
void mdtest_test_dir_remove(struct mdtest_test *test);

/* Makes or removes the directories of the trees that are this rank's share. Returns how many it tried. */
int64_t mdtest_trees_change(struct mdtest_test *test, bool make);

/* After a failure before anything was measured: removes what this rank made of the trees and the test directories. */
void mdtest_dirs_undo(struct mdtest_test *test);
