/* nodes: the step of the witnesses. */
#include "witness/nodes.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/script.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASK_S = 15, MOST_NAMED = 8, END_S = 10 };

static struct {
    const struct job *job;
    void (*keep)(const struct told *told);
    struct asked step; /* srun with the witnesses */
    char *errors;      /* the file that it complains into */
    int count;
} nodes = {.step = {.in = -1, .out = -1}};

void nodes_open(const struct job *job, void (*keep)(const struct told *told))
{
    const char *count = getenv("SLURM_JOB_NUM_NODES");
    nodes.job = job;
    nodes.keep = keep;
    nodes.count = count == NULL || atoi(count) < 1 ? 1 : atoi(count);
    nodes.errors = text_of("%s/witness.err", job->folder);
}

int nodes_count(void)
{
    return nodes.count;
}

/* The words of srun and of the witness that it starts; the list is to be freed. */
static char **words_of_step(const char *own, const char *count, const char *tasks, bool with_facts)
{
    const struct job *job = nodes.job;
    const char *watching[] = {"srun", "--overlap", count, tasks, "--ntasks-per-node=1", "--job-name=witness",
                              "--mpi=none", "--cpu-bind=none", own, "node", "-w", NULL};
    const char *asking[] = {"srun", count, tasks, "--ntasks-per-node=1", "--job-name=environment",
                            "--mpi=none", "--cpu-bind=none", "--time=1", own, "node", NULL};
    const char *facts[] = {"-d", job->directory, "-x", job->executable, "-m", job->mark, "--", NULL};
    const char *const *parts[] = {job->watches ? watching : asking, facts, (const char *const *)job->prefix};
    char **words = NULL;
    size_t used = 0;
    for (int part = 0; part < (with_facts ? 3 : 1); part++)
        for (const char *const *word = parts[part]; *word != NULL; word++) {
            words = text_grow(words, used, sizeof *words);
            words[used++] = (char *)*word;
        }
    words = text_grow(words, used, sizeof *words);
    words[used] = NULL;
    return words;
}

void nodes_start(bool with_facts)
{
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length < 0 ? 0 : length] = '\0';
    char *count = text_of("--nodes=%d", nodes.count), *tasks = text_of("--ntasks=%d", nodes.count);
    char **words = words_of_step(own, count, tasks, with_facts);
    ask_start(&nodes.step, words, nodes.errors, nodes.job->watches, nodes.job->folder);
    free(words);
    free(count);
    free(tasks);
}

bool nodes_run(void)
{
    return ask_runs(&nodes.step);
}

bool nodes_listen(void)
{
    return nodes.step.in >= 0;
}

int nodes_status(void)
{
    return nodes.step.status;
}

void nodes_stop(void)
{
    ask_end(&nodes.step);
    text_free(&nodes.step.said);
}

void nodes_dismiss(void)
{
    int64_t until_us = ask_now_us() + END_S * (int64_t)1000000;
    if (nodes.step.in >= 0)
        close(nodes.step.in);
    nodes.step.in = -1;
    while (nodes.step.out >= 0 && !script_over() && ask_now_us() < until_us)
        nodes_wait(until_us);
    nodes_stop();
    unlink(nodes.errors);
}

void nodes_tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (nodes.step.in >= 0 && vdprintf(nodes.step.in, format, args) < 0 && errno != EPIPE)
        warn("cannot tell the witnesses: %s", strerror(errno));
    va_end(args);
}

void nodes_take(struct text *said)
{
    char *from = said->bytes, *end;
    struct told told;
    if (from == NULL)
        return;
    while ((end = memchr(from, '\n', said->used - (size_t)(from - said->bytes))) != NULL) {
        *end = '\0';
        if (gather_parse(from, &told))
            nodes.keep(&told);
        from = end + 1;
    }
    said->used -= (size_t)(from - said->bytes);
    memmove(said->bytes, from, said->used + 1);
}

void nodes_wait(int64_t until_us)
{
    struct pollfd ready[2] = {{script_ended() ? -1 : STDIN_FILENO, POLLIN, 0}, {nodes.step.out, POLLIN, 0}};
    int64_t left_us = until_us - ask_now_us();
    int timeout_ms = until_us < 0 ? -1 : left_us <= 0 ? 0 : (int)(left_us / 1000) + 1;
    if (poll(ready, 2, timeout_ms) <= 0)
        return;
    if (ready[0].revents != 0)
        script_hear();
    if (ready[1].revents != 0) {
        ask_take(&nodes.step);
        nodes_take(&nodes.step.said);
    }
}

bool nodes_await(const struct gathered *gathered, const char *fact, int64_t until_us)
{
    while (gather_said(gathered, fact) < nodes.count) {
        if (script_over() || script_ended() || ask_now_us() >= until_us || nodes.step.out < 0)
            return false;
        nodes_wait(until_us);
    }
    return true;
}

char *nodes_complaint(void)
{
    char *text = text_line("%s", nodes.errors), *last = NULL;
    FILE *file = text == NULL ? NULL : fopen(nodes.errors, "re");
    char line[4096];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        free(last);
        last = text_of("%s", line);
    }
    if (file != NULL)
        fclose(file);
    free(text);
    return last == NULL ? text_of("%s", "") : last;
}

char *nodes_silent(const struct gathered *gathered, const char *fact)
{
    const char *list = getenv("SLURM_JOB_NODELIST");
    char *names = ask(ASK_S, "scontrol", "show", "hostnames", list == NULL ? "" : list, NULL);
    struct text found = {0};
    int number = 0;
    for (char *rest = names, *name; (name = text_part(&rest, '\n')) != NULL;) {
        bool said = name[0] == '\0';
        for (int node = 0; node < gathered->nodes && !said; node++) {
            const char *own = gather_of(gathered, "name", node), *ready = gather_of(gathered, "ready", node);
            own = own == NULL ? ready : own;
            said = own != NULL && strcmp(own, name) == 0 && gather_of(gathered, fact, node) != NULL;
        }
        if (!said && ++number <= MOST_NAMED)
            text_join(&found, ", ", name);
    }
    if (number > MOST_NAMED)
        text_add(&found, " and %d more", number - MOST_NAMED);
    free(names);
    return found.bytes == NULL ? text_of("%s", "") : found.bytes;
}
