/* attest: what the processes of a run are made of. The ranks of a machine compare what they have mapped by device and inode,
 * and the first of them hashes for all that are alike. */
#include "common/attest.h"

#include "common/asked.h"
#include "common/die.h"
#include "common/emit.h"
#include "common/mount.h"
#include "common/quiet.h"
#include "common/raw.h"
#include "common/secret.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_GROUPS = 16, VALUE_BYTES = 4000 };

/* Beginnings of the names of the variables that are told, besides those that the campaign asks for, and of those among them that
 * differ from rank to rank. */
static const char *const telling[] = {"LD_",    "GLIBC_", "MALLOC_", "OMPI_MCA_", "PRTE_MCA_",  "UCX_",    "UCC_",   "FI_",
                                      "HCOLL_", "PSM",    "ROMIO_",  "I_MPI_",    "MPICH_",     "MV2_",    "CRAY_MPI", "DARSHAN_",
                                      "LUSTRE", "LLAPI",  "FAKE",    "LIBFAKE",   "NSS_WRAPPER", "UID_WRAPPER", ASKED_NAMES};
static const char *const of_ranks[] = {"OMPI_MCA_orte_", "OMPI_MCA_ess_", "OMPI_MCA_initial_", "OMPI_MCA_shmem_RUNTIME"};

static bool begins_with(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(text, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void add_variables(struct facts *facts)
{
    size_t count = 0, all = 0;
    while (environ[all] != NULL)
        all++;
    char **sorted = die_alloc(sizeof(void *), (all + 1) * sizeof *sorted);
    for (size_t i = 0; i < all; i++)
        if (asked_is(environ[i]) || (begins_with(environ[i], telling, sizeof telling / sizeof *telling) &&
                                     !begins_with(environ[i], of_ranks, sizeof of_ranks / sizeof *of_ranks)))
            sorted[count++] = environ[i];
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 0; i < count; i++) {
        char name[256], value[VALUE_BYTES + 1];
        const char *equals = strchr(sorted[i], '=');
        if (equals == NULL || equals - sorted[i] >= (ptrdiff_t)sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - sorted[i]), sorted[i]);
        snprintf(value, sizeof value, "%s", equals + 1);
        if (!secret_is(name, value))
            facts_add(facts, "environment", name, value);
    }
    free(sorted);
}

static void digest_of(const struct facts *facts, unsigned char digest[SHA256_BYTES])
{
    struct sha256 sha;
    sha256_start(&sha);
    sha256_add(&sha, facts->text, facts->bytes);
    sha256_finish(&sha, digest);
}

/* What is mapped, by device and inode, the executed file first: where it is the same on one machine, so is the content. */
static void identify(const struct objects *objects, unsigned char digest[SHA256_BYTES])
{
    struct facts identity = {0};
    char inode[32], *boot = raw_text("/proc/sys/kernel/random/boot_id");
    snprintf(inode, sizeof inode, "%llu", (unsigned long long)raw_inode("/proc/self/exe"));
    facts_add(&identity, boot, "", inode);
    free(boot);
    for (const struct mapping *each = NULL; (each = objects_next(objects, each)) != NULL;)
        facts_add(&identity, "", each->path, each->place);
    digest_of(&identity, digest);
    free(identity.text);
}

static void hash_own(struct attest *attest)
{
    int error = sha256_file("/proc/self/exe", attest->binary);
    if (error != 0)
        die("cannot read the executable '/proc/self/exe': %s (%s)", strerror(-error), die_errno_name(-error));
    for (const struct mapping *each = NULL; (each = objects_next(&attest->objects, each)) != NULL;) {
        char hex[SHA256_HEX_BYTES];
        objects_hash(each, hex);
        facts_add(&attest->facts, "objects", each->path, hex);
    }
}

/* The hashes, by the first rank of each machine and by those that have something else loaded. */
static void add_hashes(struct attest *attest, const struct place *place)
{
    MPI_Comm machine;
    int rank;
    unsigned char own[SHA256_BYTES], first[SHA256_BYTES];
    MPI_Comm_split(place->comm, place_machine(), place->rank, &machine);
    MPI_Comm_rank(machine, &rank);
    identify(&attest->objects, own);
    memcpy(first, own, sizeof first);
    MPI_Bcast(first, SHA256_BYTES, MPI_UNSIGNED_CHAR, 0, machine);
    bool alike = memcmp(first, own, sizeof first) == 0;
    if (rank == 0 || !alike)
        hash_own(attest);
    quiet_barrier(machine); /* who waits leaves the processors to those that hash */
    unsigned char binary[SHA256_BYTES];
    memcpy(binary, attest->binary, sizeof binary);
    int bytes = (int)attest->facts.bytes;
    MPI_Bcast(binary, SHA256_BYTES, MPI_UNSIGNED_CHAR, 0, machine);
    MPI_Bcast(&bytes, 1, MPI_INT, 0, machine);
    char *text = die_alloc(sizeof(void *), (size_t)bytes + 1);
    if (rank == 0 && bytes > 0)
        memcpy(text, attest->facts.text, (size_t)bytes);
    MPI_Bcast(text, bytes, MPI_CHAR, 0, machine);
    if (rank != 0 && alike) {
        memcpy(attest->binary, binary, sizeof binary);
        attest->facts = (struct facts){text, (size_t)bytes, (size_t)bytes + 1};
    } else {
        free(text);
    }
    MPI_Comm_free(&machine);
}

