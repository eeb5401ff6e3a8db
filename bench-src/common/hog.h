/* hog: takes part of a node's memory and holds it, so that less is left for the page cache. */
#pragma once

#include "common/place.h"

#include <stdint.h>

struct hog {
    void *memory; /* NULL: none */
    int64_t bytes; /* of this rank */
};

/* Bytes of this node's memory; percent of it. */
int64_t hog_share_of_node(double percent);

/* What the kernel of this node could give to programs without swapping; INT64_MAX where it does not say. */
int64_t hog_available(void);

/* Collective: the ranks of a node take node_bytes of it together and write to every page. 0, or -ENOMEM where the node
 * has not so much available (nothing is taken then), or another -errno. */
int hog_take(struct hog *hog, const struct place *place, int64_t node_bytes);

void hog_release(struct hog *hog);
