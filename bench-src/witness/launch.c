/* launch: launchers, and the last lines of their benchmarks. Each has a process of its own, beside the one that was called. */
#include "witness/launch.h"

#include "common/die.h"
#include "common/raw.h"
#include "witness/ask.h"
#include "witness/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TAIL_BYTES = 2000, LOOKS = 2, ASK_S = 15, AGAIN_FOR_S = 1200, ANY_S = 3600, OTHER_FAILED = SIGUSR1 };

static const char complete[] = "{\"type\": \"end\", \"status\": \"ok\"";

/* The last line of a file, without zero bytes; "" for none. To be freed. */
static char *last_line(const char *folder, const char *name)
{
    char *path = text_of("%s/%s", folder, name), bytes[TAIL_BYTES + 1], *line = bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat file;
    ssize_t got = 0;
    size_t used = 0;
    if (fd >= 0 && fstat(fd, &file) == 0)
        got = pread(fd, bytes, TAIL_BYTES, file.st_size > TAIL_BYTES ? file.st_size - TAIL_BYTES : 0);
    if (fd >= 0)
        close(fd);
    free(path);
    for (ssize_t i = 0; i < got; i++)
        if (bytes[i] != '\0')
            bytes[used++] = bytes[i];
    while (used > 0 && bytes[used - 1] == '\n')
        used--;
    bytes[used] = '\0';
    for (char *at = bytes; *at != '\0'; at++)
        if (*at == '\n')
            line = at + 1;
    return text_of("%s", line);
}

/* Whether all of the line is as the pattern says. */
static bool fits(const char *pattern, const char *line)
{
    char *words[] = {"grep", "-qxP", "--", (char *)pattern, NULL};
    struct asked asked;
    ask_start(&asked, words, NULL, true, NULL);
    dprintf(asked.in, "%s\n", line);
    close(asked.in);
    asked.in = -1;
    ask_all(&asked, 1, ASK_S);
    text_free(&asked.said);
    return asked.status == 0;
}

/* Whether srun puts the rank's number before each line. Its options are single words. */
static bool is_labelled(const struct launch *launch)
{
    char *const *word = launch->words + 1;
    while (*word != NULL && **word == '-' && strcmp(*word, "--label") != 0)
        word++;
    return *word != NULL && strcmp(*word, "--label") == 0;
}

/* The line behind the rank's number: `10: ` */
static const char *behind_label(const char *line)
{
    const char *at = line + strspn(line, " ");
    size_t digits = strspn(at, "0123456789");
    return digits > 0 && strncmp(at + digits, ": ", 2) == 0 ? at + digits + 2 : line;
}

/* The benchmark's last line, if it is there: "" where it is not. To be freed. */
static char *ends_with(const struct launch *launch)
{
    bool built_in = launch->pattern[0] == '\0';
    char *line = last_line(launch->folder, built_in ? "bench.jsonl" : "stdout");
    const char *printed = is_labelled(launch) ? behind_label(line) : line;
    if (line[0] != '\0' && (built_in ? strncmp(line, complete, strlen(complete)) != 0 : !fits(launch->pattern, printed)))
        line[0] = '\0';
    return line;
}

/* Without its launcher a step goes on; the steps of the job's own looks have names of their own. */
static void end_steps(void)
{
    const char *job = getenv("SLURM_JOB_ID");
    char *of_job = text_of("--jobs=%s", job == NULL ? "" : job), *begins = text_of("%s.", job == NULL ? "" : job);
    char *said = ask(ASK_S, "squeue", "--noheader", "--steps", of_job, "--format=%i %j", NULL);
    for (char *rest = said, *line; (line = text_part(&rest, '\n')) != NULL;) {
        char *name = line, *step = text_part(&name, ' ');
        size_t length = strlen(begins);
        if (strncmp(step, begins, length) == 0 && step[length] >= '0' && step[length] <= '9' &&
            (name == NULL || strcmp(name, "witness") != 0))
            free(ask(ASK_S, "scancel", "--signal=KILL", step, NULL));
    }
    free(said);
    free(begins);
    free(of_job);
}

static off_t size_of(const char *folder, const char *name)
{
    struct stat file;
    char *path = text_of("%s/%s", folder, name);
    off_t size = stat(path, &file) == 0 ? file.st_size : 0;
    free(path);
    return size;
}

