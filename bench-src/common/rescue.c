/* rescue: what the processes of a run do before a signal ends them. */
#include "common/rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
enum { SIGNALS = sizeof signals / sizeof signals[0], LINGER_NS = 800000000 };

static struct sigaction before[SIGNALS];
static bool armed;
static void (*cleaner)(void);

/* Lasts LINGER_NS on every rank. All the time those who remove do it again: other ranks, which have not got the signal yet, may still
 * be making files. */
static void on_signal(int number)
{
    struct timespec start, now, pause = {0, 10000000};
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (cleaner != NULL)
            cleaner();
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000LL + (now.tv_nsec - start.tv_nsec) < LINGER_NS);
    signal(number, SIG_DFL);
    raise(number);
}

/* The kernel's struct linux_dirent64, which no header has. opendir allocates, which a handler must not. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static void remove_below(int parent, const char *name)
{
    _Alignas(struct entry) char entries[4096];
    long bytes;
    int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return;
    while ((bytes = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0)
        for (long at = 0; at < bytes;) {
            struct entry *entry = (struct entry *)(entries + at);
            bool is_own = strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0;
            if (!is_own && unlinkat(directory, entry->name, 0) != 0 && errno != ENOENT)
                remove_below(directory, entry->name);
            at += entry->length;
        }
    close(directory);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void rescue_remove(const char *directory)
{
    remove_below(AT_FDCWD, directory);
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
