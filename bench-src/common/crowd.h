/* crowd: many ranks for each processor of a node, as in rehearsals on one machine. While MPI starts and ends, ranks
 * wait by looking again and again, with sleeps of 0.1 ms in between: hundreds of them leave no time to those that still
 * have something to do. A larger timer slack makes the kernel wake them less often. */
#pragma once

#include <stdbool.h>

/* The most ranks on one node, as the launcher's environment has it: Open MPI's, Hydra's, or Slurm's, such as "4(x3),2".
 * 0 where it says nothing. */
long crowd_ranks(void);

/* Before what is not timed (true) and after it (false); nothing where there are fewer than 16 ranks for each processor. */
void crowd_sleeps_longer(bool longer);
