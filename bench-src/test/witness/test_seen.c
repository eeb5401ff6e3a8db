/* A file is read once, unless it changes, however well that is hidden. */
#include "test/check.h"
#include "witness/seen.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void put(const char *path, char byte)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK_INT(write(fd, &byte, 1), 1);
    close(fd);
}

int main(void)
{
    char path[] = "/tmp/bench-test-seen-XXXXXX", first[SHA256_HEX_BYTES], hex[SHA256_HEX_BYTES];
    int reads = 0, fd = mkstemp(path);
    struct stat before;
    put(path, '1');
    seen_hash(fd, first, &reads);
    CHECK_TEXT(first, "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b");
    sleep(3);
    seen_hash(fd, hex, &reads);
    CHECK_INT(reads, 2); /* it was too new to be sure of at first */
    seen_hash(fd, hex, &reads);
    CHECK_INT(reads, 2);
    CHECK_TEXT(hex, first);
    CHECK_INT(fstat(fd, &before), 0);
    put(path, '2');
    CHECK_INT(futimens(fd, (struct timespec[]){before.st_atim, before.st_mtim}), 0);
    seen_hash(fd, hex, &reads);
    CHECK_INT(reads, 3);
    CHECK_TEXT(hex, "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35");
    seen_hash(-1, hex, &reads);
    CHECK_TEXT(hex, "");
    CHECK_INT(reads, 3);
    unlink(path);
    return CHECK_REPORT();
}
