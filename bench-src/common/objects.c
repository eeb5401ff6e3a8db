/* objects: what this process has loaded. */
#include "common/objects.h"

#include "common/die.h"
#include "common/raw.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { CLASS = sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32 }; /* files of processes like this one */

/* What a phase calls between its two readings of the clock, and the clock; in an older C library under other names. */
static const char *const measuring[] = {
    "clock_gettime", "gettimeofday", "open", "open64", "close", "read", "write", "pread", "pwrite", "fsync", "unlink", "rename",
    "mkdir", "rmdir", "stat", "lstat", "fstat", "stat64", "__xstat", "statx", "syscall", "MPI_Wtime", "MPI_Barrier",
    "MPI_Allreduce", "MPI_Send", "MPI_Recv", "MPI_File_write_at", "MPI_File_read_at"};

void facts_add(struct facts *facts, const char *kind, const char *name, const char *value)
{
    const char *const parts[] = {kind, name, value};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t bytes = strlen(parts[i]) + 1;
        if (facts->room - facts->bytes < bytes) {
            facts->room = 2 * facts->room + bytes + 4096;
            char *more = realloc(facts->text, facts->room);
            if (more == NULL)
                die("no memory for %zu bytes", facts->room);
            facts->text = more;
        }
        memcpy(facts->text + facts->bytes, parts[i], bytes);
        facts->bytes += bytes;
    }
}

static void *grown(void *list, size_t count, size_t bytes)
{
    void *more = realloc(list, count * bytes);
    if (more == NULL)
        die("no memory for a list of %zu objects", count);
    return more;
}

/* Takes the next line out of *text: "FIRST-END r-xp OFFSET DEVICE INODE PATH". False at the end. */
static bool next_mapping(char **text, struct mapping *found)
{
    char *end;
    for (char *line = *text; (end = strchr(line, '\n')) != NULL; line = *text) {
        int rights, place, behind = 0;
        *end = '\0';
        *text = end + 1;
        sscanf(line, "%" SCNx64 "-%" SCNx64 " %n%*s %*s %n%*s %*s%n", &found->first, &found->end, &rights, &place, &behind);
        if (behind == 0 || line[rights + 2] != 'x')
            continue; /* no code */
        found->place = line + place;
        found->path = line + behind + strspn(line + behind, " ");
        line[behind] = '\0';
        return true;
    }
    return false;
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const struct mapping *)left)->path, ((const struct mapping *)right)->path);
}

void objects_read(struct objects *objects)
{
    struct mapping found;
    *objects = (struct objects){.maps = raw_text("/proc/self/maps")};
    for (char *text = objects->maps; next_mapping(&text, &found);) {
        objects->list = grown(objects->list, objects->count + 1, sizeof found);
        objects->list[objects->count++] = found;
    }
    if (objects->count > 0)
        qsort(objects->list, objects->count, sizeof found, by_path);
}

void objects_free(struct objects *objects)
{
    free(objects->list);
    free(objects->maps);
}

const struct mapping *objects_next(const struct objects *objects, const struct mapping *last)
{
    for (size_t i = last == NULL ? 0 : (size_t)(last - objects->list) + 1; i < objects->count; i++)
        if (objects->list[i].path[0] == '/' && (i == 0 || by_path(&objects->list[i], &objects->list[i - 1]) != 0))
            return &objects->list[i];
    return NULL;
}

void objects_hash(const struct mapping *object, char hex[SHA256_HEX_BYTES])
{
    unsigned char digest[SHA256_BYTES];
    const char *inode = strchr(object->place, ' ');
    bool there = inode != NULL && strtoull(inode, NULL, 10) == raw_inode(object->path);
    hex[0] = '\0';
    if (there && sha256_file(object->path, digest) == 0)
        sha256_hex(digest, hex);
}

void objects_functions(const struct objects *objects, struct facts *facts)
{
    for (size_t i = 0; i < sizeof measuring / sizeof *measuring; i++) {
        uint64_t address = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, measuring[i]);
        for (size_t k = 0; k < objects->count && address != 0; k++)
            if (objects->list[k].first <= address && address < objects->list[k].end)
                facts_add(facts, "functions", measuring[i], objects->list[k].path);
    }
}

/* The names of an ELF file's table of dynamic symbols: of those that it defines. */
static void each_definition(const char *file, size_t bytes, void (*with)(void *to, const char *name), void *to)
{
    const ElfW(Ehdr) *head = (const void *)file;
    if (bytes < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != CLASS ||
        head->e_shentsize != sizeof(ElfW(Shdr)) || head->e_shoff % sizeof(ElfW(Addr)) != 0 || head->e_shoff > bytes || head->e_shnum > (bytes - head->e_shoff) / sizeof(ElfW(Shdr)))
        return;
    const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
    for (size_t i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_DYNSYM || table->sh_link >= head->e_shnum ||
            table->sh_offset % sizeof(ElfW(Addr)) != 0 || table->sh_offset > bytes || table->sh_size > bytes - table->sh_offset)
            continue;
        const ElfW(Shdr) *names = &sections[table->sh_link];
        if (names->sh_offset > bytes || names->sh_size == 0 || names->sh_size > bytes - names->sh_offset ||
            file[names->sh_offset + names->sh_size - 1] != '\0')
            continue;
        const ElfW(Sym) *symbols = (const void *)(file + table->sh_offset);
        for (size_t k = 0; k < table->sh_size / sizeof *symbols; k++)
            if (symbols[k].st_shndx != SHN_UNDEF && symbols[k].st_name < names->sh_size)
                with(to, file + names->sh_offset + symbols[k].st_name);
    }
}

static void mark(void *to, const char *name)
{
    bool *is_defined = to;
    for (size_t i = 0; i < sizeof measuring / sizeof *measuring; i++)
        is_defined[i] = is_defined[i] || strcmp(name, measuring[i]) == 0;
}

void objects_definitions(int fd, struct facts *facts)
{
    bool is_defined[sizeof measuring / sizeof *measuring] = {false};
    struct stat found;
    if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size == 0)
        return;
    char *file = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return;
    each_definition(file, (size_t)found.st_size, mark, is_defined);
    munmap(file, (size_t)found.st_size);
    for (size_t i = 0; i < sizeof measuring / sizeof *measuring; i++)
        if (is_defined[i])
            facts_add(facts, "functions", measuring[i], "");
}
