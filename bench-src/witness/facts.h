/* facts: FOLDER/facts.jsonl (docs/formats.md), which has the name facts.jsonl.new until all of it is written. Processes of a job
 * add lines to it one after another. */
#pragma once

#include "witness/text.h"

#include <stdbool.h>
#include <stdint.h>

/* All of a fact but its value. What is NULL, and a time of 0, is left out. */
struct fact {
    const char *source, *node, *rank, *phase, *name, *unit;
    double time_s; /* when it was seen, since 1970 */
};

/* Lines are added from here on: 0 or -errno. anew: in place of those that are there. */
int facts_open(const char *folder, bool anew);

void facts_text(struct fact fact, const char *value); /* on one line, and not endless; NULL becomes null */
void facts_int(struct fact fact, int64_t value);
void facts_known(struct fact fact, int64_t value); /* below 0, where it is not known, no line */
void facts_real(struct fact fact, double value);
void facts_bool(struct fact fact, bool value);

/* Any other value: its members are emitted in between, under the key "value". */
void facts_begin(const struct fact *fact);
void facts_end(const struct fact *fact);

/* The end of what was added, of which nothing stays where not all of it could be written: 0 or -errno. settles: it is on the disk. */
int facts_close(bool settles);

/* No line is missing: 0 or -errno. Nothing is replaced. */
int facts_complete(const char *folder);

/* Lists nodes as Slurm does: n[1-3,7],x1. */
struct node_list {
    struct text text, ranges; /* what is complete; of the names that begin with `prefix` */
    char *prefix, *first;     /* NULL: none yet */
    long long low, last;
    size_t count;             /* of those names */
};

void node_list_add(struct node_list *list, const char *name);

/* The list, to be freed; "" for none. */
char *node_list_end(struct node_list *list);
