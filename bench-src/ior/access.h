/* ior_access: what follows from a test's settings for one rank: which file, how it is opened, which places in which order,
 * and whose data is read. */
#pragma once

#include "ior/model.h"

/* The file that holds a rank's data, in this iteration. */
void ior_access_path(const struct ior_test *test, int rank, char path[PATH_MAX]);

/* How the ranks open it, to move the data of rank `target`. */
void ior_access_options(const struct ior_test *test, int target, bool writes, struct store_options *options);

/* Starts a way over a rank's places. */
void ior_access_walk(const struct ior_test *test, int rank, struct ior_walk *walk);

/* Rank whose data this rank reads, with `more` nodes in between than the settings say. */
int ior_access_target(const struct ior_test *test, int more);

/* The same for all: by how many ranks readers are shifted; -1 where each has a distance of its own (-Z). */
int ior_access_shift(const struct ior_test *test);

/* Collective: finds out where the data is that this rank reads and checks in this repetition, and how much of it there is. */
void ior_access_sources(struct ior_test *test);
