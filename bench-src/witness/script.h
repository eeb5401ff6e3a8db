/* script: the job's script, to which a `witness job` listens on its standard input and answers on its standard output. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The next line, NULL where none is there yet; to be freed. */
char *script_line(void);

/* Takes what the script says. An ending job is not kept waiting by what it asked before: "over" is heard at once. */
void script_hear(void);

bool script_over(void);  /* the job is ending */
bool script_ended(void); /* nothing more will be said */

/* Listens for so long; false where the job is ending, or has ended. */
bool script_pause(int64_t us);

/* The answer to what was asked last. */
void script_answer(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An empty message, which is not shown. bash handles a signal that came just before it began to read only when it has
 * read something: a long wait without a message could not be ended. */
void script_wake(void);

/* A message for the job's own output, before an answer. */
void script_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
