/* ior_config: what one test is asked to do: options of the command line and directives of -O and of scripts, which are
 * two ways to write the same settings. */
#pragma once

#include "common/opt.h"
#include "common/pattern.h"
#include "ior/settings.h"
#include "store/contract.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Settings. All zero but for the defaults of ior_config_default. */
struct ior_config {
    const char *api, *test_file, *packet, *memory;
    int64_t reference;
    int64_t block, transfer, segments;
    int64_t tasks;       /* 0: all */
    int64_t repetitions;
    int64_t deadline_s, most_minutes, outlier_s;
    int64_t least_s;     /* transfers begin anew until then; 0: each is made once */
    int64_t most_steps;  /* transfers of each process; 0: all */
    int64_t transfer_pause_us;
    double delay_s;
    int64_t node_offset, reorder_seed;
    int64_t random_tasks;  /* 0; 1: any rank on a node far enough (-Z); 2: a permutation (-ZZ) */
    int64_t random_offset; /* 0; 1: shuffled (-z); 2: drawn, some several times (-zz) */
    int64_t offset_seed;   /* of random_offset; below 0: the data's */
    int64_t mixed;         /* percent of the processes that read beside the others' writes; 0: there is no such phase */
    int64_t prefill;       /* bytes of a piece; 0: files are not filled before they are written */
    int64_t memory_per_task;
    int64_t signature;     /* 0: choose one */
    int64_t queue_depth;   /* 0: choose one */
    int64_t verbosity;
    const char *stonewall_file, *rank_file, *transfers_file, *hints_file; /* NULL: none */
    bool write, read, check_write, check_read;
    bool file_per_process, multi_file, unique_dir, use_existing, keep, keep_with_error;
    bool reorder, fsync, fsync_each, barriers, direct, collective, show_hints, file_view, range_locks;
    bool one_attempt, quit_on_error, wear_out, drop_cache, cache_check, latency;
    bool warnings_are_errors, dry_run;
    bool summary_always; /* as it is in any case */
    bool preallocate; /* asked for */
    bool map_drops, map_pattern; /* MMAP */
    struct store_delays delays;  /* DUMMY */
    bool delays_of_rank_0;
    struct store_hdf5 hdf5;
    bool given[IOR_MOST_SETTINGS]; /* by rows of ior_settings: set by somebody */

    /* Summary files: the format that the next summaryFile is for, which formats, and where to (NULL: stdout). */
    char summary_format;
    bool json, csv;
    const char *json_file, *csv_file;

    /* Set by ior_config_check. */
    const struct store *store;
    enum pattern_kind kind;
    bool reserve; /* preallocate, or what transfers that overlap need */
    int64_t memory_bytes;  /* a node, of -M; 0: none */
    double memory_percent; /* or of the node's memory; 0: none */
    const struct store_hints *hints; /* of hints_file; set by ior_hints_read */
    bool into_existing;    /* set by the run: -E found files that were there, which stay */
    char where[64 + PATH_MAX]; /* of a script: its line, for messages; else empty */
};

void ior_config_default(struct ior_config *config);

/* Fills options with a row for each option of the command line that sets *config; returns how many, at most
 * IOR_CONFIG_OPTIONS. directives is the row of -O: pass &(struct opt_call){ior_config_directives, config}. */
enum { IOR_CONFIG_OPTIONS = 150 };
size_t ior_config_options(struct ior_config *config, struct opt_call *directives, struct opt *options);

/* Notes in config->given what was on the command line: `given` of opt_parse, for the options as above. */
void ior_config_note_given(struct ior_config *config, const bool *given);

/* "name=value,name=value": 0, or -1 with a message. The texts are copied, see ior_config_free. data is a config. */
int ior_config_directives(void *data, const char *text, struct refusal *why);

/* One setting, any case of its name: 0, or -1 with a message. value must live as long as the config. */
int ior_config_set(struct ior_config *config, const char *name, const char *value, struct refusal *why);

/* Completes the settings and looks for contradictions, for a run of `ranks` processes: 0, or -1 with a message. */
int ior_config_check(struct ior_config *config, int ranks, struct refusal *why);

/* Do the ranks go through their transfers together, so that all must make the same number of them? When they write, and
 * when they read or check. */
bool ior_config_lockstep(const struct ior_config *config, bool writes);

/* Calls `say` for each setting that was given and has no effect in this test: its name, and what follows "is not used". */
void ior_config_unused(const struct ior_config *config, void (*say)(const char *what, const char *why));

/* What the user calls a row of ior_settings: "-o (testFile)". */
const char *ior_config_name(size_t row, char *name, size_t name_bytes);

/* Copies that ior_config_directives made. Every config is void afterwards. */
void ior_config_free(void);