void attest_look(struct attest *attest, const struct place *place, const char *directory)
{
    memset(attest, 0, sizeof *attest);
    objects_read(&attest->objects);
    add_hashes(attest, place);
    objects_functions(&attest->objects, &attest->facts);
    add_variables(&attest->facts);
    if (directory != NULL)
        mount_find(directory, &attest->facts);
}

/* The facts as members, an object for each kind. */
static void emit_facts(const char *text, size_t bytes)
{
    const char *last = "";
    for (const char *at = text; at < text + bytes;) {
        const char *kind = at, *name = kind + strlen(kind) + 1, *value = name + strlen(name) + 1;
        if (strcmp(kind, last) != 0) {
            if (last[0] != '\0')
                emit_group_end('}');
            emit_group(kind, '{');
        }
        emit_string(name, value[0] == '\0' && strcmp(kind, "objects") == 0 ? NULL : value);
        last = kind;
        at = value + strlen(value) + 1;
    }
    if (last[0] != '\0')
        emit_group_end('}');
}

/* Rank 0 gets the facts of another rank, to be freed. */
static char *fetch(const struct attest *attest, const struct place *place, int from, size_t *bytes)
{
    char *text = NULL;
    int length = (int)attest->facts.bytes;
    if (place->rank == from && from != 0) {
        MPI_Send(&length, 1, MPI_INT, 0, 0, place->comm);
        MPI_Send(attest->facts.text, length, MPI_CHAR, 0, 0, place->comm);
    }
    if (place->rank == 0) {
        if (from != 0)
            MPI_Recv(&length, 1, MPI_INT, from, 0, place->comm, MPI_STATUS_IGNORE);
        text = die_alloc(sizeof(void *), (size_t)length + 1);
        if (from != 0)
            MPI_Recv(text, length, MPI_CHAR, from, 0, place->comm, MPI_STATUS_IGNORE);
        else if (length > 0)
            memcpy(text, attest->facts.text, (size_t)length);
    }
    *bytes = (size_t)length;
    return text;
}

static int lowest(const struct place *place, int value)
{
    int result;
    MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_MIN, place->comm);
    return result;
}

void attest_emit(const struct attest *attest, const struct place *place)
{
    unsigned char own[SHA256_BYTES], other[SHA256_BYTES];
    bool told = false;
    int left = place->ranks;
    digest_of(&attest->facts, own);
    for (int group = 0; group < MOST_GROUPS && left > 0; group++) {
        int first = group == 0 ? 0 : lowest(place, told ? INT_MAX : place->rank);
        memcpy(other, own, sizeof other);
        MPI_Bcast(other, SHA256_BYTES, MPI_UNSIGNED_CHAR, first, place->comm);
        int joins = !told && memcmp(other, own, sizeof own) == 0, members;
        MPI_Allreduce(&joins, &members, 1, MPI_INT, MPI_SUM, place->comm);
        told = told || joins;
        left -= members;
        char name[PLACE_NAME_BYTES];
        place_node_name(place, first, name);
        size_t bytes;
        char *text = fetch(attest, place, first, &bytes);
        emit_line("attestation");
        emit_int("processes", members);
        emit_int("first_rank", first);
        emit_string("first_node", name);
        if (text != NULL)
            emit_facts(text, bytes);
        emit_line_end();
        free(text);
    }
    if (left > 0)
        emit_warning("ranks of more than %d kinds: the others are not attested", MOST_GROUPS);
}

static bool was_there(const struct attest *attest, const char *path)
{
    for (const struct mapping *each = NULL; (each = objects_next(&attest->objects, each)) != NULL;)
        if (strcmp(each->path, path) == 0)
            return true;
    return false;
}

void attest_emit_later(const struct attest *attest)
{
    struct objects now;
    objects_read(&now);
    emit_group("loaded_later", '{');
    for (const struct mapping *each = NULL; (each = objects_next(&now, each)) != NULL;) {
        char hex[SHA256_HEX_BYTES];
        if (was_there(attest, each->path))
            continue;
        objects_hash(each, hex);
        emit_string(each->path, hex[0] == '\0' ? NULL : hex);
    }
    emit_group_end('}');
    objects_free(&now);
}

void attest_free(struct attest *attest)
{
    free(attest->facts.text);
    objects_free(&attest->objects);
}
