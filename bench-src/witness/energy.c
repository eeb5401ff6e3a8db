/* energy: a thread reads, and sleeps for the interval. */
#include "witness/energy.h"

#include "witness/ask.h"
#include "witness/record.h"
#include "witness/say.h"
#include "witness/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ASK_S = 10, SHORTEST_S = 1, LONGEST_BYTES = 1500 };

static struct {
    const char *root;
    char *command; /* NULL: the kernel's counters */
    int interval_s;
    bool reads, runs;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ends;
    bool ended;
    struct energy_readings readings;
} energy = {.lock = PTHREAD_MUTEX_INITIALIZER};

void energy_open(const char *root)
{
    const char *told = getenv("CAMPAIGN_ENERGY");
    char *rest = text_of("%s", told == NULL ? "" : told), *interval = text_part(&rest, ' '), *source = text_part(&rest, ' ');
    pthread_condattr_t clock;
    energy.root = root;
    if (source == NULL)
        return;
    energy.interval_s = atoi(interval) < SHORTEST_S ? SHORTEST_S : atoi(interval);
    energy.command = strcmp(source, "rapl") == 0 ? NULL : rest;
    energy.reads = strcmp(source, "once") != 0 || say_number() == 0;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&energy.ends, &clock);
    pthread_condattr_destroy(&clock);
}

/* Packages, and memory beside them: what other zones count is in a package's, or is the whole platform of a laptop. */
static bool counts(const char *name)
{
    return strncmp(name, "package-", 8) == 0 || strcmp(name, "dram") == 0;
}

static char *read_counters(void)
{
    glob_t zones = text_paths(energy.root, "sys/class/powercap/intel-rapl:*");
    struct text found = {0};
    char *problem = NULL;
    for (size_t i = 0; i < zones.gl_pathc; i++) {
        const char *zone = zones.gl_pathv[i], *slash = strrchr(zone, '/');
        char *name = text_line("%s/name", zone), *used = NULL, *range = NULL;
        if (name != NULL && counts(name)) {
            errno = 0;
            used = text_line("%s/energy_uj", zone);
            if (used == NULL && problem == NULL)
                problem = text_of("%s/energy_uj cannot be read: %s", zone, strerror(errno));
            range = text_line("%s/max_energy_range_uj", zone);
        }
        if (used != NULL)
            text_add(&found, " %s=%s=%s=%s", slash + 1, name, used, range == NULL ? "" : range);
        free(name);
        free(used);
        free(range);
    }
    globfree(&zones);
    if (found.bytes == NULL && problem == NULL)
        problem = text_of("no counters in %s/sys/class/powercap/intel-rapl:*", energy.root);
    char *line = problem != NULL ? text_of("problem %s", problem) : text_of("rapl%s", found.bytes);
    text_free(&found);
    free(problem);
    return line;
}

static char *ask_command(void)
{
    char *said = ask(ASK_S, "sh", "-c", energy.command, NULL), *last = NULL, *line;
    for (char *rest = said, *part; (part = text_part(&rest, '\n')) != NULL;)
        if (part[0] != '\0')
            last = part;
    line = last != NULL ? text_of("command %.*s", LONGEST_BYTES, last)
                        : text_of("problem %s fails or prints nothing", energy.command);
    free(said);
    return line;
}

static void take_reading(void)
{
    double now_s = record_now_s();
    char *line = energy.command == NULL ? read_counters() : ask_command();
    for (char *at = line; *at != '\0'; at++)
        if (*at == ';') /* is between lines */
            *at = ',';
    struct energy_readings *readings = &energy.readings;
    readings->lines = text_grow(readings->lines, readings->count, sizeof *readings->lines);
    readings->lines[readings->count++] = text_of("%.6f %s", now_s, line);
    free(line);
}

static void *read_on(void *nothing)
{
    struct timespec until;
    (void)nothing;
    clock_gettime(CLOCK_MONOTONIC, &until);
    pthread_mutex_lock(&energy.lock);
    while (!energy.ended) {
        until.tv_sec += energy.interval_s;
        if (pthread_cond_timedwait(&energy.ends, &energy.lock, &until) == ETIMEDOUT && !energy.ended)
            take_reading();
    }
    pthread_mutex_unlock(&energy.lock);
    return NULL;
}

void energy_begin(void)
{
    if (!energy.reads || energy.runs)
        return;
    energy.ended = false;
    take_reading();
    energy.runs = pthread_create(&energy.thread, NULL, read_on, NULL) == 0;
}

struct energy_readings energy_end(void)
{
    struct energy_readings taken = {0};
    if (!energy.reads)
        return taken;
    pthread_mutex_lock(&energy.lock);
    energy.ended = true;
    pthread_cond_signal(&energy.ends);
    pthread_mutex_unlock(&energy.lock);
    if (energy.runs)
        pthread_join(energy.thread, NULL);
    energy.runs = false;
    take_reading();
    taken = energy.readings;
    energy.readings = (struct energy_readings){0};
    return taken;
}

void energy_say(int run, struct energy_readings *readings)
{
    for (size_t i = 0; i < readings->count; i++) {
        say(run, "energy", "%s", readings->lines[i]);
        free(readings->lines[i]);
    }
    free(readings->lines);
    *readings = (struct energy_readings){0};
}
