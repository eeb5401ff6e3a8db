/* ior_config, ior_conflicts, ior_unused, ior_script, ior_hints: settings from options, directives, scripts and files of hints. */
#include "ior/hints.h"
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
    CHECK_INT(config_of("-c=1,-E=1,--COLLECTIVE=0").collective, 0);
    CHECK_INT(config_of("-c=1,-E=1").use_existing, 1);
    config = config_of("minTimeDuration=3,stoneWallingWearOutIterations=7,interIODelay=20,memoryPerTask=2m,summaryAlways=1,"
                       "warningAsErrors=1,--random-offset-seed=5,--randomPrefill=1m,dryRun=1,--posix.rangelocks=1");
    CHECK_INT(config.least_s, 3);
    CHECK_INT(config.most_steps, 7);
    CHECK_INT(config.transfer_pause_us, 20);
    CHECK_INT(config.memory_per_task, 2 << 20);
    CHECK_INT(config.warnings_are_errors && config.dry_run && config.range_locks, 1);
    CHECK_INT(config.offset_seed, 5);
    CHECK_INT(config.prefill, 1 << 20);
    config = config_of("collectiveMetadata=1,noFill=1,setAlignment=4k,--hdf5.chunkSize=512,--mpiio.useFileView=1");
    CHECK_INT(config.hdf5.collective_metadata && config.hdf5.no_fill && config.file_view, 1);
    CHECK_INT(config.hdf5.alignment, 4096);
    CHECK_INT(config.hdf5.chunk, 512);
}

static void test_each_summary_format_has_its_file(void)
{
    struct ior_config config = config_of("summaryFormat=json,summaryFile=a,summaryFormat=CSV,summaryFile=b");
    CHECK_INT(config.json && config.csv, 1);
    CHECK_TEXT(config.json_file, "a");
    CHECK_TEXT(config.csv_file, "b");
    check_accepted("summaryFormat=JSON,summaryFormat=CSV,summaryFile=b");
    check_accepted("numTasks=-1");
    check_refused("summaryFormat=JSON,summaryFormat=CSV",
                  "summaries in JSON and in CSV cannot both go to stdout: name a summaryFile for one of them");
    check_refused("summaryFile=x", "summaryFile 'x': give summaryFormat=JSON or summaryFormat=CSV before it");
}

static void test_without_any_phase_both_are_done(void)
{
    struct ior_config config = config_of("api=posix");
    ior_config_check(&config, 2, &why);
    CHECK_INT(config.write && config.read, 1);
    config = config_of("mixed=50");
    ior_config_check(&config, 2, &why);
    CHECK_INT(config.write && !config.read, 1);
    config = config_of("checkWrite=1,setTimeStampSignature=5");
    ior_config_check(&config, 2, &why);
    CHECK_INT(config.write || config.read, 0);
}

static void test_directives_that_ask_for_nothing_are_taken(void)
{
    check_accepted("individualDataSets=0,setAlignment=1,hintsFileName=,showHelp=0");
    check_refused("individualDataSets=1", "individualDataSets is not offered here: '1' was given, only '0' is allowed; IOR 4.1 "
                                          "cannot do it either");
    check_refused("--hdf5.individualDataSets=1", "individualDataSets is not offered here: '1' was given, only '0' is allowed; "
                                                 "IOR 4.1 cannot do it either");
    check_refused("numNodes=2", "numNodes is not offered here: the nodes of the processes are found, not told: place them with "
                                "the launcher");
}

