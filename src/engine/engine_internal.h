/* Inside the engine: the objects and who may touch them.
 *
 * Lock classes, in the order they are taken (rank):
 *   backend   50   opening a backend once; the one lock that is held around a call-out, at load only
 *   registry 100   names, which version is served, what is being changed
 *   sched    200   queues, phases of requests, instances, tokens, shares, groups, cohorts, facts about health
 *   ticket   250   ticket numbers
 *   timer    300   the heap of deadlines
 *   post     400   the completer's list
 *   stats    600   the counters of one model
 *   waiter   700   a caller inside weft_infer
 *   chunk pool 900 (base)
 * All are held for a few instructions; callbacks, executors, backends and the log are never called with one held.
 *
 * Lifetimes: docs/ARCHITECTURE.md, "Who creates, who frees"; the tables at the heads of request.c, instance.c and model.c say
 * which phase allows what. */
#ifndef WEFT_ENGINE_INTERNAL_H
#define WEFT_ENGINE_INTERNAL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/thread.h"
#include "batch.h"
#include "gear.h"
#include "lane.h"
#include "queue.h"
#include "timer.h"
#include "weft/backend.h"
#include "weft/executor.h"

#define WEFT_NAME_BYTES 132 /* "<parent>.<slot>" */
#define WEFT_MAX_CALL_INPUTS 64
#define WEFT_MAX_CALL_PARAMS 256
#define WEFT_MAX_ID_BYTES 128
#define WEFT_MAX_TRACE_BYTES 256
#define WEFT_MAX_SUBMODELS 16
#define WEFT_ENTRY_BUCKETS 256
#define WEFT_MAX_REQUEST_ROWS 65536

typedef struct weft_model weft_model;
typedef struct weft_instance weft_instance;
typedef struct weft_request weft_request;
typedef struct weft_entry weft_entry;

/* ---- memory that outlives the engine: results may ---------------------------------------------------------------------------
 */
typedef struct weft_home {
    _Atomic int refs; /* the engine and every request */
    weft_chunk_pool *pool;
} weft_home;

/* ---- backends ---- */
typedef struct weft_engine_backend {
    const weft_backend *table;
    void *self; /* NULL until first used */
    bool is_open;
} weft_engine_backend;

/* ---- shares: lane time by name of the served model; survive reloads ---- */
typedef struct weft_account {
    weft_node node;
    int refs;
    weft_share share;
    int64_t tokens_used, max_tokens; /* cores it holds now; and may hold, 0 = all */
    char name[WEFT_NAME_BYTES];
} weft_account;

/* ---- requests ---------------------------------------------------------------------------------------------------------------
 */
typedef enum weft_phase {
    WEFT_PHASE_WAITING = 1, /* as received, in model->waiting */
    WEFT_PHASE_PREP,        /* a host thread turns it into tensors */
    WEFT_PHASE_READY,       /* its parts are in model->ready or running */
    WEFT_PHASE_POST_WAIT,   /* outputs wait for a host thread, in model->post */
    WEFT_PHASE_POST,        /* a host thread makes the result */
    WEFT_PHASE_PIPE,        /* a pipeline thread runs it */
    WEFT_PHASE_OVER,        /* nothing works on it any more */
} weft_phase;

/* Some rows of a request that run together: usually all of them. */
typedef struct weft_part {
    weft_qnode q; /* in model->ready */
    weft_request *request;
    int64_t first_row, n_rows;
    int64_t ready_ns;
    int64_t cap_rows; /* at most so many rows in its run */
    bool alone;       /* after a split: no companions */
    bool retried;     /* after running out of memory */
    bool run_again;   /* set by its run's thread when a failed run may be tried otherwise */
    bool post_later;  /* its outputs were moved off the instance for a host thread */
    int32_t batch_rows;
    int64_t run_ns;
} weft_part;

typedef struct weft_group_slot weft_group_slot;

