/* place: which rank runs on which node, found out without any array over ranks.
 *
 * Two ranks share a node where both the node name that Slurm gave (SLURMD_NODENAME) and the host name are the same.
 * MPI's shared-memory split is not asked: virtual nodes on one machine share memory. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

enum { PLACE_NAME_BYTES = 256 };

enum place_order {
    PLACE_BLOCK,     /* the ranks of every node follow each other */
    PLACE_CYCLIC,    /* rank r is on node r mod nodes */
    PLACE_IRREGULAR, /* neither */
};

struct place {
    MPI_Comm comm;
    int rank, ranks;
    char node[PLACE_NAME_BYTES]; /* name of this rank's node */
    int node_index;              /* nodes are counted from 0 in the order of their first rank */
    int nodes;
    int ranks_on_node;  /* on this rank's node */
    int ranks_per_node; /* the same on every node, or 0 */
    enum place_order order;
    bool starts_range, ends_range; /* the rank before, the rank after is on another node, or there is none */
};

/* Collective. */
void place_init(struct place *place, MPI_Comm comm);

/* The same for processes that share a kernel, virtual nodes of one machine included: a number for the kernel's start. */
int place_machine(void);

/* Collective: what `rank`, which may be another one on each rank, has given as its own, into *reply. */
void place_ask(const struct place *place, int rank, const void *own, void *reply, int bytes);

/* The same of rank (rank + distance) mod ranks; distance may be negative. */
int place_peer_value(const struct place *place, int value, long long distance);

const char *place_order_name(enum place_order order);

/* Collective: index of the node that rank (rank + distance) mod ranks is on; distance may be negative. */
int place_peer_node(const struct place *place, long long distance);

/* Collective: calls use(first, last, data) on every rank for each range of consecutive ranks on a node, in order. */
void place_each_range(const struct place *place, int node_index, void (*use)(int first, int last, void *data),
                      void *data);

/* Collective: name of the node that the rank is on. */
void place_node_name(const struct place *place, int rank, char name[PLACE_NAME_BYTES]);

/* Collective: emits the member "rank_to_node" of the line that is open. */
void place_emit_map(const struct place *place);
