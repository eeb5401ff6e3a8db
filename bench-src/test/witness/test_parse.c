/* What texts of the kernel and of ldd say. */
#include "test/check.h"
#include "witness/machine.h"
#include "witness/program.h"

#include <stdlib.h>

static void processors(void)
{
    char intel[] = "processor\t: 0\nmodel name\t: Fast CPU @ 2.00GHz\nphysical id\t: 0\ncore id\t\t: 0\n\n"
                   "processor\t: 1\nmodel name\t: Fast CPU @ 2.00GHz\nphysical id\t: 0\ncore id\t\t: 0\n\n"
                   "processor\t: 2\nphysical id\t: 1\ncore id\t\t: 0\n";
    char arm[] = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\nprocessor\t: 1\nCPU implementer\t: 0x41\n", none[] = "";
    struct processors found;
    machine_processors(intel, &found);
    CHECK_TEXT(found.model, "Fast CPU @ 2.00GHz");
    CHECK_INT(found.sockets, 2);
    CHECK_INT(found.cores, 2);
    CHECK_INT(found.threads, 3);
    machine_processors(arm, &found);
    CHECK_TEXT(found.model, "CPU implementer 0x41 CPU part 0xd0c");
    CHECK_INT(found.sockets, 0);
    CHECK_INT(found.threads, 2);
    machine_processors(none, &found);
    CHECK_TEXT(found.model, "unknown");
}

static void library(const char *text, const char *expected, int expected_missing)
{
    char line[256];
    int missing;
    snprintf(line, sizeof line, "%s", text);
    CHECK_TEXT(program_library(line, &missing), expected);
    CHECK_INT(missing, expected_missing);
}

int main(void)
{
    processors();
    char cmdline[] = "root=UUID=1 quiet mitigations=off password=hush isolcpus=1-3", other[] = "quiet";
    char *found = machine_parameters(cmdline), *nothing = machine_parameters(other);
    CHECK_TEXT(found, "mitigations=off isolcpus=1-3");
    CHECK_TEXT(nothing, "none of those that decide speed");
    free(found);
    free(nothing);
    library("\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)", "/lib/x/libc.so.6", 0);
    library("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)", "/lib64/ld-linux-x86-64.so.2", 0);
    library("\tlibmpi.so.40 => /opt/my mpi/libmpi.so.40 (0x00007f)", "/opt/my mpi/libmpi.so.40", 0);
    library("\tlinux-vdso.so.1 (0x00007f)", "", 0);
    library("\tlibmpi.so.40 => not found", "libmpi.so.40", 1);
    library("\tnot a dynamic executable", "", 0);
    return CHECK_REPORT();
}
