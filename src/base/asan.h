/* Manual poisoning for AddressSanitizer: memory that is idle or between two allocations must not be touched. Nothing in other
 * builds. */
#ifndef WEFT_BASE_ASAN_H
#define WEFT_BASE_ASAN_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#endif

#ifdef WEFT_ASAN
#include <sanitizer/asan_interface.h>
#define WEFT_ASAN_GAP 16 /* bytes left poisoned behind each allocation of an arena */
#define weft_poison(p, n) __asan_poison_memory_region((p), (n))
#define weft_unpoison(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define WEFT_ASAN_GAP 0
#define weft_poison(p, n) ((void)(p), (void)(n))
#define weft_unpoison(p, n) ((void)(p), (void)(n))
#endif

#endif
