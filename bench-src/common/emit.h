/* emit: what the program says: text on stdout and JSON lines in a file, both by rank 0 alone.
 *
 * Every function may be called by every rank; on the others, and for the JSON ones where no file is open, it does
 * nothing. One object a line; a line is handed to the system when it ends, so that a run that dies leaves what it knew.
 * Nothing is fatal here: emit_close says at the end whether everything arrived. */
#pragma once

#include "common/stats.h"

#include <stdbool.h>
#include <stdint.h>

/* Selects the rank that writes; called once by main. */
void emit_init(bool speaks);

/* Text for stdout. */
void emit_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Starts a JSON lines file, emptied if it exists: 0 or -errno. */
int emit_open(const char *path);

/* The same, behind what is in it. */
int emit_append(const char *path);

/* One line: emit_line, members, emit_line_end. Its first member is the type, unless that is NULL. */
void emit_line(const char *type);
void emit_line_end(void);

/* A JSON document, a line a member, on stdout where path is NULL. By rank 0 alone; members go there until its end. Both
 * return 0, or -errno of the first failure, where emit_document has nothing open. */
int emit_document(const char *path);
int emit_document_end(void);

/* Members. key is NULL inside an array. Numbers that are not finite become null, bytes that are not UTF-8 become U+FFFD. */
void emit_string(const char *key, const char *value); /* NULL becomes null */
void emit_open_string(const char *key); /* a string in parts: open, emit_string_part, close */
void emit_string_part(const char *text);
void emit_close_string(void);
void emit_int(const char *key, int64_t value);
void emit_known(const char *key, int64_t value); /* below 0, where it is not known, null */
void emit_real(const char *key, double value, int decimals);
void emit_bool(const char *key, bool value);
void emit_null(const char *key);
void emit_group(const char *key, char bracket); /* an array '[' or an object '{': emit_group, members, emit_group_end */
void emit_group_end(char bracket);

/* A rate (three decimals, as in the text), a duration in seconds (nine), a share from 0 to 1 (six). The last two become null
 * below 0, where they are not known. */
void emit_rate(const char *key, double value);
void emit_seconds(const char *key, double value);
void emit_share(const char *key, double value);

/* The members of a `result` line that all applets have: max, min, mean, stddev, iterations, unit. */
void emit_stats(const struct stats *rates, const char *unit);

/* Starts a line of type `record`: a result under the name by which campaigns know it, with the unit and the decimals
 * of the text. Members that may follow: elapsed_s, remote_share,
 * cached_share, and the ranks' rates as `ranks`. */
void emit_record(double value, int decimals, const char *unit, const char *name, ...)
    __attribute__((format(printf, 4, 5)));

/* A warning on stderr and as a JSON line, by rank 0. */
void emit_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flush and check stdout: 0 or -errno of the first failure. */
int emit_flush_text(void);

/* Flush, check and close the JSON file: 0 or -errno of the first failure. */
int emit_close(void);