static void test_contradictions_are_refused(void)
{
    check_refused("blockSize=3k,transferSize=2k", "block size (-b) 3072 is not a multiple of the transfer size (-t) 2048");
    check_refused("transferSize=12", "transfer size (-t) 12 is not a multiple of 8 bytes");
    check_refused("transferSize=0", "option --transferSize: '0' is too small: at least 8 is allowed");
    check_refused("blockSize=8e", "option --blockSize: '8e' is beyond 64 bits");
    check_refused("blockSize=4e,segmentCount=2", "2 processes × 2 segments (-s) × 4611686018427387904 bytes (-b) are beyond 64 bits");
    check_refused("transferSize=7e,blockSize=7e,numTasks=1", "transfer size (-t) 8070450532247928832 is more than this program "
                                                  "can hold in memory, 1 times at once");
    check_refused("api=URING,queueDepth=4096,transferSize=4p,blockSize=4p",
                  "transfer size (-t) 4503599627370496 is more than this program can hold in memory, 4096 times at once");
    check_accepted("api=MPIIO,transferSize=3g,blockSize=3g");
    check_refused("api=MPIIO,collective=1,transferSize=2g,blockSize=2g",
                  "transfer size (-t) 2147483648 is more than a collective call of MPI (-c) takes: 2147479552");
    check_refused("api=MPIIO,useFileView=1,transferSize=2g,blockSize=2g",
                  "transfer size (-t) 2147483648 is more than a file view (-V) takes: 2147483647");
    check_refused("api=MPIIO,useFileView=1,transferSize=8,blockSize=16g",
                  "block size (-b) 17179869184 has more transfers (-t) than a file view (-V) takes: 2147483647");
    check_refused("--hdf5.chunkSize=512m", "option --chunkSize: '512m' is out of range: 0 to 536870911 is allowed");
    check_refused("memoryPerTask=4e", "option --memoryPerTask: '4e' is out of range: 0 to 281474976710656 is allowed");
    check_refused("numTasks=3", "3 processes are asked for (-n, numTasks), 2 were started");
    check_refused("api=S3", "api (-a) 'S3' is not one of POSIX, MPIIO, MMAP, URING, AIO, DUMMY, HDF5");
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
    check_refused("minTimeDuration=5,deadlineForStonewalling=5",
                  "minTimeDuration begins anew until then, -D ends before: leave one of them out");
    check_refused("minTimeDuration=5,api=AIO", "minTimeDuration is for one transfer at a time: take -a POSIX");
    check_refused("interIODelay=5,api=AIO", "interIODelay is for one transfer at a time: take -a POSIX");
    check_refused("savePerOpDataCSV=p,api=AIO",
                  "savePerOpDataCSV is for one transfer at a time: take -a POSIX (--latency has percentiles)");
    check_accepted("mixed=70,deadlineForStonewalling=5,checkWrite=1,checkRead=1,writeFile=1");
    check_refused("mixed=100", "option --mixed: '100' is out of range: 0 to 99 is allowed");
    check_refused("mixed=70,numTasks=1", "--mixed takes processes that read and others that write: start at least 2");
    check_refused("mixed=70,randomOffset=1,--randomPrefill=1m",
                  "randomPrefill fills the files of -w alone, --mixed writes others: leave one of them out");
    check_refused("mixed=70,stoneWallingWearOut=1,deadlineForStonewalling=5",
                  "stoneWallingWearOut brings all processes to one amount, --mixed has two: leave one of them out");
    check_refused("mixed=70,savePerOpDataCSV=p", "savePerOpDataCSV does not tell the two sides of --mixed apart: leave one of them "
                                                 "out (--latency and --json do)");
    check_refused("mixed=70,api=MPIIO,collective=1,deadlineForStonewalling=5",
                  "-D stops each process at another transfer, -c needs all to make the same");
    check_refused("mixed=70,checkRead=1", "-W and -R need to know the data of a file that this test does not write: add -w, or -G "
                                          "with the number that the writing run had");
    check_refused("memoryPerTask=1m,memoryPerNode=1m",
                  "memoryPerNode (-M) and memoryPerTask take the same memory: give one of them");
    check_refused("--randomPrefill=1m", "randomPrefill is for random transfers: add -z");
    check_refused("--randomPrefill=3k,randomOffset=1", "randomPrefill 3072 does not divide the block size (-b) 1048576");
    check_refused("api=MPIIO,useFileView=1,randomOffset=1",
                  "a file view has the transfers of each process in order: leave out -z or the view (-V)");
    check_refused("filePerProc=yes", "filePerProc: 'yes' is not a number from 0 to 1");
    check_refused("blockSize", "'blockSize' is not NAME=VALUE");
    check_refused("blokSize=1", "unknown setting 'blokSize' (the names stand in docs/ior.md)");
}

