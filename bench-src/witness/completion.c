/* completion: how a run ended. */
#include "witness/completion.h"

#include "common/die.h"
#include "common/emit.h"
#include "witness/facts.h"
#include "witness/text.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    TEXT,
    WHOLE,   /* a whole number */
    SECONDS, /* a time */
    TIMES,   /* several, with blanks between */
};

/* What a word says. */
struct member {
    const char *key;
    enum kind kind;
    bool optional; /* left out where the word is empty */
};

static const struct member of_run[] = {
    {"run", TEXT, false},          {"attempt", WHOLE, false},        {"token", TEXT, false},      {"outcome", TEXT, false},
    {"reason", TEXT, false},       {"exit_status", WHOLE, false},    {"started", SECONDS, false}, {"ended", SECONDS, false},
    {"uptime", TIMES, true},       {"suspended", TIMES, false},      {"leftover_files", WHOLE, false},
    {"unended", TEXT, true},
};
/* Behind those, of each phase; none where the run has no names for its phases. */
static const struct member of_phase[] = {
    {"phase", TEXT, false},    {"exit_status", WHOLE, false}, {"started", SECONDS, false},
    {"ended", SECONDS, false}, {"uptime", TIMES, true},
};
enum { RUN_WORDS = sizeof of_run / sizeof *of_run, PHASE_WORDS = sizeof of_phase / sizeof *of_phase };

static bool is_whole(const char *word)
{
    char *rest;
    errno = 0;
    strtoll(word, &rest, 10);
    return rest != word && *rest == '\0' && errno == 0;
}

static bool is_time(const char *word)
{
    char *rest;
    double value = strtod(word, &rest);
    return rest != word && *rest == '\0' && isfinite(value);
}

/* Gives each of several times to `with`; whether all are times. */
static bool for_each_time(const char *word, void (*with)(double time_s))
{
    bool right = true;
    char *copy = text_of("%s", word), *rest = copy;
    for (char *time; (time = text_part(&rest, ' ')) != NULL;)
        if (time[0] != '\0') {
            right = right && is_time(time);
            with(strtod(time, NULL));
        }
    free(copy);
    return right;
}

static void pass_over(double time_s)
{
    (void)time_s;
}

static void emit_time(double time_s)
{
    emit_real(NULL, time_s, 6);
}

static bool is_left_out(const struct member *member, const char *word)
{
    return member->optional && word[0] == '\0';
}

static bool is_right(const struct member *member, const char *word)
{
    switch (member->kind) {
    case WHOLE: return is_whole(word);
    case SECONDS: return is_time(word);
    case TIMES: return for_each_time(word, pass_over);
    default: return true;
    }
}

static void emit_member(const struct member *member, const char *phase, const char *word)
{
    struct fact fact = {.source = "job", .phase = phase, .name = member->key};
    if (is_left_out(member, word))
        return;
    fact.unit = member->kind == SECONDS || member->kind == TIMES ? "s" : NULL;
    switch (member->kind) {
    case WHOLE: facts_int(fact, strtoll(word, NULL, 10)); break;
    case SECONDS: facts_real(fact, strtod(word, NULL)); break;
    case TIMES:
        facts_begin(&fact);
        emit_group("value", '[');
        for_each_time(word, emit_time);
        emit_group_end(']');
        facts_end(&fact);
        break;
    default: facts_text(fact, word);
    }
}

/* The key of the first word that is not what it should be; NULL for none. */
static const char *wrong_word(char **words)
{
    for (size_t i = 0; i < RUN_WORDS; i++)
        if (!is_right(&of_run[i], words[i]))
            return of_run[i].key;
    for (size_t i = 0; words[RUN_WORDS + i] != NULL; i++)
        if (!is_right(&of_phase[i % PHASE_WORDS], words[RUN_WORDS + i]))
            return of_phase[i % PHASE_WORDS].key;
    return NULL;
}

static void emit_slurm(void)
{
    static const char *const names[][2] = {
        {"job_id", "SLURM_JOB_ID"}, {"job_name", "SLURM_JOB_NAME"}, {"cluster", "SLURM_CLUSTER_NAME"}, {"nodes", "SLURM_JOB_NODELIST"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i][1]);
        facts_text((struct fact){.source = "job", .name = names[i][0]}, value == NULL ? "" : value);
    }
    const char *restarts = getenv("SLURM_RESTART_COUNT");
    facts_int((struct fact){.source = "job", .name = "restart_count"}, restarts == NULL ? 0 : atoi(restarts));
}

static void emit_words(char **words)
{
    for (size_t i = 0; i < RUN_WORDS; i++)
        emit_member(&of_run[i], NULL, words[i]);
    emit_slurm();
    for (words += RUN_WORDS; words[0] != NULL; words += PHASE_WORDS)
        for (size_t i = 1; i < PHASE_WORDS; i++)
            emit_member(&of_phase[i], words[0], words[i]);
}

int completion_write(const char *folder, char **words)
{
    size_t count = 0;
    signal(SIGTERM, SIG_IGN); /* a job that ends is recorded */
    signal(SIGINT, SIG_IGN);
    while (words[count] != NULL)
        count++;
    if (count < RUN_WORDS || (count - RUN_WORDS) % PHASE_WORDS != 0)
        return usage_error("a completion has %d words, and %d for each phase; found %zu", RUN_WORDS, PHASE_WORDS, count);
    const char *wrong = wrong_word(words);
    if (wrong != NULL) {
        warn("cannot write '%s/facts.jsonl': %s is not a number", folder, wrong);
        return EXIT_CODE_FAILED;
    }
    int error = facts_open(folder, false);
    if (error == 0) {
        emit_words(words);
        error = facts_close(true);
    }
    if (error != 0)
        warn("cannot write '%s/facts.jsonl': %s", folder, strerror(-error));
    return error == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}
