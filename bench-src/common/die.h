/* die: the verbs for errors. Messages are lower case, the problem first, the subject in quotes, no full stop. */
#pragma once

#include <stddef.h>

/* What a process exits with; the driver and users rely on these numbers. */
enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_FAILED = 1,   /* it ran, but an operation failed, or the results could not be written */
    EXIT_CODE_USAGE = 2,    /* wrong option, value or input: nothing was measured */
    EXIT_CODE_GEOMETRY = 4, /* nodes, processes a node or placement are not what was asked for: nothing was measured */
};

/* Program name, rank and node that go before every message. Called by main (rank known) and by run_begin (node known). */
void die_identify(const char *program, int rank, const char *node);
const char *die_program(void);

/* What ends the other ranks where this one dies, in a program that has some. */
void die_together(void (*end_ranks)(int status));

/* A wrong command line. Printed by rank 0 alone: every rank must call it for the same reason. Returns EXIT_CODE_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Goes on afterwards. Printed by whichever rank calls it. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Cannot go on: names rank and node, ends the processes of every rank with EXIT_CODE_FAILED. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The program contradicts itself. As die. */
void bug(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* "ENOSPC" for ENOSPC; "E123" for one without a name here. The reply lives until the next call. */
const char *die_errno_name(int error);

enum { DIE_HUGE_PAGE = 2 << 20 };

/* Memory, zeroed, or die. alignment is a power of two, at least sizeof(void *); with DIE_HUGE_PAGE it is made of huge pages
 * where the system gives them. */
void *die_alloc(size_t alignment, size_t bytes);
