/* emit: text on stdout and JSON lines in a file, by rank 0 alone. */
#include "common/emit.h"

#include "common/die.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct {
    bool speaks;
    int text_error; /* first failure, as errno */
} out = {.speaks = true};

/* A JSON file that is written. */
struct json {
    FILE *file;       /* NULL: none */
    int error;        /* first failure, as errno */
    bool first;       /* no member yet in the innermost array or object: no comma before the next */
    const char *ends; /* what is before a group's first member and behind its last one */
    const char *between;
};

static struct json lines = {.ends = "", .between = ", "}, document = {.ends = "\n", .between = ",\n"};
static struct json *json = &lines; /* where members go */

void emit_init(bool speaks)
{
    out.speaks = speaks;
}

static void text_failed(void)
{
    if (out.text_error == 0)
        out.text_error = errno != 0 ? errno : EIO;
}

void emit_text(const char *format, ...)
{
    if (!out.speaks)
        return;
    va_list args;
    va_start(args, format);
    if (vprintf(format, args) < 0)
        text_failed();
    va_end(args);
}

int emit_flush_text(void)
{
    if (fflush(stdout) != 0)
        text_failed();
    return -out.text_error;
}

static void json_check(int failed)
{
    if (failed && json->error == 0)
        json->error = errno != 0 ? errno : EIO;
}

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    json_check(vfprintf(json->file, format, args) < 0);
    va_end(args);
}

static int open_lines(const char *path, const char *mode)
{
    if (!out.speaks)
        return 0;
    lines.file = fopen(path, mode);
    lines.error = 0;
    return lines.file == NULL ? -errno : 0;
}

int emit_open(const char *path)
{
    return open_lines(path, "we");
}

int emit_append(const char *path)
{
    return open_lines(path, "ae");
}

int emit_document(const char *path)
{
    document.file = path == NULL ? stdout : fopen(path, "we");
    if (document.file == NULL)
        return -errno;
    json = &document;
    document.error = 0;
    document.first = true;
    put("{");
    return 0;
}

int emit_document_end(void)
{
    put("\n}\n");
    json_check((document.file == stdout ? fflush(stdout) : fclose(document.file)) != 0);
    json = &lines;
    return -document.error;
}

/* Length of the UTF-8 sequence at text, 0 if there is none (overlong forms and surrogates included). */
static int utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    int length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3
                                : first >= 0xf0 && first < 0xf5   ? 4
                                                                  : 0;
    for (int i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) || (first == 0xf0 && text[1] < 0x90) ||
        (first == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

static void put_escaped(const char *value)
{
    for (const unsigned char *at = (const unsigned char *)value; *at != '\0';) {
        int length = utf8_length(at);
        if (length == 0)
            put("\\ufffd");
        else if (*at == '"' || *at == '\\')
            put("\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            put("\\u%04x", *at);
        else
            put("%.*s", length, (const char *)at);
        at += length == 0 ? 1 : length;
    }
}

/* Comma and key before a member; false if nothing is to be written. */
static bool begin_member(const char *key)
{
    if (json->file == NULL)
        return false;
    put("%s", json->first ? json->ends : json->between);
    json->first = false;
    if (key != NULL) {
        put("\"");
        put_escaped(key);
        put("\": ");
    }
    return true;
}

void emit_line(const char *type)
{
    if (json->file == NULL)
        return;
    put("{");
    json->first = true;
    if (type != NULL)
        emit_string("type", type);
}

void emit_line_end(void)
{
    if (json->file == NULL)
        return;
    put("}\n");
    json_check(fflush(json->file) != 0);
}

void emit_string(const char *key, const char *value)
{
    if (value == NULL) {
        emit_null(key);
    } else {
        emit_open_string(key);
        emit_string_part(value);
        emit_close_string();
    }
}

void emit_open_string(const char *key)
{
    if (begin_member(key))
        put("\"");
}

void emit_string_part(const char *text)
{
    if (json->file != NULL)
        put_escaped(text);
}

void emit_close_string(void)
{
    if (json->file != NULL)
        put("\"");
}

void emit_int(const char *key, int64_t value)
{
    if (begin_member(key))
        put("%" PRId64, value);
}

void emit_known(const char *key, int64_t value)
{
    if (value < 0)
        emit_null(key);
    else
        emit_int(key, value);
}

void emit_real(const char *key, double value, int decimals)
{
    if (!isfinite(value))
        emit_null(key);
    else if (begin_member(key))
        put("%.*f", decimals, value);
}

void emit_bool(const char *key, bool value)
{
    if (begin_member(key))
        put("%s", value ? "true" : "false");
}

void emit_null(const char *key)
{
    if (begin_member(key))
        put("null");
}

void emit_group(const char *key, char bracket)
{
    if (!begin_member(key))
        return;
    put("%c", bracket);
    json->first = true;
}

void emit_group_end(char bracket)
{
    if (json->file == NULL)
        return;
    put("%s%c", json->ends, bracket);
    json->first = false;
}

void emit_rate(const char *key, double value)
{
    emit_real(key, value, 3);
}

void emit_seconds(const char *key, double value)
{
    emit_real(key, value < 0 ? NAN : value, 9);
}

void emit_share(const char *key, double value)
{
    emit_real(key, value < 0 ? NAN : value, 6);
}

void emit_stats(const struct stats *rates, const char *unit)
{
    emit_rate("max", rates->max);
    emit_rate("min", rates->min);
    emit_rate("mean", rates->mean);
    emit_rate("stddev", stats_stddev(rates));
    emit_int("iterations", rates->n);
    emit_string("unit", unit);
}

void emit_record(double value, int decimals, const char *unit, const char *name, ...)
{
    char text[128];
    va_list args;
    va_start(args, name);
    vsnprintf(text, sizeof text, name, args);
    va_end(args);
    emit_line("record");
    emit_string("record", text);
    emit_real("value", value, decimals);
    emit_string("unit", unit);
}

void emit_warning(const char *format, ...)
{
    if (!out.speaks)
        return;
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    warn("%s", message);
    emit_line("warning");
    emit_string("message", message);
    emit_line_end();
}

int emit_close(void)
{
    if (json->file == NULL)
        return 0;
    json_check(fclose(json->file) != 0);
    json->file = NULL;
    return -json->error;
}
