/* rank: which processes of a node are ranks of a run, by the variables that the launcher gives them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { RANK_PHASE_BYTES = 48 };

struct rank {
    int number;
    char phase[RANK_PHASE_BYTES]; /* "" in a run of one */
};

enum rank_kind {
    RANK_IS,      /* a rank of the run on this node */
    RANK_MAY_BE,  /* by what it executes next */
    RANK_NOT_YET, /* it is just executing something: its variables are there in a moment */
    RANK_IS_NEVER /* a thread, or on another virtual node of this machine */
};

/* Pure: by the text of an environ file: variables with a zero byte behind each. folder is the run's, node this one's name. */
enum rank_kind rank_by(const char *environ, size_t bytes, const char *folder, const char *launcher, const char *node,
                       struct rank *rank);

/* The same of a process. */
enum rank_kind rank_of(pid_t pid, const char *folder, const char *launcher, const char *node, struct rank *rank);

/* Gives to `with` the variables of a process that change what it loads or how it computes; false where it has none yet, since it is
 * just executing something. */
bool rank_variables(pid_t pid, void (*with)(void *to, const char *variable), void *to);
