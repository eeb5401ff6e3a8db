/* facts: lines of facts.jsonl. */
#include "witness/facts.h"

#include "common/emit.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, MOST_DIGITS = 9 };

static struct {
    char *path;
    off_t start; /* of what is added */
} open_file;

int facts_open(const char *folder, bool anew)
{
    struct stat file;
    char *complete = text_of("%s/facts.jsonl", folder);
    if (anew)
        unlink(complete);
    free(complete);
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large for the user's limit is an error then */
    free(open_file.path);
    open_file.path = text_of("%s/facts.jsonl.new", folder);
    open_file.start = !anew && stat(open_file.path, &file) == 0 ? file.st_size : 0;
    int error = anew ? emit_open(open_file.path) : emit_append(open_file.path);
    if (error == 0 && open_file.start == 0) {
        emit_line(NULL);
        emit_int("format", FORMAT);
        emit_line_end();
    }
    return error;
}

void facts_begin(const struct fact *fact)
{
    const char *const members[][2] = {
        {"source", fact->source}, {"node", fact->node}, {"rank", fact->rank}, {"phase", fact->phase}, {"name", fact->name}};
    emit_line(NULL);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i][1] != NULL)
            emit_string(members[i][0], members[i][1]);
}

void facts_end(const struct fact *fact)
{
    if (fact->unit != NULL)
        emit_string("unit", fact->unit);
    if (fact->time_s > 0)
        emit_real("time", fact->time_s, 6);
    emit_line_end();
}

void facts_text(struct fact fact, const char *value)
{
    facts_begin(&fact);
    if (value == NULL) {
        emit_null("value");
    } else {
        char *text = text_of("%.*s%s", TEXT_LONGEST, value, strlen(value) > TEXT_LONGEST ? " ... (cut)" : "");
        for (char *at = text; *at != '\0'; at++)
            if (iscntrl((unsigned char)*at))
                *at = ' ';
        emit_string("value", text);
        free(text);
    }
    facts_end(&fact);
}

void facts_int(struct fact fact, int64_t value)
{
    facts_begin(&fact);
    emit_int("value", value);
    facts_end(&fact);
}

void facts_known(struct fact fact, int64_t value)
{
    if (value >= 0)
        facts_int(fact, value);
}

void facts_real(struct fact fact, double value)
{
    facts_begin(&fact);
    emit_real("value", value, 6);
    facts_end(&fact);
}

void facts_bool(struct fact fact, bool value)
{
    facts_begin(&fact);
    emit_bool("value", value);
    facts_end(&fact);
}

/* Has all of a file on the disk: 0 or -errno. */
static int put_on_disk(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), error = fd < 0 || fsync(fd) != 0 ? -errno : 0;
    if (fd >= 0 && close(fd) != 0 && error == 0)
        error = -errno;
    return error;
}

int facts_close(bool settles)
{
    int error = emit_close();
    if (error == 0 && settles)
        error = put_on_disk(open_file.path);
    if (error != 0 && (open_file.start == 0 || truncate(open_file.path, open_file.start) != 0))
        unlink(open_file.path);
    return error;
}

int facts_complete(const char *folder)
{
    char *from = text_of("%s/facts.jsonl.new", folder), *to = text_of("%s/facts.jsonl", folder);
    int error = access(to, F_OK) == 0 ? -EEXIST : rename(from, to) == 0 ? 0 : -errno;
    free(from);
    free(to);
    return error;
}

/* --- lists of nodes */

static void end_range(struct node_list *list)
{
    if (list->last > list->low)
        text_add(&list->ranges, "-%0*lld", (int)strlen(list->first), list->last);
}

static void end_names(struct node_list *list)
{
    if (list->prefix == NULL)
        return;
    end_range(list);
    text_add(&list->text, list->count > 1 ? "%s%s[%s]" : "%s%s%s", list->text.used > 0 ? "," : "", list->prefix,
             list->ranges.bytes == NULL ? "" : list->ranges.bytes);
    text_free(&list->ranges);
    free(list->prefix);
    free(list->first);
    list->prefix = list->first = NULL;
    list->count = 0;
}

void node_list_add(struct node_list *list, const char *name)
{
    size_t begin = strlen(name);
    char next[32];
    while (begin > 0 && strlen(name + begin) < MOST_DIGITS && isdigit((unsigned char)name[begin - 1]))
        begin--;
    const char *digits = name + begin;
    if (list->prefix != NULL && digits[0] != '\0' && strlen(list->prefix) == begin && strncmp(list->prefix, name, begin) == 0) {
        list->count++;
        snprintf(next, sizeof next, "%0*lld", (int)strlen(list->first), list->last + 1);
        if (strcmp(next, digits) == 0) {
            list->last++;
            return;
        }
        end_range(list);
        text_add(&list->ranges, ",");
    } else {
        end_names(list);
        list->prefix = text_of("%.*s", (int)begin, name);
        list->count = 1;
    }
    free(list->first);
    list->first = text_of("%s", digits);
    list->low = list->last = atoll(digits);
    text_add(&list->ranges, "%s", digits);
}

char *node_list_end(struct node_list *list)
{
    end_names(list);
    char *text = list->text.bytes == NULL ? text_of("%s", "") : list->text.bytes;
    *list = (struct node_list){0};
    return text;
}
