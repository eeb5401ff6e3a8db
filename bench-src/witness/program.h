/* program: the executable of the runs and what stands before it, as a node sees them: paths, hashes, libraries. */
#pragma once

void program_say(const char *executable);

/* Programs, scripts, images. A large one is read on the first node alone. */
void program_say_prefix(char *const words[]);

/* Pure: a line of ldd: the path of a library, or the name of one that is not found; "" for neither. In place. */
char *program_library(char *line, int *missing);
