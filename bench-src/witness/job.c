/* job: serves the job's script. */
#include "witness/job.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/record.h"
#include "witness/target.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASK_S = 15, MOST_COMMANDS = 8, MOST_NAMED = 8, END_S = 10 };

static const char mute[] = "not watched: in an earlier run of this job the witnesses had not answered in time";

/* An attempt, from "open" on until all of it is written. */
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
    struct asked step; /* srun with the witnesses */
    char *errors;      /* the file that it complains into */
    int nodes, runs;
    bool is_mute, over, ended;
    struct text heard;
    struct around around;
    struct attempt attempts[2]; /* the next one may begin before the last one is written */
} serve;

static struct attempt *current(void)
{
    return &serve.attempts[serve.runs % 2];
}

static void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void answer(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0) {
        for (char *at = text; *at != '\0'; at++)
            if (*at == '\n')
                *at = ' ';
        printf("%s\n", text);
        fflush(stdout);
    }
    va_end(args);
    free(text);
}

/* --- the witnesses */

static void start(bool with_facts)
{
    const struct job *job = serve.job;
    const char *slash = strrchr(job->mark, '/');
    char own[4096], *words[32], **list = NULL;
    size_t count = 0, all = 0;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length < 0 ? 0 : length] = '\0';
    char *nodes = text_of("--nodes=%d", serve.nodes), *tasks = text_of("--ntasks=%d", serve.nodes);
    words[count++] = "srun";
    if (job->watches)
        words[count++] = "--overlap";
    words[count++] = nodes;
    words[count++] = tasks;
    words[count++] = "--ntasks-per-node=1";
    words[count++] = job->watches ? "--job-name=witness" : "--job-name=environment";
    words[count++] = "--mpi=none";
    words[count++] = "--cpu-bind=none";
    if (!job->watches)
        words[count++] = "--time=1";
    words[count++] = own;
    words[count++] = "node";
    if (job->watches)
        words[count++] = "-w";
    if (with_facts) {
        words[count++] = "-d";
        words[count++] = (char *)job->directory;
        words[count++] = "-x";
        words[count++] = (char *)job->executable;
        words[count++] = "-m";
        words[count++] = (char *)(slash == NULL ? job->mark : slash + 1);
        words[count++] = "--";
    }
    for (size_t i = 0; i < count; i++) {
        list = text_grow(list, all, sizeof *list);
        list[all++] = words[i];
    }
    for (size_t i = 0; with_facts && job->prefix[i] != NULL; i++) {
        list = text_grow(list, all, sizeof *list);
        list[all++] = job->prefix[i];
    }
    list = text_grow(list, all, sizeof *list);
    list[all] = NULL;
    ask_start(&serve.step, list, serve.errors, job->watches, job->folder);
    free(list);
    free(nodes);
    free(tasks);
}

static bool alive(void)
{
    return ask_runs(&serve.step);
}

static void stop(void)
{
    ask_end(&serve.step);
    text_free(&serve.step.said);
}

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (serve.step.in >= 0 && vdprintf(serve.step.in, format, args) < 0 && errno != EPIPE)
        warn("cannot tell the witnesses: %s", strerror(errno));
    va_end(args);
}

static void keep(char *line)
{
    struct told told;
    if (!gather_parse(line, &told))
        return;
    if (told.run == 0)
        gather_add(&serve.around.nodes, &told);
    for (int i = 0; i < 2; i++)
        if (told.run != 0 && told.run == serve.attempts[i].run)
            gather_add(&serve.attempts[i].seen, &told);
}

static void keep_lines(struct text *said)
{
    char *from = said->bytes, *end;
    if (from == NULL)
        return;
    while ((end = memchr(from, '\n', said->used - (size_t)(from - said->bytes))) != NULL) {
        *end = '\0';
        keep(from);
        from = end + 1;
    }
    said->used -= (size_t)(from - said->bytes);
    memmove(said->bytes, from, said->used + 1);
}

/* Takes what the script says; an ending job is not kept waiting by what it asked before. */
static void hear(void)
{
    char bytes[65536];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0)
        serve.ended = true;
    else
        text_add_bytes(&serve.heard, bytes, (size_t)got);
    if (serve.heard.bytes != NULL && (strncmp(serve.heard.bytes, "over\n", 5) == 0 || strstr(serve.heard.bytes, "\nover\n") != NULL))
        serve.over = true;
}

/* Waits for the script or a witness; not beyond that time, -1 being none. */
static void wait_until(int64_t until_us)
{
    struct pollfd ready[2] = {{serve.ended ? -1 : STDIN_FILENO, POLLIN, 0}, {serve.step.out, POLLIN, 0}};
    int64_t left_us = until_us - ask_now_us();
    int timeout_ms = until_us < 0 ? -1 : left_us <= 0 ? 0 : (int)(left_us / 1000) + 1;
    if (poll(ready, 2, timeout_ms) <= 0)
        return;
    if (ready[0].revents != 0)
        hear();
    if (ready[1].revents != 0) {
        ask_take(&serve.step);
        keep_lines(&serve.step.said);
    }
}

