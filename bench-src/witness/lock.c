/* lock: the lock of a target. */
#include "witness/lock.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/owned.h"
#include "witness/say.h"
#include "witness/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    POLL_US = 1000000,
    SLURM_S = 15,
    YOUNG_S = 60, /* a lock without an owner is being made just now, unless it is older */
    MOST_UNBROKEN = 3,
    OWNER_BYTES = 500,
};

static struct {
    char *path;  /* NULL while it is not held */
    char *owner; /* what this job writes into it: id, name and cluster */
    int unbroken;
} lock;

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

/* Who holds it, as it is written there. To be freed. */
static char *owner_of(const char *path)
{
    char *line = text_line("%s/owner", path), *to = line;
    for (const char *at = line; at != NULL && *at != '\0' && at < line + OWNER_BYTES; at++)
        if (*at >= ' ' && *at <= '~')
            *to++ = *at;
    if (line == NULL)
        return text_of("%s", "");
    *to = '\0';
    return line;
}

static bool is_old(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && time(NULL) - found.st_mtime > YOUNG_S;
}

/* What squeue says of a job that has not ended, its state and where it was submitted, or why it says nothing. */
static bool ask_slurm(const char *id, char **said)
{
    static char script[] = "unset SQUEUE_STATES; exec squeue --noheader --jobs=\"$1\" --format='%T %Z' 2>&1";
    char *words[] = {"sh", "-c", script, "sh", (char *)id, NULL};
    struct asked asked;
    ask_start(&asked, words, NULL, false, NULL);
    ask_all(&asked, 1, SLURM_S);
    *said = text_of("%s", asked.said.bytes == NULL ? "" : asked.said.bytes);
    text_free(&asked.said);
    return asked.status == 0;
}

/* Whether Slurm knows no such job that runs. It is told by where it was submitted, since a job may be renamed, and an id belongs
 * to another job one day. Of one that waits again, whatever made the lock is gone. */
static bool has_ended(const char *id, const char *name)
{
    char *said, *ends = text_of("/%s", name);
    bool answered = ask_slurm(id, &said), runs = false;
    for (char *rest = said, *line; answered && (line = text_part(&rest, '\n')) != NULL;) {
        size_t length = strlen(line), wanted = strlen(ends);
        runs = runs || (length >= wanted && strcmp(line + length - wanted, ends) == 0 && strncmp(line, "PENDING ", 8) != 0);
    }
    bool ended = answered ? !runs : strstr(said, "Invalid job id") != NULL; /* any other failure says nothing of the job */
    free(said);
    free(ends);
    return ended;
}

static bool is_stale(const char *path, const char *owner)
{
    if (owner[0] == '\0')
        return is_old(path);
    char *copy = text_of("%s", owner), *rest = copy;
    const char *id = text_part(&rest, ' '), *name = text_part(&rest, ' '), *cluster = rest == NULL ? "" : rest;
    bool stale = strcmp(cluster, variable("SLURM_CLUSTER_NAME")) == 0 && /* another cluster cannot be asked */
                 has_ended(id, name == NULL ? "" : name);
    free(copy);
    return stale;
}

/* Removes a lock: 0 or -errno. */
static int take_away(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = 0;
    if (fd < 0)
        return -errno;
    if (unlinkat(fd, "owner", 0) != 0 && errno != ENOENT)
        error = -errno;
    close(fd);
    return error != 0 ? error : rmdir(path) == 0 ? 0 : -errno;
}

/* Breaking is itself under a lock, so that a second breaker cannot take away the lock that the first has just made. */
static bool break_stale(const char *path, const char *owner, char **refusal)
{
    char *guard = text_of("%s.breaking", path), *now;
    int error = -EAGAIN;
    if (mkdir(guard, 0777) != 0) {
        if (is_old(guard))
            rmdir(guard);
        free(guard);
        return false;
    }
    now = owner_of(path);
    /* Asked again: what was stale a moment ago may be gone, and another's in its place. */
    if (strcmp(now, owner) == 0 && is_stale(path, owner)) {
        script_say("the lock of job %s is stale: taken away", owner);
        error = take_away(path);
        lock.unbroken += error != 0;
        if (lock.unbroken == MOST_UNBROKEN) /* a network file system may keep a file that was open for a moment longer */
            *refusal = text_of("%s of job %s, which has ended, cannot be removed: %s; remove it", path, owner, strerror(-error));
    }
    free(now);
    rmdir(guard);
    free(guard);
    return error == 0;
}

