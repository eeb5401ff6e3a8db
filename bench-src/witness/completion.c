/* completion: completion.json. */
#include "witness/completion.h"

#include "common/die.h"
#include "common/emit.h"
#include "witness/record.h"
#include "witness/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Each of these gives whether the word is what it should be. */
static bool emit_whole(const char *key, const char *word)
{
    char *rest;
    errno = 0;
    long long value = strtoll(word, &rest, 10);
    emit_int(key, value);
    return rest != word && *rest == '\0' && errno == 0;
}

static bool emit_time(const char *key, const char *word)
{
    char *rest;
    double value = strtod(word, &rest);
    emit_real(key, value, 6);
    return rest != word && *rest == '\0' && isfinite(value);
}

static bool emit_times(const char *key, const char *word)
{
    bool right = true;
    char *copy = text_of("%s", word), *rest = copy;
    emit_group(key, '[');
    for (char *time; (time = text_part(&rest, ' ')) != NULL;)
        if (time[0] != '\0')
            right = emit_time(NULL, time) && right;
    emit_group_end(']');
    free(copy);
    return right;
}

static bool emit_member(const struct member *member, const char *word)
{
    if (member->optional && word[0] == '\0')
        return true;
    switch (member->kind) {
    case WHOLE: return emit_whole(member->key, word);
    case SECONDS: return emit_time(member->key, word);
    case TIMES: return emit_times(member->key, word);
    default: record_cut(member->key, word); return true;
    }
}

/* NULL, or the key of the first word that is not what it should be. */
static const char *emit_members(const struct member *members, size_t count, char **words)
{
    const char *wrong = NULL;
    for (size_t i = 0; i < count; i++)
        if (!emit_member(&members[i], words[i]) && wrong == NULL)
            wrong = members[i].key;
    return wrong;
}

static const char *emit_phases(char **words)
{
    const char *wrong = NULL;
    if (words[0] == NULL)
        return NULL;
    emit_group("phases", '[');
    for (; words[0] != NULL; words += PHASE_WORDS) {
        emit_group(NULL, '{');
        const char *of_this = emit_members(of_phase, PHASE_WORDS, words);
        wrong = wrong == NULL ? of_this : wrong;
        emit_group_end('}');
    }
    emit_group_end(']');
    return wrong;
}

static void emit_slurm(void)
{
    static const char *const names[][2] = {
        {"job_id", "SLURM_JOB_ID"}, {"job_name", "SLURM_JOB_NAME"}, {"cluster", "SLURM_CLUSTER_NAME"}, {"nodes", "SLURM_JOB_NODELIST"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i][1]);
        record_cut(names[i][0], value == NULL ? "" : value);
    }
    const char *restarts = getenv("SLURM_RESTART_COUNT");
    emit_int("restart_count", restarts == NULL ? 0 : atoi(restarts));
}

/* Has all of a file on the disk: 0 or -errno. */
static int put_on_disk(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), error = fd < 0 || fsync(fd) != 0 ? -errno : 0;
    if (fd >= 0 && close(fd) != 0 && error == 0)
        error = -errno;
    return error;
}

int completion_write(const char *folder, char **words)
{
    size_t count = 0;
    signal(SIGTERM, SIG_IGN); /* a job that ends is recorded */
    signal(SIGINT, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large for the user's limit is an error then */
    while (words[count] != NULL)
        count++;
    if (count < RUN_WORDS || (count - RUN_WORDS) % PHASE_WORDS != 0)
        return usage_error("a completion has %d words, and %d for each phase; found %zu", RUN_WORDS, PHASE_WORDS, count);
    char *path = text_of("%s/completion.json.new", folder);
    const char *wrong = NULL;
    int error = emit_document(path);
    if (error == 0) {
        emit_int("format", 1);
        wrong = emit_members(of_run, RUN_WORDS, words);
        emit_slurm();
        const char *of_phases = emit_phases(words + RUN_WORDS);
        wrong = wrong == NULL ? of_phases : wrong;
        error = emit_document_end();
        if (error == 0)
            error = put_on_disk(path);
        if (error != 0 || wrong != NULL)
            unlink(path);
    }
    if (error != 0)
        warn("cannot write '%s': %s", path, strerror(-error));
    else if (wrong != NULL)
        warn("cannot write '%s': %s is not a number", path, wrong);
    free(path);
    return error == 0 && wrong == NULL ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}
