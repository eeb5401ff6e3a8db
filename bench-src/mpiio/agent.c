/* mpiio_agent: gets a worker's pieces, and gives pieces to all. */
#include "mpiio/agent.h"

#include "common/emit.h"
#include "common/quiet.h"
#include "common/timer.h"

#include <inttypes.h>
#include <time.h>

enum { ASK_TAG = 10, ANSWER_TAG = 11, STOP_TAG = 12, ASK_NEXT = 0, ASK_FAILED = 1 };

static double thread_cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- a rank that asks */

static struct pool_piece ask_tracker(struct mpiio_agent *agent, int question)
{
    MPI_Comm comm = agent->place->comm;
    MPI_Request answer;
    int64_t numbers[3];
    uint64_t start_ns = timer_ns();
    MPI_Irecv(numbers, 3, MPI_INT64_T, 0, ANSWER_TAG, comm, &answer);
    MPI_Send(&question, 1, MPI_INT, 0, ASK_TAG, comm);
    quiet_wait(&answer, MPI_STATUS_IGNORE);
    double waited_s = timer_s(start_ns, timer_ns());
    agent->asked++;
    agent->wait_s += waited_s;
    agent->longest_wait_s = waited_s > agent->longest_wait_s ? waited_s : agent->longest_wait_s;
    return (struct pool_piece){numbers[0], numbers[1], numbers[2]};
}

static void run_asker(struct mpiio_agent *agent)
{
    bool ended = false, nothing_left = false;
    while (!ended) {
        if (!mpiio_handover_wants(&agent->worker->handover, 0, &ended))
            continue;
        struct pool_piece piece = ask_tracker(agent, ASK_NEXT);
        nothing_left = piece.bytes == 0;
        mpiio_handover_give(&agent->worker->handover, piece);
    }
    if (!nothing_left) /* the worker failed: the tracker waits for it no more, and ends the test */
        ask_tracker(agent, ASK_FAILED);
}

/* --- the tracker */

/* Prints how much is left after a chunk was given, a hundred times at most. Whoever asked is not kept waiting for it. */
static void print_left(const struct pool *pool)
{
    int64_t step = (pool->chunks + 99) / 100;
    if (pool->given % step == 0 || pool->given == pool->chunks)
        emit_text("Chunks left\t%" PRId64 "\n", pool->chunks - pool->given);
}

/* One question is answered. */
static void note_answer(struct mpiio_agent *agent, struct pool_piece piece, uint64_t start_ns)
{
    agent->answered++;
    agent->busy_s += timer_s(start_ns, timer_ns());
    if (piece.bytes > 0)
        print_left(agent->pool);
}

/* Answers every question that has come. Returns true where there was one. */
static bool answer_all(struct mpiio_agent *agent, MPI_Request *next, int *question, int *open_ranks)
{
    MPI_Comm comm = agent->place->comm;
    bool any = false;
    while (*open_ranks > 0) {
        MPI_Status status;
        int came;
        MPI_Test(next, &came, &status);
        if (!came)
            break;
        uint64_t start_ns = timer_ns();
        if (*question == ASK_FAILED)
            pool_close(agent->pool);
        struct pool_piece piece = pool_take(agent->pool, status.MPI_SOURCE);
        int64_t numbers[3] = {piece.file, piece.offset, piece.bytes};
        MPI_Send(numbers, 3, MPI_INT64_T, status.MPI_SOURCE, ANSWER_TAG, comm); /* its receive is posted: no wait */
        if (piece.bytes == 0)
            --*open_ranks;
        if (*open_ranks > 0)
            MPI_Irecv(question, 1, MPI_INT, MPI_ANY_SOURCE, ASK_TAG, comm, next);
        note_answer(agent, piece, start_ns);
        any = true;
    }
    return any;
}

static void run_tracker(struct mpiio_agent *agent)
{
    struct quiet_pause pause = {0};
    MPI_Request next = MPI_REQUEST_NULL;
    int question, open_ranks = agent->place->ranks - 1; /* those that may still ask */
    bool ended = false;
    if (open_ranks > 0)
        MPI_Irecv(&question, 1, MPI_INT, MPI_ANY_SOURCE, ASK_TAG, agent->place->comm, &next);
    while (!ended || open_ranks > 0) {
        if (answer_all(agent, &next, &question, &open_ranks))
            pause.last_ns = 0;
        uint64_t pause_ns = quiet_next_ns(&pause);
        if (ended)
            quiet_sleep_ns(pause_ns);
        else if (mpiio_handover_wants(&agent->worker->handover, open_ranks > 0 ? pause_ns : 0, &ended)) {
            uint64_t start_ns = timer_ns();
            struct pool_piece piece = pool_take(agent->pool, 0);
            mpiio_handover_give(&agent->worker->handover, piece);
            note_answer(agent, piece, start_ns);
            agent->asked++;
            pause.last_ns = 0;
        }
        if (ended && agent->worker->failed)
            pool_close(agent->pool);
    }
}

/* --- a static split */

/* Takes notices of failure that have come; returns how many. */
static int take_notices(struct mpiio_agent *agent)
{
    int count = 0;
    for (;;) {
        int came;
        MPI_Iprobe(MPI_ANY_SOURCE, STOP_TAG, agent->place->comm, &came, MPI_STATUS_IGNORE);
        if (!came)
            break;
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, STOP_TAG, agent->place->comm, MPI_STATUS_IGNORE);
        count++;
    }
    if (count > 0)
        mpiio_worker_stop(agent->worker);
    return count;
}

/* A rank whose worker failed tells all others, who look every 50 ms. In the end everyone knows how many notices it has
 * to take. */
static void run_static(struct mpiio_agent *agent)
{
    enum { LOOK_NS = 50000000 };
    MPI_Comm comm = agent->place->comm;
    struct pool_piece piece = *agent->share;
    int taken = 0, all_failed;
    for (bool ended = false; !ended;) {
        if (mpiio_handover_wants(&agent->worker->handover, agent->place->ranks > 1 ? LOOK_NS : 0, &ended)) {
            mpiio_handover_give(&agent->worker->handover, piece);
            piece.bytes = 0;
        }
        taken += take_notices(agent);
    }
    int failed = agent->worker->failed;
    for (int rank = 0; failed && rank < agent->place->ranks; rank++)
        if (rank != agent->place->rank)
            MPI_Send(NULL, 0, MPI_BYTE, rank, STOP_TAG, comm);
    quiet_barrier(comm);
    MPI_Allreduce(&failed, &all_failed, 1, MPI_INT, MPI_SUM, comm);
    for (; taken < all_failed - failed; taken++)
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, STOP_TAG, comm, MPI_STATUS_IGNORE);
}

void mpiio_agent_run(struct mpiio_agent *agent)
{
    double start_s = thread_cpu_s();
    if (agent->share != NULL)
        run_static(agent);
    else if (agent->pool != NULL)
        run_tracker(agent);
    else
        run_asker(agent);
    agent->cpu_s = thread_cpu_s() - start_s;
}
