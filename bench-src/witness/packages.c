/* packages: files and the packages that have them. */
#include "witness/packages.h"

#include "common/die.h"
#include "common/sha256.h"
#include "witness/ask.h"
#include "witness/facts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ASK_S = 20, MOST_ASKED = 8, MD5_DIGITS = 32, MOST_FILES = 2000, HASHES_OF_FACT = 50 };

struct file {
    char *path, *package; /* as it was named; NULL: of none that is known, or with another content */
    char *place;          /* without links */
    const char *name;     /* the end of that */
    char hex[SHA256_HEX_BYTES], digits[SHA256_HEX_BYTES]; /* of its content; what dpkg has of it, "" for nothing */
    struct stat found;
    bool is_file, is_looked_up, is_of_attempt;
};

static struct {
    struct file *list;
    size_t count;
} files; /* of the job */

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void add(const char *path)
{
    for (size_t i = 0; i < files.count; i++)
        if (strcmp(files.list[i].path, path) == 0) {
            files.list[i].is_of_attempt = true;
            return;
        }
    if (path[0] != '/' || files.count >= MOST_FILES)
        return;
    files.list = text_grow(files.list, files.count, sizeof *files.list);
    struct file *file = &files.list[files.count++];
    unsigned char digest[SHA256_BYTES];
    *file = (struct file){.path = text_of("%s", path), .place = realpath(path, NULL), .is_of_attempt = true};
    file->name = base(file->place == NULL ? path : file->place);
    file->is_file = stat(path, &file->found) == 0 && S_ISREG(file->found.st_mode) && sha256_file(path, digest) == 0;
    if (file->is_file)
        sha256_hex(digest, file->hex);
}

/* --- what an attempt has loaded */

/* The keys of an object of the benchmark's lines: "PATH": "SHA-256", ... */
static void add_keys(char *text, const char *object)
{
    for (char *at = text; (at = strstr(at, object)) != NULL;) {
        at += strlen(object);
        while (*at == '"') {
            char *end = strchr(at + 1, '"'), *next = end == NULL ? NULL : end + strcspn(end, ",}\n");
            if (next == NULL)
                return;
            *end = '\0';
            add(at + 1);
            *end = '"';
            at = next + strspn(next, ", ");
        }
    }
}

static void add_of_benchmark(const char *folder)
{
    glob_t records = text_paths(folder, "bench.jsonl */bench.jsonl");
    for (size_t i = 0; i < records.gl_pathc; i++) {
        struct text lines = {0};
        text_file(&lines, records.gl_pathv[i]);
        if (lines.bytes != NULL) {
            add_keys(lines.bytes, "\"objects\": {");
            add_keys(lines.bytes, "\"loaded_later\": {");
            text_free(&lines);
        }
    }
    globfree(&records);
}

/* Of facts "library.NAME": "PATH SHA-256". */
static void add_seen(const struct gathered *seen)
{
    for (size_t i = 0; i < seen->count; i++)
        for (int node = 0; node < seen->nodes && strncmp(seen->facts[i].name, "library.", 8) == 0; node++) {
            char *path = text_of("%s", seen->facts[i].of[node].text.bytes == NULL ? "" : seen->facts[i].of[node].text.bytes);
            char *blank = strrchr(path, ' ');
            if (blank != NULL)
                *blank = '\0';
            add(path);
            free(path);
        }
}

/* --- the databases */

static bool is_at(const struct file *file, const char *path)
{
    struct stat other;
    return stat(path, &other) == 0 && other.st_ino == file->found.st_ino && other.st_dev == file->found.st_dev;
}

/* A line "MD5  PATH" of dpkg's about a package. */
static void compare_line(const char *line, const char *package, size_t name_bytes)
{
    const char *path = strlen(line) > MD5_DIGITS + 2 ? line + MD5_DIGITS + 2 : NULL, *end = path == NULL ? NULL : base(path);
    for (size_t i = 0; path != NULL && i < files.count; i++) {
        struct file *file = &files.list[i];
        if (file->is_looked_up || !file->is_file || file->package != NULL || strcmp(end, file->name) != 0)
            continue;
        char *packaged = text_of("/%s", path);
        if (is_at(file, packaged)) {
            snprintf(file->digits, sizeof file->digits, "%.*s", MD5_DIGITS, line);
            file->package = text_of("%.*s", (int)name_bytes, package);
        }
        free(packaged);
    }
}

static void look_up_dpkg(void)
{
    static const char ending[] = ".md5sums";
    glob_t found = text_paths("", "var/lib/dpkg/info/*.md5sums");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct text text = {0};
        const char *name = base(found.gl_pathv[i]);
        text_file(&text, found.gl_pathv[i]);
        for (char *rest = text.bytes, *line; (line = text_part(&rest, '\n')) != NULL;)
            compare_line(line, name, strlen(name) - strlen(ending));
        text_free(&text);
    }
    globfree(&found);
}

