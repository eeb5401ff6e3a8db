/* say: facts as lines. */
#include "witness/say.h"

#include "witness/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 800, NAME_BYTES = 150 };

const char *say_node(void)
{
    static char host[256];
    const char *name = getenv("SLURMD_NODENAME");
    if (name != NULL)
        return name;
    gethostname(host, sizeof host - 1);
    return host;
}

int say_number(void)
{
    const char *number = getenv("SLURM_NODEID");
    return number == NULL ? 0 : atoi(number);
}

/* One write a line: another thread may say something too. */
static void say_text(int run, const char *name, const char *text)
{
    char line[1024], plain[NAME_BYTES + 1];
    snprintf(plain, sizeof plain, "%s", name);
    for (char *at = plain; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("._+-", *at) == NULL)
            *at = '_';
    size_t left = strlen(text), all = left;
    if (left > TEXT_LONGEST)
        left = TEXT_LONGEST;
    const char *more = all > left ? " ... (cut)" : "";
    while (left > 0 || *more != '\0') {
        const char *from = left > 0 ? text : more;
        size_t piece = left > 0 ? left : strlen(more);
        piece = piece < PIECE_BYTES ? piece : PIECE_BYTES;
        if (left > 0) {
            text += piece;
            left -= piece;
        } else {
            more = "";
        }
        int head = snprintf(line, sizeof line, "%d\t%d\t%s\t%c\t", say_number(), run, plain, left > 0 || *more != '\0' ? '+' : '.');
        for (size_t i = 0; i < piece; i++)
            line[head++] = iscntrl((unsigned char)from[i]) ? ' ' : from[i];
        line[head++] = '\n';
        if (write(STDOUT_FILENO, line, (size_t)head) != head)
            return; /* nobody listens any more */
    }
}

void say(int run, const char *name, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0)
        say_text(run, name, text);
    va_end(args);
    free(text);
}

void say_file(const char *name, const char *format, ...)
{
    char *path = NULL, *line;
    va_list args;
    va_start(args, format);
    if (vasprintf(&path, format, args) >= 0 && (line = text_line("%s", path)) != NULL) {
        say_text(0, name, line);
        free(line);
    }
    va_end(args);
    free(path);
}
