/* Description: how many ranks share a node, as launchers have it, and the timer slack of those that are many for a processor. */
#include "common/crowd.h"
#include "test/check.h"

#include <stdlib.h>
#include <sys/prctl.h>

static void told(const char *name, const char *value, long expected)
{
    setenv(name, value, 1);
    CHECK_INT(crowd_ranks(), expected);
    unsetenv(name);
}

static int slack_ns(void)
{
    return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

int main(void)
{
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    unsetenv("MPI_LOCALNRANKS");
    unsetenv("SLURM_STEP_TASKS_PER_NODE");
    CHECK_INT(crowd_ranks(), 0);
    told("OMPI_COMM_WORLD_LOCAL_SIZE", "12", 12);
    told("MPI_LOCALNRANKS", "7", 7);
    told("SLURM_STEP_TASKS_PER_NODE", "128(x4)", 128);
    told("SLURM_STEP_TASKS_PER_NODE", "2(x3),5,4(x2)", 5);

    int before_ns = slack_ns();
    crowd_sleeps_longer(true);
    CHECK_INT(slack_ns(), before_ns);
    setenv("SLURM_STEP_TASKS_PER_NODE", "1", 1);
    crowd_sleeps_longer(true);
    CHECK_INT(slack_ns(), before_ns);
    setenv("SLURM_STEP_TASKS_PER_NODE", "100000(x2)", 1);
    crowd_sleeps_longer(true);
    CHECK_INT(slack_ns(), 20000000);
    crowd_sleeps_longer(false);
    CHECK_INT(slack_ns(), before_ns);
    return CHECK_REPORT();
}
