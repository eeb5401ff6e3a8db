/* mdtest: rates of file and directory operations. */
#include "die.h"
#include "emit.h"
#include "opt.h"
#include "run.h"

int app_mdtest(int argc, char **argv)
{
    const char *directory = ".";
    const struct opt options[] = {
        {'d', NULL, OPT_TEXT, &directory, "DIR", "directory to work in", 0, 0, 0},
    };
    const struct opt_applet applet = {"mdtest", "[options]", "Rates.\n", options, 1};
    struct opt_common common;
    struct run run;
    int status;
    if (!opt_parse(&applet, argc, argv, &common, &status))
        return status;
    status = run_begin(&run, "mdtest", &common);
    if (status == EXIT_CODE_OK)
        run_print_command_line();
    return run_end(&run, status);
}
