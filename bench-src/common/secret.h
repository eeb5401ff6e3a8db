/* secret: which variables are never recorded. */
#pragma once

#include <stdbool.h>

/* Whether the name contains one of the words of secrets, in any case, or the value is a URL with a login. */
bool secret_is(const char *name, const char *value);
