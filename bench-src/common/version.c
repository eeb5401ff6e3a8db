/* version: what the binary was built from and with; the Makefile fills it in. */
#include "common/version.h"

const char version_number[] = BENCH_VERSION;
const char version_compiler[] = BENCH_COMPILER;
const char version_flags[] = BENCH_FLAGS;
