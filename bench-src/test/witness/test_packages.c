/* Files of a package, files that were changed since, and files of none: by what a database of packages says. */
#include "common/sha256.h"
#include "test/check.h"
#include "witness/facts.h"
#include "witness/packages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/bench-test-packages-XXXXXX";

static char *put(const char *name, const char *text)
{
    char *path = text_of("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    return path;
}

static char *hash(const char *path)
{
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    CHECK_INT(sha256_file(path, digest), 0);
    sha256_hex(digest, hex);
    return text_of("%s", hex);
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    char *known = put("libknown.so.1", "known"), *changed = put("libchanged.so.1", "changed"), *later = put("liblater.so.1", "later");
    char *digits = hash(known), *digits_later = hash(later), *link = text_of("%s/liblinked.so.1", folder);
    CHECK_INT(symlink("libknown.so.1", link), 0);
    char *script = text_of("#!/bin/sh\necho 'ours-1-1 %s %s'\necho 'ours-1-1 %s %s'\necho 'ours-1-1 %s %s'\n", digits, known, digits,
                           changed, digits_later, later);
    char *rpm = put("rpm", script), *path = text_of("%s:%s", folder, getenv("PATH"));
    chmod(rpm, 0700);
    setenv("PATH", path, 1);
    char *lines = text_of("{\"objects\": {\"%s\": \"%s\", \"%s\": null}, \"functions\": {\"stat\": \"/x.so\"}}\n"
                          "{\"loaded_later\": {\"%s\": \"0\"}}\n",
                          link, digits, changed, later);
    put("bench.jsonl", lines);
    struct gathered nobody = {.nodes = 1};
    for (int attempt = 0; attempt < 2; attempt++) { /* the second time nothing is looked up */
        CHECK_INT(facts_open(folder, true), 0);
        packages_emit(folder, &nobody);
        CHECK_INT(facts_close(false), 0);
        struct text said = {0};
        char *record = text_of("%s/facts.jsonl.new", folder);
        text_file(&said, record);
        char *expected = text_of("{\"format\": 1}\n{\"source\": \"packages\", \"name\": \"ours-1-1\", \"value\": \"%s %s\"}\n", digits, digits_later);
        CHECK_TEXT(said.bytes, expected);
        text_free(&said);
        free(expected);
        free(record);
        unlink(rpm);
    }
    char *remove = text_of("rm -r '%s'", folder);
    CHECK_INT(system(remove), 0);
    return CHECK_REPORT();
}
