/* Which variables make a process a rank. */
#include "test/check.h"
#include "witness/rank.h"

#define IS(expected, launcher, variables) \
    CHECK_INT(rank_by(variables, sizeof variables, "/r/1", launcher, "n1", &rank), expected)

#define STEP "SLURM_STEP_ID=0\0SLURM_PROCID=7\0"

int main(void)
{
    struct rank rank;
    IS(RANK_IS, "srun", "BENCH_JSON=/r/1/bench.jsonl\0SLURMD_NODENAME=n1\0" STEP);
    CHECK_INT(rank.number, 7);
    CHECK_TEXT(rank.phase, "");
    IS(RANK_IS, "srun", "BENCH_JSON=/r/1/easy-write/bench.jsonl\0" STEP);
    CHECK_TEXT(rank.phase, "easy-write");
    IS(RANK_IS_NEVER, "srun", "BENCH_JSON=/r/1/bench.jsonl\0SLURMD_NODENAME=n2\0" STEP);
    IS(RANK_MAY_BE, "srun", "BENCH_JSON=/r/12/bench.jsonl\0" STEP);
    IS(RANK_MAY_BE, "srun", "X=BENCH_JSON=/r/1/bench.jsonl\0" STEP);
    IS(RANK_MAY_BE, "srun", "BENCH_JSON=/r/1/bench.jsonl\0SLURM_PROCID=0\0"); /* srun itself */
    IS(RANK_MAY_BE, "srun", "BENCH_JSON=/r/1/bench.jsonl\0SLURM_STEP_ID=0\0SLURM_PROCID=7x\0");
    IS(RANK_MAY_BE, "mpirun", "BENCH_JSON=/r/1/bench.jsonl\0" STEP);
    IS(RANK_IS, "mpirun", "BENCH_JSON=/r/1/bench.jsonl\0PMIX_RANK=12\0");
    CHECK_INT(rank.number, 12);
    IS(RANK_IS, "mpirun", "PMIX_RANK=3\0OMPI_COMM_WORLD_RANK=4\0BENCH_JSON=/r/1/bench.jsonl\0");
    CHECK_INT(rank.number, 4);
    return CHECK_REPORT();
}
