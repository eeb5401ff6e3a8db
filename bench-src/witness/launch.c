/* launch: a launcher, and the last line of its benchmark. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TAIL_BYTES = 2000, LOOKS = 2, ASK_S = 15, AGAIN_FOR_S = 1200 };

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

/* The benchmark's last line, if it is there: "" where it is not. To be freed. */
static char *ends_with(const struct launch *launch)
{
    bool built_in = launch->pattern[0] == '\0';
    char *line = last_line(launch->folder, built_in ? "bench.jsonl" : "stdout");
    if (line[0] != '\0' && (built_in ? strncmp(line, complete, strlen(complete)) != 0 : !fits(launch->pattern, line)))
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

static void write_launched(const char *path, const char *started, const char *ended)
{
    FILE *file = fopen(path, "we");
    bool failed = file == NULL || fprintf(file, "%s\n%s\n", started, ended) < 0;
    if (file != NULL && fclose(file) != 0)
        failed = true;
    if (failed)
        warn("cannot write '%s': %s", path, strerror(errno));
}

/* Now, and by the kernel's clock that nobody sets. To be freed. */
static char *clocks(void)
{
    char *uptime = text_line("/proc/uptime"), *text;
    text = text_of("%.6f %.*s", record_now_s(), uptime == NULL ? 0 : (int)strcspn(uptime, " "), uptime == NULL ? "" : uptime);
    free(uptime);
    return text;
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

/* Whether srun has met no slurmctld, or no task has started. What slurmctld itself refuses, it refuses again. */
static bool reached_nothing(const struct launch *launch)
{
    static const char *const causes[] = {"contact slurm controller", "Socket timed out", "Connection", "Zero Bytes",
                                         "task launch, started 0 of"};
    char *path = text_of("%s/stderr", launch->folder), *text = raw_text(path);
    bool found = false;
    for (char *rest = text, *line; !found && (line = text_part(&rest, '\n')) != NULL;)
        for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
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

/* What a launch came to. */
struct end {
    int status;  /* as waitpid has it */
    bool told;   /* the job has told it to end */
    char *line;  /* the benchmark's last one where it was ended behind that, otherwise "" */
};

/* Waits for a launcher. It is asked to end where the benchmark's last line is there at three looks, and made to two later. */
static struct end wait_for(const struct launch *launch, pid_t pid, const sigset_t *signals)
{
    struct end end = {.line = text_of("%s", "")};
    bool asked = false;
    int looks = 0;
    off_t out = 0, err = 0;
    while (waitpid(pid, &end.status, WNOHANG) == 0) {
        int got = next_signal(signals, launch->look_s);
        if (got == SIGTERM || got == SIGINT) {
            end.told = true;
            kill(pid, SIGTERM);
        }
        if (got != 0)
            continue;
        if (asked) {
            if (++looks == LOOKS) {
                kill(pid, SIGKILL);
                end_steps();
            }
            continue;
        }
        char *now = ends_with(launch);
        looks = now[0] != '\0' && strcmp(now, end.line) == 0 ? looks + 1 : 0;
        free(end.line);
        end.line = now;
        if (looks < LOOKS)
            continue;
        out = size_of(launch->folder, "stdout");
        err = size_of(launch->folder, "stderr");
        asked = true;
        looks = 0;
        kill(pid, SIGTERM);
    }
    if (asked) {
        cut(launch->folder, "stdout", out, STDOUT_FILENO);
        cut(launch->folder, "stderr", err, STDERR_FILENO);
        say_to_job("ended a benchmark that did not end after its last line", end.line);
    } else {
        end.line[0] = '\0';
    }
    return end;
}

int launch_run(const struct launch *launch)
{
    sigset_t signals, before;
    int64_t until_us = ask_now_us() + AGAIN_FOR_S * (int64_t)1000000;
    struct end end;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (bool again = true; again;) {
        char *started = clocks();
        end = wait_for(launch, start(launch, &before), &signals);
        write_launched(launch->launched, started, end.line);
        free(started);
        free(end.line);
        again = end.status != 0 && !end.told && ask_now_us() < until_us && reached_nothing(launch);
        if (again) {
            char *line = last_line(launch->folder, "stderr"), *what = text_of("not launched, again in %d s", launch->again_s);
            say_to_job(what, line);
            free(what);
            free(line);
            int64_t next_us = ask_now_us() + launch->again_s * (int64_t)1000000;
            while (again && ask_now_us() < next_us) {
                int got = next_signal(&signals, 1);
                again = got != SIGTERM && got != SIGINT;
            }
        }
    }
    return WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status);
}
