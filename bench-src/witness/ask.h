/* ask: other programs, what they print, and how long they may take. */
#pragma once

#include "witness/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A program that was started. */
struct asked {
    pid_t pid;    /* 0 once it has ended */
    int out;      /* what it prints; -1 once it has closed it */
    int in;       /* what it reads; -1 for nothing */
    int status;   /* as the shell has it: 128 and more for a signal */
    struct text said;
    int64_t until_us; /* when it is ended; of `ask` alone */
};

int64_t ask_now_us(void); /* monotonic */

/* With what it complains into a file, nowhere where that is NULL; `listens`: it has an input. A program that cannot be
 * executed ends with 127. */
void ask_start(struct asked *asked, char *const words[], const char *errors, bool listens, const char *in_directory);

/* Takes what it has printed; false at the end of that. */
bool ask_take(struct asked *asked);

/* Whether it still runs; its status is known where it does not. */
bool ask_runs(struct asked *asked);

/* Ends it: asked to, and 5 s later made to. */
void ask_end(struct asked *asked);

/* Starts each of several programs, and waits for all of them, at most limit_s. What is on stdin meanwhile stays there. */
void ask_all(struct asked *list, size_t count, int limit_s);

/* What a command of the shell prints and complains, without the line ends behind it; `said` is to be freed. */
struct asked ask_shell(int limit_s, const char *command);

/* The beginning of what one program prints, "" where it fails; to be freed. */
char *ask(int limit_s, const char *word, ...) __attribute__((sentinel));