/* The back end is there or says what is missing. */
static void test_hdf5_is_there_or_names_what_is_missing(void)
{
    const char *lacks;
    if (store_hdf5(&lacks) == NULL) {
        char expected[1024];
        snprintf(expected, sizeof expected, "api (-a) HDF5 is not there: %s", lacks);
        check_refused("api=HDF5", expected);
        return;
    }
    check_accepted("api=HDF5,collective=1,segmentCount=4,--hdf5.chunkSize=1k");
    check_accepted("api=hdf5,filePerProc=1,deadlineForStonewalling=3,segmentCount=4");
    check_refused("api=HDF5,randomOffset=1", "api HDF5 goes through its datasets in order, as IOR's does: leave out -z");
    check_refused("api=HDF5,preallocate=1", "api HDF5 lays its files out itself: leave out -p");
    check_refused("api=HDF5,useO_DIRECT=1", "api HDF5 cannot go past the page cache: leave out O_DIRECT or take -a POSIX");
    check_refused("api=HDF5,--hdf5.chunkSize=1m", "chunkSize 1048576 is more than the 262144 elements of 8 bytes of a segment");
    check_refused("api=HDF5,segmentCount=2,deadlineForStonewalling=3",
                  "-D stops each process at another transfer, a shared file of several segments (-s) in HDF5 needs all to make "
                  "the same");
    struct ior_config config = config_of("api=HDF5");
    ior_config_check(&config, 2, &why);
    CHECK_INT(ior_config_lockstep(&config, true), 0);
    config = config_of("api=HDF5,segmentCount=2");
    ior_config_check(&config, 2, &why);
    CHECK_INT(ior_config_lockstep(&config, false), 1);
}

static char unused[512];

static void note_unused(const char *what, const char *reason)
{
    snprintf(unused + strlen(unused), sizeof unused - strlen(unused), "%s%s\n", what, reason);
}

static void check_unused(const char *directives, const char *expected)
{
    struct ior_config config = config_of(directives);
    CHECK_INT(ior_config_check(&config, 2, &why), 0);
    unused[0] = '\0';
    ior_config_unused(&config, note_unused);
    CHECK_TEXT(unused, expected);
}

