/* attempt: what was seen of each execution, and its record. */
#include "witness/attempt.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/nodes.h"
#include "witness/script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char mute[] = "not watched: in an earlier run of this job the witnesses had not answered in time";

/* From "open" on until all of it is written. */
struct attempt {
    int run; /* its number; 0: none yet */
    char *folder, *directory, *problem;
    bool watched, closing, written;
    struct own own;
    struct gathered seen;
    char **expected; /* "NODES:RANKS:PHASE" */
    size_t expected_count;
    enum placed placed;
    int64_t until_us;
};

static struct {
    const struct job *job;
    const struct around *around;
    struct attempt attempts[2];
    int runs;
    bool is_mute;
} serve;

void attempt_serve(const struct job *job, const struct around *around)
{
    serve.job = job;
    serve.around = around;
}

static struct attempt *current(void)
{
    return &serve.attempts[serve.runs % 2];
}

void attempt_keep(const struct told *told)
{
    for (int i = 0; i < 2; i++)
        if (told->run == serve.attempts[i].run)
            gather_add(&serve.attempts[i].seen, told);
}

static void write_record(const struct attempt *attempt)
{
    int error = record_write(attempt->folder, serve.around, &attempt->own);
    if (error != 0)
        warn("cannot write '%s/environment.json': %s", attempt->folder, strerror(-error));
}

void attempt_open(const char *folder, const char *directory)
{
    serve.runs++;
    struct attempt *attempt = current();
    gather_free(&attempt->seen);
    free(attempt->folder);
    free(attempt->directory);
    free(attempt->problem);
    for (size_t i = 0; i < attempt->expected_count; i++)
        free(attempt->expected[i]);
    free(attempt->expected);
    *attempt = (struct attempt){.run = serve.runs, .seen.nodes = nodes_count()};
    attempt->folder = text_of("%s", folder);
    attempt->directory = text_of("%s", directory);
    attempt->own = (struct own){.made = "null", .before = record_space(directory)};
    write_record(attempt);
}

/* Why not all have said it. Where they run and do not answer, no later run of the job waits for them again. */
static void missed(struct attempt *attempt, const char *fact, int limit_s)
{
    if (attempt->problem == NULL && !script_over()) {
        char *names = nodes_silent(&attempt->seen, fact), *within = nodes_run() ? text_of(" within %d s", limit_s) : text_of("%s", "");
        char *error = nodes_complaint();
        attempt->problem =
            text_of("no answer from the witness of %s%s%s%s", names, within, error[0] == '\0' ? "" : ": ", error);
        free(names);
        free(within);
        free(error);
    }
    serve.is_mute = serve.is_mute || nodes_run();
    nodes_stop();
}

const char *attempt_ready(void)
{
    struct attempt *attempt = current();
    if (attempt->watched && attempt->problem == NULL && !nodes_await(&attempt->seen, "ready", attempt->until_us))
        missed(attempt, "ready", serve.job->limits.ready);
    return attempt->problem == NULL ? "" : attempt->problem;
}

static void judge_placement(struct attempt *attempt)
{
    attempt->placed = PLACED_EVENLY;
    for (size_t i = 0; i < attempt->expected_count; i++) {
        char *rest = attempt->expected[i], *nodes = text_part(&rest, ':'), *ranks = text_part(&rest, ':');
        enum placed placed = gather_placed(attempt->seen.ranks, attempt->seen.rank_count, rest == NULL ? "" : rest, atoi(nodes),
                                           ranks == NULL ? "0" : ranks);
        if (placed != PLACED_EVENLY && attempt->placed != PLACED_IN_PART)
            attempt->placed = placed;
    }
}

static void write_ranks(const struct attempt *attempt)
{
    char *path = text_of("%s/ran.txt", attempt->folder);
    FILE *file = fopen(path, "we");
    bool failed = file == NULL;
    for (size_t i = 0; !failed && i < attempt->seen.rank_count; i++)
        failed = fprintf(file, "%s\n", attempt->seen.ranks[i]) < 0;
    if (file != NULL)
        failed = fclose(file) != 0 || failed;
    if (failed)
        warn("cannot write '%s': %s", path, strerror(errno));
    free(path);
}

