/* count: counters of a target's servers. */
#include "witness/count.h"

#include "common/die.h"
#include "common/emit.h"
#include "witness/ask.h"
#include "witness/facts.h"
#include "witness/record.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_S = 30, KIND_BYTES = 40, NUMBER_DIGITS = 18 };

static bool is_kind(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= KIND_BYTES && islower((unsigned char)text[0]) &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz_") == length;
}

static bool is_number(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= NUMBER_DIGITS && strspn(text, "0123456789") == length;
}

/* Takes a line apart at its first blanks; the number is "" where there is none. */
static void take_apart(char *line, char **kind, char **number)
{
    *kind = line + strspn(line, " \t");
    *number = *kind + strcspn(*kind, " \t");
    if (**number != '\0')
        *(*number)++ = '\0';
    *number += strspn(*number, " \t");
    for (char *end = *number + strlen(*number); end > *number && (end[-1] == ' ' || end[-1] == '\t');)
        *--end = '\0';
}

/* What is wrong with what the command said, NULL for nothing; to be freed. */
static char *problem_of(const struct asked *asked, const char *said)
{
    char *problem = NULL, *kind, *number;
    if (asked->status != 0 || said[0] == '\0')
        return text_of("the command ended with status %d: %s", asked->status, said);
    char *copy = text_of("%s", said);
    for (char *rest = copy, *line; problem == NULL && (line = text_part(&rest, '\n')) != NULL;) {
        take_apart(line, &kind, &number);
        if (!is_kind(kind) || !is_number(number))
            problem = text_of("not a kind and a number: %s %s", kind, number);
    }
    free(copy);
    return problem;
}

static void emit_counts(char *said)
{
    char *kind, *number;
    for (char *rest = said, *line; (line = text_part(&rest, '\n')) != NULL;) {
        take_apart(line, &kind, &number);
        emit_int(kind, strtoll(number, NULL, 10));
    }
}

int count_add(const char *folder, const char *command, const char *when)
{
    struct asked asked = ask_shell(COMMAND_S, command);
    char *problem = problem_of(&asked, asked.said.bytes);
    struct fact fact = {.source = "servers", .phase = when, .unit = "operations", .time_s = record_now_s()};
    int error = facts_open(folder, false);
    if (error == 0 && problem == NULL) {
        fact.name = "operations";
        facts_begin(&fact);
        emit_group("value", '{');
        emit_counts(asked.said.bytes);
        emit_group_end('}');
        facts_end(&fact);
    } else if (error == 0) {
        fact.name = "problem";
        fact.unit = NULL;
        facts_text(fact, problem);
    }
    if (error == 0)
        error = facts_close(false);
    if (error != 0)
        warn("cannot write '%s/facts.jsonl': %s", folder, strerror(-error));
    text_free(&asked.said);
    free(problem);
    return error == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}
