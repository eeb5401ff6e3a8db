/* The file with the peak of a step's memory, by what /proc/PID/cgroup says; and the peak of a process. */
#include "test/check.h"
#include "witness/memory.h"

#include <stdlib.h>
#include <unistd.h>

static void check_file(const char *cgroups, const char *expected)
{
    char *file = memory_step_file(cgroups);
    CHECK_TEXT(file == NULL ? "none" : file, expected);
    free(file);
}

int main(void)
{
    check_file("0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_3\n",
               "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_5/step_0/memory.peak");
    check_file("5:cpuset:/slurm/uid_0/job_5/step_1\n4:memory:/slurm/uid_0/job_5/step_1/task_0\n0::/\n",
               "/sys/fs/cgroup/memory/slurm/uid_0/job_5/step_1/memory.max_usage_in_bytes");
    check_file("0::/user.slice/session.scope\n", "none");
    check_file("5:cpuset:/slurm/uid_0/job_5/step_1\n", "none");
    check_file("nonsense", "none");
    check_file("", "none");

    const size_t bytes = 64 << 20;
    unsigned long long before = memory_of_process(getpid());
    volatile char *block = malloc(bytes); /* so that its pages are written */
    for (size_t i = 0; block != NULL && i < bytes; i += 4096)
        block[i] = 1;
    unsigned long long during = memory_of_process(getpid());
    free((void *)block);
    CHECK_INT(before > 0 && during >= before + (bytes >> 10) - 1024, 1);
    CHECK_INT(memory_of_process(getpid()) + 4096 >= during, 1); /* a peak stays, but for what the kernel counts late */
    CHECK_INT(memory_of_step("/proc/self/no-such-file"), 0);
    return CHECK_REPORT();
}
