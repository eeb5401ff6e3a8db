/* job: serves the job's script. */
#include "witness/job.h"

#include "common/die.h"
#include "witness/around.h"
#include "witness/ask.h"
#include "witness/attempt.h"
#include "witness/inputs.h"
#include "witness/lock.h"
#include "witness/nodes.h"
#include "witness/script.h"
#include "witness/storage.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct job *job;
    struct around *around;
    int64_t started_us; /* the nodes */
} serve;

static void keep(const struct told *told)
{
    if (told->run == 0)
        gather_add(&serve.around->nodes, told);
    else
        attempt_keep(told);
}

/* Gives an answer that is to be freed, NULL being nothing. */
static void answer(char *text)
{
    script_answer("%s", text == NULL ? "" : text);
    free(text);
}

static void take_target(void)
{
    char *refusal = serve.job->shares ? NULL : lock_take(serve.job);
    if (refusal == NULL && !script_over())
        serve.job->mark = storage_make_mark(serve.job);
    if (!script_over()) { /* nobody measures here meanwhile; the step takes longest to start */
        serve.started_us = ask_now_us();
        nodes_start(true);
    }
    if (refusal == NULL && !script_over())
        refusal = storage_same_mount(serve.job);
    if (refusal == NULL && !script_over())
        refusal = storage_shared(serve.job);
    answer(refusal);
}

static void look_around(void)
{
    char *refusal = around_look(serve.around, serve.job, serve.started_us);
    storage_remove_mark();
    answer(refusal);
}

static void obey(char *line)
{
    char *rest = line, *word = text_part(&rest, '\t');
    if (strcmp(word, "lock") == 0) {
        take_target();
    } else if (strcmp(word, "around") == 0) {
        look_around();
    } else if (strcmp(word, "begin") == 0 && rest != NULL) {
        char *folder = text_part(&rest, '\t');
        attempt_begin(folder, rest == NULL ? "" : rest);
        script_answer("%s", "");
    } else if (strcmp(word, "inputs") == 0 && rest != NULL) {
        inputs_are(rest);
    } else if (strcmp(word, "hash") == 0 && rest != NULL) {
        inputs_hash(rest);
        script_answer("%s", "");
    } else if (strcmp(word, "watch") == 0 && rest != NULL) {
        char *launcher = text_part(&rest, '\t');
        attempt_watch(launcher, rest == NULL ? "" : rest);
    } else if (strcmp(word, "ready") == 0) {
        script_answer("%s", attempt_ready());
    } else if (strcmp(word, "phase") == 0) {
        nodes_tell("phase\n");
    } else if (strcmp(word, "close") == 0 && rest != NULL) {
        char *made = text_part(&rest, '\t'), *ended = text_part(&rest, '\t');
        attempt_close(strcmp(made, "true") == 0, ended != NULL && strcmp(ended, "true") == 0, rest);
    } else if (strcmp(word, "closed") == 0) {
        script_answer("%s", attempt_closed());
    } else if (strcmp(word, "leave") == 0) {
        lock_release();
    } else if (strcmp(word, "over") != 0) { /* a script that asks would wait for its answer until the job's limit */
        script_answer("%s does not know '%s', which the job's script says: they are of different versions; build the benchmark "
                      "again (make build) and plan again",
                      program_invocation_name, word);
    }
}

int job_serve(struct job *job)
{
    char *line;
    signal(SIGTERM, SIG_IGN); /* the script is told, and says so */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    serve.job = job;
    nodes_open(job, keep);
    serve.around = around_begin(job);
    attempt_serve(job, serve.around);
    while ((line = script_line()) != NULL || !script_ended()) {
        if (line == NULL) {
            nodes_wait(-1);
            attempt_write_some();
            continue;
        }
        obey(line);
        free(line);
    }
    storage_remove_mark();
    nodes_dismiss();
    return EXIT_CODE_OK;
}
