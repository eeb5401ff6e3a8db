/* around: the job's environment. */
#include "witness/around.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/nodes.h"
#include "witness/say.h"
#include "witness/script.h"
#include "witness/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASK_S = 15 };

/* Adds texts to a list with NULL at its end. */
static void add_texts(char ***list, const char *const *texts, size_t count)
{
    size_t used = 0;
    while (*list != NULL && (*list)[used] != NULL)
        used++;
    *list = realloc(*list, (used + count + 1) * sizeof **list);
    if (*list == NULL)
        die("no memory for a list of %zu", used + count + 1);
    for (size_t i = 0; i < count; i++)
        (*list)[used + i] = text_of("%s", texts[i]);
    (*list)[used + count] = NULL;
}

static void add_pair(char ***pairs, const char *name, const char *value)
{
    add_texts(pairs, (const char *const[]){name, value}, 2);
}

struct command {
    const char *name;
    char *words[7];
};

/* What it says, with "; " between its lines, or its first line alone; NULL where it failed. To be freed. */
static char *said_by(struct asked *asked, bool first_line)
{
    if (asked->status != 0 || asked->said.used == 0)
        return NULL;
    struct text told = {0};
    for (char *rest = asked->said.bytes, *line; (line = text_part(&rest, '\n')) != NULL && !(first_line && told.used > 0);)
        if (line[0] != '\0')
            text_join(&told, "; ", line);
    return told.bytes;
}

/* What the file system's own tools say. */
static void ask_storage(struct around *around)
{
    char *type, *source, *directory = (char *)around->directory;
    target_mounted(directory, &type, &source);
    const char *slash = source == NULL ? NULL : strrchr(source, '/');
    const struct {
        const char *type;
        struct command command;
    } tools[] = {
        {"lustre", {"lfs getstripe -d", {"lfs", "getstripe", "-d", directory}}},
        {"lustre", {"lfs getdirstripe -d", {"lfs", "getdirstripe", "-d", directory}}},
        {"lustre", {"lfs mdts", {"lfs", "mdts", directory}}},
        {"lustre", {"lfs osts", {"lfs", "osts", directory}}},
        {"beegfs", {"beegfs-ctl --getentryinfo", {"beegfs-ctl", "--getentryinfo", directory}}},
        {"gpfs", {"mmlsfs", {"/usr/lpp/mmfs/bin/mmlsfs", (char *)(slash == NULL ? source : slash + 1)}}},
    };
    struct asked asked[sizeof tools / sizeof *tools];
    const char *names[sizeof tools / sizeof *tools];
    size_t count = 0;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (type != NULL && strcmp(type, tools[i].type) == 0) {
            names[count] = tools[i].command.name;
            ask_start(&asked[count++], tools[i].command.words, NULL, false, NULL);
        }
    ask_all(asked, count, ASK_S);
    for (size_t i = 0; i < count; i++) {
        char *told = said_by(&asked[i], false);
        if (told != NULL)
            add_pair(&around->storage, names[i], told);
        free(told);
        text_free(&asked[i].said);
    }
    free(type);
    free(source);
}

static void ask_slurm(struct around *around, const struct job *about)
{
    const char *id = getenv("SLURM_JOB_ID");
    char *job = (char *)(id == NULL ? "" : id);
    char mark[64], format[96];
    snprintf(mark, sizeof mark, "@%lld@", (long long)(ask_now_us() * 40503 % 1000000007)); /* begins a job's line */
    snprintf(format, sizeof format, "--format=%s %%A %%j %%Z", mark);
    struct command commands[] = {
        {"job", {"env", "SLURM_TIME_FORMAT=%s", "scontrol", "--oneliner", "show", "job", job}},
        {"jobs", {"squeue", "--noheader", "--states=running", format}},
        {"srun", {"srun", "--version"}},
        {"mpirun", {"mpirun", "--version"}},
        {"lfs", {"lfs", "--version"}},
    };
    enum { COUNT = sizeof commands / sizeof *commands };
    struct asked asked[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        char *words[sizeof commands->words / sizeof *commands->words + 1] = {NULL};
        memcpy(words, commands[i].words, sizeof commands[i].words);
        ask_start(&asked[i], words, NULL, false, NULL);
    }
    ask_all(asked, COUNT, ASK_S);
    around->job = said_by(&asked[0], true);
    if (around->job == NULL)
        around->job = text_of("%s", "");
    around->other_jobs = -1;
    if (asked[1].status == 0) {
        if (asked[1].said.bytes == NULL)
            text_add(&asked[1].said, "%s", "");
        around->other_jobs =
            record_other_jobs(asked[1].said.bytes, mark, job, about->independent, about->independent_count);
    }
    for (size_t i = 2; i < COUNT; i++) {
        char *told = said_by(&asked[i], true);
        if (told != NULL)
            add_pair(&around->software, commands[i].name, told);
        free(told);
    }
    for (size_t i = 0; i < COUNT; i++)
        text_free(&asked[i].said);
}