struct weft_request {
    _Atomic int refs;    /* work, answer, result */
    _Atomic int answer;  /* 0 open, 1 somebody answers it (compare and swap) */
    _Atomic int n_sides; /* work and answer: when both are done the inputs go back and the model is dropped */
    weft_engine *engine;
    weft_home *home;
    weft_model *model; /* one reference, until work and answer are done; NULL while it waits for a replaced model */
    weft_arena *arena; /* owns this struct */
    weft_call call;    /* deep copy */
    weft_async async;
    void *scratch;
    weft_builder *failure;  /* made at admission, so that a failure can always be answered */
    struct weft_pipe *pipe; /* while a pipeline thread runs it; scheduler's lock */
    enum {
        WEFT_WHY_DEADLINE = 1,
        WEFT_WHY_CANCELLED,
        WEFT_WHY_CLOSING,
        WEFT_WHY_RUN_TIMEOUT,
        WEFT_WHY_UNHEALTHY
    } why;               /* of a posted request */
    weft_node post_node; /* completer */
    weft_node park_node; /* entry->limbo: a call that waits for a replaced model; registry's lock */
    weft_error error;    /* sub-calls: first failure */
    uint64_t ticket;

    /* guarded by the scheduler's lock */
    weft_phase phase;
    weft_qnode q; /* in model->waiting or model->post */
    int level;
    int64_t arrival_ns; /* of the parent for a sub-call: ageing does not restart */
    int64_t admitted_ns;
    int64_t deadline_ns;
    bool in_queue_count; /* counts toward queue_size */
    size_t queue_bytes;
    int64_t credits;      /* row credits it holds */
    int64_t rows_waiting; /* counted in model->level_rows */
    weft_timer deadline;

    /* rows */
    int64_t n_rows;
    size_t n_inputs;
    weft_tensor *rows;  /* per model input: dtype and shape of one row, data of all rows */
    uint64_t key;       /* bucket: shapes, and the bytes of shared inputs */
    uint64_t shape_key; /* shapes alone: what a run costs */
    double row_bytes;
    void *row_chunk;    /* preprocessed rows: a chunk, or NULL */
    const bool *wanted; /* per model output; NULL = all */
    weft_part first;    /* the only part, or the first */
    weft_part *parts;   /* n_parts of them; &first when there is one */
    size_t n_parts, n_left, n_running;
    bool parts_released;  /* all parts of a request that needs several runs are queued */
    weft_tensor *outputs; /* joined, or moved off the instance; in the arena */
    size_t n_outputs;

    /* times */
    int64_t arrived_unix_ns;
    int64_t expected_wait_ns; /* as predicted at admission; 0 = nobody waited */
    /* relaxed: who answers for a deadline reads them while a run goes on */
    _Atomic int64_t prep_ns, run_ns, post_ns;
    _Atomic int32_t batch_rows, n_runs;

    /* sub-calls */
    weft_request *parent;
    struct weft_group *group;
    weft_group_slot *slot;
};

/* ---- instances ----------------------------------------------------------------------------------------------------------------
 */
typedef enum weft_instance_state {
    WEFT_INSTANCE_IDLE = 1, /* in model->idle */
    WEFT_INSTANCE_BUSY,     /* has a batch or a probe */
    WEFT_INSTANCE_BROKEN,   /* its handle must be re-created; takes no work */
    WEFT_INSTANCE_LOST,     /* a run that did not come back; the thread is on its own */
    WEFT_INSTANCE_GONE,     /* its thread has ended */
} weft_instance_state;

typedef struct weft_block {
    void *data; /* from the backend's host allocator */
    size_t capacity;
} weft_block;

/* A run that the loader or the recovery asks for, done on the instance's own thread. It owns all memory of the run, so that one
 * that never comes back keeps its buffers. */
typedef struct weft_probe {
    _Atomic int refs;  /* who asks, and the instance */
    weft_arena *arena; /* owns this struct */
    weft_run run;
    weft_status status;
    weft_error error;
    int64_t run_ns;
    bool done;
} weft_probe;

