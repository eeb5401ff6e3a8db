/* script: what the job's script says. */
#include "witness/script.h"

#include "witness/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    struct text heard;
    bool over, ended;
} script;

char *script_line(void)
{
    char *end = script.heard.bytes == NULL ? NULL : strchr(script.heard.bytes, '\n'), *line;
    if (end == NULL)
        return NULL;
    *end = '\0';
    line = text_of("%s", script.heard.bytes);
    script.heard.used -= (size_t)(end + 1 - script.heard.bytes);
    memmove(script.heard.bytes, end + 1, script.heard.used + 1);
    return line;
}

void script_hear(void)
{
    char bytes[65536];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0)
        script.ended = true;
    else
        text_add_bytes(&script.heard, bytes, (size_t)got);
    const char *heard = script.heard.bytes;
    if (heard != NULL && (strncmp(heard, "over\n", 5) == 0 || strstr(heard, "\nover\n") != NULL))
        script.over = true;
}

bool script_over(void)
{
    return script.over;
}

bool script_ended(void)
{
    return script.ended;
}

bool script_pause(int64_t us)
{
    int64_t until_us = ask_now_us() + us, left_us;
    while (!script.over && !script.ended && (left_us = until_us - ask_now_us()) > 0) {
        struct pollfd ready = {STDIN_FILENO, POLLIN, 0};
        if (poll(&ready, 1, (int)(left_us / 1000) + 1) > 0)
            script_hear();
    }
    return !script.over && !script.ended;
}

static void print_line(const char *begins, const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        return;
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n')
            *at = ' ';
    printf("%s%s\n", begins, text);
    fflush(stdout);
    free(text);
}

void script_answer(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void script_wake(void)
{
    script_say("%s", "");
}

void script_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("\t", format, args);
    va_end(args);
}
