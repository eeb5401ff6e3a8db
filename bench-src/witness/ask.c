/* ask: other programs. */
#include "witness/ask.h"

#include "common/die.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORDS = 16, MOST_BYTES = 1 << 16, GRACE_MS = 5000 };

int64_t ask_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void become(char *const words[], const int in[2], const int out[2], const char *errors, const char *in_directory)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    int complaints = errors == NULL ? nowhere : open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    dup2(in[0] >= 0 ? in[0] : nowhere, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(complaints >= 0 ? complaints : nowhere, STDERR_FILENO);
    if (in_directory == NULL || chdir(in_directory) == 0)
        execvp(words[0], words);
    _exit(127);
}

void ask_start(struct asked *asked, char *const words[], const char *errors, bool listens, const char *in_directory)
{
    int in[2] = {-1, -1}, out[2];
    *asked = (struct asked){.out = -1, .in = -1};
    if (pipe2(out, O_CLOEXEC) != 0 || (listens && pipe2(in, O_CLOEXEC) != 0))
        die("no pipe for '%s': %s", words[0], strerror(errno));
    asked->pid = fork();
    if (asked->pid == 0)
        become(words, in, out, errors, in_directory);
    if (asked->pid < 0)
        die("cannot start '%s': %s", words[0], strerror(errno));
    close(out[1]);
    asked->out = out[0];
    if (listens)
        close(in[0]);
    asked->in = in[1];
}

bool ask_take(struct asked *asked)
{
    char bytes[65536];
    if (asked->out < 0)
        return false;
    ssize_t got = read(asked->out, bytes, sizeof bytes);
    if (got > 0)
        text_add_bytes(&asked->said, bytes, (size_t)got);
    else if (got == 0 || errno != EINTR) {
        close(asked->out);
        asked->out = -1;
    }
    return asked->out >= 0;
}

bool ask_runs(struct asked *asked)
{
    int status;
    if (asked->pid == 0)
        return false;
    pid_t ended = waitpid(asked->pid, &status, WNOHANG);
    if (ended == 0)
        return true;
    asked->status = ended < 0 ? 127 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    asked->pid = 0;
    return false;
}

void ask_end(struct asked *asked)
{
    static const struct timespec pause = {0, 10000000};
    if (asked->in >= 0)
        close(asked->in);
    asked->in = -1;
    if (ask_runs(asked))
        kill(asked->pid, SIGTERM);
    for (int ms = 0; ms < GRACE_MS && ask_runs(asked); ms += 10)
        nanosleep(&pause, NULL);
    if (ask_runs(asked)) {
        kill(asked->pid, SIGKILL);
        waitpid(asked->pid, NULL, 0);
        asked->pid = 0;
        asked->status = 137;
    }
    if (asked->out >= 0)
        close(asked->out);
    asked->out = -1;
}

void ask_all(struct asked *list, size_t count, int limit_s)
{
    int64_t until_us = ask_now_us() + limit_s * (int64_t)1000000, left_us;
    struct pollfd ready[count > 0 ? count : 1];
    for (;;) {
        int open = 0;
        for (size_t i = 0; i < count; i++) {
            ready[i] = (struct pollfd){list[i].out, POLLIN, 0};
            open += list[i].out >= 0;
        }
        if (open == 0 || (left_us = until_us - ask_now_us()) <= 0)
            break;
        if (poll(ready, count, (int)(left_us / 1000) + 1) > 0)
            for (size_t i = 0; i < count; i++)
                if (ready[i].revents != 0 && ask_take(&list[i]) && list[i].said.used > MOST_BYTES) {
                    close(list[i].out);
                    list[i].out = -1;
                }
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i].out < 0 && list[i].pid > 0) { /* it has said all: it ends by itself */
            int64_t patience_us = ask_now_us() + 1000000;
            while (ask_runs(&list[i]) && ask_now_us() < patience_us)
                poll(NULL, 0, 1);
        }
        ask_end(&list[i]);
    }
}

struct asked ask_shell(int limit_s, const char *command)
{
    char *words[] = {"bash", "-c", text_of("exec 2>&1\n%s", command), NULL};
    struct asked asked;
    ask_start(&asked, words, NULL, false, NULL);
    ask_all(&asked, 1, limit_s);
    free(words[2]);
    text_add(&asked.said, "%s", "");
    while (asked.said.used > 0 && asked.said.bytes[asked.said.used - 1] == '\n')
        asked.said.bytes[--asked.said.used] = '\0';
    return asked;
}

char *ask(int limit_s, const char *word, ...)
{
    char *words[MOST_WORDS + 1] = {(char *)word};
    va_list args;
    va_start(args, word);
    for (int count = 1; count < MOST_WORDS && (words[count] = va_arg(args, char *)) != NULL;)
        count++;
    va_end(args);
    struct asked asked;
    ask_start(&asked, words, NULL, false, NULL);
    ask_all(&asked, 1, limit_s);
    if (asked.status != 0)
        text_free(&asked.said);
    return asked.said.bytes != NULL ? asked.said.bytes : text_of("%s", "");
}
