/* elsewhere: whose data a process reads back, so that it does not come from its own memory or its own node's.
 *
 * Positions number the processes node after node, in the order of their ranks on each. The i'th choice of the process at
 * position p is the one at p + shift(i): for each i a permutation, so that everything is read exactly once. */
#pragma once

#include "common/place.h"

#include <stdint.h>

/* Pure. Nobody has itself where there are two processes or more; nobody has one of its own node where no node has more
 * than half of all processes; with a larger node, as many as can be have one of another node. */
int elsewhere_shift(int64_t i, int ranks, int nodes, int most_on_a_node);

/* Pure: number of different shifts; i and i + this have the same one. */
int elsewhere_shifts(int ranks, int nodes, int most_on_a_node);

/* Collective: the same for processes as they are placed. */
int elsewhere_choices(const struct place *place);

/* Collective, count the same everywhere: rank, node and machine (place_machine) of this rank's choices 0 … count-1. */
struct elsewhere {
    int rank, node_index, machine;
};
void elsewhere_find(const struct place *place, int count, struct elsewhere *choices);
