/* seen: programs, libraries and hashes of a run. */
#include "witness/seen.h"

#include "common/objects.h"
#include "common/raw.h"
#include "witness/memory.h"
#include "witness/say.h"
#include "witness/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

enum { MOST_LIBRARIES = 400, SHORT_DIGITS = 16, SETTLED_S = 2, MOST_LEVELS = 100 };

static struct seen_rank *rank_in(struct seen *seen, const struct rank *rank)
{
    for (size_t i = 0; i < seen->rank_count; i++)
        if (seen->ranks[i].rank.number == rank->number && strcmp(seen->ranks[i].rank.phase, rank->phase) == 0)
            return &seen->ranks[i];
    seen->ranks = text_grow(seen->ranks, seen->rank_count, sizeof *seen->ranks);
    seen->ranks[seen->rank_count] = (struct seen_rank){.rank = *rank};
    return &seen->ranks[seen->rank_count++];
}

/* By device and inode, which a bind mount or a container does not change: its way up leads to the attempt's directory. */
static bool is_inside(const char *directory, const char *own)
{
    struct stat file, top, above = {0};
    char *path = text_of("%s", directory);
    bool inside = false, ends = stat(own, &top) != 0;
    for (int i = 0; i < MOST_LEVELS && !inside && !ends; i++) {
        ends = stat(path, &file) != 0 || (file.st_ino == above.st_ino && file.st_dev == above.st_dev);
        inside = !ends && file.st_ino == top.st_ino && file.st_dev == top.st_dev;
        above = file;
        char *next = text_of("%s/..", path);
        free(path);
        path = next;
    }
    free(path);
    return inside;
}

void seen_works(struct seen *seen, const struct rank *rank, pid_t pid, const char *own)
{
    struct seen_rank *of = rank_in(seen, rank);
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
    ssize_t length = of->directory == NULL ? readlink(link, path, sizeof path) : -1;
    if (length < 0)
        return;
    of->directory = text_of("%.*s", (int)length, path);
    if (seen->directory == NULL)
        seen->directory = text_of("%s", own);
    size_t top = strlen(seen->directory);
    if (strncmp(of->directory, seen->directory, top) == 0 && (of->directory[top] == '\0' || of->directory[top] == '/'))
        return;
    of->works_elsewhere = !is_inside(link, own);
    if (of->works_elsewhere)
        return;
    free(seen->directory);
    seen->directory = text_of("%s", of->directory);
}

void seen_step_uses(struct seen *seen)
{
    unsigned long long peak_kb = seen->step_file == NULL ? 0 : memory_of_step(seen->step_file);
    if (peak_kb > seen->step_peak_kb)
        seen->step_peak_kb = peak_kb;
}

void seen_uses(struct seen *seen, const struct rank *rank, pid_t pid)
{
    struct seen_rank *of = rank_in(seen, rank);
    unsigned long long peak_kb = memory_of_process(pid);
    if (of->peak_kb == 0) { /* each phase is a step of its own */
        char *path = text_of("/proc/%d/cgroup", (int)pid), *cgroups = raw_text(path);
        free(seen->step_file);
        seen->step_file = memory_step_file(cgroups);
        free(cgroups);
        free(path);
    }
    if (peak_kb > of->peak_kb)
        of->peak_kb = peak_kb;
    sched_getaffinity(pid, sizeof of->cpus, &of->cpus);
}

bool seen_same(const struct seen *seen, int program, pid_t pid)
{
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat(path, &file) == 0 && file.st_ino == seen->programs[program].inode &&
           file.st_dev == seen->programs[program].device;
}

/* -1 where the file is not there, or the kernel cannot follow the links in its path to where they lead inside. */
static int open_inside(int root, const char *path)
{
#ifdef RESOLVE_IN_ROOT
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
#else
    (void)root;
    (void)path;
    return -1;
#endif
}

static void add_inside(struct seen *seen, const char *path, int fd)
{
    struct stat file;
    bool is_new = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
    for (size_t i = 0; i < seen->inside_count; i++)
        is_new = is_new && (seen->inside[i].inode != file.st_ino || seen->inside[i].device != file.st_dev ||
                            strcmp(seen->inside[i].path, path) != 0);
    if (!is_new) {
        close(fd);
        return;
    }
    seen->inside = text_grow(seen->inside, seen->inside_count, sizeof *seen->inside);
    seen->inside[seen->inside_count++] = (struct seen_inside){path, fd, file.st_dev, file.st_ino};
}

