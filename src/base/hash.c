#include "base/hash.h"

#include <string.h>

/* Multiply-and-fold over 64-bit words. The length goes in first, so that hashing parts one after the other tells ("ab","c") from
 * ("a","bc"). Values depend on the byte order of the machine and are never stored. Finaliser constants: SplitMix64 (Steele, Lea,
 * Flood 2014). */
#define MULTIPLIER 0x9e3779b97f4a7c15ULL

static uint64_t fold(uint64_t h, uint64_t word)
{
    h = (h ^ word) * MULTIPLIER;
    return h ^ (h >> 32);
}

static uint64_t finish(uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
    return h ^ (h >> 31);
}

uint64_t weft_hash(uint64_t seed, const void *data, size_t n_bytes)
{
    const uint8_t *p = data;
    uint64_t h = fold(seed, n_bytes), word;

    for (; n_bytes >= 8; p += 8, n_bytes -= 8) {
        memcpy(&word, p, 8);
        h = fold(h, word);
    }
    if (n_bytes) {
        word = 0;
        memcpy(&word, p, n_bytes);
        h = fold(h, word);
    }
    return finish(h);
}

uint64_t weft_hash_str(uint64_t seed, const char *s)
{
    return weft_hash(seed, s, strlen(s));
}
