/* text: texts that grow, lists that grow, small files on one line, and paths by patterns. */
#pragma once

#include <glob.h>
#include <stddef.h>

enum { TEXT_LONGEST = 4000 }; /* bytes of one text in a record; what is longer is cut, and says so */

struct text {
    char *bytes; /* with a zero byte behind it; NULL while nothing was added */
    size_t used, room;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *text, const char *bytes, size_t count);
void text_free(struct text *text);

/* After the first piece, each one behind a separator. */
void text_join(struct text *text, const char *separator, const char *piece);

/* A copy to be freed. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The beginning of a file's text on one line, a byte longer than TEXT_LONGEST where it goes on; NULL where there is none. To
 * be freed. */
char *text_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same of a file in an opened directory, which is no link. errno says why there is none, 0 where the file has nothing. */
char *text_line_at(int directory, const char *name);

/* All that a file has, added to a text: zero bytes too. */
void text_file(struct text *text, const char *path);

/* The paths that match patterns, separated by blanks, below a directory; to be freed by globfree. */
glob_t text_paths(const char *root, const char *patterns);

/* Splits at a character, in place: each part once, NULL at the end. */
char *text_part(char **rest, char separator);

/* Room for one element more in a list of so many, which doubles. */
void *text_grow(void *list, size_t count, size_t bytes);