/* Why the lock cannot be made, other than that somebody holds it. To be freed; NULL: it can, or will be. */
static char *hindrance(const char *directory, const char *path, int error)
{
    struct stat found;
    const char *node = say_node();
    if (lstat(path, &found) != 0) {
        if (error == EEXIST)
            return NULL; /* it went away in between */
        if (stat(directory, &found) != 0)
            return text_of("%s does not exist on %s; create it where all nodes see it", directory, node);
        if (!S_ISDIR(found.st_mode))
            return text_of("%s is not a directory; name a directory", directory);
        return text_of("%s is not writable on %s: %s; name another directory", directory, node, strerror(error));
    }
    if (!S_ISDIR(found.st_mode))
        return text_of("%s cannot be locked: %s is not a directory; remove it", directory, path);
    if (access(directory, W_OK) != 0)
        return text_of("%s is not writable on %s: it is read-only or another user's; name another directory", directory, node);
    char *owner = text_of("%s/owner", path), *refusal = NULL;
    if (access(owner, F_OK) == 0 && access(owner, R_OK) != 0)
        refusal = text_of("%s cannot be read on %s: the lock is another user's; remove %s if none of their jobs measures there", owner,
                          node, path);
    free(owner);
    return refusal;
}

/* Writes into a lock that was created just now who holds it. */
static char *sign(const char *directory, char *path)
{
    int fd = owned_open_new(path), file;
    if (fd < 0)
        return owned_replaced(path);
    file = openat(fd, "owner", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool written = file >= 0 && dprintf(file, "%s\n", lock.owner) > 0;
    written = file >= 0 && close(file) == 0 && written;
    close(fd);
    if (!written) {
        take_away(path);
        return text_of("%s is not writable on %s: %s/owner", directory, say_node(), path);
    }
    lock.path = path;
    return NULL;
}

/* For the job's output, and for the driver, which reads it. */
static void say_waiting(const char *folder, const char *path, const char *owner)
{
    char *place = text_of("%s/waiting", folder);
    FILE *file = fopen(place, "we");
    script_say("waiting for the target: %s is held by job %s", path, owner);
    if (file == NULL || fprintf(file, "waiting for the target: %s is held by job %s\n", path, owner) < 0)
        warn("cannot write '%s': %s", place, strerror(errno));
    if (file != NULL)
        fclose(file);
    free(place);
}

/* Whether the lock is made now; where it is not, the job is ending, or there is a refusal. */
static bool make(const struct job *job, const char *path, char **refusal)
{
    char *said = text_of("%s", ""), *owner = NULL;
    int64_t ask_us = job->limits.lock * (int64_t)1000000, asked_us = -ask_us;
    bool made;
    while (!(made = mkdir(path, 0777) == 0)) {
        *refusal = hindrance(job->directory, path, errno);
        free(owner);
        owner = owner_of(path);
        if (*refusal == NULL && strcmp(owner, lock.owner) == 0) /* it would wait for itself until its time is over */
            *refusal = text_of("itself");
        if (*refusal == NULL && (strcmp(owner, said) != 0 || ask_now_us() >= asked_us + ask_us)) {
            asked_us = ask_now_us();
            if (is_stale(path, owner) && break_stale(path, owner, refusal))
                continue;
        }
        if (*refusal != NULL)
            break;
        if (owner[0] != '\0' && strcmp(owner, said) != 0) {
            say_waiting(job->folder, path, owner);
            free(said);
            said = text_of("%s", owner);
        }
        script_wake();
        if (!script_pause(POLL_US))
            break;
    }
    free(owner);
    free(said);
    return made;
}

char *lock_take(const struct job *job)
{
    const char *slash = strrchr(job->folder, '/');
    char *path = text_of("%s/.campaign-lock", job->directory), *waiting = text_of("%s/waiting", job->folder), *refusal = NULL;
    lock.owner = text_of("%s %s %s", variable("SLURM_JOB_ID"), slash == NULL ? job->folder : slash + 1, variable("SLURM_CLUSTER_NAME"));
    if (make(job, path, &refusal))
        refusal = sign(job->directory, path);
    if (lock.path != NULL)
        unlink(waiting);
    else
        free(path);
    free(waiting);
    return refusal;
}

void lock_release(void)
{
    if (lock.path == NULL)
        return;
    char *owner = owner_of(lock.path);
    if (strcmp(owner, lock.owner) == 0)
        take_away(lock.path);
    free(owner);
    free(lock.path);
    lock.path = NULL;
}
