/* text: texts that grow, and small files. */
#include "witness/text.h"

#include "common/die.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_FILE = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

void text_add_bytes(struct text *text, const char *bytes, size_t count)
{
    if (text->room - text->used <= count) {
        text->room = 2 * text->room + count + 64;
        text->bytes = realloc(text->bytes, text->room);
        if (text->bytes == NULL)
            die("no memory for %zu bytes", text->room);
    }
    memcpy(text->bytes + text->used, bytes, count);
    text->used += count;
    text->bytes[text->used] = '\0';
}

static char *formatted(const char *format, va_list args)
{
    char *made = NULL;
    if (vasprintf(&made, format, args) < 0)
        die("no memory for a text");
    return made;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *made = formatted(format, args);
    va_end(args);
    text_add_bytes(text, made, strlen(made));
    free(made);
}

void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

void text_join(struct text *text, const char *separator, const char *piece)
{
    text_add(text, "%s%s", text->used > 0 ? separator : "", piece);
}

char *text_of(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *made = formatted(format, args);
    va_end(args);
    return made;
}

/* Of what is opened, which is closed; NULL also where nothing is. */
static char *line_of(int fd)
{
    char bytes[TEXT_LONGEST + 2];
    struct stat found;
    size_t used = 0;
    ssize_t got = 0;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode))
        while (used < sizeof bytes - 1 && (got = read(fd, bytes + used, sizeof bytes - 1 - used)) > 0)
            used += (size_t)got;
    close(fd);
    if (used > 0 && bytes[used - 1] == '\n')
        used--;
    bytes[used] = '\0';
    for (size_t i = 0; i < used; i++)
        if (bytes[i] == '\n' || bytes[i] == '\t')
            bytes[i] = ' ';
    errno = 0;
    return bytes[0] == '\0' ? NULL : text_of("%s", bytes);
}

char *text_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *path = formatted(format, args);
    va_end(args);
    char *line = line_of(open(path, OPEN_FILE));
    free(path);
    return line;
}

char *text_line_at(int directory, const char *name)
{
    return line_of(openat(directory, name, OPEN_FILE | O_NOFOLLOW));
}

void text_file(struct text *text, const char *path)
{
    char bytes[1 << 14];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && (got = read(fd, bytes, sizeof bytes)) > 0;)
        text_add_bytes(text, bytes, (size_t)got);
    if (fd >= 0)
        close(fd);
}

char *text_part(char **rest, char separator)
{
    char *part = *rest, *end = part == NULL ? NULL : strchr(part, separator);
    *rest = end == NULL ? NULL : end + 1;
    if (end != NULL)
        *end = '\0';
    return part;
}

glob_t text_paths(const char *root, const char *patterns)
{
    glob_t paths = {0};
    char *list = text_of("%s", patterns), *rest = list, *pattern;
    for (int appended = 0; (pattern = text_part(&rest, ' ')) != NULL; appended = GLOB_APPEND) {
        char *path = text_of("%s/%s", root, pattern);
        glob(path, appended, NULL, &paths);
        free(path);
    }
    free(list);
    return paths;
}

void *text_grow(void *list, size_t count, size_t bytes)
{
    if (count > 0 && (count & (count - 1)) != 0)
        return list;
    void *more = realloc(list, (count > 0 ? 2 * count : 1) * bytes);
    if (more == NULL)
        die("no memory for a list of %zu", count + 1);
    return more;
}
