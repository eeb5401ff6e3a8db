/* version: what the binary was built from and with. */
#ifndef VERSION_H
#define VERSION_H

extern const char version_number[], version_compiler[], version_flags[];

#endif
