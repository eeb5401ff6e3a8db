/* ior_config, ior_conflicts, ior_script: settings from options, directives and scripts. */
#include "ior/script.h"
#include "test/check.h"

#include <stdlib.h>

static struct refusal why;

static struct ior_config config_of(const char *directives)
{
    struct ior_config config;
    ior_config_default(&config);
    CHECK_INT(ior_config_directives(&config, directives, &why), 0);
    return config;
}

static void check_refused(const char *directives, const char *expected)
{
    struct ior_config config;
    ior_config_default(&config);
    why.text[0] = '\0';
    if (ior_config_directives(&config, directives, &why) == 0)
        CHECK_INT(ior_config_check(&config, 2, &why), -1);
    CHECK_TEXT(why.text, expected);
}

static void check_accepted(const char *directives)
{
    struct ior_config config = config_of(directives);
    why.text[0] = '\0';
    CHECK_INT(ior_config_check(&config, 2, &why), 0);
    CHECK_TEXT(why.text, "");
}

static void test_directives_set_what_options_set(void)
{
    struct ior_config config = config_of("blockSize=2m,TRANSFERSIZE=4k,filePerProc=1,testFile=/s/f,interTestDelay=3");
    CHECK_INT(config.block, 2 << 20);
    CHECK_INT(config.transfer, 4 << 10);
    CHECK_INT(config.file_per_process, 1);
    CHECK_INT(config.delay_s, 3);
    CHECK_TEXT(config.test_file, "/s/f");
    CHECK_INT(config_of("filePerProc=1,filePerProc=0").file_per_process, 0);
    CHECK_INT(config_of("--posix.odirect=1").direct, 1);
    CHECK_INT(config_of("useO_DIRECT=1,--posix.odirect=0").direct, 0);
    CHECK_TEXT(config_of("--dataPacketType=offset").packet, "offset");
}

static void test_each_summary_format_has_its_file(void)
{
    struct ior_config config = config_of("summaryFormat=json,summaryFile=a,summaryFormat=CSV,summaryFile=b");
    CHECK_INT(config.json && config.csv, 1);
    CHECK_TEXT(config.json_file, "a");
    CHECK_TEXT(config.csv_file, "b");
    check_accepted("summaryFormat=JSON,summaryFormat=CSV,summaryFile=b");
    check_refused("summaryFormat=JSON,summaryFormat=CSV",
                  "summaries in JSON and in CSV cannot both go to stdout: name a summaryFile for one of them");
    check_refused("summaryFile=x", "summaryFile 'x': give summaryFormat=JSON or summaryFormat=CSV before it");
}

static void test_without_any_phase_both_are_done(void)
{
    struct ior_config config = config_of("api=posix");
    ior_config_check(&config, 2, &why);
    CHECK_INT(config.write && config.read, 1);
    config = config_of("checkWrite=1,setTimeStampSignature=5");
    ior_config_check(&config, 2, &why);
    CHECK_INT(config.write || config.read, 0);
}

static void test_directives_that_ask_for_nothing_are_taken(void)
{
    check_accepted("individualDataSets=0,setAlignment=1,hintsFileName=,showHelp=0");
    check_refused("useFileView=1", "useFileView is not offered here: '1' was given, only '0' is allowed; transfers have explicit offsets");
    check_refused("individualDataSets=1", "individualDataSets is not offered here: '1' was given, only '0' is allowed");
    check_refused("savePerOpDataCSV=x", "savePerOpDataCSV is not offered here; --latency has the percentiles of "
                                        "single transfers");
}

static void test_contradictions_are_refused(void)
{
    check_refused("blockSize=3k,transferSize=2k", "block size (-b) 3072 is not a multiple of the transfer size (-t) 2048");
    check_refused("transferSize=12", "transfer size (-t) 12 is not a multiple of 8 bytes");
    check_refused("transferSize=0", "option --transferSize: '0' is too small: at least 8 is allowed");
    check_refused("blockSize=8e", "option --blockSize: '8e' is beyond 64 bits");
    check_refused("blockSize=4e,segmentCount=2", "2 processes × 2 segments (-s) × 4611686018427387904 bytes (-b) are beyond 64 bits");
    check_refused("numTasks=3", "3 processes are asked for (-n, numTasks), 2 were started");
    check_refused("api=HDF5", "api (-a) 'HDF5' is not one of POSIX, MPIIO, MMAP, URING, AIO, DUMMY");
    check_refused("api=MPIIO,useO_DIRECT=1", "api MPIIO cannot go past the page cache: leave out O_DIRECT or take -a POSIX");
    check_refused("collective=1", "api POSIX has no collective calls: leave out -c or take -a MPIIO");
    check_refused("queueDepth=4", "api POSIX has one transfer under way at a time: leave out --queue-depth or take -a URING");
    check_refused("api=DUMMY,checkRead=1", "api DUMMY keeps no data that -W or -R could check");
    check_refused("readFile=1,checkRead=1", "-W and -R need to know the data of a file that this test does not write: add -w, "
                                            "or -G with the number that the writing run had");
    check_refused("readFile=1,checkRead=1,setTimeStampSignature=3,randomOffset=2",
                  "with -zz only the writing test knows which places have data: add -w, or leave out -W and -R");
    check_refused("reorderTasks=1,reorderTasksRandom=1", "-C and -Z exclude each other");
    check_refused("uniqueDir=1", "-u gives each process a directory for its file: add -F");
    check_refused("testFile=a@b", "several test files (-o 'a@b') need a file for each process: add -F");
    check_refused("testFile=a@,filePerProc=1", "test file (-o) 'a@' has an empty name beside an @");
    check_refused("testFile=d/", "test file (-o) 'd/' is a directory: name a file");
    check_refused("memoryPerNode=half", "memory per node (-M) 'half' is neither a size nor a percentage such as 50%");
    check_refused("memoryPerNode=96%", "memory per node (-M) '96%' is not a percentage from 0% to 95%");
    check_refused("dataPacketType=x", "kind of data (-l) 'x' is not one of unique (u, also i and r), timestamp (t), offset (o)");
    check_refused("preallocate=1,deadlineForStonewalling=5",
                  "-p takes the blocks of all that could be written, which with -D nobody knows: leave one of them out");
    check_refused("stoneWallingWearOut=1", "stoneWallingWearOut goes on after the deadline of -D: add -D");
    check_refused("api=MPIIO,collective=1,deadlineForStonewalling=5",
                  "-D stops each process at another transfer, -c needs all to make the same");
    check_refused("filePerProc=yes", "filePerProc: 'yes' is not a number from 0 to 1");
    check_refused("blockSize", "'blockSize' is not NAME=VALUE");
    check_refused("blokSize=1", "unknown setting 'blokSize' (the names stand in docs/ior.md)");
}

