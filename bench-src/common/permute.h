/* permute: 0 … n-1 in a pseudo-random order, computed place by place without a table. Pure. */
#pragma once

#include <stdint.h>

/* The finalizer of splitmix64: every input bit reaches every output bit. */
static inline uint64_t permute_mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

struct permute {
    uint64_t n, mask; /* mask + 1 is the smallest power of two that is at least n */
    int shift;
    uint64_t add[3], multiply[3];
};

/* n is at least 1. The same n and seed give the same order. */
void permute_init(struct permute *permute, uint64_t n, uint64_t seed);

/* The place'th number, place from 0 to n-1: every number comes once. */
uint64_t permute_at(const struct permute *permute, uint64_t place);
