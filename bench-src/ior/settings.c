/* ior_settings: the table of settings. */
#include "ior/settings.h"

#include "ior/config.h"

#include <stddef.h>

#define AT(member) offsetof(struct ior_config, member)
#define MOST INT64_MAX

const struct ior_setting ior_settings[] = {
    {"writeFile", 'w', NULL, OPT_FLAG, AT(write), NULL, "write", 0, 0},
    {"readFile", 'r', NULL, OPT_FLAG, AT(read), NULL, "read (without -w, -r, -W and -R: write and read)", 0, 0},
    {"mixed", 0, "mixed", OPT_INT, AT(mixed), "PERCENT", "a phase between them: this share of the processes reads, while the others write other files", 0, 99},
    {"checkWrite", 'W', NULL, OPT_FLAG, AT(check_write), NULL, "check the data after writing, outside the timed part", 0, 0},
    {"checkRead", 'R', NULL, OPT_FLAG, AT(check_read), NULL, "check the data after reading, outside the timed part", 0, 0},
    {"testFile", 'o', NULL, OPT_TEXT, AT(test_file), "PATH", "file to work on (default testFile); with -F also PATH@PATH…", 0, 0},
    {"transferSize", 't', NULL, OPT_SIZE, AT(transfer), "BYTES", "moved by one call (default 256k)", 8, MOST},
    {"blockSize", 'b', NULL, OPT_SIZE, AT(block), "BYTES", "contiguous for each process (default 1m)", 8, MOST},
    {"segmentCount", 's', NULL, OPT_SIZE, AT(segments), "COUNT", "blocks of each process (default 1)", 1, MOST},
    {"numTasks", 'n', NULL, OPT_INT, AT(tasks), "COUNT", "processes that take part (default 0: all; also -1, as in IOR)", -1, INT_MAX},
    {NULL, 'N', NULL, OPT_INT, AT(tasks), "COUNT", "the same as -n", -1, INT_MAX},
    {"filePerProc", 'F', NULL, OPT_FLAG, AT(file_per_process), NULL, "a file for each process", 0, 0},
    {"uniqueDir", 'u', NULL, OPT_FLAG, AT(unique_dir), NULL, "a directory for each process (with -F)", 0, 0},
    {"multiFile", 'm', NULL, OPT_FLAG, AT(multi_file), NULL, "other files in each repetition", 0, 0},
    {"api", 'a', NULL, OPT_TEXT, AT(api), "API", "how to access files (default POSIX), see above", 0, 0},
    {NULL, 0, "mmap.madv_dont_need", OPT_FLAG, AT(map_drops), NULL, "drop the pages of each transfer from the mapping (MMAP)", 0, 0},
    {NULL, 0, "mmap.madv_pattern", OPT_FLAG, AT(map_pattern), NULL, "tell the kernel the order of the accesses (MMAP)", 0, 0},
    {NULL, 0, "dummy.delay-create", OPT_INT, AT(delays.create_us), "USEC", "opening a file to write takes so long (DUMMY)", 0, 1000000000},
    {NULL, 0, "dummy.delay-xfer", OPT_INT, AT(delays.transfer_us), "USEC", "a transfer takes so long (DUMMY)", 0, 1000000000},
    {NULL, 0, "dummy.delay-sync", OPT_INT, AT(delays.sync_us), "USEC", "an fsync takes so long (DUMMY)", 0, 1000000000},
    {NULL, 0, "dummy.delay-close", OPT_INT, AT(delays.close_us), "USEC", "closing a file takes so long (DUMMY)", 0, 1000000000},
    {NULL, 0, "dummy.delay-only-rank0", OPT_FLAG, AT(delays_of_rank_0), NULL, "on the first process only (DUMMY)", 0, 0},
    {"queueDepth", 0, "queue-depth", OPT_INT, AT(queue_depth), "COUNT", "transfers under way in each process (URING, AIO; default 16)", 1, 4096},
    {"collective", 'c', "collective", OPT_FLAG, AT(collective), NULL, "collective calls (MPIIO, HDF5)", 0, 0},
    {"showHints", 'H', "mpiio.showHints", OPT_FLAG, AT(show_hints), NULL, "print the hints of the open file (MPIIO, HDF5)", 0, 0},
    {NULL, 0, "hdf5.showHints", OPT_FLAG, AT(show_hints), NULL, "the same as -H", 0, 0},
    {"hintsFileName", 'U', "mpiio.hintsFileName", OPT_TEXT, AT(hints_file), "FILE", "lines IOR_HINT__MPI__NAME=VALUE for the library (MPIIO, HDF5)", 0, 0},
    {NULL, 0, "hdf5.hintsFileName", OPT_TEXT, AT(hints_file), "FILE", "the same as -U", 0, 0},
    {"useFileView", 'V', "mpiio.useFileView", OPT_FLAG, AT(file_view), NULL, "a file view and a file pointer for each process (MPIIO)", 0, 0},
    {"collectiveMetadata", 0, "hdf5.collectiveMetadata", OPT_FLAG, AT(hdf5.collective_metadata), NULL, "metadata is read and written collectively (HDF5)", 0, 0},
    {"noFill", 0, "hdf5.noFill", OPT_FLAG, AT(hdf5.no_fill), NULL, "datasets are not filled when they are created (HDF5)", 0, 0},
    {"setAlignment", 'J', "hdf5.setAlignment", OPT_SIZE, AT(hdf5.alignment), "BYTES", "alignment of objects of this size and more (HDF5; default 1)", 1, MOST},
    {"chunkSize", 0, "hdf5.chunkSize", OPT_SIZE, AT(hdf5.chunk), "COUNT", "elements of 8 bytes in a chunk (HDF5; default 0: contiguous)", 0, UINT32_MAX / 8},
    {"useO_DIRECT", 'B', "posix.odirect", OPT_FLAG, AT(direct), NULL, "past the page cache (O_DIRECT)", 0, 0},
    {"rangeLocks", 0, "posix.rangelocks", OPT_FLAG, AT(range_locks), NULL, "lock the bytes of each transfer (POSIX)", 0, 0},
    {"preallocate", 'p', "mpiio.preallocate", OPT_FLAG, AT(preallocate), NULL, "give the file its blocks when it is opened, inside the timed part", 0, 0},
    {"fsync", 'e', NULL, OPT_FLAG, AT(fsync), NULL, "fsync after the last write, inside the timed part", 0, 0},
    {"fsyncPerWrite", 'Y', NULL, OPT_FLAG, AT(fsync_each), NULL, "fsync after each write", 0, 0},
    {"reorderTasks", 'C', NULL, OPT_FLAG, AT(reorder), NULL, "read what the processes Q nodes further on wrote", 0, 0},
    {"reorderTasksConstant", 0, NULL, OPT_FLAG, AT(reorder), NULL, NULL, 0, 0},
    {"taskPerNodeOffset", 'Q', NULL, OPT_INT, AT(node_offset), "NODES", "how far for -C, how far at least for -Z (default 1)", 0, INT_MAX},
    {"reorderTasksRandom", 'Z', NULL, OPT_COUNT, AT(random_tasks), NULL, "read from processes at random, at least Q nodes off; -ZZ: each process once", 0, 2},
    {"reorderTasksRandomSeed", 'X', NULL, OPT_INT, AT(reorder_seed), "SEED", "seed of -Z; 0, the default, and numbers below 0: another order in each repetition", 0, 0},
    {"randomOffset", 'z', NULL, OPT_COUNT, AT(random_offset), NULL, "transfers in random order; -zz: at random places, some several times", 0, 2},
    {NULL, 0, "random-offset-seed", OPT_INT, AT(offset_seed), "SEED", "seed of -z (default -1: it follows from that of the data)", -1, MOST},
    {NULL, 0, "randomPrefill", OPT_SIZE, AT(prefill), "BYTES", "before -w -z, write the whole file in pieces of this size, untimed", 0, MOST},
    {"dropCache", 0, "drop-cache", OPT_FLAG, AT(drop_cache), NULL, "drop the files from the page cache before reading, and check that they left", 0, 0},
    {"cacheCheck", 0, "cache-check", OPT_FLAG, AT(cache_check), NULL, "look at the page cache before reading files of an earlier run too, which opens them", 0, 0},
    {"memoryPerNode", 'M', NULL, OPT_TEXT, AT(memory), "BYTES|PERCENT%", "take this much memory of each node, so that less is left for the page cache", 0, 0},
    {"memoryPerTask", 0, NULL, OPT_SIZE, AT(memory_per_task), "BYTES", NULL, 0, (int64_t)1 << 48},
    {"repetitions", 'i', NULL, OPT_INT, AT(repetitions), "COUNT", "repetitions of the whole test (default 1)", 1, 1000000},
    {"interTestDelay", 'd', NULL, OPT_REAL, AT(delay_s), "SECONDS", "pause before each write and read", 0, 1000000},
    {"interIODelay", 0, NULL, OPT_INT, AT(transfer_pause_us), "USEC", NULL, 0, 1000000000},
    {"intraTestBarriers", 'g', NULL, OPT_FLAG, AT(barriers), NULL, "barriers between open, transfers and close", 0, 0},
    {"deadlineForStonewalling", 'D', NULL, OPT_INT, AT(deadline_s), "SECONDS", "stop writing or reading then; what was moved until then counts", 0, 1000000},
    {"stoneWallingWearOut", 0, NULL, OPT_FLAG, AT(wear_out), NULL, NULL, 0, 0},
    {"stoneWallingWearOutIterations", 0, NULL, OPT_INT, AT(most_steps), "COUNT", NULL, 0, MOST},
    {"stoneWallingStatusFile", 0, NULL, OPT_TEXT, AT(stonewall_file), "FILE", NULL, 0, 0},
    {"minTimeDuration", 0, NULL, OPT_INT, AT(least_s), "SECONDS", NULL, 0, 1000000},
    {"maxTimeDuration", 'T', NULL, OPT_INT, AT(most_minutes), "MINUTES", "start no further write or read after this time", 0, 10000000},
    {"outlierThreshold", 'j', NULL, OPT_INT, AT(outlier_s), "SECONDS", "warn of a process whose time is so far from the mean of all", 0, 1000000},
    {"latency", 0, "latency", OPT_FLAG, AT(latency), NULL, "time each transfer: percentiles and bandwidth over time (costs clock readings)", 0, 0},
    {"saveRankPerformanceDetailsCSV", 0, NULL, OPT_TEXT, AT(rank_file), "FILE", NULL, 0, 0},
    {"savePerOpDataCSV", 0, NULL, OPT_TEXT, AT(transfers_file), "PREFIX", NULL, 0, 0},
    {"keepFile", 'k', NULL, OPT_FLAG, AT(keep), NULL, "keep the files", 0, 0},
    {"keepFileWithError", 'K', NULL, OPT_FLAG, AT(keep_with_error), NULL, "keep files in which errors were found", 0, 0},
    {"useExistingTestFile", 'E', NULL, OPT_FLAG, AT(use_existing), NULL, "do not remove existing files before writing", 0, 0},
    {"setTimeStampSignature", 'G', NULL, OPT_INT, AT(signature), "NUMBER", "seed of the data (default 0: another one in each repetition)", 0, 0},
    {"dataPacketType", 'l', "dataPacketType", OPT_TEXT, AT(packet), "KIND", "of data: unique (default), timestamp or offset", 0, 0},
    {"singleXferAttempt", 'x', NULL, OPT_FLAG, AT(one_attempt), NULL, "a transfer that was cut short is an error at once", 0, 0},
    {"quitOnError", 'q', NULL, OPT_FLAG, AT(quit_on_error), NULL, "end at the first error; else go on with the next repetition", 0, 0},
    {"warningAsErrors", 0, "warningAsErrors", OPT_FLAG, AT(warnings_are_errors), NULL, "end at the first warning (not at those about what a number measures)", 0, 0},
    {"dryRun", 0, "dryRun", OPT_FLAG, AT(dry_run), NULL, "print what would be tested, and test nothing", 0, 0},
    {"refNum", 'A', NULL, OPT_INT, AT(reference), "NUMBER", "a number of your own for the summary", 0, 0},
    {"verbose", 'v', NULL, OPT_COUNT, AT(verbosity), NULL, "print more: once each step, twice the spread over processes", 0, 5},
    {"summaryAlways", 0, NULL, OPT_FLAG, AT(summary_always), NULL, NULL, 0, 0},
};

