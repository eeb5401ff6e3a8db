/* ior_settings: each directive and each option of IOR 4.1 has an effect or is refused with the reason. */
#include "ior/config.h"
#include "test/check.h"

#include <string.h>

static struct refusal why;

/* With another value than the default. */
static const char *const taken[] = {
    "api=MPIIO", "refNum=3", "testFile=/s/f", "deadlineForStonewalling=3", "stoneWallingWearOut=1", "stoneWallingWearOutIterations=3",
    "stoneWallingStatusFile=/s/n", "maxTimeDuration=3", "minTimeDuration=3", "outlierThreshold=3", "numTasks=2", "repetitions=3",
    "interTestDelay=3", "interIODelay=3", "readFile=1", "writeFile=1", "filePerProc=1", "taskPerNodeOffset=2", "reorderTasks=1",
    "reorderTasksConstant=1", "reorderTasksRandom=2", "reorderTasksRandomSeed=3", "checkWrite=1", "checkRead=1", "keepFile=1",
    "keepFileWithError=1", "multiFile=1", "warningAsErrors=1", "segmentCount=3", "blockSize=2m", "transferSize=2m",
    "singleXferAttempt=1", "intraTestBarriers=1", "verbose=5", "collective=1", "setTimeStampSignature=-3", "dataPacketType=o",
    "uniqueDir=1", "useExistingTestFile=1", "fsyncPerWrite=1", "fsync=1", "randomOffset=2", "memoryPerTask=1m", "memoryPerNode=80%",
    "summaryAlways=1", "summaryFormat=JSON", "saveRankPerformanceDetailsCSV=/s/r", "savePerOpDataCSV=/s/p", "useO_DIRECT=1",
    "--posix.odirect=1", "--posix.rangelocks=1", "--mpiio.hintsFileName=/s/h", "--mpiio.showHints=1", "--mpiio.preallocate=1",
    "--mpiio.useFileView=1", "--hdf5.hintsFileName=/s/h", "--hdf5.showHints=1", "--hdf5.collectiveMetadata=1",
    "--hdf5.setAlignment=4k", "--hdf5.noFill=1", "--hdf5.chunkSize=8", "--mmap.madv_dont_need=1", "--mmap.madv_pattern=1",
    "--dummy.delay-create=3", "--dummy.delay-close=3", "--dummy.delay-sync=3", "--dummy.delay-xfer=3", "--dummy.delay-only-rank0=1",
    "--randomPrefill=1m", "--random-offset-seed=3", "--warningAsErrors=1", "--dryRun=1", "--dataPacketType=timestamp",
    "--collective=1", "-a=MPIIO", "-A=3", "-b=2m", "-c=1", "-C=1", "-d=3", "-D=3", "-e=1", "-E=1", "-F=1", "-g=1", "-G=3", "-i=3",
    "-j=3", "-k=1", "-K=1", "-l=o", "-m=1", "-M=2g", "-N=2", "-o=/s/f", "-Q=2", "-r=1", "-R=1", "-s=3", "-t=2m", "-T=3", "-u=1",
    "-v=3", "-w=1", "-W=1", "-x=1", "-X=3", "-Y=1", "-z=2", "-Z=2",
};

/* With the beginning of the reason. */
static const struct {
    const char *setting, *why;
} refused[] = {
    {"allocateBufferOnGPU=1", "data lies in main memory"},
    {"gpuID=0", "data lies in main memory"},
    {"--gpuDirect=1", "data lies in main memory"},
    {"dualMount=1", "there is one mount point"},
    {"numNodes=2", "the nodes of the processes are found"},
    {"numTasksOnNode0=2", "the nodes of the processes are found"},
    {"debug=x", "-v prints more"},
    {"platform=x", "the system and the node are recorded"},
    {"--mpiio.useStridedDatatype=1", "one call would move"},
    {"--hdf5.individualDataSets=1", "IOR 4.1 cannot do it either"},
    {"--posix.lustre.stripecount=4", "set the layout of the directory with lfs setstripe"},
    {"--posix.lustre.stripesize=1", "set the layout of the directory with lfs setstripe"},
    {"--posix.lustre.startost=1", "set the layout of the directory with lfs setstripe"},
    {"--posix.lustre.pool=p", "set the layout of the directory with lfs setstripe"},
    {"--posix.lustre.ignorelocks=1", "files are used by the calls of POSIX"},
    {"--posix.beegfs.NumTargets=4", "set the layout of the directory with beegfs-ctl"},
    {"--posix.beegfs.ChunkSize=1", "set the layout of the directory with beegfs-ctl"},
    {"--posix.gpfs.hintaccess=1", "files are used by the calls of POSIX"},
    {"--posix.gpfs.releasetoken=1", "files are used by the calls of POSIX"},
    {"--posix.gpfs.finegrainwritesharing=1", "files are used by the calls of POSIX"},
    {"--posix.gpfs.finegrainreadsharing=1", "files are used by the calls of POSIX"},
    {"--posix.gpfs.createsharing=1", "files are used by the calls of POSIX"},
    {"--aio.max-pending=8", "--queue-depth"},
    {"--aio.granularity=8", "each transfer is started"},
};

