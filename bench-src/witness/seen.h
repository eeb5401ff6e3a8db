/* seen: what was seen of a run's ranks on a node. Files are held open from when they were seen, and hashed once the ranks have
 * ended. */
#pragma once

#include "witness/rank.h"

#include "common/sha256.h"

#include <sched.h>
#include <stdint.h>
#include <sys/stat.h>

struct seen_program {
    int fd;
    dev_t device;
    ino_t inode;
};

struct seen_library {
    char *path;
    int fd; /* -1 where it could not be opened */
    ino_t inode;
};

/* A declared program as a process in a container finds it under its path. */
struct seen_inside {
    const char *path;
    int fd;
    dev_t device;
    ino_t inode;
};

struct seen_rank {
    struct rank rank;
    int *programs; /* what it executed, in this order, as numbers of the list */
    size_t count;
    char *directory; /* where it worked when it was first seen; NULL: not read */
    bool works_elsewhere;
    unsigned long long peak_kb; /* of its largest process, when it was last looked at */
    cpu_set_t cpus;             /* on which it may run, when it was last looked at; none: not known */
};

struct seen {
    int run;
    char *const *declared; /* programs that the ranks may execute; NULL at the end */
    struct seen_program *programs;
    struct seen_inside *inside;
    struct seen_library *libraries;
    struct seen_rank *ranks;
    char **variables;
    char *directory; /* the attempt's, by the name that the kernel has for it; NULL before a rank was seen there */
    char *step_file;                 /* with the peak of the step's memory; NULL where there is none */
    unsigned long long step_peak_kb; /* of all steps; 0: unknown */
    size_t program_count, inside_count, library_count, rank_count, variable_count;
};

/* A process of the rank executes the file now that it is known under that number, or gets one: -1 where it has ended. */
int seen_executes(struct seen *seen, const struct rank *rank, pid_t pid);

/* Where the first process of a rank works: in the attempt's directory, or below it, or elsewhere. The target is asked only where
 * the kernel has another name for it. */
void seen_works(struct seen *seen, const struct rank *rank, pid_t pid, const char *own);

/* The peaks of the memory of a rank's process, which must not have ended, and of its step, as far as they are reached by now; and
 * its CPUs. */
void seen_uses(struct seen *seen, const struct rank *rank, pid_t pid);
void seen_step_uses(struct seen *seen);

/* Whether a process still executes a program of that number. */
bool seen_same(const struct seen *seen, int program, pid_t pid);

/* The files whose code a process has in its memory. */
void seen_loads(struct seen *seen, pid_t pid);

void seen_variable(struct seen *seen, const char *variable);

/* The SHA-256 of an open file, "" where it cannot be read. A file is not read again while device, inode, size and both its
 * times are the same, and it had last changed 2 s or more before it was read. *reads counts those that were. */
void seen_hash(int fd, char hex[SHA256_HEX_BYTES], int *reads);

/* Says all of it and frees it. By one thread at a time. */
void seen_tell(struct seen *seen);
