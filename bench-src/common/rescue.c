/* rescue: what the processes of a run do before a signal ends them. */
#include "common/rescue.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof signals[0], LINGER_NS = 800000000 };

static struct sigaction before[SIGNALS];
static bool armed;
static void (*cleaner)(void);

/* Lasts LINGER_NS on every rank; the whole of it is for those who remove files. */
static void on_signal(int number)
{
    struct timespec start, now, pause = {0, 10000000};
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (cleaner != NULL)
        cleaner();
    do {
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000LL + (now.tv_nsec - start.tv_nsec) < LINGER_NS);
    signal(number, SIG_DFL);
    raise(number);
}

void rescue_arm(void (*clean)(void))
{
    struct sigaction action = {.sa_handler = on_signal};
    cleaner = clean;
    sigfillset(&action.sa_mask);
    for (int i = 0; i < SIGNALS && !armed; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    armed = true;
}

void rescue_disarm(void)
{
    for (int i = 0; i < SIGNALS && armed; i++)
        sigaction(signals[i], &before[i], NULL);
    armed = false;
}
