/* program: hashes of what a node would execute. */
#include "witness/program.h"

#include "common/sha256.h"
#include "witness/ask.h"
#include "witness/say.h"
#include "witness/text.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LIBRARIES = 200, LARGE_BYTES = 64 << 20, ASK_S = 15 };

/* The digits, "" where it cannot be read. */
static void hash_of(const char *path, char hex[SHA256_HEX_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    hex[0] = '\0';
    if (sha256_file(path, digest) == 0)
        sha256_hex(digest, hex);
}

static bool is_file(const char *path, struct stat *found)
{
    return stat(path, found) == 0 && S_ISREG(found->st_mode);
}

/* Where a program of that name lies, as a shell finds it; NULL where it is nowhere. To be freed. */
static char *on_path(const char *name)
{
    const char *from = getenv("PATH");
    char *paths = text_of("%s", from == NULL ? "/usr/bin:/bin" : from), *found = NULL;
    for (char *rest = paths, *folder; found == NULL && (folder = text_part(&rest, ':')) != NULL;) {
        struct stat file;
        char *path = text_of("%s/%s", folder[0] == '\0' ? "." : folder, name);
        if (is_file(path, &file) && access(path, X_OK) == 0)
            found = path;
        else
            free(path);
    }
    free(paths);
    return found;
}

/* Of a script, the interpreter that its first line names. */
static void say_interpreter(const char *fact, const char *script)
{
    char line[512] = "", hex[SHA256_HEX_BYTES];
    FILE *file = fopen(script, "re");
    if (file == NULL || fgets(line, sizeof line, file) == NULL || strncmp(line, "#!", 2) != 0)
        line[0] = '\0';
    if (file != NULL)
        fclose(file);
    if (line[0] == '\0')
        return;
    line[strcspn(line, "\n")] = '\0';
    char *at = NULL, *word = strtok_r(line + 2, " \t", &at), *next = word == NULL ? NULL : strtok_r(NULL, " \t", &at);
    if (word == NULL)
        return;
    const char *slash = strrchr(word, '/');
    char *named = strcmp(slash == NULL ? word : slash + 1, "env") == 0 && next != NULL ? on_path(next) : text_of("%s", word);
    char *path = named == NULL ? NULL : realpath(named, NULL), *name = text_of("%s.interpreter", fact);
    if (path != NULL) {
        hash_of(path, hex);
        say(0, name, "%s %s", path, hex);
    }
    free(name);
    free(path);
    free(named);
}

char *program_library(char *line, int *missing)
{
    char *end, *arrow;
    line += strspn(line, " \t");
    *missing = (end = strstr(line, " => not found")) != NULL;
    if (*missing) {
        line[strcspn(line, " ")] = '\0';
        return line;
    }
    arrow = strstr(line, " => /");
    end = strstr(line, " (0x");
    if (end == NULL || (arrow == NULL && line[0] != '/'))
        return line + strlen(line);
    *end = '\0';
    return arrow == NULL ? line : arrow + 4;
}

static const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The program that a dynamic one names to load it, which belongs to its C library; "" for a static one. */
static void say_loader(const char *executable)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    char path[4096], hex[SHA256_HEX_BYTES];
    int fd = open(executable, O_RDONLY | O_CLOEXEC);
    bool is_program = fd >= 0 && pread(fd, &head, sizeof head, 0) == sizeof head && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
    for (unsigned i = 0; is_program && i < head.e_phnum; i++) {
        off_t place = (off_t)(head.e_phoff + i * sizeof part);
        if (pread(fd, &part, sizeof part, place) != sizeof part || part.p_type != PT_INTERP || part.p_filesz >= sizeof path)
            continue;
        ssize_t length = pread(fd, path, part.p_filesz, (off_t)part.p_offset);
        path[length < 0 ? 0 : length] = '\0';
        hash_of(path, hex);
        say(0, "executable.loader", "%s %s", path, hex[0] == '\0' ? "unread" : hex);
        break;
    }
    if (fd >= 0)
        close(fd);
}

void program_say(const char *executable)
{
    char hex[SHA256_HEX_BYTES];
    struct stat file;
    say(0, "executable.path", "%s", executable);
    if (!is_file(executable, &file)) {
        say(0, "executable.problem", "this node does not see it");
        return;
    }
    hash_of(executable, hex);
    say(0, "executable.sha256", "%s", hex);
    say(0, "executable.size", "%lld", (long long)file.st_size);
    say_loader(executable);
    /* What it is linked with, and not what a variable puts before that. */
    char *loaded = ask(ASK_S, "env", "-u", "LD_PRELOAD", "-u", "LD_AUDIT", "ldd", "--", executable, NULL);
    int count = 0, missing;
    for (char *rest = loaded, *line; count < MOST_LIBRARIES && (line = text_part(&rest, '\n')) != NULL;) {
        char *path = program_library(line, &missing), *fact = text_of("library.%s", base(path));
        if (path[0] != '\0' && missing) {
            say(0, fact, "not found");
        } else if (path[0] != '\0') {
            hash_of(path, hex);
            say(0, fact, "%s %s", path, hex);
            count++;
        }
        free(fact);
    }
    free(loaded);
    say_interpreter("executable", executable);
}

void program_say_prefix(char *const words[])
{
    for (int number = 0; words[number] != NULL; number++) {
        bool searched = number == 0 && strchr(words[0], '/') == NULL;
        char *path = searched ? on_path(words[0]) : text_of("%s", words[number]), hex[SHA256_HEX_BYTES];
        struct stat file;
        if (path != NULL && (searched || strchr(path, '/') != NULL) && is_file(path, &file) &&
            (say_number() == 0 || file.st_size <= LARGE_BYTES)) {
            char *fact = text_of("prefix.%d.%s", number + 1, base(path));
            hash_of(path, hex);
            say(0, fact, "%s %s", path, hex[0] == '\0' ? "unread" : hex);
            say_interpreter(fact, path);
            free(fact);
        }
        free(path);
    }
}
