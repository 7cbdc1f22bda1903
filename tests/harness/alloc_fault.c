#include "harness/alloc_fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
int __real_posix_memalign(void **p, size_t alignment, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
int __wrap_posix_memalign(void **p, size_t alignment, size_t n);
void __wrap_free(void *p);
char *__wrap_strdup(const char *s);

/* Which blocks are ours: free also gets blocks of shared libraries, which must not be subtracted. Open addressing, linear
 * probing. */
typedef struct entry {
    uintptr_t address; /* 0 = never used, 1 = removed */
    size_t n_bytes;
} entry;

static struct {
    pthread_mutex_t lock;
    entry *table;
    size_t capacity, used; /* used counts removed entries too */
    long outstanding, outstanding_bytes;
    long count;   /* of the process */
    long fail_at; /* 0 = off */
    bool all_after, this_thread_only, hit;
    pthread_t thread;
    long thread_base; /* the failing thread's count when alloc_fault_at_thread was called */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local long thread_count;

static entry *find(entry *table, size_t capacity, uintptr_t address, bool for_insert)
{
    size_t i = (size_t)((uint64_t)address * 0x9e3779b97f4a7c15ULL >> 20) & (capacity - 1);
    entry *removed = NULL;

    for (;; i = (i + 1) & (capacity - 1)) {
        if (table[i].address == address)
            return &table[i];
        if (table[i].address == 1 && !removed)
            removed = &table[i];
        if (!table[i].address)
            return !for_insert ? NULL : removed ? removed : &table[i];
    }
}

static void grow(void)
{
    size_t capacity = 4096;
    entry *table;

    while (capacity < (size_t)(state.outstanding + 1) * 4)
        capacity *= 2;
    table = mmap(NULL, capacity * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED) {
        fprintf(stderr, "alloc_fault: no memory for the table of allocations\n");
        abort();
    }
    state.used = 0;
    for (size_t i = 0; i < state.capacity; i++)
        if (state.table[i].address > 1) {
            *find(table, capacity, state.table[i].address, true) = state.table[i];
            state.used++;
        }
    if (state.table)
        munmap(state.table, state.capacity * sizeof *state.table);
    state.table = table;
    state.capacity = capacity;
}

static void remember(void *p, size_t n_bytes)
{
    entry *e;

    if (!p)
        return;
    pthread_mutex_lock(&state.lock);
    if ((state.used + 1) * 2 > state.capacity)
        grow();
    e = find(state.table, state.capacity, (uintptr_t)p, true);
    if (!e->address)
        state.used++;
    if (e->address > 1) { /* freed behind our back by a shared library, and the address is used again */
        state.outstanding--;
        state.outstanding_bytes -= (long)e->n_bytes;
    }
    *e = (entry){(uintptr_t)p, n_bytes};
    state.outstanding++;
    state.outstanding_bytes += (long)n_bytes;
    pthread_mutex_unlock(&state.lock);
}

/* Before the real free: another thread may get the same address at once. Returns what was known. */
static entry forget(void *p)
{
    entry *e, known = {0, 0};

    if (!p)
        return known;
    pthread_mutex_lock(&state.lock);
    e = state.capacity ? find(state.table, state.capacity, (uintptr_t)p, false) : NULL;
    if (e) {
        known = *e;
        state.outstanding--;
        state.outstanding_bytes -= (long)e->n_bytes;
        e->address = 1;
    }
    pthread_mutex_unlock(&state.lock);
    return known;
}

static bool must_fail(void)
{
    bool fail = false;
    long n;

    pthread_mutex_lock(&state.lock);
    state.count++;
    thread_count++;
    if (state.fail_at && (!state.this_thread_only || pthread_equal(pthread_self(), state.thread))) {
        n = state.this_thread_only ? thread_count - state.thread_base : state.count;
        fail = n == state.fail_at || (state.all_after && n > state.fail_at);
        state.hit = state.hit || fail;
    }
    pthread_mutex_unlock(&state.lock);
    if (fail)
        errno = ENOMEM;
    return fail;
}

void *__wrap_malloc(size_t n)
{
    void *p = must_fail() ? NULL : __real_malloc(n);

    remember(p, n);
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = must_fail() ? NULL : __real_calloc(n, size);

    remember(p, n * size);
    return p;
}

void *__wrap_realloc(void *old, size_t n)
{
    entry known;
    void *p;

    if (must_fail())
        return NULL;
    known = forget(old);
    p = __real_realloc(old, n);
    if (p)
        remember(p, n);
    else if (known.address && n)
        remember(old, known.n_bytes); /* refused: the old block lives on */
    return p;
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    void *p = must_fail() ? NULL : __real_aligned_alloc(alignment, n);

    remember(p, n);
    return p;
}

int __wrap_posix_memalign(void **p, size_t alignment, size_t n)
{
    int rc = must_fail() ? ENOMEM : __real_posix_memalign(p, alignment, n);

    if (!rc)
        remember(*p, n);
    return rc;
}

void __wrap_free(void *p)
{
    forget(p);
    __real_free(p);
}

char *__wrap_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = __wrap_malloc(n);

    return p ? memcpy(p, s, n) : NULL;
}

static void fail_at(long n, bool all_after, bool this_thread_only)
{
    pthread_mutex_lock(&state.lock);
    state.count = 0;
    state.fail_at = n;
    state.all_after = all_after;
    state.this_thread_only = this_thread_only;
    state.hit = false;
    state.thread = pthread_self();
    state.thread_base = thread_count;
    pthread_mutex_unlock(&state.lock);
}

void alloc_fault_at(long n, bool all_after)
{
    fail_at(n, all_after, false);
}

void alloc_fault_at_thread(long n, bool all_after)
{
    fail_at(n, all_after, true);
}

void alloc_fault_off(void)
{
    pthread_mutex_lock(&state.lock);
    state.fail_at = 0;
    pthread_mutex_unlock(&state.lock);
}

static long read_locked(const long *value)
{
    long n;

    pthread_mutex_lock(&state.lock);
    n = *value;
    pthread_mutex_unlock(&state.lock);
    return n;
}

bool alloc_fault_hit(void)
{
    bool hit;

    pthread_mutex_lock(&state.lock);
    hit = state.hit;
    pthread_mutex_unlock(&state.lock);
    return hit;
}

long alloc_count(void)
{
    return read_locked(&state.count);
}

long alloc_count_thread(void)
{
    return thread_count;
}

void alloc_count_reset(void)
{
    pthread_mutex_lock(&state.lock);
    state.count = 0;
    thread_count = 0;
    pthread_mutex_unlock(&state.lock);
}

long alloc_outstanding(void)
{
    return read_locked(&state.outstanding);
}

long alloc_outstanding_bytes(void)
{
    return read_locked(&state.outstanding_bytes);
}
