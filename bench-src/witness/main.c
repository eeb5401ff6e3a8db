/* witness: what runs on the nodes of a job beside its benchmark, and says what each node is and what its ranks execute. It needs
 * no MPI and takes part in nothing that is measured.
 *
 *   witness job [options] FOLDER [PREFIX...]   on the first node, started by the job's script (job.h)
 *   witness node [options] [PREFIX...]         on each node, started by that one through srun
 *   witness launch [options] WORDS FOLDER NODES RANKS PATTERN LAUNCHER... [WORDS ...]
 *                                              runs launchers of so many words each at the same time (launch.h)
 *   witness make|within|clear|stale DIRECTORY...  the directories of attempts on the target (owned.h)
 *   witness complete FOLDER WORD...            how a run has ended (completion.h)
 *   witness count FOLDER COMMAND WHEN          what the target's servers have counted (count.h)
 *   witness hash FILE...                       a line for each file: the node, its SHA-256, its size and its path
 *   witness packages FILE...                   path and SHA-256 of those that no package of this machine has
 *   witness where                              a rank that says its number, its node and the loader's variables that it has: what a
 *                                              launcher makes of a geometry and of an environment
 *   witness placed FILE NODES RANKS            whether the ranks in a file of such lines are in even blocks; sorts it
 *   witness probed FOLDER PHASE DIRECTORY      such lines, and what the launcher complained, as facts of an attempt */
#include "common/die.h"
#include "common/sha256.h"
#include "witness/completion.h"
#include "witness/count.h"
#include "witness/energy.h"
#include "witness/gather.h"
#include "witness/inputs.h"
#include "witness/job.h"
#include "witness/launch.h"
#include "witness/machine.h"
#include "witness/owned.h"
#include "witness/packages.h"
#include "witness/prepare.h"
#include "witness/program.h"
#include "witness/record.h"
#include "witness/say.h"
#include "witness/target.h"
#include "witness/variables.h"
#include "witness/watch.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: witness job -d DIRECTORY -x EXECUTABLE [-b BOOT,DEVICE:INODE] [-w] [-l ANSWER,READY,END,LOCK] [-i COMMENT]... FOLDER [PREFIX...]\n"
    "       witness node [-d DIRECTORY -x EXECUTABLE [-m MARK]] [-w] [-r ROOT] [PREFIX...]\n"
    "       witness launch -o LAUNCHED [-s LOOK,AGAIN] WORDS FOLDER NODES RANKS_ON_EACH PATTERN LAUNCHER... [WORDS ...]\n"
    "       witness make|clear DIRECTORY\n"
    "       witness within|stale DIRECTORY [INODE]\n"
    "       witness complete FOLDER WORD...\n"
    "       witness count FOLDER COMMAND WHEN\n"
    "       witness prepare FOLDER COMMAND EXPANDED_COMMAND\n"
    "       witness hash FILE...\n"
    "       witness packages FILE...\n"
    "       witness where\n"
    "       witness placed FILE NODES RANKS_ON_EACH\n"
    "       witness probed FOLDER PHASE DIRECTORY\n";

static void say_variable(const char *name, const char *value)
{
    char *fact = text_of("env.%s", name);
    if (!variables_of_job(name))
        say(0, fact, "%s", value);
    free(fact);
}

static void say_node_facts(const char *root, const struct job *job)
{
    char hostname[256] = "", zone[16] = "", hex[SHA256_HEX_BYTES];
    unsigned char digest[SHA256_BYTES];
    time_t now = time(NULL);
    struct tm here;
    gethostname(hostname, sizeof hostname - 1);
    say(0, "clock", "%.6f", record_now_s());
    say(0, "name", "%s", say_node());
    say(0, "hostname", "%s", hostname);
    if (job->mark[0] != '\0')
        say(0, "target.seen", "%s", target_seen(job->directory, job->mark));
    char *boot = text_line("%s/proc/sys/kernel/random/boot_id", root);
    if (boot != NULL) /* the same on all virtual nodes of one machine */
        say(0, "boot", "%.*s", (int)strcspn(boot, "-"), boot);
    free(boot);
    if (localtime_r(&now, &here) != NULL && strftime(zone, sizeof zone, "%z", &here) > 0)
        say(0, "zone", "%s", zone);
    if (sha256_file("/proc/self/exe", digest) == 0) {
        sha256_hex(digest, hex);
        say(0, "witness.sha256", "%s", hex);
    }
    machine_say(root);
    target_say(root, job->directory);
    program_say(job->executable);
    program_say_prefix(job->prefix);
    variables_each(say_variable);
    say(0, "end", "yes");
}

