/* opt: one table row an option; from the table come parsing, range checks, and the help text.
 *
 * Accepted: bundled short options (-FCTr), values attached or apart (-n16384, -n=16384, -n 16384), long options with =
 * or apart (--json=FILE, --json FILE), optional values attached only (-R, -R1234), flags with a number (-F=0, -v=2). Anything else
 * is an error. */
#pragma once

#include "common/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the option takes, and the type that `value` points to. */
enum opt_type {
    OPT_FLAG,       /* nothing, or =0, =1; bool */
    OPT_COUNT,      /* nothing, each use adds one, or =N; int64_t */
    OPT_INT,        /* whole number without suffix; int64_t */
    OPT_SIZE,       /* whole number, suffixes k m g t p e are powers of 1024; int64_t */
    OPT_SIZE_MIXED, /* the same, but k m g t p e are powers of 1000 and K M G T P E of 1024; int64_t */
    OPT_REAL,       /* decimal number; double */
    OPT_TEXT,       /* any text that is not empty; const char * */
    OPT_MAYBE_INT,  /* attached whole number, or nothing, which stands for `implied`; int64_t */
    OPT_MAYBE_TEXT, /* attached text, or nothing, which stands for ""; const char * */
    OPT_CALL,       /* any text that is not empty, at each use, in the order of the command line; struct opt_call */
    OPT_REFUSED,    /* another program's option of that name, which is not offered here: `help` says why; not in the help */
};

/* use returns 0, or -1 with what is wrong with the text. */
struct opt_call {
    int (*use)(void *data, const char *text, struct refusal *why);
    void *data;
};

struct opt {
    char letter;      /* 'n', or 0 where there is only a long name */
    const char *name; /* "json", or NULL where there is only a letter */
    enum opt_type type;
    void *value; /* keeps what it holds where the option is not given: the default */
    const char *argument; /* name of the value in the help text, NULL where it takes none */
    const char *help;
    int64_t min, max; /* limits of the numbers; both 0: none */
    int64_t implied;  /* OPT_MAYBE_INT only */
};

struct opt_applet {
    const char *name;
    const char *synopsis; /* after "usage: NAME " */
    const char *intro;    /* what it measures; lines end with \n */
    const struct opt *options;
    size_t option_count;
};

enum { OPT_MOST = 160 }; /* rows of an applet */

/* What every applet takes besides its own options, and what opt_parse knows of these. */
struct opt_common {
    const char *json;     /* --json FILE, else BENCH_JSON, else NULL */
    bool given[OPT_MOST]; /* by the rows of the applet's table: was the option on the command line? */
};

/* Fills the variables of the table. True: go on. False: help was printed, or the one error message (both by rank 0
 * only), and *status is what to exit with. main has made sure that every rank has the same arguments. */
bool opt_parse(const struct opt_applet *applet, int argc, char **argv, struct opt_common *common, int *status);

/* The pure part of opt_parse: 0, or -1 with a message. *help is set where -h or --help was met, and given, which has a
 * place for each row or is NULL, where that option was. */
int opt_read(const struct opt *options, size_t option_count, int argc, char **argv, bool *help, bool *given,
             struct refusal *why);
