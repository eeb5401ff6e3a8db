/* ior_script: IOR's script files. Pure.
 *
 *     IOR START
 *       api=POSIX, testFile=/scratch/f   # several settings a line, comments
 *       transferSize=1m
 *     RUN
 *       transferSize=4k                  # the other settings stay
 *     RUN
 *     IOR STOP                           # may be missing
 */
#pragma once

#include "ior/config.h"

struct ior_script {
    struct ior_config *tests;
    int count;
    bool overridden[IOR_MOST_SETTINGS]; /* settings of the command line that the script has changed before its first test */
};

/* Cuts text (a file's content, changed and used as long as the tests are) into tests that start from defaults, the settings
 * of the command line: 0, or -1 with a message that names the line. name is the file's, for messages. */
int ior_script_parse(struct ior_script *script, char *text, const char *name, const struct ior_config *defaults,
                     struct refusal *why);

void ior_script_free(struct ior_script *script);
