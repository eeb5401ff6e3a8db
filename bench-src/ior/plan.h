/* ior_plan: which bytes of which file a rank moves, in which order, and whose data it reads. Pure.
 *
 * A rank has segments · block / transfer transfers of its own, numbered 0, 1, …: `place` is such a number. In a shared
 * file place p, being transfer j of segment i, lies at i·ranks·block + rank·block + j·transfer; in a file of its own at
 * p·transfer. */
#pragma once

#include "common/permute.h"
#include "common/place.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ior_plan {
    int64_t transfer, block, segments;
    int ranks;
    bool file_per_process;
    int64_t per_block; /* transfers */
    int64_t per_rank;
};

/* block is a multiple of transfer, and all bytes of all ranks fit into 64 bits. */
void ior_plan_make(struct ior_plan *plan, int64_t transfer, int64_t block, int64_t segments, int ranks,
                   bool file_per_process);

int64_t ior_plan_offset(const struct ior_plan *plan, int rank, int64_t place);

/* The order in which a rank goes through its places. */
enum ior_order_kind {
    IOR_SEQUENTIAL,
    IOR_SHUFFLED, /* each place once */
    IOR_DRAWN,    /* any place each time */
};

/* Steps of a rank's way through its places: begin, then next for each transfer. */
struct ior_walk {
    const struct ior_plan *plan;
    enum ior_order_kind order;
    int rank;
    int64_t step;       /* how many were taken */
    uint64_t seed;
    struct permute permute;
    int64_t in_file; /* IOR_DRAWN: any of the first so many transfers of the file, whoever's they are; 0: of the rank's places */
    int64_t offset, left_in_block; /* IOR_SEQUENTIAL: of the next step */
};

/* The same seed and rank give the same way. */
void ior_walk_begin(struct ior_walk *walk, const struct ior_plan *plan, int rank, enum ior_order_kind order,
                    uint64_t seed);

/* Steps that are not sequential: place and offset of step `step`. */
int64_t ior_walk_jump(struct ior_walk *walk, int64_t *offset);

/* Place of the next transfer, and its offset in the file. */
static inline int64_t ior_walk_next(struct ior_walk *walk, int64_t *offset)
{
    if (walk->order != IOR_SEQUENTIAL)
        return ior_walk_jump(walk, offset);
    *offset = walk->offset;
    walk->offset += walk->plan->transfer;
    if (--walk->left_in_block == 0) {
        walk->left_in_block = walk->plan->per_block;
        if (!walk->plan->file_per_process)
            walk->offset += (walk->plan->ranks - 1) * walk->plan->block;
    }
    return walk->step++;
}

/* Whose data a rank reads. */
enum ior_reorder_kind { IOR_OWN, IOR_CONSTANT, IOR_RANDOM, IOR_PERMUTED };

struct ior_reorder {
    enum ior_reorder_kind kind;
    int64_t node_offset;      /* nodes between reader and writer: this many (IOR_CONSTANT), at least (IOR_RANDOM) */
    uint64_t seed;            /* IOR_RANDOM, IOR_PERMUTED */
    int ranks, nodes;
    int ranks_per_node;       /* 0: uneven */
    enum place_order placement;
};

/* Rank whose data `rank` reads. With block placement and the same number of ranks on each node whole nodes are stepped
 * over, otherwise as many ranks as node_offset says. On one node IOR_CONSTANT comes to the rank itself. */
int ior_reorder_target(const struct ior_reorder *reorder, int rank);

/* The same for all: by how many ranks IOR_CONSTANT shifts. */
int ior_reorder_shift(const struct ior_reorder *reorder);

/* How many of the ranks read in a mixed phase, by a share in percent: at least one, and not all. */
int ior_mix_readers(int64_t percent, int ranks);

/* Is the index'th of them one? They are spread evenly. */
bool ior_mix_reads(int index, int readers, int ranks);

/* Name of a rank's file: several base names, cut by @, are taken in turn; `unique_dir` puts a directory named after the
 * rank before the last part; ".00000017" of a file for each process; ".2" of repetition 2, -1 for none. 0, or -1 where it
 * does not fit. */
struct ior_names {
    const char *base;
    bool file_per_process, unique_dir;
    bool beside; /* the file that is written while others read: with ".mixed" behind it */
};
int ior_names_file(const struct ior_names *names, int rank, int64_t repetition, char *path, size_t path_bytes);

/* The directory of unique_dir. */
int ior_names_dir(const struct ior_names *names, int rank, char *path, size_t path_bytes);
