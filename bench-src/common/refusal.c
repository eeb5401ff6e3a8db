/* refusal: why an input was not taken. */
#include "common/refusal.h"

#include <stdarg.h>
#include <stdio.h>

int refuse(struct refusal *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return -1;
}
