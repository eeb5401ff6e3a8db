/* memory: peaks of the memory that a process, and the step of its job, have used. In kB; 0 where that cannot be read. */
#pragma once

#include <sys/types.h>

/* Of a process that has not ended: VmHWM. */
unsigned long long memory_of_process(pid_t pid);

/* Pure: the file with the peak of the step that a process belongs to, by the text of its /proc/PID/cgroup, of cgroup v2 or of v1's
 * controller of memory; NULL where that is not a step's own. To be freed. */
char *memory_step_file(const char *cgroups);

unsigned long long memory_of_step(const char *file);