static void test_what_has_no_effect_is_named(void)
{
    check_unused("api=POSIX,reorderTasks=1,taskPerNodeOffset=2,--posix.rangelocks=1", "");
    check_unused("api=MPIIO,hintsFileName=h,useFileView=1", "");
    check_unused("taskPerNodeOffset=1,setAlignment=1,useFileView=0,--random-offset-seed=-1", "");
    check_unused("taskPerNodeOffset=2", "-Q (taskPerNodeOffset): nobody reads other data than its own: -C and -Z do\n");
    check_unused("setAlignment=4k,--hdf5.chunkSize=5,useFileView=1,hintsFileName=h",
                 "-U (hintsFileName): it is of the APIs MPIIO and HDF5\n-V (useFileView): it is of the API MPIIO\n"
                 "-J (setAlignment): it is of the API HDF5\nchunkSize: it is of the API HDF5\n");
    check_unused("--dummy.delay-xfer=5,--mmap.madv_pattern=1", "--mmap.madv_pattern: it is of the API MMAP\n"
                                                               "--dummy.delay-xfer: it is of the API DUMMY\n");
    check_unused("--random-offset-seed=3,reorderTasksRandomSeed=4",
                 "-X (reorderTasksRandomSeed): nobody reads at random: -Z does\n"
                 "--random-offset-seed: transfers are in order: -z shuffles them\n");
    check_unused("savePerOpDataCSV=p,writeFile=1", "");
    check_unused("savePerOpDataCSV=p", "savePerOpDataCSV for writes: the read of the same repetition has the same file names, and "
                                       "replaces them\n");
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

static void test_the_end_of_the_file_ends_a_script_too(void)
{
    static const char *const ends[] = {"", "\n", "\n\n# the end", "\nIOR STOP", "\nIOR STOP\nnothing here counts"};
    struct ior_config defaults = config_of("repetitions=3");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct ior_script script;
        char text[128];
        snprintf(text, sizeof text, "IOR START\nRUN\nblockSize=2m%s", ends[i]);
        CHECK_INT(parse(&script, text, &defaults), 0);
        CHECK_INT(script.count, 2);
        CHECK_INT(script.tests[1].block, 2 << 20);
        ior_script_free(&script);
        snprintf(text, sizeof text, "IOR START\nblockSize=2m\nRUN%s", ends[i]);
        CHECK_INT(parse(&script, text, &defaults), 0);
        CHECK_INT(script.count, 1);
        ior_script_free(&script);
    }
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

/* Wherever they are, options of the command line are defaults; what the script sets otherwise from its first test on is noted. */
static void test_what_a_script_decides_otherwise_is_noted(void)
{
    struct ior_config defaults = config_of("testFile=/t/f,repetitions=3,checkWrite=1,api=MPIIO,-N=2");
    struct ior_script script;
    char name[64];
    CHECK_INT(parse(&script, "IOR START\ntestFile=/s/f\napi=MPIIO\nRUN\nrepetitions=5\nRUN\nIOR STOP\n", &defaults), 0);
    CHECK_TEXT(script.tests[0].test_file, "/s/f");
    CHECK_INT(script.tests[0].repetitions, 3);
    CHECK_INT(script.tests[1].repetitions, 5);
    int overridden = 0;
    for (size_t i = 0; i < ior_setting_count; i++) {
        overridden += script.overridden[i];
        if (script.overridden[i])
            CHECK_TEXT(ior_config_name(i, name, sizeof name), "-o (testFile)");
    }
    CHECK_INT(overridden, 1);
    ior_script_free(&script);
}

static void test_a_file_of_hints(void)
{
    struct store_hints hints;
    char text[] = "# of the site\nIOR_HINT__MPI__cb_nodes=4\n\n  setenv IOR_HINT__MPI__striping_unit 1048576 # bytes\r\n"
                  "export IOR_HINT__MPI__a = b\nIOR_HINT__GPFS__important 1\n";
    CHECK_INT(ior_hints_parse(&hints, text, "h", &why), 0);
    CHECK_INT(hints.count, 4);
    CHECK_TEXT(hints.list[0].name, "IOR_HINT__MPI__cb_nodes");
    CHECK_TEXT(hints.list[0].value, "4");
    CHECK_TEXT(hints.list[1].name, "IOR_HINT__MPI__striping_unit");
    CHECK_TEXT(hints.list[1].value, "1048576");
    CHECK_TEXT(hints.list[2].value, "b");
    CHECK_TEXT(hints.list[3].name, "IOR_HINT__GPFS__important");
    ior_hints_free(&hints);
    static const char *const wrong[] = {"\ncb_nodes=4", "\nIOR_HINT__cb_nodes=4", "\nIOR_HINT__MPI__=4", "\nIOR_HINT__MPI__a", "\nIOR_HINT__MPI__a=b c"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char copy[64];
        snprintf(copy, sizeof copy, "%s", wrong[i]);
        CHECK_INT(ior_hints_parse(&hints, copy, "h", &why), -1);
        CHECK_TEXT(why.text, "hints file 'h' line 2 is not IOR_HINT__MPI__NAME=VALUE");
        ior_hints_free(&hints);
    }
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
    check_script_refused("IOR START\n", "script 's' has no RUN: there is nothing to test");
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
    test_hdf5_is_there_or_names_what_is_missing();
    test_what_has_no_effect_is_named();
    test_tests_of_a_script_inherit();
    test_settings_after_the_last_run_are_a_test();
    test_the_end_of_the_file_ends_a_script_too();
    test_a_check_before_the_script_is_added_to_what_its_tests_do();
    test_what_a_script_decides_otherwise_is_noted();
    test_a_file_of_hints();
    test_wrong_scripts_are_refused_with_their_line();
    ior_config_free();
    return CHECK_REPORT();
}
