/* record: environment.json. */
#include "witness/record.h"

#include "common/emit.h"
#include "witness/say.h"
#include "witness/variables.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

double record_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct space record_space(const char *directory)
{
    struct statvfs found;
    if (statvfs(directory, &found) != 0)
        return (struct space){0};
    return (struct space){true,          record_now_s(),  found.f_frsize, found.f_blocks,
                          found.f_bfree, found.f_bavail, found.f_files,  found.f_ffree};
}

int record_other_jobs(char *lines, const char *mark, const char *own_id, char *const *independent, int count)
{
    struct text known = {0}; /* ids, a blank around each */
    int others = 0;
    for (char *rest = lines, *line; (line = text_part(&rest, '\n')) != NULL;) {
        char *comment = line, *begins = text_part(&comment, ' '), *id = text_part(&comment, ' ');
        bool left_out = strcmp(begins, mark) != 0 || id == NULL || strcmp(id, own_id) == 0;
        id = id == NULL ? "" : id;
        for (int i = 0; i < count && comment != NULL; i++)
            left_out = left_out || strcmp(comment, independent[i]) == 0;
        char *between = text_of(" %s ", id);
        if (!left_out && (known.bytes == NULL || strstr(known.bytes, between) == NULL)) {
            text_add(&known, "%s", between);
            others++;
        }
        free(between);
    }
    text_free(&known);
    return others;
}

void record_cut(const char *key, const char *value)
{
    bool longer = strlen(value) > TEXT_LONGEST;
    char *text = text_of("%.*s%s", TEXT_LONGEST, value, longer ? " ... (cut)" : "");
    for (char *at = text; *at != '\0'; at++)
        if (iscntrl((unsigned char)*at))
            *at = ' ';
    emit_string(key, text);
    free(text);
}

static void emit_space(const char *key, const struct space *space)
{
    if (!space->known) {
        emit_null(key);
        return;
    }
    emit_group(key, '{');
    emit_real("time", space->time_s, 6);
    emit_int("block_size", (int64_t)space->block_size_bytes);
    emit_int("blocks", (int64_t)space->blocks);
    emit_int("free", (int64_t)space->free);
    emit_int("available", (int64_t)space->available);
    emit_int("inodes", (int64_t)space->inodes);
    emit_int("inodes_free", (int64_t)space->inodes_free);
    emit_group_end('}');
}

static void emit_pairs(const char *key, char **pairs)
{
    emit_group(key, '{');
    for (size_t i = 0; pairs != NULL && pairs[i] != NULL; i += 2)
        record_cut(pairs[i], pairs[i + 1]);
    emit_group_end('}');
}

static void emit_name(const char *name)
{
    emit_string(NULL, name);
}

static void emit_around(const struct around *around)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    emit_int("format", 2);
    emit_real("started", around->started_s, 6);
    emit_real("ended", around->ended_s, 6);
    emit_string("host", host);
    emit_string("directory", around->directory);
    emit_string("executable", around->executable);
    emit_space("space", &around->space);
    record_cut("job", around->job);
    emit_known("other_jobs", around->other_jobs);
    emit_pairs("software", around->software);
    emit_pairs("storage", around->storage);
    emit_group("environment", '{');
    variables_each(record_cut);
    emit_group_end('}');
    emit_group("set_by_slurm", '[');
    variables_set_by_slurm(around->first.bytes, around->first.used, getenv("CAMPAIGN_SUBMITTED_WITH"), emit_name);
    emit_group_end(']');
    gather_emit(&around->nodes);
    emit_group("problems", '[');
    for (size_t i = 0; around->problems != NULL && around->problems[i] != NULL; i++)
        record_cut(NULL, around->problems[i]);
    emit_group_end(']');
}

static void emit_own(const struct own *own)
{
    if (strcmp(own->made, "null") == 0)
        emit_null("made");
    else
        emit_bool("made", strcmp(own->made, "true") == 0);
    emit_space("before", &own->before);
    emit_space("after", &own->after);
    if (own->ran == NULL)
        return;
    emit_group("ran", '{');
    gather_emit(own->ran);
    emit_group("problems", '[');
    if (own->problem != NULL)
        record_cut(NULL, own->problem);
    emit_group_end(']');
    emit_group_end('}');
}

int record_write(const char *folder, const struct around *around, const struct own *own)
{
    char *path = text_of("%s/environment.json", folder), *new_path = text_of("%s/environment.json.new", folder);
    int error = emit_document(new_path);
    if (error == 0) {
        if (own != NULL)
            emit_own(own);
        emit_around(around);
        error = emit_document_end();
    }
    if (error == 0 && rename(new_path, path) != 0)
        error = -errno;
    free(path);
    free(new_path);
    return error;
}
