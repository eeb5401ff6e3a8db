/* mdtest_tree: which names mdtest's files and directories have, and which rank works on whose. Pure.
 *
 * A tree has the directories 0 … dirs-1, numbered breadth first: the children of k are branch·k+1 … branch·k+branch.
 * Item i of a rank's items in it lies in directory first_dir + i / items_per_dir and carries the number
 * first_dir·items_per_dir + i. There is one tree, or, with -n and -I, one in each of several test directories. */
#pragma once

#include "common/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mdtest_tree {
    int64_t branch, depth;
    int64_t dirs;          /* directories of one tree */
    int64_t first_dir;     /* the first one with items: 0, or the first leaf */
    int64_t items_per_dir; /* of one rank */
    int64_t test_dirs;     /* each with such a tree */
    int64_t items;         /* of one rank, in all of them */
};

/* Lays out the tree for the items that -n (items, a rank), -I (items_per_dir) or both ask for: then items / items_per_dir
 * test directories have a tree with so many items in each directory. 0, or -1 with a message where the numbers do not
 * fit. */
int mdtest_tree_plan(struct mdtest_tree *tree, int64_t branch, int64_t depth, bool leaf_only, int64_t items,
                     int64_t items_per_dir, struct refusal *why);

/* Writes "mdtest_tree.0/mdtest_tree.2/" for a directory, or "mdtest_tree.7.0/mdtest_tree.7.2/" for the one of rank 7's
 * own tree (owner -1: the common tree). Returns the length, or -1 where it does not fit. */
int mdtest_tree_path(const struct mdtest_tree *tree, int64_t dir, int owner, char *out, size_t out_bytes);

/* The phases, in their order. */
enum mdtest_operation { MDTEST_CREATE, MDTEST_STAT, MDTEST_READ, MDTEST_RENAME, MDTEST_REMOVE, MDTEST_OPERATIONS };

extern const char *const mdtest_operation_names[MDTEST_OPERATIONS]; /* "create", … */

/* How far the owner of the names that a rank works on is away: with each phase after creation one offset more, mod ranks.
 * Renaming, of directories, takes the place of reading, of files. */
int mdtest_shift(enum mdtest_operation operation, int64_t offset, int ranks);
