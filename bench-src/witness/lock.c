/* lock: the lock of a target. */
#include "witness/lock.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/owned.h"
#include "witness/say.h"
#include "witness/script.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
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
    READABLE = 0755, /* whatever the umask is: others must be able to read whose lock it is */
};

static struct {
    char *path;  /* NULL while it is not held */
    char *owner; /* what this job writes into it: id, name and cluster */
    int unbroken;
} lock;

/* Who holds a lock. */
struct holder {
    char *owner; /* as it is written there; "" where it is not */
    char *words; /* the job, and its user if that is another; "" where nothing is known yet */
    char *remedy; /* where it cannot be removed */
    bool is_closed; /* this job may not read whose it is */
    bool is_old;
    bool is_other; /* another user's */
};

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

static void keep_printable(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0' && at < text + OWNER_BYTES; at++)
        if (*at >= ' ' && *at <= '~')
            *to++ = *at;
    *to = '\0';
}

/* What is in the lock's place is opened once and as no link, so that all of it is of one directory. */
static struct holder holder_of(const char *path)
{
    struct holder holder = {0};
    struct stat found = {0};
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    holder.owner = fd < 0 ? NULL : text_line_at(fd, "owner");
    holder.is_closed = fd >= 0 && holder.owner == NULL && errno == EACCES;
    if (holder.owner == NULL)
        holder.owner = text_of("%s", "");
    keep_printable(holder.owner);
    bool is_there = fd >= 0 && fstat(fd, &found) == 0;
    if (fd >= 0)
        close(fd);
    holder.is_old = is_there && time(NULL) - found.st_mtime > YOUNG_S;
    holder.is_other = is_there && found.st_uid != geteuid();
    const struct passwd *entry = holder.is_other ? getpwuid(found.st_uid) : NULL;
    char *user = entry == NULL ? text_of("user %u", (unsigned)found.st_uid) : text_of("user %s", entry->pw_name);
    holder.remedy = holder.is_other ? text_of("ask %s to remove it", user) : text_of("%s", "remove it");
    if (holder.is_closed)
        holder.words = text_of("%s and cannot be read (mode %04o); ask %s whether a job still measures there", user,
                               (unsigned)found.st_mode & 07777, user);
    else if (holder.owner[0] != '\0')
        holder.words = text_of("job %s%s%s", holder.owner, holder.is_other ? " of " : "", holder.is_other ? user : "");
    else
        holder.words = text_of("%s", "");
    free(user);
    return holder;
}

static void free_holder(struct holder *holder)
{
    free(holder->owner);
    free(holder->words);
    free(holder->remedy);
}

static bool is_old(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0 && time(NULL) - found.st_mtime > YOUNG_S;
}

/* What squeue says of a job that has not ended, its state and where it was submitted, or why it says nothing. Where users do
 * not see the jobs of others, it says of them what it says of jobs that have ended: then it is not asked. */
static bool ask_slurm(const char *id, bool is_other, char **said)
{
    static char script[] = "[ -n \"$2\" ] && scontrol show config | grep -E '^PrivateData .*(jobs|all)' && exit 1; "
                           "exec squeue --noheader --jobs=\"$1\" --format='%T %Z' 2>&1";
    char *words[] = {"sh", "-c", script, "sh", (char *)id, is_other ? "other" : "", NULL};
    struct asked asked;
    ask_start(&asked, words, NULL, false, NULL);
    ask_all(&asked, 1, SLURM_S);
    *said = text_of("%s", asked.said.bytes == NULL ? "" : asked.said.bytes);
    text_free(&asked.said);
    return asked.status == 0;
}

/* Whether Slurm knows no such job that runs. It is told by where it was submitted, since a job may be renamed, and an id belongs
 * to another job one day. Of one that waits again, whatever made the lock is gone. */
static bool has_ended(const char *id, const char *name, bool is_other)
{
    char *said, *ends = text_of("/%s", name);
    bool answered = ask_slurm(id, is_other, &said), runs = false;
    for (char *rest = said, *line; answered && (line = text_part(&rest, '\n')) != NULL;) {
        size_t length = strlen(line), wanted = strlen(ends);
        runs = runs || (length >= wanted && strcmp(line + length - wanted, ends) == 0 && strncmp(line, "PENDING ", 8) != 0);
    }
    bool ended = answered ? !runs : strstr(said, "Invalid job id") != NULL; /* any other failure says nothing of the job */
    free(said);
    free(ends);
    return ended;
}

