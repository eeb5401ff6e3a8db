/* secret: the words of secrets, which are in secret.def. */
#include "common/secret.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define PART(word) #word,
#define MAYBE(word) #word,
#define WORD(word)
static const char *const parts[] = {
#include "common/secret.def"
};
#undef PART
#undef MAYBE
#undef WORD
#define PART(word)
#define MAYBE(word)
#define WORD(word) #word,
static const char *const words[] = {
#include "common/secret.def"
};

/* scheme://user:password@host */
static bool has_login(const char *value)
{
    for (const char *at = strstr(value, "://"); at != NULL; at = strstr(at, "://")) {
        at += strlen("://");
        size_t user = strcspn(at, "/@ \t\n");
        if (user > 0 && at[user] == '@')
            return true;
    }
    return false;
}

static bool has_word(const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (strncasecmp(at, parts[i], strlen(parts[i])) == 0)
                return true;
        size_t word = at == name || at[-1] == '_' ? strcspn(at, "_") : 0;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (word == strlen(words[i]) && strncasecmp(at, words[i], word) == 0)
                return true;
    }
    return false;
}

bool secret_is(const char *name, const char *value)
{
    return has_word(name) || has_login(value);
}
