/* 64-bit hash for tables and bucket keys; not for secrets. */
#ifndef WEFT_BASE_HASH_H
#define WEFT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define WEFT_HASH_SEED 0xcbf29ce484222325ULL
uint64_t weft_hash(uint64_t seed, const void *data, size_t n_bytes);
uint64_t weft_hash_str(uint64_t seed, const char *s);

#endif
