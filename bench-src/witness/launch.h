/* launch: runs launchers of benchmarks at the same time, each again where it never reached the benchmark: slurmctld was away, or
 * not one task of a step started in the time after which srun gives a launch up. And ends it where the benchmark has printed its
 * last line and does not end: an MPI that never comes back from MPI_Finalize would wait until the job's limit, and its numbers
 * would be lost. Where one fails, the others are ended: what they measure is no result any more. */
#pragma once

struct launch {
    const char *folder;        /* stdout and stderr go there; the built-in benchmark's bench.jsonl is there */
    const char *nodes, *ranks; /* what the built-in benchmark expects: how many nodes, and ranks on each; "" for any */
    const char *pattern;       /* of the last line of stdout; "" for the built-in benchmark, which says so in bench.jsonl */
    int look_s;                /* between two looks; ended is what had its last line at three of them */
    int again_s;               /* before it is launched again */
    char **words;
};

/* Returns the status of the launch that failed first, as a shell has it, 0 for none. What was printed once a launcher was to end
 * goes to this process's own output. The file says the number of the launch that failed first, counted from 0, -1 for none;
 * then for each of them in a line its status, when it was started and ended, in seconds since 1970, and started since the node was;
 * and in a line below the benchmark's last one where the launcher was ended behind that. */
int launch_all(const struct launch *list, int count, const char *launched);
