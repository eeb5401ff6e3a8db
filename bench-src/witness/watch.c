/* watch: the loop of a node. Times are µs of the monotonic clock. */
#include "witness/watch.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/energy.h"
#include "witness/events.h"
#include "witness/say.h"
#include "witness/seen.h"
#include "witness/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SHORTEST_US = 8000,
    LONGEST_WAITING_US = 100000, /* while no rank has started */
    LONGEST_US = 5000000,
    MOST_NEW = 4096,             /* processes between two looks; of more, all of the node are looked at */
    YOUNG_US = 30000000,         /* a process that is no rank by then will be none */
    PRELOADED_US = 10000,
    LAUNCH_US = 50000,           /* the next run's launcher goes before what is told of this one, unless the job waits for that */
};

static const char STEP_DAEMON[] = "slurmstepd"; /* has a rank's variables before the rank does */

/* A process that may be a rank. */
struct young {
    pid_t pid;
    int64_t since, due, again; /* again: when its variables are read though its name is the same */
    char name[32];
};

/* A process of a rank. */
struct known {
    pid_t pid;
    struct rank rank;
    int64_t born, due;
    int program; /* its number in seen; -1 before the first look */
    bool is_read; /* the list of what it has loaded, which has what was preloaded once it has run for a while */
    int ends;    /* a file descriptor that says so; -1 where the kernel has none */
};

static struct watch {
    bool watching;
    char *const *declared;
    char *folder, *launcher, *directory; /* of the run */
    struct young *young;
    struct known *known;
    size_t young_count, known_count;
    struct seen seen;
    long newest;                  /* the number that the kernel gave last to a process */
    int64_t asked, latest, fresh; /* when something new was last seen; the last rank started; libraries are due */
    int64_t pause;
    int events; /* -1: none are permitted */
} watch;

static struct {
    pthread_t thread;
    sem_t due;
    bool runs;
    struct seen seen;
    struct energy_readings readings;
} telling;

static void *tell(void *nothing)
{
    struct timespec until;
    (void)nothing;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LAUNCH_US * 1000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (sem_timedwait(&telling.due, &until) != 0 && errno == EINTR)
        ;
    energy_say(telling.seen.run, &telling.readings);
    seen_tell(&telling.seen);
    return NULL;
}

static void told(void)
{
    if (telling.runs)
        pthread_join(telling.thread, NULL);
    telling.runs = false;
}

static long newest_process(void)
{
    char *line = text_line("/proc/loadavg");
    const char *last = line == NULL ? NULL : strrchr(line, ' ');
    long number = last == NULL ? 0 : atol(last);
    free(line);
    return number;
}

static bool is_known(pid_t pid)
{
    for (size_t i = 0; i < watch.known_count; i++)
        if (watch.known[i].pid == pid)
            return true;
    return false;
}

static void add_young(pid_t pid, int64_t now)
{
    watch.young = text_grow(watch.young, watch.young_count, sizeof *watch.young);
    watch.young[watch.young_count++] = (struct young){.pid = pid, .since = now};
}

static void add_all(int64_t now)
{
    DIR *list = opendir("/proc");
    for (struct dirent *each; list != NULL && (each = readdir(list)) != NULL;)
        if (isdigit((unsigned char)each->d_name[0]) && !is_known(atoi(each->d_name)))
            add_young(atoi(each->d_name), now);
    if (list != NULL)
        closedir(list);
}

static void find_new(int64_t now)
{
    long before = watch.newest;
    watch.newest = newest_process();
    if (watch.newest == before)
        return;
    watch.asked = now;
    if (watch.newest > before && watch.newest < before + MOST_NEW)
        for (long pid = before + 1; pid <= watch.newest; pid++)
            add_young((pid_t)pid, now);
    else /* the numbers began again */
        add_all(now);
}

static void add_known(pid_t pid, const struct rank *rank, int64_t now)
{
    watch.known = text_grow(watch.known, watch.known_count, sizeof *watch.known);
    watch.known[watch.known_count++] = (struct known){
        .pid = pid, .rank = *rank, .born = now, .program = -1, .ends = (int)syscall(SYS_pidfd_open, pid, 0)};
    watch.latest = now;
    watch.fresh = 0;
}

/* Whether its variables are to be read. Until it executes a file, a new process has the variables of whoever started it. Then its
 * name is another, and to read that costs less than the variables, which are read again at twice the age too. */