/* What a program says of some of the files that are new and, of dpkg's, in a package or in none. */
static char *ask_about(const char *program, size_t *from, bool of_dpkg)
{
    char *paths[MOST_ASKED + 1] = {NULL};
    int count = 0;
    for (; *from < files.count && count < MOST_ASKED; ++*from) {
        const struct file *file = &files.list[*from];
        if (!file->is_looked_up && file->is_file && (file->package != NULL) == of_dpkg)
            paths[count++] = file->place;
    }
    if (count == 0)
        return text_of("%s", "");
    char **path = paths;
    return ask(ASK_S, "sh", "-c", program, "sh", path[0], path[1], path[2], path[3], path[4], path[5], path[6], path[7], NULL);
}

/* Those with another content than dpkg has of them are in no package. */
static void compare_digits(void)
{
    bool is_same[MOST_FILES] = {false};
    for (size_t from = 0; from < files.count;) {
        char *said = ask_about("exec md5sum -- \"$@\"", &from, true);
        for (char *rest = said, *line; (line = text_part(&rest, '\n')) != NULL;)
            for (size_t i = 0; strlen(line) > MD5_DIGITS + 2 && i < files.count; i++)
                if (files.list[i].place != NULL && strcmp(files.list[i].place, line + MD5_DIGITS + 2) == 0)
                    is_same[i] = strncmp(files.list[i].digits, line, MD5_DIGITS) == 0;
        free(said);
    }
    for (size_t i = 0; i < files.count; i++)
        if (!files.list[i].is_looked_up && !is_same[i]) {
            free(files.list[i].package);
            files.list[i].package = NULL;
        }
}

/* Lines "PACKAGE SHA-256 PATH" of all files of a file's package. */
static void look_up_rpm(void)
{
    static const char program[] =
        "command -v rpm >/dev/null || exit 0\n"
        "rpm -qf --queryformat '[%{=NAME}-%{=VERSION}-%{=RELEASE} %{FILEDIGESTS} %{FILENAMES}\\n]' -- \"$@\" | "
        "grep -F \"$(for path; do echo \"/${path##*/}\"; done)\" | sort -u";
    for (size_t from = 0; from < files.count;) {
        char *said = ask_about(program, &from, false);
        for (char *rest = said, *line; (line = text_part(&rest, '\n')) != NULL;) {
            char *path = line, *package = text_part(&path, ' '), *digits = text_part(&path, ' ');
            for (size_t i = 0; path != NULL && i < files.count; i++)
                if (files.list[i].package == NULL && strcmp(files.list[i].hex, digits) == 0 && is_at(&files.list[i], path))
                    files.list[i].package = text_of("%s", package);
        }
        free(said);
    }
}

/* --- what is said */

static void look_up(void)
{
    bool is_any_new = false;
    for (size_t i = 0; i < files.count; i++)
        is_any_new = is_any_new || (files.list[i].is_file && !files.list[i].is_looked_up);
    if (is_any_new) {
        look_up_dpkg();
        compare_digits();
        look_up_rpm();
    }
    for (size_t i = 0; i < files.count; i++)
        files.list[i].is_looked_up = true;
}

static void emit(const char *package)
{
    struct text hashes = {0};
    int count = 0;
    for (size_t i = 0; i <= files.count; i++) {
        const struct file *file = i < files.count ? &files.list[i] : NULL;
        if (hashes.bytes != NULL && (file == NULL || count == HASHES_OF_FACT)) {
            facts_text((struct fact){.source = "packages", .name = package}, hashes.bytes);
            text_free(&hashes);
            count = 0;
        }
        if (file == NULL || !file->is_of_attempt || file->package == NULL || strcmp(file->package, package) != 0)
            continue;
        text_join(&hashes, " ", file->hex);
        count++;
    }
}

void packages_emit(const char *folder, const struct gathered *seen)
{
    for (size_t i = 0; i < files.count; i++)
        files.list[i].is_of_attempt = false;
    add_of_benchmark(folder);
    add_seen(seen);
    look_up();
    for (size_t i = 0; i < files.count; i++) {
        bool is_first = files.list[i].package != NULL;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = files.list[k].package == NULL || strcmp(files.list[k].package, files.list[i].package) != 0;
        if (is_first)
            emit(files.list[i].package);
    }
}

int packages_say(char *const paths[], int count)
{
    for (int i = 0; i < count; i++)
        add(paths[i]);
    look_up();
    for (size_t i = 0; i < files.count; i++)
        if (files.list[i].is_file && files.list[i].package == NULL)
            printf("%s %s\n", files.list[i].path, files.list[i].hex);
    return fflush(stdout) == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}
