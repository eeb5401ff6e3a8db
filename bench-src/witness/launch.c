/* launch: a launcher, and the last line of its benchmark. */
#include "witness/launch.h"

#include "common/die.h"
#include "witness/ask.h"

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

enum { TAIL_BYTES = 2000, LOOKS = 2, ASK_S = 15 };

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

static void write_closing(const char *path, const char *line)
{
    FILE *file = fopen(path, "we");
    bool failed = file == NULL || fprintf(file, "%s\n", line) < 0;
    if (file != NULL && fclose(file) != 0)
        failed = true;
    if (failed)
        warn("cannot write '%s': %s", path, strerror(errno));
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

int launch_run(const struct launch *launch)
{
    sigset_t signals, before;
    int status, looks = 0;
    char *line = text_of("%s", ""); /* what was there at the last look; that of the end once it is asked to end */
    bool asked = false;
    off_t out = 0, err = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, &before);
    pid_t pid = start(launch, &before);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        struct timespec pause = {launch->look_s, 0};
        int got = sigtimedwait(&signals, NULL, &pause);
        if (got == SIGTERM || got == SIGINT)
            kill(pid, SIGTERM);
        if (got >= 0 || errno != EAGAIN)
            continue;
        if (asked) {
            if (++looks == LOOKS) {
                kill(pid, SIGKILL);
                end_steps();
            }
            continue;
        }
        char *now = ends_with(launch);
        looks = now[0] != '\0' && strcmp(now, line) == 0 ? looks + 1 : 0;
        free(line);
        line = now;
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
        write_closing(launch->closing, line);
    }
    free(line);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
