/* storage: the target as this job sees it, and as others saw it. */
#include "witness/storage.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/nodes.h"
#include "witness/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAT_S = 60 };

static char *mark; /* NULL while there is none */

/* A program's answer of one line. To be freed. */
static char *one_line(char *said)
{
    said[strcspn(said, "\n")] = '\0';
    return said;
}

static char *kind_of(const char *directory)
{
    return one_line(ask(STAT_S, "stat", "-f", "-c", "%T", "--", directory, NULL));
}

static bool keep(const char *path, const char *text)
{
    char *new_path = text_of("%s.%s.new", path, say_node()), *folder = text_of("%.*s", (int)(strrchr(path, '/') - path), path);
    mkdir(folder, 0777);
    FILE *file = fopen(new_path, "we");
    bool failed = file == NULL || fprintf(file, "%s\n", text) < 0;
    failed = (file != NULL && fclose(file) != 0) || failed || rename(new_path, path) != 0;
    if (failed)
        warn("cannot write '%s': %s", path, strerror(errno));
    free(folder);
    free(new_path);
    return !failed;
}

/* "KIND POINT" as "KIND mounted at POINT". To be freed. */
static char *in_words(const char *mounted)
{
    int kind = (int)strcspn(mounted, " ");
    return text_of("%.*s mounted at %s", kind, mounted, mounted + kind + (mounted[kind] == ' '));
}

/* Where the campaign keeps what was mounted there; NULL for a job of none. To be freed. */
static char *place_of(const struct job *job)
{
    const char *jobs = NULL;
    for (const char *at = job->folder; (at = strstr(at, "/jobs/")) != NULL; at++)
        jobs = at;
    if (jobs == NULL)
        return NULL;
    char *name = text_of("%s", job->directory);
    for (char *at = name; *at != '\0'; at++)
        if (*at == '/')
            *at = '%';
    char *place = text_of("%.*s/mounts/%s", (int)(jobs - job->folder), job->folder, name);
    free(name);
    return place;
}

char *storage_same_mount(const struct job *job)
{
    char *place = place_of(job), *refusal = NULL;
    if (place == NULL)
        return NULL;
    char *kind = kind_of(job->directory), *point = one_line(ask(STAT_S, "stat", "-L", "-c", "%m", "--", job->directory, NULL));
    char *now = text_of("%s %s", kind, point), *before = text_line("%s", place);
    if (before == NULL) {
        keep(place, now);
    } else if (strcmp(before, now) != 0) {
        char *is = in_words(now), *was = in_words(before);
        refusal = text_of("%s is on %s of %s; when the campaign began it was on %s: mount it, or remove %s", job->directory, is, say_node(),
                          was, place);
        free(is);
        free(was);
    }
    free(before);
    free(now);
    free(point);
    free(kind);
    free(place);
    return refusal;
}

/* What is on a file system of the node's own machine can be shared only where other nodes and the submitting machine are virtual
 * ones of the same kernel. */
static bool is_local(const char *kind)
{
    static const char *const local[] = {"tmpfs", "ramfs", "ext2/ext3", "xfs", "btrfs", "zfs", "overlayfs", "f2fs", "jfs"};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (strcmp(kind, local[i]) == 0)
            return true;
    return false;
}

char *storage_shared(const struct job *job)
{
    const char *directory = job->directory, *submitter = getenv("SLURM_SUBMIT_HOST");
    struct stat found;
    if (nodes_count() != 1 || job->boot == NULL)
        return NULL;
    char *kind = kind_of(directory), *boot = text_line("/proc/sys/kernel/random/boot_id"), *refusal = NULL;
    if (is_local(kind) && boot != NULL && stat(directory, &found) == 0) {
        char *here = text_of("%llu:%llu", (unsigned long long)found.st_dev, (unsigned long long)found.st_ino);
        boot[strcspn(boot, "-")] = '\0';
        if (strcmp(boot, job->boot) != 0)
            refusal = text_of("%s is not shared: on %s it is of the node's own %s; name a directory that all nodes see", directory,
                              say_node(), kind);
        else if (job->seen[0] != '\0' && strcmp(job->seen, here) != 0)
            refusal = text_of("%s is not shared: %s and %s see different directories; name one that all nodes see", directory, say_node(),
                              submitter == NULL ? "the submit host" : submitter);
        free(here);
    }
    free(boot);
    free(kind);
    return refusal;
}

const char *storage_make_mark(const struct job *job)
{
    const char *id = getenv("SLURM_JOB_ID");
    if (nodes_count() == 1)
        return "";
    /* its name is new, so that no node remembers that it was not there */
    mark = text_of("%s/.campaign-%s-XXXXXX", job->directory, id == NULL ? "" : id);
    int fd = mkstemp(mark);
    if (fd >= 0) {
        close(fd);
        return strrchr(mark, '/') + 1;
    }
    free(mark);
    mark = NULL;
    return "";
}

void storage_remove_mark(void)
{
    if (mark != NULL)
        unlink(mark);
    free(mark);
    mark = NULL;
}
