/* attempt: what was seen of each execution, and its record. */
#include "witness/attempt.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/nodes.h"
#include "witness/packages.h"
#include "witness/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char mute[] = "not watched: in an earlier run of this job the witnesses had not answered in time";

/* From "begin" on until all of it is written. */
struct attempt {
    int run; /* its number; 0: none yet */
    char *folder, *directory, *problem;
    bool watched, made, ended, closing, written; /* made: its directory; ended: how it ended is recorded */
    struct space after;
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

static void report(const struct attempt *attempt, int error)
{
    if (error != 0)
        warn("cannot write '%s/facts.jsonl': %s", attempt->folder, strerror(-error));
}

void attempt_begin(const char *folder, const char *directory)
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
    const struct space before = record_space(directory);
    report(attempt, record_begin(folder, serve.around, &before));
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

/* Of each phase that has ranks in these lines. */
static void emit_ranks(char *const *ranks, size_t count)
{
    char **phases = NULL;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        int behind = 0;
        sscanf(ranks[i], "%*s %*s %*s%n", &behind);
        const char *phase = ranks[i] + behind + (ranks[i][behind] == ' ');
        bool is_known = false;
        for (size_t k = 0; k < used && !is_known; k++)
            is_known = strcmp(phases[k], phase) == 0;
        if (is_known)
            continue;
        phases = text_grow(phases, used, sizeof *phases);
        phases[used++] = (char *)phase;
        gather_emit_ranks(ranks, count, phase,
                          (struct fact){.source = "ranks", .phase = phase[0] == '\0' ? NULL : phase, .name = "executed"});
    }
    free(phases);
}

/* A fact for each reading of a node. */
static void emit_energy(const struct gathered *seen)
{
    for (int node = 0; node < seen->nodes; node++) {
        const char *said = gather_of(seen, "energy", node), *name = gather_of(seen, "name", node);
        char *all = text_of("%s", said == NULL || name == NULL ? "" : said), *rest = all;
        for (char *line; (line = text_part(&rest, ';')) != NULL;) {
            char *text = line + (line[0] == ' '), *time = text_part(&text, ' '), *kind = text_part(&text, ' ');
            if (text != NULL)
                facts_text((struct fact){.source = "meter", .node = name, .name = kind, .time_s = strtod(time, NULL)}, text);
        }
        free(all);
    }
}

static void emit_seen(const struct attempt *attempt)
{
    facts_bool((struct fact){.source = "ranks", .name = "watched"}, true);
    gather_emit(&attempt->seen, "ranks");
    emit_ranks(attempt->seen.ranks, attempt->seen.rank_count);
    if (attempt->problem != NULL)
        facts_text((struct fact){.source = "ranks", .name = "problem"}, attempt->problem);
    emit_energy(&attempt->seen);
}

static void finish(struct attempt *attempt)
{
    attempt->written = true;
    gather_sort(attempt->seen.ranks, attempt->seen.rank_count);
    judge_placement(attempt);
    int error = facts_open(attempt->folder, false);
    if (error == 0) {
        facts_bool((struct fact){.source = "job", .name = "made"}, attempt->made);
        record_emit_space("after", &attempt->after);
        if (attempt->watched)
            emit_seen(attempt);
        packages_emit(attempt->folder, &attempt->seen);
        error = facts_close(true);
    }
    report(attempt, error);
    if (attempt->placed == PLACED_EVENLY && attempt->ended)
        report(attempt, facts_complete(attempt->folder));
}

void attempt_watch(const char *launcher, const char *directory)
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
    nodes_tell("run %d\t%s\t%s\t%s\n", attempt->run, attempt->folder, launcher, directory);
}

void attempt_close(bool made, bool ended, char *expected)
{
    struct attempt *attempt = current();
    attempt->made = made;
    attempt->ended = ended;
    attempt->after = record_space(attempt->directory);
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