struct weft_instance {
    weft_model *model; /* one reference */
    int index;
    weft_thread thread;
    void *handle; /* of the backend */

    /* scheduler's lock */
    weft_instance_state state;
    weft_cond cond;
    weft_node idle_node;
    bool stop, granted;
    bool lost; /* for ever: the thread frees the instance when it comes back */
    weft_probe *probe;
    int64_t idle_since_ns;
    _Atomic bool overdue;   /* longer than its limit; its requests have been answered */
    _Atomic bool abandoned; /* everybody in it has been answered: told to end early */
    int64_t limit_ns;       /* of what it is doing now */
    bool terminating;       /* the completer is inside terminate(): no new run may start */
    int64_t overdue_since_ns;
    int64_t watch_at_ns; /* when the watch looks at it; WEFT_NEVER = not armed */
    weft_timer watch;

    /* the batch: set at the grant, then the thread's own */
    weft_part **parts;
    size_t n_parts;
    int64_t n_rows, gear_rows, predicted_ns, granted_ns;
    bool starved;

    /* the thread's own */
    weft_run run;
    weft_tensor inputs[WEFT_MAX_MODEL_INPUTS];
    weft_tensor outputs[WEFT_MAX_MODEL_OUTPUTS];
    bool wanted[WEFT_MAX_MODEL_OUTPUTS];
    weft_arena *direct; /* outputs go straight here; NULL = into the block */
    weft_block in_block[WEFT_MAX_MODEL_INPUTS];
    weft_block out_block[WEFT_MAX_MODEL_OUTPUTS];
};

/* ---- cohorts ---- */
#define WEFT_MAX_COHORTS 32
typedef struct weft_cohort {
    uint64_t key;
    int n_members;     /* 0 = free */
    weft_node between; /* members between two calls */
} weft_cohort;

typedef struct weft_member {
    weft_model *model;
    weft_cohort *cohort;                /* NULL = none */
    weft_node node;                     /* in cohort->between */
    int64_t between_since_ns, think_ns; /* how long it took last time; -1 = not known */
} weft_member;

/* ---- models -----------------------------------------------------------------------------------------------------------------
 */
typedef struct weft_health {
    int n_consecutive; /* server failures in a row */
    bool broken;       /* breaker open or instances gone: admission refuses */
    bool recovering;
    int n_broken;                /* instances whose handle must be re-created */
    weft_model_state last_state; /* the one that `since` and the log belong to */
    bool changed;                /* to be logged by the maintenance thread */
    int n_lost;                  /* lost runs now */
    int n_tries;                 /* recovery attempts since it broke */
    int64_t next_try_ns;
    int64_t since_unix_ns; /* of the present state */
    char cause[256];
} weft_health;

struct weft_model {
    _Atomic int refs;
    _Atomic int64_t n_open; /* root requests that are not answered */
    _Atomic bool retiring;  /* somebody waits for n_open == 0 */
    weft_engine *engine;
    weft_arena *arena; /* owns this struct, the configuration and the descriptions */
    weft_model_config config;
    weft_account *account;
    const weft_executor *executor;
    void *state; /* of the executor */
    bool state_open;
    weft_engine_backend *backend; /* NULL for a pipeline */
    void *handle;                 /* of the backend */
    weft_model_desc desc;
    weft_model_view view;
    size_t answer_bytes; /* outputs of one row, where known */
    weft_gears gears;
    int64_t max_rows; /* largest run that is used: 1 unless batched */
    int64_t tokens;   /* cores a run takes; 0 on a card */
    int64_t window_ns, cohort_wait_ns, run_timeout_ns, timeout_ns;
    int64_t loaded_unix_ns;

