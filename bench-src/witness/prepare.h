/* prepare: commands of the campaign file before a run. */
#pragma once

/* Runs the command by bash, and adds what it printed and its status to the facts of an attempt's folder, under the name that it has in
 * the campaign file. Prints what is wrong. Returns the exit status. */
int prepare_run(const char *folder, const char *name, const char *command);
