/* packages: which of the files with code that a run had loaded are those of a package of the system. Its databases say so: dpkg's
 * have the MD5 of each file, rpm's the SHA-256. Where there is neither, nothing is said. */
#pragma once

#include "witness/gather.h"

/* Looks them up that an attempt's outputs and what was seen of its ranks name, and adds to its open facts: a fact of source
 * "packages" for each package, with the SHA-256 of its files. A file is looked up once in a job. */
void packages_emit(const char *folder, const struct gathered *seen);

/* Prints "PATH SHA-256" of each of these files that is of no package. Returns the exit status. */
int packages_say(char *const paths[], int count);
