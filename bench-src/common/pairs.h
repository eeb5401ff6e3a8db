/* pairs: which process sends to which. Pure.
 *
 * Positions number the processes node after node, in the order of their ranks on each, so that block placement makes a
 * position the rank itself and any other placement is put in the same order first. */
#pragma once

#include <stdbool.h>

/* With `pairs` pairs, position p < pairs sends to p + distance, distance >= pairs. Returns the position at the other
 * end and sets *sends, or returns -1 for a position without a part. */
int pairs_peer(int position, int pairs, int distance, bool *sends);