static bool is_stale(const struct holder *holder)
{
    if (holder->is_closed)
        return false;
    if (holder->owner[0] == '\0')
        return holder->is_old;
    char *copy = text_of("%s", holder->owner), *rest = copy;
    const char *id = text_part(&rest, ' '), *name = text_part(&rest, ' '), *cluster = rest == NULL ? "" : rest;
    bool stale = strcmp(cluster, variable("SLURM_CLUSTER_NAME")) == 0 && /* another cluster cannot be asked */
                 has_ended(id, name == NULL ? "" : name, holder->is_other);
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
static bool break_stale(const char *path, const struct holder *holder, char **refusal)
{
    char *guard = text_of("%s.breaking", path);
    int error = -EAGAIN;
    if (mkdir(guard, 0777) != 0) {
        if (is_old(guard))
            rmdir(guard);
        free(guard);
        return false;
    }
    struct holder now = holder_of(path);
    /* Asked again: what was stale a moment ago may be gone, and another's in its place. */
    if (strcmp(now.owner, holder->owner) == 0 && is_stale(&now)) {
        const char *whose = now.words[0] == '\0' ? "a job that it does not name" : now.words;
        script_say("the lock of %s is stale: taken away", whose);
        error = take_away(path);
        lock.unbroken += error != 0;
        if (lock.unbroken == MOST_UNBROKEN) /* a network file system may keep a file that was open for a moment longer */
            *refusal = text_of("%s of %s, which has ended, cannot be removed: %s; %s", path, whose, strerror(-error), now.remedy);
    }
    free_holder(&now);
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
    return NULL;
}

static bool make_directory(const char *path)
{
    mode_t before = umask(0);
    bool made = mkdir(path, READABLE) == 0;
    umask(before);
    return made;
}

/* Whoever may rename what is in the target may also remove the lock of a job that has ended. */
static void open_to_writers(int fd, const char *directory)
{
    struct stat target, made;
    if (stat(directory, &target) == 0 && fstat(fd, &made) == 0 && (target.st_mode & S_ISVTX) == 0)
        fchmod(fd, READABLE | (target.st_mode & S_IWOTH) | (made.st_gid == target.st_gid ? target.st_mode & S_IWGRP : 0));
}

/* Writes into a lock that was created just now who holds it. */
static char *sign(const char *directory, char *path)
{
    int fd = owned_open_new(path), file;
    if (fd < 0)
        return owned_replaced(path);
    file = openat(fd, "owner", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, READABLE & 0666);
    bool written = file >= 0 && fchmod(file, READABLE & 0666) == 0 && dprintf(file, "%s\n", lock.owner) > 0;
    written = file >= 0 && close(file) == 0 && written;
    open_to_writers(fd, directory);
    close(fd);
    if (!written) {
        take_away(path);
        return text_of("%s is not writable on %s: %s/owner", directory, say_node(), path);
    }
    lock.path = path;
    return NULL;
}

/* For the driver, which reads a file, and then for the job's output: who reads it there finds the file written. */
static void say_waiting(const char *folder, const char *path, const char *words)
{
    char *place = text_of("%s/waiting", folder);
    FILE *file = fopen(place, "we");
    if (file == NULL || fprintf(file, "waiting for the target: %s is held by %s\n", path, words) < 0)
        warn("cannot write '%s': %s", place, strerror(errno));
    if (file != NULL)
        fclose(file);
    script_say("waiting for the target: %s is held by %s", path, words);
    free(place);
}

/* Whether the lock is made now; where it is not, the job is ending, or there is a refusal. */
static bool make(const struct job *job, const char *path, char **refusal)
{
    char *said = text_of("%s", "");
    int64_t ask_us = job->limits.lock * (int64_t)1000000, asked_us = -ask_us;
    bool made, goes_on = true;
    while (!(made = make_directory(path)) && goes_on) {
        *refusal = hindrance(job->directory, path, errno);
        struct holder holder = holder_of(path);
        bool is_new = strcmp(holder.words, said) != 0, is_broken = false;
        if (*refusal == NULL && strcmp(holder.owner, lock.owner) == 0) /* it would wait for itself until its time is over */
            *refusal = text_of("itself");
        if (*refusal == NULL && (is_new || ask_now_us() >= asked_us + ask_us)) {
            asked_us = ask_now_us();
            is_broken = is_stale(&holder) && break_stale(path, &holder, refusal);
        }
        if (*refusal == NULL && !is_broken && holder.words[0] != '\0' && is_new) {
            say_waiting(job->folder, path, holder.words);
            free(said);
            said = text_of("%s", holder.words);
        }
        free_holder(&holder);
        if (!is_broken && *refusal == NULL)
            script_wake();
        goes_on = *refusal == NULL && (is_broken || script_pause(POLL_US));
    }
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
    struct holder holder = holder_of(lock.path);
    if (strcmp(holder.owner, lock.owner) == 0)
        take_away(lock.path);
    free_holder(&holder);
    free(lock.path);
    lock.path = NULL;
}
