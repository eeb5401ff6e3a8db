/* gather: what the nodes said, put together: who they are one by one, everything else once for all nodes that say the same. */
#pragma once

#include "witness/facts.h"

#include <stdbool.h>

/* A line of a node, taken apart (say.h). */
struct told {
    int node, run;
    const char *name, *piece;
    bool ends; /* the text ends with this piece */
};

bool gather_parse(char *line, struct told *told);

struct gather_text {
    struct text text;
    bool whole;
};

struct gather_fact {
    char *name;
    struct gather_text *of; /* by node */
};

struct gathered {
    int nodes;
    struct gather_fact *facts;
    size_t count;
    char **ranks; /* "RANK NODE HASH,HASH [PHASE]" */
    size_t rank_count;
};

/* A line of a node; one of a node that the job does not have is nothing. */
void gather_add(struct gathered *gathered, const struct told *told);
void gather_free(struct gathered *gathered);

/* What a node said of a fact; NULL where it has not, or not to its end. */
const char *gather_of(const struct gathered *gathered, const char *name, int node);

/* How many nodes said it. */
int gather_said(const struct gathered *gathered, const char *name);

/* Facts of a source: each value once, with the nodes that say so. */
void gather_emit(const struct gathered *gathered, const char *source);

/* Facts of the ranks of a phase in sorted lines: the third word of each, or null, once for successive ranks of a node. */
void gather_emit_ranks(char *const *ranks, size_t count, const char *phase, struct fact fact);

/* In the order of the ranks: lines that begin with "RANK NODE". */
void gather_sort(char **ranks, size_t count);

enum placed { PLACED_EVENLY, PLACED_OTHERWISE, PLACED_IN_PART };

/* Whether the ranks of a phase, sorted, are in blocks: "8" on each node, or "7+3", 7 on each and one more on the first 3. */
enum placed gather_placed(char *const *ranks, size_t count, const char *phase, int nodes, const char *on_each);