static bool may_have_executed(struct young *young, const char *name, int64_t age)
{
    bool may = strcmp(name, STEP_DAEMON) != 0 && (strcmp(name, young->name) != 0 || age >= young->again);
    snprintf(young->name, sizeof young->name, "%s", name);
    if (may)
        young->again = 4000 + 2 * age;
    return may;
}

static bool is_step_daemon(pid_t pid)
{
    char *name = text_line("/proc/%d/comm", (int)pid);
    bool is = name != NULL && strcmp(name, STEP_DAEMON) == 0;
    free(name);
    return is;
}

/* Whether it stays among the young. One that the kernel has named has just executed something: most are no rank, and their
 * variables say so at once. */
static bool stays_young(struct young *young, int64_t now)
{
    struct rank rank;
    int64_t age = now - young->since;
    young->due = now + age / 2;
    if (age > YOUNG_US)
        return false;
    if (watch.events < 0) {
        char *name = text_line("/proc/%d/comm", (int)young->pid);
        bool gone = name == NULL, looks = !gone && may_have_executed(young, name, age);
        free(name);
        if (!looks)
            return !gone || age == 0; /* a number is given before its process is there */
    }
    switch (rank_of(young->pid, watch.folder, watch.launcher, say_node(), &rank)) {
    case RANK_IS:
        if (!is_step_daemon(young->pid))
            add_known(young->pid, &rank, now);
        return false;
    case RANK_MAY_BE:
        return watch.events < 0; /* otherwise it will be said when it executes something else */
    case RANK_NOT_YET:
        young->name[0] = '\0';
        return kill(young->pid, 0) == 0 || errno == EPERM;
    default:
        return false;
    }
}

static void forget_known(size_t i, int64_t now)
{
    seen_step_uses(&watch.seen); /* now, since the step's cgroup ends with its last process */
    if (watch.known[i].ends >= 0)
        close(watch.known[i].ends);
    watch.known[i] = watch.known[--watch.known_count];
    watch.fresh = 0;
    if (watch.known_count == 0) { /* a next phase may begin */
        watch.latest = 0;
        watch.asked = now;
    }
}

static void keep_variable(void *to, const char *variable)
{
    seen_variable(to, variable);
}

/* Which file a process of a rank executes now, and with which variables, which are read behind it: a wrapper may set some for what
 * it executes. False where it has ended. */
static bool executes(struct known *known, int64_t now)
{
    known->due = now + (now - known->born) / 8;
    seen_uses(&watch.seen, &known->rank, known->pid);
    if (known->program >= 0 && seen_same(&watch.seen, known->program, known->pid))
        return true;
    int program = seen_executes(&watch.seen, &known->rank, known->pid);
    if (program < 0)
        return false;
    seen_works(&watch.seen, &known->rank, known->pid, watch.directory);
    known->program = rank_variables(known->pid, keep_variable, &watch.seen) ? program : -1;
    return true;
}

static void look(void)
{
    int64_t now = ask_now_us();
    if (watch.events < 0)
        find_new(now);
    for (size_t i = 0; i < watch.young_count;)
        if (now >= watch.young[i].due && !stays_young(&watch.young[i], now))
            watch.young[i] = watch.young[--watch.young_count];
        else
            i++;
    for (size_t i = 0; i < watch.known_count;)
        if (now >= watch.known[i].due && !executes(&watch.known[i], now))
            forget_known(i, now);
        else
            i++;
    if (watch.known_count > 0 && now >= watch.fresh) { /* of the first rank all libraries, of others what was preloaded */
        size_t first = 0;
        for (size_t i = 1; i < watch.known_count; i++)
            if (watch.known[i].rank.number < watch.known[first].rank.number)
                first = i;
        for (size_t i = 0; i < watch.known_count; i++) {
            struct known *known = &watch.known[i];
            if (i != first && (known->is_read || now - known->born < PRELOADED_US))
                continue;
            seen_loads(&watch.seen, known->pid);
            known->is_read = true;
        }
        watch.fresh = now + 10000 + now - watch.latest;
    }
    bool waits = watch.latest == 0;
    int64_t pause = (now - (waits ? watch.asked : watch.latest)) / 8, longest = waits ? LONGEST_WAITING_US : LONGEST_US;
    watch.pause = pause > longest ? longest : pause < SHORTEST_US ? SHORTEST_US : pause;
    if (waits && watch.events >= 0 && watch.young_count == 0)
        watch.pause = -1; /* until something happens */
}

