/* The allocator behind every session.
 *
 * Blocks come from two places:
 *   scratch  While a thread is inside a run it owns one scratch block: a range of address space of which memory is taken as it is
 * needed. Everything a run allocates is cut from it and given back by the end of the run, so the same memory serves all models in
 * turn: memory = weights + runs at once x largest run, not the sum over models. heap     Everything else: weights during a load,
 * allocations of a session's own threads, and what no longer fits a scratch block. A header of 64 bytes before each block says
 * where it came from and whose account pays. A block may be freed by any thread.
 *
 * Inside a scratch block: boundary tags, free blocks in lists by size class (good fit: a block of the class above always fits),
 * neighbours joined at once, the rest behind `top` never used.
 *
 * An allocation that fails leaves by a C++ exception, std::bad_alloc, thrown with the library's own runtime: ONNX Runtime does
 * not look at a NULL (it crashes in the next kernel), but it catches this one and ends the run with an error, after which the
 * session works on. Hence this file is compiled with -fexceptions and nothing is held when it is thrown. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/onnxruntime/ort_internal.h"
#include "base/list.h"

#define POOL_LOCK_RANK 880
#define SCRATCH_LOCK_RANK 890
#define UNIT ((size_t)64) /* alignment and granularity; what vector kernels like */
#define N_EXACT 16        /* classes 1..15: exactly so many units */
#define N_CLASSES (N_EXACT + 4 * 44)
#define GRANT_BYTES ((int64_t)65536)
#define COMMIT_BYTES ((size_t)2 << 20)
#define RESERVE_MOST ((size_t)16 << 30)
#define RESERVE_LEAST ((size_t)64 << 20)
#define SCAN_MOST 64   /* blocks of a class that are looked at */
#define TRIM_WINDOW 64 /* runs over which the need of a scratch block is watched */
#define IN_USE 0x75736564u
#define FREE 0x66726565u

typedef struct block {
    size_t n_bytes;            /* of the payload, a multiple of UNIT */
    size_t before_bytes;       /* payload of the block before this one in the scratch; 0 = this is the first */
    weft_ort_scratch *scratch; /* NULL = heap */
    weft_ort_account *account; /* who pays; NULL = nobody */
    uint64_t run;              /* which run of the scratch took it */
    uint32_t state;
    bool weights;
    char unused[19];
} block;
_Static_assert(sizeof(block) == 64, "payloads keep the alignment of blocks");

typedef struct free_links { /* in the payload of a free block */
    block *next, *prev;
} free_links;

struct weft_ort_scratch {
    weft_node node; /* in `idle`, or in no list while a run owns it */
    weft_lock lock;
    char *base;
    size_t reserved, committed, top; /* offsets from base; committed = readable */
    size_t last_bytes;               /* payload of the block that ends at top; 0 = none */
    size_t touched;                  /* highest top since memory was last given back */
    size_t top_of_run, top_of_window;
    unsigned runs_in_window;
    uint64_t run;                  /* number of the current or last run */
    weft_ort_account *account;     /* of the current run */
    int64_t in_use, peak, granted; /* bytes of the current run */
    uint64_t used_classes[(N_CLASSES + 63) / 64];
    block *classes[N_CLASSES];
};

static struct {
    pthread_once_t once;
    weft_lock lock;
    weft_node idle; /* most recently used first: its memory is still in the cache */
    size_t n_scratches, n_reserved;
    size_t ram_bytes; /* nothing larger is tried: the size may come from a number in a request */
} pool = {.once = PTHREAD_ONCE_INIT};

ort_memory_info *weft_ort_cpu_memory;