/* Until all nodes have said it; false where they will not, or not in time. */
static bool await(const struct gathered *gathered, const char *fact, int64_t until_us)
{
    while (gather_said(gathered, fact) < serve.nodes) {
        if (serve.over || serve.ended || ask_now_us() >= until_us || serve.step.out < 0)
            return false;
        wait_until(until_us);
    }
    return true;
}

/* The last line of what srun has complained; "" for nothing. To be freed. */
static char *complaint(void)
{
    char *text = text_line("%s", serve.errors), *last = NULL;
    FILE *file = text == NULL ? NULL : fopen(serve.errors, "re");
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

/* The nodes of the job that have not said a fact, the first ones by name. To be freed. */
static char *silent(const struct gathered *gathered, const char *fact)
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

/* --- the job's environment */

static void add_problem(const char *text)
{
    size_t count = 0;
    while (serve.around.problems != NULL && serve.around.problems[count] != NULL)
        count++;
    serve.around.problems = realloc(serve.around.problems, (count + 2) * sizeof *serve.around.problems);
    if (serve.around.problems == NULL)
        die("no memory for a list of %zu", count + 2);
    serve.around.problems[count] = text_of("%s", text);
    serve.around.problems[count + 1] = NULL;
}

static void add_pair(char ***pairs, const char *name, const char *value)
{
    size_t count = 0;
    while (*pairs != NULL && (*pairs)[count] != NULL)
        count++;
    *pairs = realloc(*pairs, (count + 3) * sizeof **pairs);
    if (*pairs == NULL)
        die("no memory for a list of %zu", count + 3);
    (*pairs)[count] = text_of("%s", name);
    (*pairs)[count + 1] = text_of("%s", value);
    (*pairs)[count + 2] = NULL;
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
static void ask_storage(void)
{
    char *type, *source, *directory = (char *)serve.job->directory;
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
            add_pair(&serve.around.storage, names[i], told);
        free(told);
        text_free(&asked[i].said);
    }
    free(type);
    free(source);
}

static void ask_slurm(void)
{
    const char *id = getenv("SLURM_JOB_ID");
    char *job = (char *)(id == NULL ? "" : id);
    char mark[64], format[80];
    snprintf(mark, sizeof mark, "@%lld@", (long long)(ask_now_us() * 40503 % 1000000007)); /* begins a job's line */
    snprintf(format, sizeof format, "--format=%s %%A %%k", mark);
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
    serve.around.job = said_by(&asked[0], true);
    if (serve.around.job == NULL)
        serve.around.job = text_of("%s", "");
    serve.around.other_jobs = -1;
    if (asked[1].status == 0) {
        if (asked[1].said.bytes == NULL)
            text_add(&asked[1].said, "%s", "");
        serve.around.other_jobs =
            record_other_jobs(asked[1].said.bytes, mark, job, serve.job->independent, serve.job->independent_count);
    }
    for (size_t i = 2; i < COUNT; i++) {
        char *told = said_by(&asked[i], true);
        if (told != NULL)
            add_pair(&serve.around.software, commands[i].name, told);
        free(told);
    }
    for (size_t i = 0; i < COUNT; i++)
        text_free(&asked[i].said);
}

/* Where no node can be asked, this one speaks for itself. */
static void speak_for_itself(void)
{
    const struct job *job = serve.job;
    char *words[64] = {"/proc/self/exe", "node", "-d", (char *)job->directory, "-x", (char *)job->executable, "--"};
    size_t count = 7;
    for (size_t i = 0; job->prefix[i] != NULL && count < sizeof words / sizeof *words - 1; i++)
        words[count++] = job->prefix[i];
    struct asked asked;
    ask_start(&asked, words, NULL, false, NULL);
    ask_all(&asked, 1, ASK_S);
    keep_lines(&asked.said);
    text_free(&asked.said);
}

/* The nodes that said this of the target, by name; NULL for none. To be freed. */
static char *seen_as(const char *what)
{
    struct text names = {0};
    for (int node = 0; node < serve.nodes; node++) {
        const char *seen = gather_of(&serve.around.nodes, "target.seen", node);
        const char *name = gather_of(&serve.around.nodes, "name", node);
        if (seen != NULL && strcmp(seen, what) == 0)
            text_join(&names, ", ", name == NULL ? "a node" : name);
    }
    return names.bytes;
}

static void nodes_did_not_answer(void)
{
    char *error = complaint(), *said, *problem;
    if (alive())
        said = text_of("the nodes had %d s to answer", serve.job->limits.answer);
    else
        said = text_of("srun, by which the nodes are asked, ended with status %d%s%s", serve.step.status,
                       error[0] == '\0' ? "" : ": ", error);
    stop(); /* who does not answer sees no run either */
    if (gather_said(&serve.around.nodes, "name") == 0 && !serve.over)
        speak_for_itself();
    char *names = silent(&serve.around.nodes, "end");
    problem = text_of("%s%s%s", said, names[0] == '\0' ? "" : "; no answer from ", names);
    add_problem(problem);
    free(problem);
    free(names);
    free(said);
    free(error);
}

static void look_around(int64_t started_us)
{
    const struct job *job = serve.job;
    serve.around.space = record_space(job->directory);
    ask_slurm();
    ask_storage();
    if (!await(&serve.around.nodes, "end", started_us + job->limits.answer * (int64_t)1000000))
        nodes_did_not_answer();
    else if (!job->watches)
        stop();
    serve.around.ended_s = record_now_s();
    int error = record_write(job->folder, &serve.around, NULL);
    if (error != 0)
        warn("cannot write '%s/environment.json': %s", job->folder, strerror(-error));
    const char *host = getenv("SLURMD_NODENAME");
    char here[256] = "";
    gethostname(here, sizeof here - 1);
    char *missing = seen_as("missing"), *apart = seen_as("apart");
    if (missing != NULL)
        answer("%s does not exist on %s; create it where all nodes see it", job->directory, missing);
    else if (apart != NULL)
        answer("%s is not shared: %s created a file in it that %s cannot see; name a directory that all nodes see", job->directory,
               host == NULL ? here : host, apart);
    else
        answer("%s", "");
    free(missing);
    free(apart);
}

/* --- attempts */

static void write_attempt(const struct attempt *attempt)
{
    int error = record_write(attempt->folder, &serve.around, &attempt->own);
    if (error != 0)
        warn("cannot write '%s/environment.json': %s", attempt->folder, strerror(-error));
}

static void open_attempt(const char *folder, const char *directory)
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
    *attempt = (struct attempt){.run = serve.runs, .seen.nodes = serve.nodes};
    attempt->folder = text_of("%s", folder);
    attempt->directory = text_of("%s", directory);
    attempt->own = (struct own){.made = "null", .before = record_space(directory)};
    write_attempt(attempt);
}