const size_t ior_setting_count = sizeof ior_settings / sizeof ior_settings[0];
_Static_assert(sizeof ior_settings / sizeof ior_settings[0] <= IOR_MOST_SETTINGS, "more settings than IOR_MOST_SETTINGS");

#define IN_MAIN_MEMORY "data lies in main memory"
#define NOT_IN_IOR "IOR 4.1 cannot do it either"
#define STRIDED "one call would move a piece of every segment, all with the same bytes, which no check could tell apart"
#define LAID_OUT(tool) "set the layout of the directory with " tool " before the run"
#define VENDORS "files are used by the calls of POSIX alone, not by those of one file system"
#define PLACED "the nodes of the processes are found, not told: place them with the launcher"

const struct ior_refusal ior_refusals[] = {
    {"allocateBufferOnGPU", 0, NULL, "0", IN_MAIN_MEMORY},
    {"gpuDirect", 0, "gpuDirect", "0", IN_MAIN_MEMORY},
    {"gpuID", 0, NULL, "-1", IN_MAIN_MEMORY},
    {"dualMount", 'y', NULL, "0", "there is one mount point for all processes (-o PATH@PATH… with -F gives them several)"},
    {"individualDataSets", 'I', "hdf5.individualDataSets", "0", NOT_IN_IOR},
    {"useStridedDatatype", 'S', "mpiio.useStridedDatatype", "0", STRIDED},
    {"useSharedFilePointer", 'P', NULL, "0", NOT_IN_IOR},
    {"storeFileOffset", 0, NULL, "0", "-l offset writes offsets"},
    {"numNodes", 0, NULL, NULL, PLACED},
    {"numTasksOnNode0", 0, NULL, NULL, PLACED},
    {"debug", 0, NULL, NULL, "-v prints more"},
    {"platform", 0, NULL, NULL, "the system and the node are recorded as they are"},
    {"showHelp", 0, NULL, "0", "ior -h prints the options"},
    {"lustreStripeCount", 0, "posix.lustre.stripecount", "0", LAID_OUT("lfs setstripe")},
    {"lustreStripeSize", 0, "posix.lustre.stripesize", "0", LAID_OUT("lfs setstripe")},
    {"lustreStartOST", 0, "posix.lustre.startost", "-1", LAID_OUT("lfs setstripe")},
    {NULL, 0, "posix.lustre.pool", NULL, LAID_OUT("lfs setstripe")},
    {"lustreIgnoreLocks", 0, "posix.lustre.ignorelocks", "0", VENDORS},
    {"beegfsNumTargets", 0, "posix.beegfs.NumTargets", "-1", LAID_OUT("beegfs-ctl --setpattern")},
    {"beegfsChunkSize", 0, "posix.beegfs.ChunkSize", "-1", LAID_OUT("beegfs-ctl --setpattern")},
    {"gpfsHintAccess", 0, "posix.gpfs.hintaccess", "0", VENDORS},
    {"gpfsReleaseToken", 0, "posix.gpfs.releasetoken", "0", VENDORS},
    {NULL, 0, "posix.gpfs.finegrainwritesharing", "0", VENDORS},
    {NULL, 0, "posix.gpfs.finegrainreadsharing", "0", VENDORS},
    {NULL, 0, "posix.gpfs.createsharing", "0", VENDORS},
    {NULL, 0, "aio.max-pending", NULL, "--queue-depth is the number of transfers under way"},
    {NULL, 0, "aio.granularity", NULL, "each transfer is started when its turn comes"},
};

const size_t ior_refusal_count = sizeof ior_refusals / sizeof ior_refusals[0];