static int parse(struct ior_script *script, const char *text, const struct ior_config *defaults)
{
    static char copy[1024];
    snprintf(copy, sizeof copy, "%s", text);
    why.text[0] = '\0';
    return ior_script_parse(script, copy, "s", defaults, &why);
}

static void test_tests_of_a_script_inherit(void)
{
    struct ior_config defaults = config_of("checkWrite=1,repetitions=3");
    struct ior_script script;
    CHECK_INT(parse(&script,
                    "# a comment\n\n  ior   start # begins\n api=POSIX, testFile = /s/f # here\n"
                    "\tsegmentCount=4,\nRUN\n blockSize=8m\nrun\nIOR STOP\nnothing here counts\n",
                    &defaults),
              0);
    CHECK_INT(script.count, 2);
    CHECK_TEXT(script.tests[0].test_file, "/s/f");
    CHECK_INT(script.tests[0].check_write, 1);
    CHECK_INT(script.tests[0].repetitions, 3);
    CHECK_INT(script.tests[0].block, 1 << 20);
    CHECK_INT(script.tests[1].segments, 4);
    CHECK_INT(script.tests[1].block, 8 << 20);
    CHECK_TEXT(script.tests[1].where, "script 's' line 8: ");
    ior_script_free(&script);
}

static void test_settings_after_the_last_run_are_a_test(void)
{
    struct ior_config defaults = config_of("repetitions=3");
    struct ior_script script;
    CHECK_INT(parse(&script, "IOR START\nRUN\nblockSize=2m\nIOR STOP\n", &defaults), 0);
    CHECK_INT(script.count, 2);
    CHECK_INT(script.tests[0].block, 1 << 20);
    CHECK_INT(script.tests[1].block, 2 << 20);
    CHECK_TEXT(script.tests[1].where, "script 's' line 4: ");
    ior_script_free(&script);
    CHECK_INT(parse(&script, "IOR START\nblockSize=2m\nIOR STOP\n", &defaults), 0);
    CHECK_INT(script.count, 1);
    ior_script_free(&script);
}

static void test_a_check_before_the_script_is_added_to_what_its_tests_do(void)
{
    struct ior_config defaults = config_of("checkWrite=1"), known = config_of("checkWrite=1,setTimeStampSignature=5");
    struct ior_script script;
    CHECK_INT(parse(&script, "IOR START\nRUN\ncheckWrite=1\nRUN\nIOR STOP\n", &defaults), 0);
    CHECK_INT(script.tests[0].write && script.tests[0].read, 1);
    CHECK_INT(script.tests[1].write || script.tests[1].read, 0);
    ior_script_free(&script);
    CHECK_INT(parse(&script, "IOR START\nRUN\nIOR STOP\n", &known), 0);
    CHECK_INT(script.tests[0].write || script.tests[0].read, 0);
    ior_script_free(&script);
}

static void check_script_refused(const char *text, const char *expected)
{
    struct ior_config defaults = config_of("repetitions=1");
    struct ior_script script;
    CHECK_INT(parse(&script, text, &defaults), -1);
    CHECK_TEXT(why.text, expected);
    ior_script_free(&script);
}

static void test_wrong_scripts_are_refused_with_their_line(void)
{
    check_script_refused("", "script 's' has no IOR START");
    check_script_refused("# only this\napi=POSIX\n", "script 's' line 2: 'api=POSIX' stands where IOR START is expected");
    check_script_refused("IOR START\nRUN\n", "script 's' ends without IOR STOP");
    check_script_refused("IOR START\nIOR STOP\n", "script 's' has no RUN: there is nothing to test");
    check_script_refused("IOR START\nblockSize=1q\nRUN\nIOR STOP\n",
                         "script 's' line 2: option --blockSize: '1q' is not a whole number, with k, m, g, t, p or e for "
                         "powers of 1024");
    check_script_refused("IOR START\nRUN now\nIOR STOP\n", "script 's' line 2: 'RUN now' is neither NAME=VALUE nor RUN nor IOR STOP");
}

int main(void)
{
    test_directives_set_what_options_set();
    test_each_summary_format_has_its_file();
    test_without_any_phase_both_are_done();
    test_directives_that_ask_for_nothing_are_taken();
    test_contradictions_are_refused();
    test_tests_of_a_script_inherit();
    test_settings_after_the_last_run_are_a_test();
    test_a_check_before_the_script_is_added_to_what_its_tests_do();
    test_wrong_scripts_are_refused_with_their_line();
    ior_config_free();
    return CHECK_REPORT();
}
