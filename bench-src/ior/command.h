/* ior_command: the command line, and the files that it names: a script, files of hints. */
#pragma once

#include "ior/script.h"

struct ior_command {
    struct ior_script tests;  /* one where there is no script */
    struct ior_config config; /* all options: of a script they are the defaults, wherever they are, as in IOR 4 */
    const char *script;       /* NULL: none */
    char *script_text;
    struct ior_hints_file *hints_files; /* a place for each test */
};

/* Collective. True: the tests can be run. False: help was printed, or the one error message (both by rank 0 only), and *status
 * is what to exit with. ior_command_free is called in both cases. */
bool ior_command_read(struct ior_command *command, int argc, char **argv, struct opt_common *common, int *status);
void ior_command_free(struct ior_command *command);