/* A process with mounts of its own may find other files under the declared paths than this one does. */
static void look_inside(struct seen *seen, pid_t pid)
{
    char path[64];
    struct stat here, there;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    if (stat("/proc/self/ns/mnt", &here) != 0 || stat(path, &there) != 0 || here.st_ino == there.st_ino)
        return;
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (char *const *declared = seen->declared; root >= 0 && *declared != NULL; declared++) {
        int fd = (*declared)[0] == '/' ? open_inside(root, *declared) : -1;
        if (fd >= 0)
            add_inside(seen, *declared, fd);
    }
    if (root >= 0)
        close(root);
}

int seen_executes(struct seen *seen, const struct rank *rank, pid_t pid)
{
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    size_t number = 0;
    while (number < seen->program_count &&
           (seen->programs[number].inode != file.st_ino || seen->programs[number].device != file.st_dev))
        number++;
    if (number < seen->program_count) {
        close(fd);
    } else {
        seen->programs = text_grow(seen->programs, seen->program_count, sizeof *seen->programs);
        seen->programs[seen->program_count++] = (struct seen_program){fd, file.st_dev, file.st_ino};
        look_inside(seen, pid);
    }
    struct seen_rank *of = rank_in(seen, rank);
    for (size_t i = 0; i < of->count; i++)
        if (of->programs[i] == (int)number)
            return (int)number;
    of->programs = text_grow(of->programs, of->count, sizeof *of->programs);
    of->programs[of->count++] = (int)number;
    return (int)number;
}

static bool is_known(const struct seen *seen, const char *path)
{
    for (size_t i = 0; i < seen->library_count; i++)
        if (strcmp(seen->libraries[i].path, path) == 0)
            return true;
    return false;
}

void seen_loads(struct seen *seen, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    char *text = raw_text(path);
    for (char *rest = text, *line; seen->library_count < MOST_LIBRARIES && (line = text_part(&rest, '\n')) != NULL;) {
        int rights = 0, inode = 0, behind = 0;
        sscanf(line, "%*s %n%*s %*s %*s %n%*s%n", &rights, &inode, &behind);
        const char *name = behind == 0 ? "" : line + behind + strspn(line + behind, " ");
        if (name[0] != '/' || line[rights + 2] != 'x' || is_known(seen, name))
            continue;
        /* By way of the process's own root, since it may be in a container. */
        char *file = text_of("/proc/%d/root%s", (int)pid, name);
        seen->libraries = text_grow(seen->libraries, seen->library_count, sizeof *seen->libraries);
        seen->libraries[seen->library_count++] = (struct seen_library){
            .path = text_of("%s", name), .fd = open(file, O_RDONLY | O_CLOEXEC), .inode = strtoull(line + inode, NULL, 10)};
        free(file);
    }
    free(text);
}

void seen_variable(struct seen *seen, const char *variable)
{
    for (size_t i = 0; i < seen->variable_count; i++)
        if (strcmp(seen->variables[i], variable) == 0)
            return;
    seen->variables = text_grow(seen->variables, seen->variable_count, sizeof *seen->variables);
    seen->variables[seen->variable_count++] = text_of("%s", variable);
}

/* --- hashes */

struct known {
    struct stat file;
    char hex[SHA256_HEX_BYTES];
};

static bool same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino && one->st_size == other->st_size &&
           one->st_mtim.tv_sec == other->st_mtim.tv_sec && one->st_mtim.tv_nsec == other->st_mtim.tv_nsec &&
           one->st_ctim.tv_sec == other->st_ctim.tv_sec && one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

