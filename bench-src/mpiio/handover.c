/* mpiio_handover: pieces of work from one thread to the other. */
#include "mpiio/handover.h"

#include "common/timer.h"

#include <time.h>

void mpiio_handover_init(struct mpiio_handover *handover)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&handover->lock, NULL);
    pthread_cond_init(&handover->to_agent, &monotonic);
    pthread_cond_init(&handover->to_worker, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void mpiio_handover_free(struct mpiio_handover *handover)
{
    pthread_cond_destroy(&handover->to_agent);
    pthread_cond_destroy(&handover->to_worker);
    pthread_mutex_destroy(&handover->lock);
}

static void deadline_after(struct timespec *deadline, uint64_t ns)
{
    uint64_t at_ns = timer_ns() + ns;
    deadline->tv_sec = (time_t)(at_ns / 1000000000);
    deadline->tv_nsec = (long)(at_ns % 1000000000);
}

bool mpiio_handover_wants(struct mpiio_handover *handover, uint64_t timeout_ns, bool *ended)
{
    struct timespec deadline;
    deadline_after(&deadline, timeout_ns);
    pthread_mutex_lock(&handover->lock);
    while (!handover->wants && !handover->ended) {
        if (timeout_ns == 0)
            pthread_cond_wait(&handover->to_agent, &handover->lock);
        else if (pthread_cond_timedwait(&handover->to_agent, &handover->lock, &deadline) != 0)
            break;
    }
    bool wants = handover->wants;
    handover->wants = false;
    *ended = handover->ended;
    pthread_mutex_unlock(&handover->lock);
    return wants;
}

void mpiio_handover_give(struct mpiio_handover *handover, struct pool_piece piece)
{
    pthread_mutex_lock(&handover->lock);
    handover->answer = piece;
    handover->answered = true;
    pthread_cond_signal(&handover->to_worker);
    pthread_mutex_unlock(&handover->lock);
}

/* Sets what the main thread waits for. */
static void tell_agent(struct mpiio_handover *handover, bool *what)
{
    pthread_mutex_lock(&handover->lock);
    *what = true;
    pthread_cond_signal(&handover->to_agent);
    pthread_mutex_unlock(&handover->lock);
}

void mpiio_handover_ask(struct mpiio_handover *handover)
{
    tell_agent(handover, &handover->wants);
}

void mpiio_handover_end(struct mpiio_handover *handover)
{
    tell_agent(handover, &handover->ended);
}

bool mpiio_handover_take(struct mpiio_handover *handover, bool waits, struct pool_piece *piece)
{
    pthread_mutex_lock(&handover->lock);
    while (waits && !handover->answered)
        pthread_cond_wait(&handover->to_worker, &handover->lock);
    bool got = handover->answered;
    if (got)
        *piece = handover->answer;
    if (got && piece->bytes > 0)
        handover->answered = false; /* the answer that nothing is left stays */
    pthread_mutex_unlock(&handover->lock);
    return got;
}
