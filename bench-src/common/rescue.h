/* rescue: what the processes of a run do before a signal ends them: remove the files that they made.
 *
 * When a rank dies, mpirun sends SIGTERM to the ranks that are left, gives them a second, and kills all at once when one of
 * them has ended; Slurm sends it to all when a job is cancelled. So every rank stays for the time that the others may need. */
#pragma once

/* From now on SIGTERM, SIGINT and SIGHUP call clean, which may only do what a signal handler may (system calls, nothing that
 * allocates), again and again for some time, and then end the process. NULL: there is nothing to do here but to stay. A signal that nohup or a
 * shell told the process to ignore stays ignored. */
void rescue_arm(void (*clean)(void));

/* For clean: removes a directory of the run's own with all that is in it, following no links; what other ranks make meanwhile is
 * left to the next call. */
void rescue_remove(const char *directory);

/* Signals end the process again as before rescue_arm. */
void rescue_disarm(void);