void seen_hash(int fd, char hex[SHA256_HEX_BYTES], int *reads)
{
    static struct known *known;
    static size_t count;
    struct stat file;
    char path[64];
    unsigned char digest[SHA256_BYTES];
    time_t now = time(NULL);
    hex[0] = '\0';
    if (fd < 0 || fstat(fd, &file) != 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (same_file(&known[i].file, &file)) {
            memcpy(hex, known[i].hex, SHA256_HEX_BYTES);
            return;
        }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ++*reads;
    if (sha256_file(path, digest) != 0)
        return;
    sha256_hex(digest, hex);
    if (file.st_ctim.tv_sec >= now - SETTLED_S)
        return;
    known = text_grow(known, count, sizeof *known);
    known[count].file = file;
    memcpy(known[count++].hex, hex, SHA256_HEX_BYTES);
}

/* --- what is said */

/* Which functions of those that measure a library defines: a fact "defines.HASH". */
static void tell_definitions(int run, int fd, const char *hex)
{
    struct facts defined = {0};
    struct text names = {0};
    char *fact = text_of("defines.%s", hex);
    objects_definitions(fd, &defined);
    for (const char *at = defined.text; at != NULL && at < defined.text + defined.bytes;) {
        const char *name = at + strlen(at) + 1;
        text_join(&names, ", ", name);
        at = name + strlen(name) + 2;
    }
    say(run, fact, "%s", names.bytes == NULL ? "" : names.bytes);
    free(defined.text);
    text_free(&names);
    free(fact);
}

static void tell_libraries(struct seen *seen)
{
    int reads = 0;
    for (size_t i = 0; i < seen->library_count; i++) {
        const struct seen_library *library = &seen->libraries[i];
        const char *name = strrchr(library->path, '/') + 1;
        char hex[SHA256_HEX_BYTES];
        struct stat file;
        int alike = 1;
        for (size_t k = 0; k < i; k++)
            alike += strcmp(strrchr(seen->libraries[k].path, '/') + 1, name) == 0;
        char *fact = alike == 1 ? text_of("library.%s", name) : text_of("library.%s.%d", name, alike);
        seen_hash(library->fd, hex, &reads);
        if (hex[0] == '\0' || fstat(library->fd, &file) != 0)
            say(seen->run, fact, "%s cannot be read", library->path);
        else if (file.st_ino != library->inode)
            say(seen->run, fact, "%s is another file by now", library->path);
        else
            say(seen->run, fact, "%s %s", library->path, hex);
        if (hex[0] != '\0')
            tell_definitions(seen->run, library->fd, hex);
        free(fact);
    }
}

/* Facts "program.HASH", and the beginning of each hash. */
static void tell_programs(struct seen *seen, char (*digits)[SHA256_HEX_BYTES])
{
    int reads = 0;
    for (size_t i = 0; i < seen->program_count; i++) {
        char name[64], path[4096];
        snprintf(name, sizeof name, "/proc/self/fd/%d", seen->programs[i].fd);
        ssize_t length = readlink(name, path, sizeof path);
        seen_hash(seen->programs[i].fd, digits[i], &reads);
        char *fact = text_of("program.%s", digits[i][0] == '\0' ? "unread" : digits[i]);
        say(seen->run, fact, "%.*s", length < 0 ? 0 : (int)length, path);
        free(fact);
        if (digits[i][0] == '\0')
            memset(digits[i], '0', SHORT_DIGITS);
        digits[i][SHORT_DIGITS] = '\0';
    }
}

/* Facts "inside.HASH" */
static void tell_inside(struct seen *seen)
{
    char hex[SHA256_HEX_BYTES];
    int reads = 0;
    for (size_t i = 0; i < seen->inside_count; i++) {
        seen_hash(seen->inside[i].fd, hex, &reads);
        char *fact = text_of("inside.%s", hex[0] == '\0' ? "unread" : hex);
        say(seen->run, fact, "%s", seen->inside[i].path);
        free(fact);
    }
}

/* Each directory once: where the ranks of a node worked. */
static void tell_directories(struct seen *seen, const char *fact, bool elsewhere)
{
    struct text all = {0};
    for (size_t i = 0; i < seen->rank_count; i++) {
        const struct seen_rank *of = &seen->ranks[i];
        bool is_new = of->directory != NULL && of->works_elsewhere == elsewhere;
        for (size_t k = 0; k < i && is_new; k++)
            is_new = seen->ranks[k].directory == NULL || strcmp(seen->ranks[k].directory, of->directory) != 0;
        if (is_new)
            text_join(&all, "; ", of->directory);
    }
    if (all.bytes != NULL)
        say(seen->run, fact, "%s", all.bytes);
    text_free(&all);
}

/* Not of a rank that ended before its program could be opened. */
static void tell_ranks(struct seen *seen, char (*digits)[SHA256_HEX_BYTES])
{
    for (size_t i = 0; i < seen->rank_count; i++) {
        const struct seen_rank *of = &seen->ranks[i];
        if (of->count == 0)
            continue;
        struct text executed = {0};
        for (size_t k = 0; k < of->count; k++)
            text_join(&executed, ",", digits[of->programs[k]]);
        say(seen->run, "rank", "%d %s %s%s%s", of->rank.number, say_node(), executed.bytes, of->rank.phase[0] == '\0' ? "" : " ",
            of->rank.phase);
        text_free(&executed);
    }
}

/* Copies of a phase, PHASE.NUMBER, run at the same time. */
static bool is_copy(const struct rank *rank)
{
    return strchr(rank->phase, '.') != NULL;
}

static bool starts_together(const struct rank *one, const struct rank *other)
{
    size_t length = strcspn(one->phase, ".");
    return length == strcspn(other->phase, ".") && strncmp(one->phase, other->phase, length) == 0;
}

/* A fact "cpus": for each copy of a phase those on which its ranks may run, or that these are all. */
static void tell_cpus(const struct seen *seen)
{
    for (size_t i = 0; i < seen->rank_count; i++) {
        const struct rank *rank = &seen->ranks[i].rank;
        bool is_first = is_copy(rank);
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        for (size_t k = 0; k < seen->rank_count; k++)
            if (strcmp(seen->ranks[k].rank.phase, rank->phase) == 0) {
                is_first = is_first && k >= i;
                CPU_OR(&cpus, &cpus, &seen->ranks[k].cpus);
            }
        struct text list = {0};
        for (int cpu = 0; is_first && cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &cpus)) {
                char number[16];
                snprintf(number, sizeof number, "%d", cpu);
                text_join(&list, ",", number);
            }
        if (list.bytes != NULL)
            say(seen->run, "cpus", "%s %s", rank->phase, CPU_COUNT(&cpus) < sysconf(_SC_NPROCESSORS_ONLN) ? list.bytes : "all");
        text_free(&list);
    }
}

