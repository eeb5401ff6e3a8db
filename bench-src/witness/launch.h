/* launch: runs a benchmark's launcher, again where it never reached the benchmark: slurmctld was away, or not one task of a step
 * started in the time after which srun gives a launch up. And ends it where the benchmark has printed its last line and does
 * not end: an MPI that never comes back from MPI_Finalize would wait until the job's limit, and its numbers would be lost. */
#pragma once

struct launch {
    const char *folder;   /* stdout and stderr go there; the built-in benchmark's bench.jsonl is there */
    const char *pattern;  /* of the last line of stdout; "" for the built-in benchmark, which says so in bench.jsonl */
    const char *launched; /* the file that says when it was started, in seconds since 1970 and since the node was; in a second line
                             the benchmark's last one where the launcher was ended */
    int look_s;           /* between two looks; ended is what had its last line at three of them */
    int again_s;          /* before it is launched again */
    char **words;
};

/* Returns the launcher's status, as a shell has it. What was printed once it was to end goes to this process's own output. */
int launch_run(const struct launch *launch);