static struct text loader; /* NAME=DIGITS,... */

/* The first 16 digits of the value's SHA-256: launchers may split longer lines. Of so much of it as the benchmark reports. */
static void add_loader_variable(const char *name, const char *value)
{
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    struct sha256 sha;
    if (strncmp(name, "LD_", 3) != 0 && strncmp(name, "GLIBC_", 6) != 0)
        return;
    sha256_start(&sha);
    sha256_add(&sha, value, strnlen(value, TEXT_LONGEST));
    sha256_finish(&sha, digest);
    sha256_hex(digest, hex);
    char *pair = text_of("%s=%.16s", name, hex);
    text_join(&loader, ",", pair);
    free(pair);
}

static int where(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    const char *rank = NULL;
    for (size_t i = 0; rank == NULL && i < sizeof names / sizeof *names; i++)
        rank = getenv(names[i]);
    variables_each(add_loader_variable);
    printf("%s %s %s\n", rank == NULL ? "0" : rank, say_node(), loader.bytes == NULL ? "-" : loader.bytes);
    text_free(&loader);
    return fflush(stdout) == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

struct lines {
    char **list;
    size_t count;
};

static void read_lines(struct lines *lines, FILE *file)
{
    char line[4096];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        lines->list = text_grow(lines->list, lines->count, sizeof *lines->list);
        lines->list[lines->count++] = text_of("%.*s", (int)strcspn(line, "\n"), line);
    }
}

static void free_lines(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->list[i]);
    free(lines->list);
}

