/* version: what the binary was built from and with. */
#pragma once

extern const char version_number[], version_compiler[], version_flags[];
