/* run: begin and end of an applet's run: the rank → node map, the expected geometry, what the processes are made of, the
 * JSON file with its `start` and `end` lines, and the exit status that every rank agrees on.
 *
 *     struct run run;
 *     int status = run_begin(&run, "mdtest", &common, directory);
 *     if (status == EXIT_CODE_OK)
 *         status = measure(&run);           // reports failures with faults_report and adds them to failed_operations
 *     return run_end(&run, status);
 */
#pragma once

#include "common/attest.h"
#include "common/opt.h"
#include "common/place.h"

#include <stdint.h>

struct run {
    struct place place; /* of all ranks */
    int64_t failed_operations;
    struct attest attest;
    uint64_t began_ns, began_raw_ns; /* by the clock of the phases, and by the kernel's */
};

/* The command line as executed; called once by main. */
void run_command_line(int argc, char **argv);

/* Collective: prints "Command line used: …" of the text output, each argument quoted. */
void run_print_command_line(void);

/* Collective: EXIT_CODE_OK to go on, or what to exit with through run_end. directory: where it writes, NULL where nowhere. */
int run_begin(struct run *run, const char *applet, const struct opt_common *common, const char *directory);

/* Outside of all timing: rank 0 runs the shell command of the environment variable BENCH_BETWEEN_PHASES, which finds in $1
 * what has just ended. The caller sees to it that the other ranks wait. Nothing where it is not set; one that fails is a
 * warning. */
void run_between(const struct place *place, const char *ended);

/* Collective: the last line, flushing and checking of all output. Returns the exit status, the same on every rank: the
 * one given, or EXIT_CODE_FAILED where operations failed or output could not be written. */
int run_end(struct run *run, int status);