/* Why not all have said it. Where they run and do not answer, no later run of the job waits for them again. */
static void missed(struct attempt *attempt, const char *fact, int limit_s)
{
    if (attempt->problem == NULL && !serve.over) {
        char *names = silent(&attempt->seen, fact), *within = alive() ? text_of(" within %d s", limit_s) : text_of("%s", "");
        char *error = complaint();
        attempt->problem =
            text_of("no answer from the witness of %s%s%s%s", names, within, error[0] == '\0' ? "" : ": ", error);
        free(names);
        free(within);
        free(error);
    }
    serve.is_mute = serve.is_mute || alive();
    stop();
}

static void ready_attempt(void)
{
    struct attempt *attempt = current();
    if (attempt->watched && attempt->problem == NULL && !await(&attempt->seen, "ready", attempt->until_us))
        missed(attempt, "ready", serve.job->limits.ready);
    answer("%s", attempt->problem == NULL ? "" : attempt->problem);
}

static void judge_placement(struct attempt *attempt)
{
    attempt->placed = PLACED_EVENLY;
    for (size_t i = 0; i < attempt->expected_count; i++) {
        char *rest = attempt->expected[i], *nodes = text_part(&rest, ':'), *ranks = text_part(&rest, ':');
        enum placed placed = gather_placed(attempt->seen.ranks, attempt->seen.rank_count, rest == NULL ? "" : rest, atoi(nodes),
                                           ranks == NULL ? 0 : atoi(ranks));
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

static void finish(struct attempt *attempt)
{
    attempt->written = true;
    gather_sort(attempt->seen.ranks, attempt->seen.rank_count);
    judge_placement(attempt);
    if (attempt->watched) {
        write_ranks(attempt);
        attempt->own.ran = &attempt->seen;
        attempt->own.problem = attempt->problem;
    }
    write_attempt(attempt);
    if (attempt->placed != PLACED_EVENLY)
        return;
    char *from = text_of("%s/completion.json.new", attempt->folder), *to = text_of("%s/completion.json", attempt->folder);
    struct stat made;
    if (lstat(from, &made) == 0 && S_ISREG(made.st_mode) && rename(from, to) != 0)
        warn("cannot write '%s': %s", to, strerror(errno));
    free(from);
    free(to);
}

static void watch_attempt(const char *launcher)
{
    struct attempt *attempt = current();
    attempt->watched = true;
    attempt->until_us = ask_now_us() + serve.job->limits.ready * (int64_t)1000000;
    if (serve.is_mute) {
        attempt->problem = text_of("%s", mute);
        return;
    }
    if (!alive()) {
        struct attempt *before = &serve.attempts[(serve.runs + 1) % 2];
        if (before->closing && !before->written) {
            missed(before, "end", serve.job->limits.end);
            finish(before);
        }
        stop();
        start(false);
    }
    tell("run %d\t%s\t%s\n", attempt->run, attempt->folder, launcher);
}

static void close_attempt(const char *made, char *expected)
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
    if (attempt->watched && attempt->problem == NULL && serve.step.in >= 0)
        tell("end\n");
    else
        finish(attempt);
}

/* The attempts of which all has been said. */
static void finish_some(void)
{
    for (int i = 0; i < 2; i++) {
        struct attempt *attempt = &serve.attempts[i];
        if (attempt->closing && !attempt->written && gather_said(&attempt->seen, "end") == serve.nodes)
            finish(attempt);
    }
}

static void closed_attempt(void)
{
    static const char *const words[] = {[PLACED_EVENLY] = "", [PLACED_OTHERWISE] = "other", [PLACED_IN_PART] = "part"};
    struct attempt *attempt = NULL; /* the one that was closed last: the next may be open already */
    for (int i = 0; i < 2; i++)
        if (serve.attempts[i].closing && (attempt == NULL || serve.attempts[i].run > attempt->run))
            attempt = &serve.attempts[i];
    if (attempt == NULL) {
        answer("%s", "");
        return;
    }
    if (!attempt->written) {
        if (!await(&attempt->seen, "end", attempt->until_us))
            missed(attempt, "end", serve.job->limits.end);
        if (attempt->problem == NULL && gather_said(&attempt->seen, "end") < serve.nodes)
            attempt->problem = text_of("the job was ended");
        finish(attempt);
    }
    answer("%s", words[attempt->placed]);
}

/* --- the script */

static void obey(char *line, int64_t started_us)
{
    char *rest = line, *word = text_part(&rest, '\t');
    if (strcmp(word, "around") == 0) {
        look_around(started_us);
    } else if (strcmp(word, "open") == 0 && rest != NULL) {
        char *folder = text_part(&rest, '\t');
        open_attempt(folder, rest == NULL ? "" : rest);
    } else if (strcmp(word, "watch") == 0 && rest != NULL) {
        watch_attempt(rest);
    } else if (strcmp(word, "ready") == 0) {
        ready_attempt();
    } else if (strcmp(word, "phase") == 0) {
        tell("phase\n");
    } else if (strcmp(word, "close") == 0 && rest != NULL) {
        char *made = text_part(&rest, '\t');
        close_attempt(made, rest);
    } else if (strcmp(word, "closed") == 0) {
        closed_attempt();
    }
}

/* Takes the next line of the script's; false where none is there yet. To be freed. */
static char *next_line(void)
{
    char *end = serve.heard.bytes == NULL ? NULL : strchr(serve.heard.bytes, '\n'), *line;
    if (end == NULL)
        return NULL;
    *end = '\0';
    line = text_of("%s", serve.heard.bytes);
    serve.heard.used -= (size_t)(end + 1 - serve.heard.bytes);
    memmove(serve.heard.bytes, end + 1, serve.heard.used + 1);
    return line;
}

int job_serve(const struct job *job)
{
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");
    int64_t started_us = ask_now_us();
    signal(SIGTERM, SIG_IGN); /* the script is told, and says so */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    serve.job = job;
    serve.nodes = nodes == NULL || atoi(nodes) < 1 ? 1 : atoi(nodes);
    serve.errors = text_of("%s/witness.err", job->folder);
    serve.around = (struct around){.started_s = record_now_s(), .directory = job->directory, .executable = job->executable};
    serve.around.nodes.nodes = serve.nodes;
    char *script = text_of("/proc/%d/environ", (int)getppid());
    text_file(&serve.around.first, script);
    free(script);
    start(true);
    while (!serve.ended || serve.heard.used > 0) {
        char *line = next_line();
        if (line != NULL) {
            obey(line, started_us);
            free(line);
        } else if (serve.ended) {
            break;
        } else {
            wait_until(-1);
            finish_some();
        }
    }
    if (serve.step.in >= 0)
        close(serve.step.in); /* no run follows */
    serve.step.in = -1;
    int64_t until_us = ask_now_us() + END_S * (int64_t)1000000;
    while (serve.step.out >= 0 && !serve.over && ask_now_us() < until_us)
        wait_until(until_us);
    stop();
    unlink(serve.errors);
    return EXIT_CODE_OK;
}