static void init_pool(void)
{
    weft_lock_init(&pool.lock, "ort-pool", POOL_LOCK_RANK);
    weft_node_init(&pool.idle);
    pool.ram_bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- size classes
 * ---------------------------------------------------------------------------------------------------------------------- */

/* The class in which a free block of this size waits: its members have at least the class's least size. */
static size_t class_of(size_t n_bytes)
{
    size_t units = n_bytes / UNIT;
    int log;

    if (units < N_EXACT)
        return units;
    log = 63 - __builtin_clzll(units);
    return N_EXACT + (size_t)(log - 4) * 4 + ((units >> (log - 2)) & 3);
}

static free_links *links(block *b)
{
    return (free_links *)(b + 1);
}

static void list_add(weft_ort_scratch *s, block *b)
{
    size_t c = class_of(b->n_bytes);

    b->state = FREE;
    links(b)->prev = NULL;
    links(b)->next = s->classes[c];
    if (s->classes[c])
        links(s->classes[c])->prev = b;
    s->classes[c] = b;
    s->used_classes[c / 64] |= (uint64_t)1 << (c % 64);
}

static void list_remove(weft_ort_scratch *s, block *b)
{
    size_t c = class_of(b->n_bytes);

    if (links(b)->next)
        links(links(b)->next)->prev = links(b)->prev;
    if (links(b)->prev)
        links(links(b)->prev)->next = links(b)->next;
    else
        s->classes[c] = links(b)->next;
    if (!s->classes[c])
        s->used_classes[c / 64] &= ~((uint64_t)1 << (c % 64));
}

/* The smallest of the first blocks of a class that has room. */
static block *best_of_class(weft_ort_scratch *s, size_t c, size_t n_bytes)
{
    block *best = NULL, *b = s->classes[c];

    for (int i = 0; i < SCAN_MOST && b; i++, b = links(b)->next)
        if (b->n_bytes >= n_bytes && (!best || b->n_bytes < best->n_bytes))
            best = b;
    return best;
}

static block *list_find(weft_ort_scratch *s, size_t n_bytes)
{
    size_t c = class_of(n_bytes), w;
    block *b;
    uint64_t word;

    if (c + 1 >= N_CLASSES)
        return NULL;
    b = best_of_class(s, c, n_bytes); /* the class of its own size: what was freed of the same size is here */
    if (b)
        return b;
    c++; /* everything in the classes above has room */
    w = c / 64;
    word = s->used_classes[w] & (~(uint64_t)0 << (c % 64));
    while (!word) {
        if (++w == sizeof s->used_classes / sizeof *s->used_classes)
            return NULL;
        word = s->used_classes[w];
    }
    return best_of_class(s, w * 64 + (size_t)__builtin_ctzll(word), n_bytes);
}

/* ---- one scratch block
 * ------------------------------------------------------------------------------------------------------------------ */

static block *block_after(weft_ort_scratch *s, block *b)
{
    char *p = (char *)(b + 1) + b->n_bytes;

    return p < s->base + s->top ? (block *)p : NULL;
}

static block *block_before(block *b)
{
    return b->before_bytes ? (block *)((char *)b - b->before_bytes - sizeof(block)) : NULL;
}

/* Tells the block behind b (or the end) how large b is now. */
static void tell_next(weft_ort_scratch *s, block *b)
{
    block *next = block_after(s, b);

    if (next)
        next->before_bytes = b->n_bytes;
    else
        s->last_bytes = b->n_bytes;
}

static bool commit(weft_ort_scratch *s, size_t up_to)
{
    size_t want;

    if (up_to <= s->committed)
        return true;
    if (up_to > s->reserved)
        return false;
    want = (up_to + COMMIT_BYTES - 1) / COMMIT_BYTES * COMMIT_BYTES;
    if (want > s->reserved)
        want = s->reserved;
    if (mprotect(s->base + s->committed, want - s->committed, PROT_READ | PROT_WRITE) != 0)
        return false;
    s->committed = want;
    return true;
}

/* Cuts what is not needed off a block that is in no list. */
static void split(weft_ort_scratch *s, block *b, size_t n_bytes)
{
    block *rest;

    if (b->n_bytes < n_bytes + sizeof(block) + UNIT)
        return;
    rest = (block *)((char *)(b + 1) + n_bytes);
    rest->n_bytes = b->n_bytes - n_bytes - sizeof(block);
    rest->before_bytes = n_bytes;
    rest->scratch = s;
    rest->account = NULL;
    b->n_bytes = n_bytes;
    tell_next(s, rest);
    list_add(s, rest);
}

static block *scratch_take(weft_ort_scratch *s, size_t n_bytes)
{
    block *b = list_find(s, n_bytes);

    weft_assert_held(&s->lock);
    if (b) {
        list_remove(s, b);
        split(s, b, n_bytes);
    } else {
        if (!commit(s, s->top + sizeof(block) + n_bytes))
            return NULL;
        b = (block *)(s->base + s->top);
        b->n_bytes = n_bytes;
        b->before_bytes = s->last_bytes;
        s->top += sizeof(block) + n_bytes;
        s->last_bytes = n_bytes;
        if (s->top > s->top_of_run)
            s->top_of_run = s->top;
    }
    b->scratch = s;
    b->state = IN_USE;
    b->run = s->run;
    return b;
}

static void scratch_put(weft_ort_scratch *s, block *b)
{
    block *other;

    weft_assert_held(&s->lock);
    other = block_after(s, b);
    if (other && other->state == FREE) {
        list_remove(s, other);
        b->n_bytes += sizeof(block) + other->n_bytes;
    }
    other = block_before(b);
    if (other && other->state == FREE) {
        list_remove(s, other);
        other->n_bytes += sizeof(block) + b->n_bytes;
        b->state = 0;
        b = other;
    }
    if ((char *)(b + 1) + b->n_bytes == s->base + s->top) {
        s->top = (size_t)((char *)b - s->base);
        s->last_bytes = b->before_bytes;
        b->state = 0;
        return;
    }
    tell_next(s, b);
    list_add(s, b);
}

static weft_ort_scratch *scratch_create(void)
{
    weft_ort_scratch *s = calloc(1, sizeof *s);
    size_t want = RESERVE_MOST;
    void *p = MAP_FAILED;

    if (!s)
        return NULL;
    while (want > pool.ram_bytes && want > RESERVE_LEAST)
        want /= 2;
    /* Address space only: pages cost nothing until they are touched. A limit on address space makes it smaller. */
    for (; want >= RESERVE_LEAST && p == MAP_FAILED; want /= 2) {
        p = mmap(NULL, want, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        s->reserved = want;
    }
    if (p == MAP_FAILED) {
        free(s);
        return NULL;
    }
    madvise(p, s->reserved, MADV_HUGEPAGE); /* refused where the kernel has none: no matter */
    s->base = p;
    weft_lock_init(&s->lock, "ort-scratch", SCRATCH_LOCK_RANK);
    return s;
}

/* Gives pages above `keep` back; the address space stays. */
static void scratch_release(weft_ort_scratch *s, size_t keep)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    keep = (keep + page - 1) / page * page;
    if (keep < s->touched && keep < s->committed)
        madvise(s->base + keep, s->committed - keep, MADV_DONTNEED);
    if (keep < s->touched)
        s->touched = keep;
}

static void scratch_destroy(weft_ort_scratch *s)
{
    weft_assert(s->top == 0); /* all sessions are gone, so all blocks are */
    munmap(s->base, s->reserved);
    weft_lock_fini(&s->lock);
    free(s);
}

/* ---- the pool
 * ---------------------------------------------------------------------------------------------------------------------------- */

void weft_ort_scratch_enter(weft_ort_account *account)
{
    weft_ort_scratch *s = NULL;
    weft_node *n;

    pthread_once(&pool.once, init_pool);
    weft_lock_take(&pool.lock);
    n = weft_node_pop_front(&pool.idle);
    weft_lock_drop(&pool.lock);
    if (n) {
        s = weft_container_of(n, weft_ort_scratch, node);
    } else {
        s = scratch_create();
        if (s) {
            weft_lock_take(&pool.lock);
            pool.n_scratches++;
            pool.n_reserved += s->reserved;
            weft_lock_drop(&pool.lock);
        }
    }
    weft_ort_here.account = account;
    weft_ort_here.model = account->model;
    weft_ort_here.scratch = s;
    weft_ort_here.out_of_memory = false;
    if (!s)
        return;
    weft_lock_take(&s->lock);
    s->run++;
    s->account = account;
    s->in_use = s->peak = s->granted = 0;
    s->top_of_run = s->top;
    weft_lock_drop(&s->lock);
}

/* Watches the need over a window of runs and gives back what is far above it. */
static void watch_need(weft_ort_scratch *s, bool release)
{
    if (s->top_of_run > s->touched)
        s->touched = s->top_of_run;
    if (s->top_of_run > s->top_of_window)
        s->top_of_window = s->top_of_run;
    if (release) {
        scratch_release(s, s->top);
        return;
    }
    if (++s->runs_in_window < TRIM_WINDOW)
        return;
    if (s->touched / 2 > s->top_of_window + COMMIT_BYTES)
        scratch_release(s, s->top_of_window);
    s->runs_in_window = 0;
    s->top_of_window = s->top;
}

void weft_ort_scratch_leave(bool release)
{
    weft_ort_scratch *s = weft_ort_here.scratch;
    weft_ort_account *a = weft_ort_here.account;
    int64_t peak, kept, granted, before;

    weft_ort_here.scratch = NULL;
    weft_ort_here.account = NULL;
    weft_ort_here.model = NULL;
    if (!s)
        return;
    weft_lock_take(&s->lock);
    peak = s->peak;
    kept = s->in_use; /* what a kernel keeps for its next run */
    granted = s->granted;
    s->account = NULL;
    s->run++; /* blocks that are freed from now on were kept */
    watch_need(s, release);
    weft_lock_drop(&s->lock);
    atomic_fetch_sub(&a->work_bytes, granted - kept);
    before = atomic_load(&a->peak_run_bytes);
    while (peak > before && !atomic_compare_exchange_weak(&a->peak_run_bytes, &before, peak))
        ;
    weft_lock_take(&pool.lock);
    weft_node_push_front(&pool.idle, &s->node);
    weft_lock_drop(&pool.lock);
}

void weft_ort_scratch_trim(bool destroy)
{
    pthread_once(&pool.once, init_pool);
    weft_lock_take(&pool.lock);
    weft_list_each_safe(n, next, &pool.idle)
    {
        weft_ort_scratch *s = weft_container_of(n, weft_ort_scratch, node);

        if (destroy) {
            weft_node_remove(n);
            pool.n_scratches--;
            pool.n_reserved -= s->reserved;
            scratch_destroy(s);
        } else {
            weft_lock_take(&s->lock);
            scratch_release(s, s->top);
            weft_lock_drop(&s->lock);
        }
    }
    weft_lock_drop(&pool.lock);
}

void weft_ort_scratch_count(weft_ort_scratch_counts *out)
{
    pthread_once(&pool.once, init_pool);
    memset(out, 0, sizeof *out);
    weft_lock_take(&pool.lock);
    out->n_blocks = pool.n_scratches;
    out->reserved_bytes = pool.n_reserved;
    weft_list_each(n, &pool.idle) out->touched_bytes += weft_container_of(n, weft_ort_scratch, node)->touched;
    weft_lock_drop(&pool.lock);
}

/* ---- accounts
 * ------------------------------------------------------------------------------------------------------------------------------
 */

/* Adds work memory if the limit allows it. */
static bool charge_work(weft_ort_account *a, int64_t n)
{
    int64_t now = atomic_fetch_add(&a->work_bytes, n) + n;

    if (!a->limit_bytes || (uint64_t)(now + atomic_load(&a->base_bytes)) <= a->limit_bytes || !weft_ort.throw_bad_alloc)
        return true;
    atomic_fetch_sub(&a->work_bytes, n);
    return false;
}

static bool charge_weights(weft_ort_account *a, int64_t n)
{
    int64_t now = atomic_fetch_add(&a->weights_bytes, n) + n;

    if (!a->limit_bytes || (uint64_t)now <= a->limit_bytes || !weft_ort.throw_bad_alloc)
        return true;
    atomic_fetch_sub(&a->weights_bytes, n);
    return false;
}

/* The run's bytes are granted in steps, so that the account that all runs of a model share is rarely touched. */
static bool charge_run(weft_ort_scratch *s, int64_t n)
{
    int64_t more;

    weft_assert_held(&s->lock);
    if (s->in_use + n > s->granted) {
        more = (s->in_use + n - s->granted + GRANT_BYTES - 1) / GRANT_BYTES * GRANT_BYTES;
        if (!charge_work(s->account, more)) {
            more = s->in_use + n - s->granted; /* close to the limit: to the byte */
            if (!charge_work(s->account, more))
                return false;
        }
        s->granted += more;
    }
    s->in_use += n;
    if (s->in_use > s->peak)
        s->peak = s->in_use;
    return true;
}

/* ---- the callbacks
 * --------------------------------------------------------------------------------------------------------------------------- */

static block *heap_take(weft_ort_account *a, size_t n_bytes, bool weights)
{
    block *b;

    if (a && !(weights ? charge_weights(a, (int64_t)n_bytes) : charge_work(a, (int64_t)n_bytes)))
        return NULL;
    b = aligned_alloc(UNIT, sizeof(block) + n_bytes);
    if (!b) {
        if (a)
            atomic_fetch_sub(weights ? &a->weights_bytes : &a->work_bytes, (int64_t)n_bytes);
        return NULL;
    }
    *b = (block){.n_bytes = n_bytes, .weights = weights, .state = IN_USE};
    return b;
}

static block *run_take(weft_ort_scratch *s, size_t n_bytes)
{
    block *b = NULL;
    bool allowed;

    weft_lock_take(&s->lock);
    allowed = charge_run(s, (int64_t)n_bytes);
    if (allowed) {
        b = scratch_take(s, n_bytes);
        /* Without a block the range is full, or the system gives no page; a block may be a little larger than asked for. */
        s->in_use += b ? (int64_t)(b->n_bytes - n_bytes) : -(int64_t)n_bytes;
    }
    weft_lock_drop(&s->lock);
    if (allowed && !b)
        b = heap_take(s->account, n_bytes, false);
    return b;
}

/* True when a test wants this allocation to fail. */
static bool told_to_fail(weft_ort_account *a)
{
    return atomic_load_explicit(&a->fail_after, memory_order_relaxed) > 0 && atomic_fetch_sub(&a->fail_after, 1) == 1;
}

static void *take(size_t n_bytes, bool reserved)
{
    weft_ort_thread *here = &weft_ort_here;
    weft_ort_account *a = here->account;
    block *b = NULL;

    pthread_once(&pool.once, init_pool);
    if (n_bytes > pool.ram_bytes)
        return NULL;
    n_bytes = n_bytes ? (n_bytes + UNIT - 1) / UNIT * UNIT : UNIT;
    if (!a || !told_to_fail(a)) {
        if (here->scratch && !reserved)
            b = run_take(here->scratch, n_bytes);
        else
            b = heap_take(a, n_bytes, reserved || (a && atomic_load(&a->loading)));
    }
    if (!b)
        return NULL;
    b->account = a;
    if (a)
        atomic_fetch_add_explicit(&a->n_blocks, 1, memory_order_relaxed);
    return b + 1;
}

static void *refuse(void)
{
    weft_ort_here.out_of_memory = true;
    if (weft_ort.throw_bad_alloc)
        weft_ort.throw_bad_alloc();
    return NULL;
}

static void *on_alloc(ort_allocator *self, size_t n_bytes)
{
    void *p;

    if (n_bytes == 0)
        return NULL;
    p = take(n_bytes, false);
    return p ? p : refuse();
}

static void *on_reserve(ort_allocator *self, size_t n_bytes)
{
    void *p;

    if (n_bytes == 0)
        return NULL;
    p = take(n_bytes, true);
    return p ? p : refuse();
}

static void on_free(ort_allocator *self, void *p)
{
    block *b;
    weft_ort_account *a;
    weft_ort_scratch *s;
    int64_t n;

    if (!p)
        return;
    b = (block *)p - 1;
    weft_assert(b->state == IN_USE);
    a = b->account;
    s = b->scratch;
    n = (int64_t)b->n_bytes;
    if (a)
        atomic_fetch_sub_explicit(&a->n_blocks, 1, memory_order_relaxed);
    if (!s) {
        if (a)
            atomic_fetch_sub(b->weights ? &a->weights_bytes : &a->work_bytes, n);
        b->state = 0;
        free(b);
        return;
    }
    weft_lock_take(&s->lock);
    if (b->run == s->run)
        s->in_use -= n;
    else if (a)
        atomic_fetch_sub(&a->work_bytes, n); /* was kept from an earlier run */
    scratch_put(s, b);
    weft_lock_drop(&s->lock);
}

static const ort_memory_info *on_info(const ort_allocator *self)
{
    return weft_ort_cpu_memory;
}

ort_allocator weft_ort_allocator = {
    .version = WEFT_ORT_ALLOCATOR_VERSION,
    .alloc = on_alloc,
    .free = on_free,
    .info = on_info,
    .reserve = on_reserve,
};
