/* permute: each round (add, multiply by an odd number, fold the high half onto the low one) is a bijection on the
 * numbers of k bits, so their chain is one too. A result of n or more goes round again until one below n comes: that
 * stays a bijection on 0 … n-1, and as n is above half of 2^k it takes fewer than two turns on average. */
#include "common/permute.h"

static uint64_t next_random(uint64_t *state)
{
    return permute_mix(*state += 0x9e3779b97f4a7c15u);
}

void permute_init(struct permute *permute, uint64_t n, uint64_t seed)
{
    int bits = n > 1 ? 64 - __builtin_clzll(n - 1) : 1;
    permute->n = n;
    permute->mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    permute->shift = (bits + 1) / 2;
    for (int round = 0; round < 3; round++) {
        permute->add[round] = next_random(&seed);
        permute->multiply[round] = next_random(&seed) | 1;
    }
}

uint64_t permute_at(const struct permute *permute, uint64_t place)
{
    uint64_t value = place;
    do {
        for (int round = 0; round < 3; round++) {
            value = (value + permute->add[round]) * permute->multiply[round] & permute->mask;
            value ^= value >> permute->shift;
        }
    } while (value >= permute->n);
    return value;
}
