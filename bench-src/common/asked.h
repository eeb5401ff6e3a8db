/* asked: the environment variables that the rules of a campaign are about. Their names are in CAMPAIGN_VARIABLES, which the job
 * exports, with colons between. */
#pragma once

#include <stdbool.h>

#define ASKED_NAMES "CAMPAIGN_VARIABLES"

enum { ASKED_BYTES = 256 };

/* The next name, as NAME=, of what `*rest` still has, which begins with getenv(ASKED_NAMES); false at its end. */
bool asked_next(const char **rest, char name[ASKED_BYTES]);

/* Whether NAME=VALUE is one of them. */
bool asked_is(const char *variable);