/* Where no node can be asked, this one speaks for itself. */
static void speak_for_itself(const struct job *job)
{
    char *words[64] = {"/proc/self/exe", "node", "-d", (char *)job->directory, "-x", (char *)job->executable, "--"};
    size_t count = 7;
    for (size_t i = 0; job->prefix[i] != NULL && count < sizeof words / sizeof *words - 1; i++)
        words[count++] = job->prefix[i];
    struct asked asked;
    ask_start(&asked, words, NULL, false, NULL);
    ask_all(&asked, 1, ASK_S);
    nodes_take(&asked.said);
    text_free(&asked.said);
}

/* The nodes that said this of the target, by name; NULL for none. To be freed. */
static char *seen_as(const struct around *around, const char *what)
{
    struct text names = {0};
    for (int node = 0; node < nodes_count(); node++) {
        const char *seen = gather_of(&around->nodes, "target.seen", node);
        const char *name = gather_of(&around->nodes, "name", node);
        if (seen != NULL && strcmp(seen, what) == 0)
            text_join(&names, ", ", name == NULL ? "a node" : name);
    }
    return names.bytes;
}

static void nodes_did_not_answer(struct around *around, const struct job *job)
{
    char *error = nodes_complaint(), *said, *problem;
    if (nodes_run())
        said = text_of("the nodes had %d s to answer", job->limits.answer);
    else
        said = text_of("srun, by which the nodes are asked, ended with status %d%s%s", nodes_status(),
                       error[0] == '\0' ? "" : ": ", error);
    nodes_stop(); /* who does not answer sees no run either */
    if (gather_said(&around->nodes, "name") == 0 && !script_over())
        speak_for_itself(job);
    char *names = nodes_silent(&around->nodes, "end");
    problem = text_of("%s%s%s", said, names[0] == '\0' ? "" : "; no answer from ", names);
    add_texts(&around->problems, (const char *const[]){problem}, 1);
    free(problem);
    free(names);
    free(said);
    free(error);
}

struct around *around_begin(const struct job *job)
{
    static struct around around;
    around = (struct around){.started_s = record_now_s(), .directory = job->directory, .executable = job->executable};
    around.nodes.nodes = nodes_count();
    char *script = text_of("/proc/%d/environ", (int)getppid());
    text_file(&around.first, script);
    free(script);
    return &around;
}

char *around_look(struct around *around, const struct job *job, int64_t started_us)
{
    around->space = record_space(job->directory);
    ask_slurm(around, job);
    ask_storage(around);
    if (!nodes_await(&around->nodes, "end", started_us + job->limits.answer * (int64_t)1000000))
        nodes_did_not_answer(around, job);
    else if (!job->watches)
        nodes_stop();
    around->ended_s = record_now_s();
    int error = record_job(job->folder, around);
    if (error != 0)
        warn("cannot write '%s/facts.jsonl': %s", job->folder, strerror(-error));
    char *missing = seen_as(around, "missing"), *apart = seen_as(around, "apart"), *refusal = NULL;
    if (missing != NULL)
        refusal = text_of("%s does not exist on %s; create it where all nodes see it", job->directory, missing);
    else if (apart != NULL)
        refusal = text_of("%s is not shared: %s created a file in it that %s cannot see; name a directory that all nodes see",
                          job->directory, say_node(), apart);
    free(missing);
    free(apart);
    return refusal;
}