    /* pipelines */
    weft_model *subs[WEFT_MAX_SUBMODELS]; /* one reference each; NULL = slot not filled */
    const weft_model_view *sub_views[WEFT_MAX_SUBMODELS];
    size_t n_subs;
    weft_open open;          /* what the executor was given */
    weft_tensor *probe_rows; /* one row that the model accepts, for probes; NULL = not known */
    struct weft_pipe_thread *pipe_threads;
    size_t n_pipe_threads, pipe_capacity;
    int64_t width; /* pipelines: how many run at once */
    weft_node pipe_idle;

    /* scheduler's lock */
    weft_node all_node;     /* engine->models */
    weft_node active_node;  /* engine->active while n_work > 0 */
    weft_model_state phase; /* LOADING, WARMING, READY, FAILED or UNLOADING; the state for people is computed in health.c */
    weft_queue waiting;     /* requests as received */
    weft_queue ready;       /* parts */
    weft_queue post;        /* requests whose outputs wait for a host thread */
    weft_queue resumes;     /* pipes that want a token again */
    weft_node idle;         /* instances */
    size_t n_idle, n_live;  /* live: threads that are neither lost nor gone */
    weft_instance **instances;
    size_t n_instances, instances_capacity;
    int64_t idle_since_ns;
    size_t n_work; /* requests whose work is not over */
    size_t n_queued, queued_bytes;
    int64_t credits; /* free row credits */
    int64_t credits_total;
    int64_t n_running, n_ready_rows;
    int64_t level_rows[WEFT_LEVELS]; /* rows that wait, for the estimate */
    double row_ns;                   /* running mean of the time on the lane of a row that runs alone */
    double row_var;                  /* and its variance */
    weft_gear_table costs;
    weft_timer wake;
    bool wake_reserved;
    weft_cohort cohorts[WEFT_MAX_COHORTS];
    weft_health health;
    weft_cond changed; /* an instance or a pipe thread ended, the last work ended */
    bool stopping;     /* threads end when they are idle */
    bool maintaining;  /* the maintenance thread works on it */
    bool want_spare;

    weft_lock stats_lock;
    weft_model_stats stats;
};

struct weft_entry {
    weft_node node;      /* engine->entries[hash] */
    weft_model *served;  /* one reference; NULL while loading or replacing */
    weft_model *staging; /* one reference: what a load in progress is making */
    bool busy;           /* a load, unload or reload works on it */
    bool replacing;      /* calls wait in `limbo` until the new version is there */
    weft_node limbo;     /* requests, by park_node */
    uint64_t order;      /* of being added, for lists */
    char name[WEFT_NAME_BYTES];
};

/* ---- threads for host work ---- */
typedef struct weft_host_thread {
    weft_engine *engine;
    weft_thread thread;
    weft_cond cond;
    weft_node idle_node;
    weft_request *job; /* granted */
    int64_t granted_ns;
    bool starved;
} weft_host_thread;

typedef struct weft_ticket_slot {
    weft_request *request;
    uint32_t generation, next_free;
} weft_ticket_slot;

struct weft_engine {
    _Atomic int refs; /* the owner, and every model (a lost run keeps its model) */
    weft_engine_options options;
    char *library;
    weft_clock *clock;
    weft_home *home;
    int64_t cores;
    int64_t max_run_ns;
    weft_engine_backend *backends;
    size_t n_backends;
    weft_lock backend_lock; /* held while a backend opens: only its own init runs under it */
    weft_lock registry;
    weft_cond registry_changed;
    weft_node entries[WEFT_ENTRY_BUCKETS];
    size_t n_entries;
    uint64_t n_entries_ever;
    _Atomic bool closing; /* destroy has begun */
    _Atomic bool draining;
    _Atomic int64_t n_open; /* root requests that are not answered */

