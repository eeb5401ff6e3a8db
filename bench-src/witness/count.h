/* count: what the servers of a target have counted so far, as the campaign file's command says it: a line of a kind and a number
 * for each operation. */
#pragma once

/* Adds a fact of an attempt's folder. when: begin, end, sample, or the phase that has ended. Returns the exit status. */
int count_add(const char *folder, const char *command, const char *when);
