/* secret: the words of secrets. */
#include "common/secret.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *const parts[] = {"JWT",    "TOKEN", "SECRET",  "PASSW", "PASSPHRASE", "CREDENTIAL",
                                    "COOKIE", "KEY",   "PRIVATE", "AUTH"};
static const char *const words[] = {"PASS", "BEARER", "CERT"}; /* whole, between underscores */

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