    weft_lock sched;
    weft_lane lane;
    int64_t tokens_free;
    weft_node models; /* all versions that have threads */
    weft_node active; /* models with work */
    size_t n_card_models;
    weft_node accounts;
    weft_cond all_answered; /* n_open went to 0 while somebody waits for it */
    weft_node host_idle;
    weft_host_thread *hosts;
    size_t n_hosts;
    bool stop_hosts;
    weft_node admin_waiting; /* warm-up runs that want tokens */
    weft_cond admin_cond;
    int64_t n_lost; /* runs, now */
    bool fatal_sent;

    weft_timers timers;

    weft_lock post_lock; /* completer */
    weft_cond post_cond;
    weft_node posted;
    bool watch_due, stop_completer;
    weft_thread completer;

    weft_cond maintain_cond; /* scheduler's lock */
    weft_thread maintainer;
    bool stop_maintainer, maintain_now;

    weft_lock ticket_lock;
    weft_ticket_slot *tickets;
    uint32_t n_tickets, free_ticket; /* free_ticket: UINT32_MAX = none */
};

/* ---- which kind of engine thread this is --------------------------------------------------------------------------------------
 */
typedef enum weft_role {
    WEFT_ROLE_NONE = 0, /* a caller's */
    WEFT_ROLE_INSTANCE,
    WEFT_ROLE_HOST,
    WEFT_ROLE_PIPE,
    WEFT_ROLE_COMPLETER,
    WEFT_ROLE_MAINTAINER,
} weft_role;
weft_role weft_role_get(void);
void weft_role_set(weft_role r);