/* A fact "memory": the peaks of the ranks of a phase together, of the largest one, and of the steps, of which copies have one
 * each. Nothing where the peak of a rank is not known. */
static void tell_memory(const struct seen *seen)
{
    unsigned long long together = 0, largest = 0;
    bool has_copies = false;
    for (size_t i = 0; i < seen->rank_count; i++) {
        unsigned long long of_phase = 0;
        if (seen->ranks[i].peak_kb == 0)
            return;
        has_copies = has_copies || is_copy(&seen->ranks[i].rank);
        for (size_t k = 0; k < seen->rank_count; k++)
            if (starts_together(&seen->ranks[k].rank, &seen->ranks[i].rank))
                of_phase += seen->ranks[k].peak_kb;
        together = of_phase > together ? of_phase : together;
        largest = seen->ranks[i].peak_kb > largest ? seen->ranks[i].peak_kb : largest;
    }
    if (together > 0)
        say(seen->run, "memory", "%llu %llu %llu", together, largest, has_copies ? 0 : seen->step_peak_kb);
}

static void forget(struct seen *seen)
{
    for (size_t i = 0; i < seen->program_count; i++)
        close(seen->programs[i].fd);
    for (size_t i = 0; i < seen->inside_count; i++)
        close(seen->inside[i].fd);
    for (size_t i = 0; i < seen->library_count; i++) {
        if (seen->libraries[i].fd >= 0)
            close(seen->libraries[i].fd);
        free(seen->libraries[i].path);
    }
    for (size_t i = 0; i < seen->rank_count; i++) {
        free(seen->ranks[i].programs);
        free(seen->ranks[i].directory);
    }
    for (size_t i = 0; i < seen->variable_count; i++)
        free(seen->variables[i]);
    free(seen->programs);
    free(seen->inside);
    free(seen->libraries);
    free(seen->ranks);
    free(seen->variables);
    free(seen->directory);
    free(seen->step_file);
    *seen = (struct seen){0};
}

void seen_tell(struct seen *seen)
{
    char(*digits)[SHA256_HEX_BYTES] = calloc(seen->program_count + 1, sizeof *digits);
    if (digits == NULL)
        return; /* "end" is not said: the job says that this node did not answer */
    tell_programs(seen, digits);
    tell_inside(seen);
    tell_libraries(seen);
    for (size_t i = 0; i < seen->variable_count; i++) {
        size_t name = strcspn(seen->variables[i], "=");
        bool is_set = seen->variables[i][name] == '=';
        char *fact = text_of("%s.%.*s", is_set ? "env" : "unset", (int)name, seen->variables[i]);
        say(seen->run, fact, "%s", is_set ? seen->variables[i] + name + 1 : "yes");
        free(fact);
    }
    tell_directories(seen, "directory.own", false);
    tell_directories(seen, "directory.other", true);
    tell_ranks(seen, digits);
    tell_memory(seen);
    tell_cpus(seen);
    say(seen->run, "end", "yes");
    free(digits);
    forget(seen);
}