static void executed(void *to, pid_t pid)
{
    int64_t now = *(int64_t *)to;
    if (!watch.watching)
        return;
    for (size_t i = 0; i < watch.known_count; i++)
        if (watch.known[i].pid == pid) {
            watch.known[i].due = 0;
            watch.known[i].program = -1;
            watch.known[i].born = now;
            watch.known[i].is_read = false;
            watch.latest = now;
            return;
        }
    for (size_t i = 0; i < watch.young_count; i++)
        if (watch.young[i].pid == pid)
            return;
    add_young(pid, now);
}

static void begin(const char *folder, const char *launcher, const char *directory, int run)
{
    const char *slash = strrchr(launcher, '/');
    free(watch.folder);
    free(watch.launcher);
    free(watch.directory);
    watch.folder = text_of("%s", folder);
    watch.directory = text_of("%s", directory);
    watch.launcher = text_of("%s", slash == NULL ? launcher : slash + 1);
    watch.seen = (struct seen){.run = run, .declared = watch.declared};
    watch.newest = newest_process();
    watch.asked = ask_now_us();
    watch.latest = watch.fresh = 0;
    if (watch.events >= 0)
        events_take(watch.events, executed, &watch.asked); /* between runs nobody has listened */
    watch.watching = true;
    energy_begin();
    say(run, "ready", "%s", say_node());
}

static void end(void)
{
    int run = watch.seen.run;
    struct energy_readings readings = energy_end();
    look();
    /* An answer at once: with none, TCP would hold back what the job says next for the 40 ms of a delayed acknowledgement. */
    say(run, "name", "%s", say_node());
    told();
    telling.seen = watch.seen;
    telling.readings = readings;
    watch.seen = (struct seen){0};
    watch.watching = false;
    watch.young_count = 0;
    while (watch.known_count > 0)
        forget_known(0, 0);
    sem_init(&telling.due, 0, 0);
    telling.runs = pthread_create(&telling.thread, NULL, tell, NULL) == 0;
    if (!telling.runs) {
        energy_say(run, &telling.readings);
        seen_tell(&telling.seen);
    }
}

static void obey(char *line)
{
    char *rest = line, *word = text_part(&rest, '\t'), *folder = text_part(&rest, '\t'), *launcher = text_part(&rest, '\t');
    if (strncmp(word, "run ", 4) == 0 && launcher != NULL) {
        begin(folder, launcher, rest == NULL ? "" : rest, atoi(word + 4));
    } else if (watch.watching && strcmp(word, "phase") == 0) {
        watch.latest = 0;
        watch.asked = ask_now_us();
    } else if (watch.watching && strcmp(word, "end") == 0) {
        end();
    } else if (telling.runs && strcmp(word, "now") == 0) {
        sem_post(&telling.due);
    }
}

/* Takes what the job says; false at its end. */
static bool listen(void)
{
    static struct text heard;
    char bytes[4096], *line_end;
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0)
        return got < 0 && errno == EINTR;
    text_add_bytes(&heard, bytes, (size_t)got);
    while ((line_end = strchr(heard.bytes, '\n')) != NULL) {
        size_t length = (size_t)(line_end - heard.bytes) + 1;
        *line_end = '\0';
        obey(heard.bytes);
        memmove(heard.bytes, heard.bytes + length, heard.used - length + 1);
        heard.used -= length;
    }
    return true;
}

/* Waits for what happens: words of the job, programs that are executed, ranks that end; or until the next look is due. */
static bool wait_for_it(void)
{
    struct pollfd ready[2 + watch.known_count];
    nfds_t count = 0;
    int64_t now;
    ready[count++] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
    ready[count++] = (struct pollfd){watch.watching ? watch.events : -1, POLLIN, 0};
    for (size_t i = 0; i < watch.known_count; i++)
        ready[count++] = (struct pollfd){watch.known[i].ends, POLLIN, 0};
    int timeout_ms = !watch.watching || watch.pause < 0 ? -1 : (int)((watch.pause + 999) / 1000);
    if (poll(ready, count, timeout_ms) < 0)
        return errno == EINTR;
    now = ask_now_us();
    if (ready[1].revents != 0 && !events_take(watch.events, executed, &now))
        add_all(now);
    for (size_t i = watch.known_count; i-- > 0;)
        if (ready[2 + i].revents != 0)
            forget_known(i, now);
    return ready[0].revents == 0 || listen();
}

int watch_runs(char *const declared[])
{
    watch.declared = declared;
    watch.events = events_open();
    while (wait_for_it())
        if (watch.watching)
            look();
    told();
    return EXIT_CODE_OK;
}