/* A line for each reading: NODE, and what it said. */
static void write_energy(const struct attempt *attempt)
{
    char *path = text_of("%s/energy.txt", attempt->folder);
    FILE *file = gather_said(&attempt->seen, "energy") > 0 ? fopen(path, "we") : NULL;
    bool failed = false;
    for (int node = 0; file != NULL && node < attempt->seen.nodes; node++) {
        const char *said = gather_of(&attempt->seen, "energy", node), *name = gather_of(&attempt->seen, "name", node);
        char *all = text_of("%s", said == NULL ? "" : said), *rest = all;
        for (char *line; (line = text_part(&rest, ';')) != NULL;)
            if (name != NULL && line[0] != '\0')
                failed = fprintf(file, "%s %s\n", name, line + (line[0] == ' ')) < 0 || failed;
        free(all);
    }
    if (file != NULL)
        failed = fclose(file) != 0 || failed;
    if (failed || (file == NULL && gather_said(&attempt->seen, "energy") > 0))
        warn("cannot write '%s': %s", path, strerror(errno));
    free(path);
}

static void finish(struct attempt *attempt)
{
    attempt->written = true;
    gather_sort(attempt->seen.ranks, attempt->seen.rank_count);
    judge_placement(attempt);
    if (attempt->watched) {
        write_ranks(attempt);
        write_energy(attempt);
        attempt->own.ran = &attempt->seen;
        attempt->own.problem = attempt->problem;
    }
    write_record(attempt);
    if (attempt->placed != PLACED_EVENLY)
        return;
    char *from = text_of("%s/completion.json.new", attempt->folder), *to = text_of("%s/completion.json", attempt->folder);
    struct stat made;
    if (lstat(from, &made) == 0 && S_ISREG(made.st_mode) && rename(from, to) != 0)
        warn("cannot write '%s': %s", to, strerror(errno));
    free(from);
    free(to);
}

void attempt_watch(const char *launcher)
{
    struct attempt *attempt = current();
    attempt->watched = true;
    attempt->until_us = ask_now_us() + serve.job->limits.ready * (int64_t)1000000;
    if (serve.is_mute) {
        attempt->problem = text_of("%s", mute);
        return;
    }
    if (!nodes_run()) {
        struct attempt *before = &serve.attempts[(serve.runs + 1) % 2];
        if (before->closing && !before->written) {
            missed(before, "end", serve.job->limits.end);
            finish(before);
        }
        nodes_stop();
        nodes_start(false);
    }
    nodes_tell("run %d\t%s\t%s\n", attempt->run, attempt->folder, launcher);
}

void attempt_close(const char *made, char *expected)
{
    struct attempt *attempt = current();
    attempt->own.made = strcmp(made, "true") == 0 ? "true" : "false";
    attempt->own.after = record_space(attempt->directory);
    for (char *each; (each = text_part(&expected, '\t')) != NULL;) {
        attempt->expected = text_grow(attempt->expected, attempt->expected_count, sizeof *attempt->expected);
        attempt->expected[attempt->expected_count++] = text_of("%s", each);
    }
    attempt->closing = true;
    attempt->until_us = ask_now_us() + serve.job->limits.end * (int64_t)1000000;
    if (attempt->watched && attempt->problem == NULL && nodes_listen())
        nodes_tell("end\n");
    else
        finish(attempt);
}

/* The attempts of which all has been said. */
void attempt_write_some(void)
{
    for (int i = 0; i < 2; i++) {
        struct attempt *attempt = &serve.attempts[i];
        if (attempt->closing && !attempt->written && gather_said(&attempt->seen, "end") == nodes_count())
            finish(attempt);
    }
}

const char *attempt_closed(void)
{
    static const char *const words[] = {[PLACED_EVENLY] = "", [PLACED_OTHERWISE] = "other", [PLACED_IN_PART] = "part"};
    struct attempt *attempt = NULL; /* the one that was closed last: the next may be open already */
    for (int i = 0; i < 2; i++)
        if (serve.attempts[i].closing && (attempt == NULL || serve.attempts[i].run > attempt->run))
            attempt = &serve.attempts[i];
    if (attempt == NULL)
        return "";
    if (!attempt->written) {
        nodes_tell("now\n");
        if (!nodes_await(&attempt->seen, "end", attempt->until_us))
            missed(attempt, "end", serve.job->limits.end);
        if (attempt->problem == NULL && gather_said(&attempt->seen, "end") < nodes_count())
            attempt->problem = text_of("the job was ended");
        finish(attempt);
    }
    return words[attempt->placed];
}
