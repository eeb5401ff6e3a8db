/* variables: which are told. */
#include "witness/variables.h"

#include "common/secret.h"
#include "witness/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const beginnings[] = {"SLURM_", "SBATCH_", "SLURMD_",   "OMPI_",   "PMIX_",       "PMI_",    "PRTE_",
                                         "HWLOC_", "IOR_",    "MPI",       "I_MPI_",  "MV2_",        "UCX_",    "UCC_",
                                         "FI_",    "HCOLL_",  "PSM_",      "PSM2_",   "PSM3_",       "ROMIO_",  "CRAY_MPI",
                                         "LD_",    "DARSHAN_", "GLIBC_",   "MALLOC_", "OMP_",        "LUSTRE",  "LLAPI",
                                         "FAKE",   "LIBFAKE", "NSS_WRAPPER", "UID_WRAPPER", "BENCH_", "DW_"};
static const char *const names[] = {"BASH_ENV", "HOSTALIASES", "LOADEDMODULES", "PATH", "TZ", "LC_ALL", "LANG", "TMPDIR"};
static const char *const jobs_beginnings[] = {"SLURM", "SBATCH", "BENCH_"};
static const char *const jobs_names[] = {"PATH", "LC_ALL", "LANG", "TMPDIR", "TZ", "LOADEDMODULES"};

static bool is_among(const char *name, const char *const *starts, size_t count, const char *const *whole, size_t others)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    for (size_t i = 0; i < others; i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    return false;
}

static bool is_told(const char *name, const char *value)
{
    return is_among(name, beginnings, sizeof beginnings / sizeof *beginnings, names, sizeof names / sizeof *names) &&
           !secret_is(name, value);
}

bool variables_of_job(const char *name)
{
    return is_among(name, jobs_beginnings, sizeof jobs_beginnings / sizeof *jobs_beginnings, jobs_names,
                    sizeof jobs_names / sizeof *jobs_names);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void variables_each(void (*with)(const char *name, const char *value))
{
    size_t count = 0;
    char **sorted = NULL;
    for (char **each = environ; *each != NULL; each++) {
        sorted = text_grow(sorted, count, sizeof *sorted);
        sorted[count++] = *each;
    }
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 0; i < count; i++) {
        char *name = text_of("%s", sorted[i]), *value = strchr(name, '=');
        if (value != NULL) {
            *value++ = '\0';
            if (is_told(name, value))
                with(name, value);
        }
        free(name);
    }
    free(sorted);
}

void variables_set_by_slurm(const char *first, size_t bytes, const char *submitters, void (*with)(const char *name))
{
    if (submitters == NULL || submitters[0] == '\0')
        return;
    char *named = text_of(" %s ", submitters);
    for (const char *at = first; at < first + bytes; at += strlen(at) + 1) {
        const char *equals = strchr(at, '='), *now;
        if (equals == NULL || strncmp(at, "SLURM", 5) == 0)
            continue;
        char *name = text_of("%.*s", (int)(equals - at), at), *word = text_of(" %s ", name);
        if (strstr(named, word) == NULL && (now = getenv(name)) != NULL && strcmp(now, equals + 1) == 0 && is_told(name, now))
            with(name);
        free(name);
        free(word);
    }
    free(named);
}