static int placed(const char *path, int nodes, const char *on_each)
{
    struct lines ranks = {0};
    FILE *file = fopen(path, "r+e");
    if (file == NULL)
        return usage_error("cannot open '%s': %s", path, strerror(errno));
    read_lines(&ranks, file);
    gather_sort(ranks.list, ranks.count);
    rewind(file);
    for (size_t i = 0; i < ranks.count; i++)
        fprintf(file, "%s\n", ranks.list[i]);
    bool is = fclose(file) == 0 && gather_placed(ranks.list, ranks.count, "", nodes, on_each) == PLACED_EVENLY;
    free_lines(&ranks);
    return is ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

/* "RANK NODE", and perhaps a word */
static bool is_of_rank(const char *line)
{
    size_t digits = strspn(line, "0123456789"), words = 1;
    for (const char *at = line; *at != '\0'; at++)
        words += *at == ' ';
    return digits > 0 && line[digits] == ' ' && words <= 3;
}

static int probed(const char *folder, const char *phase, const char *directory)
{
    struct fact fact = {.source = "probe", .phase = phase[0] == '\0' ? NULL : phase};
    char *path = text_of("%s/placement.txt", directory), *complaint = text_line("%s/placement.err", directory);
    struct lines ranks = {0};
    FILE *file = fopen(path, "re");
    read_lines(&ranks, file);
    if (file != NULL)
        fclose(file);
    gather_sort(ranks.list, ranks.count);
    int error = facts_open(folder, false);
    if (error == 0) {
        fact.name = "problem";
        for (size_t i = 0; i < ranks.count; i++)
            if (!is_of_rank(ranks.list[i]))
                facts_text(fact, ranks.list[i]);
        fact.name = "loader";
        gather_emit_ranks(ranks.list, ranks.count, "", fact);
        fact.name = "stderr";
        if (complaint != NULL)
            facts_text(fact, complaint);
        error = facts_close(true);
    }
    if (error != 0)
        warn("cannot write '%s/facts.jsonl': %s", folder, strerror(-error));
    free_lines(&ranks);
    free(complaint);
    free(path);
    return error == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

/* Modes of words alone, which the job's script executes; -1 where it is none of them. */
static int words_alone(const char *mode, int count, char **words)
{
    if (strcmp(mode, "where") == 0)
        return where();
    if (strcmp(mode, "placed") == 0 && count == 3)
        return placed(words[0], atoi(words[1]), words[2]);
    if (strcmp(mode, "probed") == 0 && count == 3)
        return probed(words[0], words[1], words[2]);
    if (strcmp(mode, "hash") == 0 && count > 0)
        return inputs_say(words, count);
    if (strcmp(mode, "packages") == 0 && count > 0)
        return packages_say(words, count);
    if (strcmp(mode, "complete") == 0 && count > 0)
        return completion_write(words[0], words + 1);
    if (strcmp(mode, "count") == 0 && count == 3)
        return count_add(words[0], words[1], words[2]);
    if (strcmp(mode, "prepare") == 0 && count == 3)
        return prepare_run(words[0], words[1], words[2]);
    if (strcmp(mode, "make") == 0 && count == 1)
        return owned_make(words[0]);
    if (strcmp(mode, "within") == 0 && (count == 1 || count == 2))
        return owned_within(words[0], words[1]);
    if (strcmp(mode, "clear") == 0 && count == 1)
        return owned_clear(words[0]);
    if (strcmp(mode, "stale") == 0 && (count == 1 || count == 2))
        return owned_remove_stale(words[0], words[1]);
    return -1;
}

/* "BOOT,DEVICE:INODE" */
static void submitted_from(struct job *job, char *text)
{
    job->boot = text_part(&text, ',');
    job->seen = text == NULL ? "" : text;
}

static bool are_limits(const char *text, struct job_limits *limits)
{
    return sscanf(text, "%d,%d,%d,%d", &limits->answer, &limits->ready, &limits->end, &limits->lock) == 4;
}

/* Launchers by what the command line says of each; false where it does not say that. */
static bool launch_words(char **words, struct launch launch, const char *launched, int *status)
{
    enum { BEFORE = 5 };
    struct launch *list = NULL;
    int count = 0, left = 0;
    while (words[left] != NULL)
        left++;
    for (int length = left > 0 ? atoi(words[0]) : 0; left > 0; count++) {
        if (length < 1 || left < BEFORE + length)
            return false;
        launch.folder = words[1];
        launch.nodes = words[2];
        launch.ranks = words[3];
        launch.pattern = words[4];
        launch.words = words + BEFORE;
        list = text_grow(list, (size_t)count, sizeof *list);
        list[count] = launch;
        words += BEFORE + length;
        left -= BEFORE + length;
        length = left > 0 ? atoi(words[0]) : 0;
        words[0] = NULL; /* the words of this one end here */
    }
    if (count > 0)
        *status = launch_all(list, count, launched);
    free(list);
    return count > 0;
}

/* The benchmark, the words before it, and its further programs. */
static int watch_programs(const struct job *job)
{
    char **declared = NULL;
    size_t count = 0;
    if (job->executable != NULL) {
        declared = text_grow(declared, count, sizeof *declared);
        declared[count++] = (char *)job->executable;
    }
    for (char *const *word = job->prefix; *word != NULL; word++) {
        declared = text_grow(declared, count, sizeof *declared);
        declared[count++] = *word;
    }
    declared = text_grow(declared, count, sizeof *declared);
    declared[count] = NULL;
    int status = watch_runs(declared);
    free(declared);
    return status;
}

int main(int argc, char **argv)
{
    struct job job = {.mark = "", .seen = "", .limits = {45, 20, 60, 15}};
    struct launch launch = {.look_s = 30, .again_s = 5};
    const char *root = "", *launched = NULL, *mode = argc > 1 ? argv[1] : "";
    int option;
    bool wrong = false;
    die_identify("witness", 0, "");
    int status = words_alone(mode, argc - 2, argv + 2);
    if (status >= 0)
        return status;
    optind = 2;
    while ((option = getopt(argc, argv, "+d:x:m:wnr:l:i:o:s:b:")) != -1) {
        switch (option) {
        case 'd': job.directory = optarg; break;
        case 'x': job.executable = optarg; break;
        case 'm': job.mark = optarg; break;
        case 'w': job.watches = 1; break;
        case 'n': job.shares = 1; break;
        case 'r': root = optarg; break;
        case 'b': submitted_from(&job, optarg); break;
        case 'o': launched = optarg; break;
        case 's': wrong = wrong || sscanf(optarg, "%d,%d", &launch.look_s, &launch.again_s) != 2; break;
        case 'l': wrong = wrong || !are_limits(optarg, &job.limits); break;
        case 'i':
            job.independent = text_grow(job.independent, (size_t)job.independent_count, sizeof *job.independent);
            job.independent[job.independent_count++] = optarg;
            break;
        default: wrong = true;
        }
    }
    job.prefix = argv + (optind < argc ? optind : argc);
    if (!wrong && strcmp(mode, "launch") == 0 && launched != NULL && launch_words(job.prefix, launch, launched, &status))
        return status;
    bool about = job.directory != NULL && job.executable != NULL;
    if (!wrong && strcmp(mode, "job") == 0 && about && job.prefix[0] != NULL) {
        job.folder = job.prefix[0];
        job.prefix++;
        return job_serve(&job);
    }
    if (wrong || strcmp(mode, "node") != 0 || (job.directory != NULL) != (job.executable != NULL)) {
        fputs(usage, stderr);
        return EXIT_CODE_USAGE;
    }
    if (about)
        say_node_facts(root, &job);
    energy_open(root);
    return job.watches ? watch_programs(&job) : EXIT_CODE_OK;
}
