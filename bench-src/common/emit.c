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
    FILE *json;
    int json_error; /* first failure, as errno */
    int text_error;
    bool first; /* no member yet in the innermost array or object: no comma before the next */
} out = {.speaks = true};

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
    if (failed && out.json_error == 0)
        out.json_error = errno != 0 ? errno : EIO;
}

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    json_check(vfprintf(out.json, format, args) < 0);
    va_end(args);
}

int emit_open(const char *path)
{
    if (!out.speaks)
        return 0;
    out.json = fopen(path, "we");
    out.json_error = 0;
    return out.json == NULL ? -errno : 0;
}

/* Length of the UTF-8 sequence at text, 0 where there is none (overlong forms and surrogates included). */
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

int emit_escape(FILE *file, const char *value)
{
    int failed = 0;
    for (const unsigned char *at = (const unsigned char *)value; *at != '\0' && !failed;) {
        int length = utf8_length(at);
        if (length == 0)
            failed = fputs("\\ufffd", file) < 0;
        else if (*at == '"' || *at == '\\')
            failed = fprintf(file, "\\%c", *at) < 0;
        else if (*at < 0x20 || *at == 0x7f)
            failed = fprintf(file, "\\u%04x", *at) < 0;
        else
            failed = fprintf(file, "%.*s", length, (const char *)at) < 0;
        at += length == 0 ? 1 : length;
    }
    return failed ? -1 : 0;
}

static void put_escaped(const char *value)
{
    json_check(emit_escape(out.json, value) != 0);
}

/* Comma and key before a member; false where nothing is to be written. */
static bool begin_member(const char *key)
{
    if (out.json == NULL)
        return false;
    if (!out.first)
        put(", ");
    out.first = false;
    if (key != NULL) {
        put("\"");
        put_escaped(key);
        put("\": ");
    }
    return true;
}

void emit_line(const char *type)
{
    if (out.json == NULL)
        return;
    put("{");
    out.first = true;
    emit_string("type", type);
}

void emit_line_end(void)
{
    if (out.json == NULL)
        return;
    put("}\n");
    json_check(fflush(out.json) != 0);
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
    if (out.json != NULL)
        put_escaped(text);
}

void emit_close_string(void)
{
    if (out.json != NULL)
        put("\"");
}

void emit_int(const char *key, int64_t value)
{
    if (begin_member(key))
        put("%" PRId64, value);
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

static void open_group(const char *key, const char *bracket)
{
    if (!begin_member(key))
        return;
    put("%s", bracket);
    out.first = true;
}

static void close_group(const char *bracket)
{
    if (out.json == NULL)
        return;
    put("%s", bracket);
    out.first = false;
}

void emit_open_array(const char *key)
{
    open_group(key, "[");
}

void emit_close_array(void)
{
    close_group("]");
}

void emit_open_object(const char *key)
{
    open_group(key, "{");
}

void emit_close_object(void)
{
    close_group("}");
}

void emit_rate(const char *key, double value)
{
    emit_real(key, value, 3);
}

void emit_seconds(const char *key, double value)
{
    emit_real(key, value, 9);
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
    if (out.json == NULL)
        return 0;
    json_check(fclose(out.json) != 0);
    out.json = NULL;
    return -out.json_error;
}