/* ---- engine.c ---- */
static inline int64_t weft_engine_now(const weft_engine *e)
{
    return e->clock->now(e->clock);
}
void weft_engine_ref(weft_engine *e);
void weft_engine_unref(weft_engine *e);
void weft_home_unref(weft_home *h);
void weft_engine_log(weft_engine *e, weft_log_level level, const char *event, const char *model, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
weft_status weft_engine_backend_get(weft_engine *e, const char *name, const char *path, weft_engine_backend **out,
                                    weft_error *err);
const weft_executor *weft_engine_executor_find(weft_engine *e, const char *name);
weft_status weft_engine_unknown_executor(weft_engine *e, const char *name, weft_error *err); /* CONFIG with the nearest name */

/* ---- model_registry.c ---- */
/* The served version with one reference. NOT_FOUND, UNAVAILABLE while it loads. */
weft_status weft_registry_get(weft_engine *e, const char *name, const char *version, bool *replacing, weft_model **out,
                              weft_error *err);
/* Puts a call that came while its model is being replaced into the waiting list; false when it is not being replaced (any more).
 */
bool weft_registry_park(weft_engine *e, weft_request *r);
weft_entry *weft_registry_find(weft_engine *e, const char *name); /* registry's lock held */
bool weft_registry_unpark(weft_request *r);                       /* false when it is not in one */
void weft_registry_close(weft_engine *e);                         /* retires every model, pipelines first */
void weft_registry_staging(weft_entry *entry, weft_model *m);     /* what a load in progress shows in info; NULL ends it */

/* ---- what a change of the registry holds: entries that are `busy`; shared by model_registry.c and reload.c ---- */
#define WEFT_MAX_INVOLVED 64
typedef struct weft_change {
    weft_entry *entries[WEFT_MAX_INVOLVED];
    size_t n;
} weft_change;
bool weft_change_add_dependents(weft_engine *e, weft_change *c, const weft_model *m); /* registry's lock held; false = too many */
void weft_change_end(weft_engine *e, weft_change *c);
weft_status weft_registry_check_config(weft_engine *e, const weft_model_config *c, weft_error *err);
/* Entries of the change that serve nothing any more (a failed replace) are removed and freed. */
void weft_registry_drop_dead(weft_engine *e, weft_change *c);
void weft_registry_release_parked(weft_engine *e, weft_entry *entry);

/* ---- model.c, load.c ---- */
/* Opens everything, starts the threads and warms up; phase READY on success. `subs`: the versions for config->submodels, in that
 * order. */
weft_status weft_model_load(weft_engine *e, const weft_model_config *c, weft_model *const *subs, weft_entry *staging,
                            weft_model **out, weft_error *err);
/* Waits until what was accepted is answered, ends the threads, drops the caller's reference. Never with a lock. */
void weft_model_retire(weft_model *m);
/* Ends the threads of a model without work. */
void weft_model_stop(weft_model *m);
static inline weft_model *weft_model_ref(weft_model *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}
void weft_model_unref(weft_model *m);
weft_status weft_model_warm(weft_model *m, weft_error *err);                    /* warm.c: batching check and costs */
weft_status weft_model_probe(weft_model *m, weft_instance *i, weft_error *err); /* warm.c: one real inference, for recovery */
weft_status weft_model_unbatch(weft_model *m, weft_error *err);                 /* load.c: every request runs alone */
weft_status weft_model_open_state(weft_model *m, weft_error *err);              /* load.c: the executor, on the present view */
void weft_model_close_state(weft_model *m);
weft_status weft_config_copy(weft_arena *a, const weft_model_config *c, const weft_option *executor_table, size_t executor_size,
                             const weft_option *backend_table, size_t backend_size, weft_model_config *out, weft_error *err);

/* ---- admit.c ---- */
/* Plans a parked request on its new model and queues it, or answers with the failure. */
void weft_admit_parked(weft_request *r, weft_model *m);

static inline void weft_add_ns(_Atomic int64_t *sum, int64_t ns)
{
    atomic_fetch_add_explicit(sum, ns, memory_order_relaxed);
}
static inline int64_t weft_get_ns(const _Atomic int64_t *p)
{
    return atomic_load_explicit(p, memory_order_relaxed);
}
static inline void weft_note_batch(weft_request *r, int32_t rows, int32_t n_runs)
{
    if (rows > atomic_load_explicit(&r->batch_rows, memory_order_relaxed))
        atomic_store_explicit(&r->batch_rows, rows, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->n_runs, n_runs, memory_order_relaxed);
}

/* ---- request.c ---- */
size_t weft_request_bytes(const weft_call *call, bool copy_data);
/* Deep copy of the call and what every answer needs. `arrival` is filled by the caller. */
weft_status weft_request_create(weft_engine *e, const weft_call *call, const weft_async *a, size_t more_bytes, weft_request **out,
                                weft_error *err);
bool weft_request_claim(weft_request *r);
bool weft_request_over(const weft_request *r, int64_t now_ns); /* answered, or past its deadline, or its parent is */
static inline bool weft_request_answered(const weft_request *r)
{
    return atomic_load_explicit(&r->answer, memory_order_acquire) ||
           (r->parent && atomic_load_explicit(&r->parent->answer, memory_order_acquire));
}
void weft_request_unref(weft_request *r);
void weft_request_result_released(void *owner);
/* The work side is done with it: gives back rows and inputs, drops the model. Not under a lock. */
void weft_request_work_over(weft_request *r);
/* Answers a claimed request; `b` holds the result, or NULL with `failure`. */
void weft_request_answer(weft_request *r, weft_builder *b, const weft_error *failure);
/* Claims and answers with a failure; nothing happens when somebody else has. */
void weft_request_fail(weft_request *r, const weft_error *failure);
void weft_request_free(weft_request *r);

/* ---- ticket.c ---- */
weft_status weft_ticket_take(weft_engine *e, weft_request *r, weft_error *err);
void weft_ticket_give(weft_engine *e, uint64_t ticket);
void weft_ticket_cancel_all(weft_engine *e);
weft_request *weft_ticket_find(weft_engine *e, uint64_t ticket); /* with a reference; NULL */

/* ---- completer.c ---- */
/* A claimed request, to be answered for the reason r->why on the completer thread. Any lock below post may be held. */
void weft_completer_post(weft_engine *e, weft_request *r);
weft_status weft_completer_start(weft_engine *e, weft_error *err);
void weft_completer_stop(weft_engine *e);
void weft_completer_watch(weft_engine *e);               /* look at overdue runs soon */
void weft_terminate_over(weft_engine *e, weft_model *m); /* ends runs whose requests have all been answered */

/* ---- sched.c ---- */
/* All with the scheduler's lock held. */
void weft_sched_dispatch(weft_engine *e, int64_t now_ns);
void weft_sched_enter(weft_model *m, weft_request *r); /* its work begins */
void weft_sched_leave(weft_model *m, weft_request *r); /* its work is over */
void weft_sched_queue_ready(weft_model *m, weft_part *p, int64_t now_ns);
/* Takes it out of whatever queue it is in; true when nothing works on it any more. */
bool weft_sched_unlink(weft_request *r);
void weft_sched_tokens_give(weft_engine *e, int64_t n);
/* Likewise the tokens that a grant to this model took. */
void weft_sched_tokens_back(weft_model *m, int64_t n);
/* Waits for n tokens outside the order of claims (warm-up); takes the lock itself. */
void weft_sched_tokens_take(weft_engine *e, int64_t n);
void weft_sched_not_queued(weft_request *r);              /* no longer counts toward queue_size */
void weft_sched_rows_granted(weft_request *r, int64_t n); /* no longer counts toward the expected wait */
int64_t weft_sched_run_ns(weft_model *m, const weft_part *p, int64_t n_rows);

/* ---- rows.c ---- */
/* Sets r->key (what may share a run), r->shape_key (what costs the same) and r->row_bytes. */
void weft_rows_key(const weft_model *m, weft_request *r);
uint64_t weft_rows_shape_key(const weft_tensor *rows, size_t n);
bool weft_rows_same_bucket(const weft_model *m, const weft_request *a, const weft_request *b);
/* Completes the plan (names, byte counts) and checks it against the model. */
weft_status weft_rows_check(const weft_model *m, weft_plan *p, weft_error *err);
weft_status weft_parts_make(weft_request *r, weft_error *err);
size_t weft_rows_missing_bytes(const weft_model *m, const weft_request *r); /* of rows that preprocess will write */
/* Takes the memory for them. NO_MEMORY. */
weft_status weft_rows_take(weft_request *r, weft_error *err);
/* ---- instance.c, run.c ---- */
weft_status weft_instance_create(weft_model *m, weft_instance **out, weft_error *err);
void weft_instance_free(weft_instance *i); /* thread ended */
/* The watch looks at it then, or sooner. Scheduler's lock. A run that ends in time leaves the timer alone, so that most runs cost
 * none. */
void weft_instance_watch(weft_instance *i, int64_t at_ns);
/* Runs it, at most limit_ns (then DEADLINE, and the instance is lost). The status and the outputs are in the probe. */
weft_status weft_instance_probe(weft_instance *i, weft_probe *p, int64_t limit_ns, weft_error *err);
void weft_probe_unref(weft_probe *p);
void weft_instance_came_back(weft_instance *i); /* the end of a lost run's thread: frees the instance and drops its model */
/* run.c: the granted batch, on its thread; true when it has the next one already. */
bool weft_instance_run(weft_instance *i);
bool weft_instance_reserve(weft_instance *i, int64_t n_rows); /* its blocks for n_rows rows like the model's probe_rows */
bool weft_block_reserve(weft_instance *i, weft_block *b, size_t n_bytes);

/* ---- finish.c ---- */
/* Result from outputs that lie in the request's arena (copy false) or on the instance (copy true). */
void weft_finish_outputs(weft_request *r, const weft_tensor *outputs, bool copy);
void weft_finish_failed(weft_request *r, const weft_error *failure);

/* ---- host.c ---- */
weft_status weft_hosts_start(weft_engine *e, weft_error *err);
void weft_hosts_stop(weft_engine *e);

/* ---- pipeline.c, group.c ---- */
weft_status weft_pipes_start(weft_model *m, weft_error *err);
void weft_pipes_stop(weft_model *m);
struct weft_pipe {
    struct weft_pipe_thread *thread;
    weft_request *request;
    weft_qnode q; /* in model->resumes */
    weft_member member;
    bool has_token;
    bool resumed;
    int n_groups; /* open */
    int64_t started_ns;
    int64_t token_since_ns, busy_ns;
    bool starved;
};
typedef struct weft_pipe_thread {
    weft_model *model;
    weft_thread thread;
    weft_cond cond;
    weft_node idle_node;
    weft_pipe pipe;
    bool stop;
    bool lost; /* a run of one of its calls is lost: it is on its own, and a spare takes its place */
} weft_pipe_thread;
/* Lock held. */
void weft_pipe_grant_start(weft_model *m, weft_request *r, int64_t now_ns, bool starved);
void weft_pipe_grant_resume(weft_qnode *n, int64_t now_ns, bool starved);
void weft_pipe_wake(weft_request *r);       /* the request is over, or one of its calls is done */
void weft_pipe_pause(weft_pipe *p);         /* gives the token back and waits until woken */
void weft_pipe_resume(weft_pipe *p);        /* waits until it has a token */
void weft_group_give_up(weft_request *sub); /* its run takes too long: reported as failed while the run still holds its memory */
void weft_pipe_lose(weft_pipe *p);          /* a run that holds its memory is lost */
weft_status weft_pipe_spare(weft_model *m, weft_error *err); /* one more thread; not under the lock */
bool weft_pipe_is_mine(const weft_pipe *p);                  /* of this thread */
/* Takes the scheduler's lock. The work on a sub-call is over. */
void weft_group_done(weft_request *sub);

/* ---- cohort.c ---- */
void weft_member_init(weft_member *mb);
void weft_cohort_submit(weft_member *mb, weft_model *m, uint64_t key, bool repeats, int64_t now_ns);
void weft_cohort_between(weft_member *mb, const weft_model *m, uint64_t key, int64_t now_ns); /* its call is done */
void weft_cohort_leave(weft_member *mb);
int64_t weft_cohort_expected(const weft_model *m, uint64_t key, int64_t now_ns); /* members that should be back soon */

/* ---- estimate.c ---- */
/* Predicted wait of a new request of this level before it runs; p90_ns may be NULL. Scheduler's lock. */
int64_t weft_estimate_wait(const weft_model *m, int level, int64_t *p90_ns);
void weft_estimate_learn(weft_model *m, int64_t n_rows, int64_t lane_ns);

/* ---- stats.c, info.c, health.c ---- */
void weft_stats_answer(weft_model *m, const weft_request *r, weft_status s, const weft_timing *t);
void weft_stats_run(weft_model *m, int64_t n_rows, int64_t run_ns);
void weft_stats_refused(weft_model *m, weft_refusal why);
void weft_stats_count(weft_model *m, uint64_t *counter);                     /* += 1 */
weft_model_state weft_health_state(const weft_model *m, const char **cause); /* computed from the facts; scheduler's lock */
weft_status weft_health_admit(const weft_model *m,
                              weft_error *err); /* UNAVAILABLE when the model takes no work; scheduler's lock */
/* Facts; scheduler's lock held. */
void weft_health_success(weft_model *m);
void weft_health_failure(weft_model *m, weft_fault fault, const char *text);
void weft_health_phase(weft_model *m, weft_model_state phase);
void weft_health_break(weft_model *m, const char *cause); /* takes no work until it has recovered */
void weft_health_update(weft_model *m);    /* after a fact has changed: since, and a log line by the maintenance thread */
void weft_maintainer_wake(weft_engine *e); /* scheduler's lock */
weft_status weft_maintainer_start(weft_engine *e, weft_error *err);
void weft_maintainer_stop(weft_engine *e);
void weft_watch_overdue(weft_engine *e); /* watch.c: on the completer thread */

#endif
