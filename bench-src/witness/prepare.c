/* prepare: commands of the campaign file before a run. */
#include "witness/prepare.h"

#include "common/die.h"
#include "witness/ask.h"
#include "witness/facts.h"
#include "witness/record.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_S = 600 };

int prepare_run(const char *folder, const char *name, const char *command)
{
    struct asked asked = ask_shell(COMMAND_S, command);
    struct fact fact = {.source = "prepare", .name = name, .time_s = record_now_s()};
    int error = facts_open(folder, false);
    if (error == 0) {
        facts_text(fact, asked.said.bytes);
        facts_int(fact, asked.status);
        error = facts_close(true);
    }
    if (error != 0)
        printf("prepare: cannot write '%s/facts.jsonl': %s\n", folder, strerror(-error));
    else if (asked.status != 0)
        printf("prepare: %s ended with status %d: %s\n", name, asked.status, strrchr(asked.said.bytes, '\n') == NULL
                   ? asked.said.bytes : strrchr(asked.said.bytes, '\n') + 1);
    text_free(&asked.said);
    return error == 0 && asked.status == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}
