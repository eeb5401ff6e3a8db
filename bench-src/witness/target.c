/* target: mount and client of the directory that is measured. */
#include "witness/target.h"

#include "common/mount.h"
#include "common/raw.h"
#include "witness/ask.h"
#include "witness/say.h"
#include "witness/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *target_seen(const char *directory, const char *mark)
{
    struct stat found;
    char *path = text_of("%s/%s", directory, mark);
    const char *seen = "apart";
    if (stat(directory, &found) != 0 || !S_ISDIR(found.st_mode))
        seen = "missing";
    for (int tried = 0; tried < 3 && strcmp(seen, "apart") == 0; tried++) {
        if (tried > 0)
            sleep(1);
        if (stat(path, &found) == 0)
            seen = "shared";
    }
    free(path);
    return seen;
}

void target_mounted(const char *directory, char **type, char **source)
{
    char path[MOUNT_PATH_BYTES], *table = raw_text("/proc/self/mountinfo");
    struct mounted found;
    bool known = mount_look(table, directory, path, &found);
    *type = known ? text_of("%s", found.type) : NULL;
    *source = known ? text_of("%s", found.source) : NULL;
    free(table);
}

static void say_nfs(const char *root, const char *point)
{
    static const char *const wanted[] = {"opts:", "caps:", "nfsv4:", "sec:"};
    char *path = text_of("%s/proc/self/mountstats", root), *text = raw_text(path);
    struct text told = {0};
    bool here = false;
    char *device = text_of(" mounted on %s with ", point);
    for (char *rest = text, *line; (line = text_part(&rest, '\n')) != NULL;) {
        if (strncmp(line, "device ", 7) == 0)
            here = strstr(line, device) != NULL;
        line += strspn(line, " \t");
        for (size_t i = 0; here && i < sizeof wanted / sizeof *wanted; i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
                text_add(&told, "%s; ", line);
    }
    say(0, "nfs.options", "%s", told.used > 0 ? told.bytes : "");
    text_free(&told);
    free(device);
    free(text);
    free(path);
}

struct setting {
    char *name;
    struct text values;
};

static void setting_add(struct setting **list, size_t *count, char *name, const char *value)
{
    size_t at = 0;
    while (at < *count && strcmp((*list)[at].name, name) != 0)
        at++;
    if (at == *count) {
        *list = text_grow(*list, *count, sizeof **list);
        (*list)[(*count)++] = (struct setting){.name = name};
    } else {
        free(name);
    }
    char *known = text_of(", %s, ", (*list)[at].values.used > 0 ? (*list)[at].values.bytes : "");
    char *wanted = text_of(", %s, ", value);
    if (strstr(known, wanted) == NULL)
        text_join(&(*list)[at].values, ", ", value);
    free(known);
    free(wanted);
}

/* The client's settings, those of all servers together. */
static void say_lustre(const char *root)
{
    static const char *const wanted[] = {
        "version", "max_cached_mb", "max_read_ahead_mb", "max_read_ahead_per_file_mb", "max_read_ahead_whole_mb", "statahead_max",
        "statahead_agl", "xattr_cache", "lazystatfs", "fast_read", "checksums", "checksum_pages", "checksum_type",
        "max_rpcs_in_flight", "max_mod_rpcs_in_flight", "max_pages_per_rpc", "max_dirty_mb", "lru_max_age", "default_easize"};
    struct setting *settings = NULL;
    size_t count = 0;
    glob_t files = text_paths(root, "proc/fs/lustre/version proc/fs/lustre/llite/*/* proc/fs/lustre/osc/*/* proc/fs/lustre/mdc/*/* "
                                    "proc/fs/lustre/ldlm/namespaces/*/* sys/fs/lustre/version sys/fs/lustre/llite/*/* "
                                    "sys/fs/lustre/osc/*/* sys/fs/lustre/mdc/*/* sys/fs/lustre/ldlm/namespaces/*/*");
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *name = strrchr(files.gl_pathv[i], '/') + 1, *part = strstr(files.gl_pathv[i], "/fs/lustre/") + 11;
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
            char *line = strcmp(name, wanted[k]) == 0 ? text_line("%s", files.gl_pathv[i]) : NULL;
            if (line != NULL)
                setting_add(&settings, &count, text_of("lustre.%.*s.%s", (int)strcspn(part, "/"), part, name), line);
            free(line);
        }
    }
    globfree(&files);
    for (size_t i = 0; i < count; i++) {
        say(0, settings[i].name, "%s", settings[i].values.bytes);
        free(settings[i].name);
        text_free(&settings[i].values);
    }
    free(settings);
}

/* The client's translators with their options, those of its servers among them. */
static void say_gluster(const char *point)
{
    glob_t files = text_paths(point, ".meta/graphs/active/*/type .meta/graphs/active/*/options/*");
    struct text told = {0};
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *name = strrchr(files.gl_pathv[i], '/') + 1, *part = strstr(files.gl_pathv[i], "/active/") + 8;
        bool varies = strcmp(name, "process-uuid") == 0 || strstr(name, "version") != NULL;
        char *line = varies ? NULL : text_line("%s", files.gl_pathv[i]), *both;
        if (line != NULL) {
            text_join(&told, "; ", both = text_of("%s %s", part, line));
            free(both);
        }
        free(line);
    }
    globfree(&files);
    say(0, "gluster.client", "%s", told.used > 0 ? told.bytes : "");
    text_free(&told);
}

static void say_client(const char *root, const struct mounted *found)
{
    if (strncmp(found->type, "nfs", 3) == 0)
        say_nfs(root, found->point);
    else if (strcmp(found->type, "lustre") == 0)
        say_lustre(root);
    else if (strcmp(found->type, "fuse.glusterfs") == 0)
        say_gluster(found->point);
    else if (strcmp(found->type, "beegfs") == 0) {
        glob_t files = text_paths(root, "proc/fs/beegfs/*/config");
        if (files.gl_pathc > 0)
            say_file("beegfs.config", "%s", files.gl_pathv[0]);
        globfree(&files);
    }
}

void target_say(const char *root, const char *directory)
{
    char *kind = ask(15, "stat", "-f", "-c", "%T (0x%t), block size %s", "--", directory, NULL);
    kind[strcspn(kind, "\n")] = '\0';
    say(0, "fs.type", "%s", kind);
    free(kind);
    char resolved[MOUNT_PATH_BYTES], *path = text_of("%s/proc/self/mountinfo", root), *table = raw_text(path);
    struct mounted found;
    struct stat there;
    if (stat(directory, &there) == 0 && mount_look(table, directory, resolved, &found)) {
        say(0, "mount.inside", "%s", found.inside);
        say(0, "mount.point", "%s", found.point);
        say(0, "mount.options", "%s", found.options);
        say(0, "mount.type", "%s", found.type);
        say(0, "mount.source", "%s", found.source);
        say(0, "mount.super_options", "%s", found.super_options);
        say(0, "mount.device", "%s", found.device);
        say_client(root, &found);
    }
    free(table);
    free(path);
}