/* Gives what is in a file behind its first bytes to another, and cuts it off. */
static void cut(const char *folder, const char *name, off_t size, int to)
{
    char *path = text_of("%s/%s", folder, name), bytes[4096];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ssize_t got;
    for (off_t at = size; fd >= 0 && (got = pread(fd, bytes, sizeof bytes, at)) > 0; at += got)
        if (write(to, bytes, (size_t)got) != got)
            break;
    if (fd < 0 || ftruncate(fd, size) != 0)
        warn("cannot cut '%s': %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(path);
}

/* A line of the job's output, which this process writes to as the job's script does. */
static void say_to_job(const char *what, const char *line)
{
    printf("%.6f %s: %s\n", record_now_s(), what, line);
    fflush(stdout);
}

/* What a launch came to, as the process of the launch has it: in memory that it shares with the one that was called. */
struct end {
    double started_s, ended_s;
    char up_at_start[32], up_at_end[32]; /* by the kernel's clock that nobody sets */
    bool told;                  /* it was told to end: by the job, or since another has failed */
    bool killed;                /* its launcher was, so its step may go on */
    char line[TAIL_BYTES + 1];  /* the benchmark's last one where it was ended behind that, otherwise "" */
};

/* The time now, and what the kernel's clock says, "" where that cannot be read. */
static double now_s(char uptime[32])
{
    char *line = text_line("/proc/uptime");
    snprintf(uptime, 32, "%.*s", line == NULL ? 0 : (int)strcspn(line, " "), line == NULL ? "" : line);
    free(line);
    return record_now_s();
}

static pid_t start(const struct launch *launch, const sigset_t *before)
{
    static const char *const names[] = {"stdout", "stderr"};
    pid_t pid = fork();
    if (pid < 0)
        die("cannot start '%s': %s", launch->words[0], strerror(errno));
    if (pid > 0)
        return pid;
    sigprocmask(SIG_SETMASK, before, NULL);
    char *json = text_of("%s/bench.jsonl", launch->folder);
    setenv("BENCH_JSON", json, 1);
    setenv("BENCH_EXPECT_NODES", launch->nodes, 1);
    setenv("BENCH_EXPECT_PPN", launch->ranks, 1);
    setenv("SLURM_OVERLAP", "1", 1); /* a slurmctld that crashed takes a step for alive that has ended, and starts none beside it */
    free(json);
    for (int i = 0; i < 2; i++) {
        char *path = text_of("%s/%s", launch->folder, names[i]);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0 || dup2(fd, i == 0 ? STDOUT_FILENO : STDERR_FILENO) < 0) {
            warn("cannot write '%s': %s", path, strerror(errno));
            _exit(EXIT_CODE_FAILED);
        }
    }
    execvp(launch->words[0], launch->words);
    fprintf(stderr, "%s: %s\n", launch->words[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/* Whether srun has met no slurmctld, or no task has started, of which srun may give status 0. What slurmctld itself refuses, it
 * refuses again. */
static bool reached_nothing(const struct launch *launch, int status)
{
    static const char *const causes[] = {"task launch, started 0 of", "contact slurm controller", "Socket timed out", "Connection",
                                         "Zero Bytes"};
    size_t count = status == 0 ? 1 : sizeof causes / sizeof *causes;
    char *path = text_of("%s/stderr", launch->folder), *text = raw_text(path);
    bool found = false;
    for (char *rest = text, *line; !found && (line = text_part(&rest, '\n')) != NULL;)
        for (size_t i = 0; i < count; i++)
            found = found || (strncmp(line, "srun: error: ", 13) == 0 && strstr(line, causes[i]) != NULL);
    free(text);
    free(path);
    return found && size_of(launch->folder, "stdout") == 0;
}

/* Waits for a signal: its number, or 0 after the time. */
static int next_signal(const sigset_t *signals, int seconds)
{
    struct timespec pause = {seconds, 0};
    int got = sigtimedwait(signals, NULL, &pause);
    return got > 0 ? got : 0;
}

/* Waits for a launcher, whose status it gives as waitpid has it. It is asked to end where the benchmark's last line is there at
 * three looks, and made to two later, as where another of its launches has failed. */
static int wait_for(const struct launch *launch, pid_t pid, const sigset_t *signals, struct end *end)
{
    bool behind_last = false, must_end = false;
    int status = 0, looks = 0;
    off_t out = 0, err = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        int got = next_signal(signals, launch->look_s);
        if (got == SIGTERM || got == SIGINT || got == OTHER_FAILED) {
            end->told = true;
            must_end = must_end || got == OTHER_FAILED;
            looks = 0;
            kill(pid, SIGTERM);
        }
        if (got != 0)
            continue;
        if (behind_last || must_end) {
            if (++looks == LOOKS)
                end->killed = kill(pid, SIGKILL) == 0;
            continue;
        }
        char *now = ends_with(launch);
        looks = now[0] != '\0' && strcmp(now, end->line) == 0 ? looks + 1 : 0;
        snprintf(end->line, sizeof end->line, "%s", now);
        free(now);
        if (looks < LOOKS)
            continue;
        out = size_of(launch->folder, "stdout");
        err = size_of(launch->folder, "stderr");
        behind_last = true;
        looks = 0;
        kill(pid, SIGTERM);
    }
    if (behind_last) {
        cut(launch->folder, "stdout", out, STDOUT_FILENO);
        cut(launch->folder, "stderr", err, STDERR_FILENO);
        say_to_job("ended a benchmark that did not end after its last line", end->line);
    } else {
        end->line[0] = '\0';
    }
    return status;
}

/* The status of a launch, as a shell has it. */
static int run(const struct launch *launch, const sigset_t *signals, const sigset_t *before, struct end *end)
{
    int64_t until_us = ask_now_us() + AGAIN_FOR_S * (int64_t)1000000;
    int status = 0;
    bool nothing = false;
    for (bool again = true; again;) {
        end->started_s = now_s(end->up_at_start);
        status = wait_for(launch, start(launch, before), signals, end);
        end->ended_s = now_s(end->up_at_end);
        nothing = !end->told && reached_nothing(launch, status);
        again = nothing && ask_now_us() < until_us;
        if (again) {
            char *line = last_line(launch->folder, "stderr"), *what = text_of("not launched, again in %d s", launch->again_s);
            say_to_job(what, line);
            free(what);
            free(line);
            int64_t next_us = ask_now_us() + launch->again_s * (int64_t)1000000;
            while (again && ask_now_us() < next_us) {
                int got = next_signal(signals, 1);
                again = got == 0 || got == SIGCHLD;
            }
        }
    }
    if (nothing && status == 0)
        return EXIT_CODE_FAILED;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void write_ends(const char *path, int failed, const int *statuses, const struct end *ends, int count)
{
    FILE *file = fopen(path, "we");
    bool wrong = file == NULL || fprintf(file, "%d\n", failed) < 0;
    for (int i = 0; !wrong && i < count; i++)
        wrong = fprintf(file, "%d %.6f %.6f %s %s\n%s\n", statuses[i], ends[i].started_s, ends[i].ended_s, ends[i].up_at_start,
                        ends[i].up_at_end, ends[i].line) < 0;
    if (file != NULL && fclose(file) != 0)
        wrong = true;
    if (wrong)
        warn("cannot write '%s': %s", path, strerror(errno));
}

static void tell_all(const pid_t *pids, int count, int signal)
{
    for (int i = 0; i < count; i++)
        if (pids[i] > 0)
            kill(pids[i], signal);
}

int launch_all(const struct launch *list, int count, const char *launched)
{
    sigset_t signals, before;
    pid_t pids[count];
    int statuses[count], failed = -1, left = count;
    bool killed = false;
    struct end *ends = mmap(NULL, (size_t)count * sizeof *ends, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ends == MAP_FAILED)
        die("cannot share memory: %s", strerror(errno));
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, OTHER_FAILED);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (int i = 0; i < count; i++) {
        pids[i] = fork();
        if (pids[i] < 0) {
            tell_all(pids, i, SIGTERM);
            die("cannot start '%s': %s", list[i].words[0], strerror(errno));
        }
        if (pids[i] == 0)
            _exit(run(&list[i], &signals, &before, &ends[i]));
    }
    while (left > 0) {
        for (int i = 0, status; i < count; i++) {
            if (pids[i] == 0 || waitpid(pids[i], &status, WNOHANG) == 0)
                continue;
            statuses[i] = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            pids[i] = 0;
            left--;
            killed = killed || ends[i].killed;
            if (failed >= 0 || statuses[i] == 0 || ends[i].line[0] != '\0')
                continue;
            failed = i;
            tell_all(pids, count, OTHER_FAILED);
        }
        int got = left == 0 ? 0 : next_signal(&signals, ANY_S);
        if (got == SIGTERM || got == SIGINT)
            tell_all(pids, count, SIGTERM);
    }
    if (killed)
        end_steps();
    write_ends(launched, failed, statuses, ends, count);
    return statuses[failed < 0 ? 0 : failed];
}
