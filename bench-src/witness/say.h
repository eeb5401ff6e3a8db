/* say: what a node says to the job, as lines of its standard output: NODE, RUN, NAME, "+" where the text goes on in a later
 * line or "." where it ends, and a piece of it, with tabs between. RUN is 0 for the facts of the node. srun passes on whole
 * what is shorter than 1 KiB; longer lines of two nodes would mix. */
#pragma once

/* A fact; nothing where the text is empty. Control characters become spaces. */
void say(int run, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same from a file of one line, if there is one. */
void say_file(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Slurm's name of this node, the host's where there is none; its number in the job. */
const char *say_node(void);
int say_number(void);
