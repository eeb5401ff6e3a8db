/* nfstest_plan: parameters and file sizes. Pure. */
#include "nfstest/plan.h"

#include "common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_BYTES = 1 << 20, UNSET = -1 };

const char nfstest_words_help[] =
    "  nN      files that each process writes and reads (default: the number of processes)\n"
    "  uU      unit of all sizes: b, K (1024 bytes, the default) or M (1048576 bytes)\n"
    "  mSIZE   smallest file size (default: that of M, or 1048576 bytes)\n"
    "  MSIZE   largest file size (default: that of m)\n"
    "  KF      each size is F times the one before (default 2)\n"
    "  sSIZE   each size is SIZE more than the one before (not used where K is given)\n"
    "  bSIZE   buffer, the portion of one read or write (default: the whole file)\n"
    "  SSIZE   quota: sizes at which all files together would exceed it are left out\n"
    "  fDIR    directory on the shared file system to work in (default: .)\n"
    "  oFILE   write the results to FILE instead of the terminal\n"
    "  RN      repeat the whole test N times (default 1)\n"
    "  d1      use write() and read(); without: fwrite() and fread()\n"
    "  c1      check after each read that every byte is the one its writer wrote\n"
    "  v1      print the parameters and the nodes too\n";

/* Text values as they stand, numbers as they come; UNSET where not given. */
struct words {
    int64_t n, m, M, b, s, K, S, R, d, c, v;
    const char *u, *f, *o;
};

static int read_number(const char *word, int64_t least, int64_t most, int64_t *value, struct refusal *why)
{
    if (*value != UNSET)
        return refuse(why, "parameter %c is given twice: '%s' is the second", word[0], word);
    if (word[1] == '\0')
        return refuse(why, "parameter %c needs its number in the same word, as in %c3", word[0], word[0]);
    if (units_parse_int(word + 1, UNITS_PLAIN, value) != 0 || *value < least || *value > most) {
        *value = UNSET;
        return refuse(why, "parameter %c: '%s' is not a whole number from %" PRId64 " to %" PRId64, word[0], word + 1,
                      least, most);
    }
    return 0;
}

static int read_text(const char *word, const char *example, const char **value, struct refusal *why)
{
    if (*value != NULL)
        return refuse(why, "parameter %c is given twice: '%s' is the second", word[0], word);
    if (word[1] == '\0')
        return refuse(why, "parameter %c needs its value in the same word, as in %s", word[0], example);
    *value = word + 1;
    return 0;
}

static int read_word(struct words *w, const char *word, struct refusal *why)
{
    const int64_t most = INT64_MAX;
    switch (word[0]) {
    case 'n': return read_number(word, 1, 1 << 30, &w->n, why);
    case 'm': return read_number(word, 1, most, &w->m, why);
    case 'M': return read_number(word, 1, most, &w->M, why);
    case 'b': return read_number(word, 1, most, &w->b, why);
    case 's': return read_number(word, 1, most, &w->s, why);
    case 'K': return read_number(word, 2, most, &w->K, why);
    case 'S': return read_number(word, 1, most, &w->S, why);
    case 'R': return read_number(word, 1, 1 << 30, &w->R, why);
    case 'd': return read_number(word, 0, 1, &w->d, why);
    case 'c': return read_number(word, 0, 1, &w->c, why);
    case 'v': return read_number(word, 0, 1, &w->v, why);
    case 'u': return read_text(word, "uK", &w->u, why);
    case 'f': return read_text(word, "f/scratch", &w->f, why);
    case 'o': return read_text(word, "oresults.txt", &w->o, why);
    default: return refuse(why, "unknown parameter '%s'", word);
    }
}

static int set_unit(struct nfstest_config *config, const char *letter, struct refusal *why)
{
    static const struct {
        const char *letter, *name;
        int64_t bytes;
    } units[] = {{"b", "b", 1}, {"K", "Kb", 1024}, {"M", "Mb", 1048576}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(letter, units[i].letter) == 0) {
            config->unit_bytes = units[i].bytes;
            config->unit_name = units[i].name;
            return 0;
        }
    return refuse(why, "parameter u: '%s' is not b, K or M", letter);
}

static void set_sizes(struct nfstest_config *config, const struct words *w)
{
    int64_t fallback = DEFAULT_BYTES / config->unit_bytes;
    config->min = w->m != UNSET ? w->m : w->M != UNSET ? w->M : fallback;
    config->max = w->M != UNSET ? w->M : config->min;
    config->buffer = w->b != UNSET ? w->b : 0;
    config->quota = w->S != UNSET ? w->S : 0;
    config->factor = w->K != UNSET ? w->K : w->s != UNSET ? 0 : 2;
    config->step = w->s != UNSET ? w->s : 0;
}

/* Do all totals fit into 63 bits, and are the sizes plausible? Cuts max down to the quota. */
static int check_sizes(struct nfstest_config *config, int ranks, struct refusal *why)
{
    const char *unit = config->unit_name;
    if (config->min > config->max)
        return refuse(why, "smallest file size m%" PRId64 " is above the largest M%" PRId64, config->min, config->max);
    int64_t total, bytes;
    if (__builtin_mul_overflow(config->files, (int64_t)ranks, &total) ||
        __builtin_mul_overflow(total, config->max, &total) || __builtin_mul_overflow(total, config->unit_bytes, &bytes))
        return refuse(why, "all files together are beyond 64 bits: M%" PRId64 " n%" PRId64 " with %d processes",
                      config->max, config->files, ranks);
    if (config->buffer > INT64_MAX / config->unit_bytes)
        return refuse(why, "parameter b: %" PRId64 "%s is beyond 64 bits", config->buffer, unit);
    if (config->quota > 0) {
        int64_t least = nfstest_total(config, config->min, ranks), fits = config->quota / (config->files * ranks);
        if (fits < config->min)
            return refuse(why, "quota S%" PRId64 " is below what the smallest files need: %" PRId64 "%s", config->quota,
                          least, unit);
        config->max = fits < config->max ? fits : config->max;
    }
    int count = 0;
    for (int64_t size = config->min; size != 0; size = nfstest_next_size(config, size))
        if (++count > NFSTEST_MOST_SIZES)
            return refuse(why, "more than %d file sizes from %" PRId64 " to %" PRId64 "%s: use a larger step",
                          NFSTEST_MOST_SIZES, config->min, config->max, unit);
    return 0;
}

int nfstest_read_words(struct nfstest_config *config, int count, char **words, int ranks, struct refusal *why)
{
    struct words w = {UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET, NULL, NULL, NULL};
    memset(config, 0, sizeof *config);
    for (int i = 0; i < count; i++)
        if (read_word(&w, words[i], why) != 0)
            return -1;
    if (set_unit(config, w.u != NULL ? w.u : "K", why) != 0)
        return -1;
    set_sizes(config, &w);
    config->files = w.n != UNSET ? w.n : ranks;
    config->repeats = w.R != UNSET ? w.R : 1;
    config->folder = w.f != NULL ? w.f : ".";
    config->output = w.o;
    config->direct = w.d == 1;
    config->check = w.c == 1;
    config->verbose = w.v == 1;
    return check_sizes(config, ranks, why);
}

int64_t nfstest_next_size(const struct nfstest_config *config, int64_t size)
{
    int64_t next;
    bool beyond = config->factor > 0 ? __builtin_mul_overflow(size, config->factor, &next)
                                     : __builtin_add_overflow(size, config->step, &next);
    return beyond || next > config->max ? 0 : next;
}

int64_t nfstest_total(const struct nfstest_config *config, int64_t size, int ranks)
{
    return size * config->files * ranks;
}