/* By -O or in a script: NAME=VALUE. */
static int set_directive(struct ior_config *config, const char *text)
{
    return ior_config_directives(config, text, &why);
}

/* On the command line: the same words, if they are those of an option. */
static int set_option(struct ior_config *config, const char *text)
{
    static char copy[128];
    struct opt options[IOR_CONFIG_OPTIONS];
    struct opt_call directives = {ior_config_directives, config};
    char *arguments[] = {"ior", copy};
    bool help;
    snprintf(copy, sizeof copy, "%s", text);
    return opt_read(options, ior_config_options(config, &directives, options), 2, arguments, &help, NULL, &why);
}

static void check_taken(int (*set)(struct ior_config *, const char *), const char *text)
{
    struct ior_config config, untouched;
    ior_config_default(&config);
    ior_config_default(&untouched);
    why.text[0] = '\0';
    int status = set(&config, text);
    memset(config.given, 0, sizeof config.given);
    if (status != 0 || memcmp(&config, &untouched, sizeof config) == 0)
        fprintf(stderr, "%s: %s\n", text, status == 0 ? "has no effect" : why.text);
    CHECK_INT(status, 0);
    CHECK(memcmp(&config, &untouched, sizeof config) != 0);
}

static void check_refused(int (*set)(struct ior_config *, const char *), const char *text, const char *reason)
{
    struct ior_config config;
    ior_config_default(&config);
    why.text[0] = '\0';
    CHECK_INT(set(&config, text), -1);
    if (strstr(why.text, "is not offered") == NULL || strstr(why.text, reason) == NULL)
        CHECK_TEXT(why.text, reason);
}

static void test_each_setting_has_an_effect(void)
{
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        check_taken(set_directive, taken[i]);
        if (taken[i][0] == '-')
            check_taken(set_option, taken[i]);
    }
}

static void test_what_is_not_offered_says_why(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        check_refused(set_directive, refused[i].setting, refused[i].why);
        if (refused[i].setting[0] == '-')
            check_refused(set_option, refused[i].setting, refused[i].why);
    }
    check_refused(set_option, "-y", "there is one mount point");
}

static void check_wrong(const char *text, const char *expected)
{
    struct ior_config config;
    ior_config_default(&config);
    CHECK_INT(set_option(&config, text), -1);
    CHECK_TEXT(why.text, expected);
}

static void test_flags_may_have_a_number(void)
{
    struct ior_config config;
    ior_config_default(&config);
    CHECK_INT(set_option(&config, "-w=0") == 0 && !config.write, 1);
    CHECK_INT(set_option(&config, "-wv") == 0 && config.write && config.verbosity == 1, 1);
    CHECK_INT(set_option(&config, "-v=0") == 0 && config.verbosity == 0, 1);
    check_wrong("-w=2", "option -w: '2' is not a number from 0 to 1");
    check_wrong("-w=", "option -w: '' is not a number from 0 to 1");
    check_wrong("-v=6", "option -v: '6' is not a number from 0 to 5");
    check_wrong("--collective=yes", "option --collective: 'yes' is not a number from 0 to 1");
    check_wrong("-wk=0", "'-wk=0': give an option with a value by itself (-k=0)");
}

int main(void)
{
    test_each_setting_has_an_effect();
    test_what_is_not_offered_says_why();
    test_flags_may_have_a_number();
    ior_config_free();
    return CHECK_REPORT();
}
