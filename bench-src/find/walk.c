#include "find/walk.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH = 20000 };

static bool is_newer(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec : one->tv_nsec > other->tv_nsec;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Counts a file, or keeps a directory to be read. */
static void look_at(struct walk *walk, const char *entry)
{
    const struct find_config *config = walk->config;
    const char *path = entry + 1;
    const bool named = config->name == NULL || fnmatch(config->name, last_part(path), 0) == 0;
    const bool ask = entry[0] == '?' || (named && (config->size >= 0 || config->newer != NULL));
    struct stat status = {0};
    if (entry[0] != 'd' && ask && lstat(path, &status) != 0) {
        faults_add(&walk->faults, "lstat", path, errno, NULL);
        return;
    }
    if (entry[0] == 'd' || S_ISDIR(status.st_mode)) {
        entries_add(&walk->directories, 'd', NULL, path);
        return;
    }
    walk->files++;
    walk->found += named && (config->size < 0 || status.st_size == config->size) &&
                   (config->newer == NULL || is_newer(&status.st_mtim, &walk->newer));
}

static char kind_of(const struct dirent *entry)
{
    return entry->d_type == DT_DIR ? 'd' : entry->d_type == DT_UNKNOWN ? '?' : 'f';
}

static bool open_next(struct walk *walk)
{
    size_t next;
    const char *entry = entries_next(&walk->directories, walk->next, &next);
    if (entry == NULL)
        return false;
    walk->next = next;
    walk->path = entry + 1;
    walk->open = opendir(walk->path);
    if (walk->open == NULL)
        faults_add(&walk->faults, "opendir", walk->path, errno, NULL);
    return true;
}

/* Reads at most BATCH names of the directories that this process has. */
static void read_names(struct walk *walk, struct entries *found)
{
    while (found->count < BATCH) {
        if (walk->open == NULL) {
            if (!open_next(walk))
                return;
            continue;
        }
        errno = 0;
        const struct dirent *entry = readdir(walk->open);
        if (entry != NULL) {
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                entries_add(found, kind_of(entry), walk->path, entry->d_name);
            continue;
        }
        if (errno != 0)
            faults_add(&walk->faults, "readdir", walk->path, errno, NULL);
        closedir(walk->open);
        walk->open = NULL;
    }
}

/* Directories that have been read are dropped once no name of them is in use. */
static bool has_more(struct walk *walk)
{
    const bool more = walk->open != NULL || walk->next < walk->directories.used;
    if (!more) {
        entries_free(&walk->directories);
        walk->next = 0;
    }
    return more;
}

/* Keeps the path of the open directory, which adding others may move. */
static void take(struct walk *walk, const struct entries *shared)
{
    const size_t at = walk->open == NULL ? 0 : (size_t)(walk->path - walk->directories.bytes);
    size_t next;
    const char *entry;
    for (size_t place = 0; (entry = entries_next(shared, place, &next)) != NULL; place = next)
        look_at(walk, entry);
    if (walk->open != NULL)
        walk->path = walk->directories.bytes + at;
}

void walk_tree(struct walk *walk, const struct place *place)
{
    struct entries names = {0};
    if (place->rank == 0)
        entries_add(&walk->directories, 'd', NULL, walk->config->directory);
    for (int more = 1; more != 0;) {
        read_names(walk, &names);
        int own = names.count > 0;
        entries_share(&names, place->comm);
        take(walk, &names);
        entries_free(&names);
        own = has_more(walk) || own;
        MPI_Allreduce(&own, &more, 1, MPI_INT, MPI_LOR, place->comm);
    }
}
