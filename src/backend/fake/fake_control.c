/* Counters and levers of the fake backend, by model name; everything that waits waits here, on one lock and one condition. */
#include "backend/fake/fake_control.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backend/fake/fake_model.h"
#include "base/clock.h"
#include "base/list.h"

#define LOCK_RANK 910 /* a leaf: nothing is called with it held */
#define MAX_INJECTED 16
#define MAX_DEVICES 64
#define SPIN_STEP_NS 50000

typedef struct weft_fake_account {
    weft_node node;
    char *name;
    weft_fake_counts counts;
    uint64_t live; /* models loaded now */
    bool held;
    int64_t permits;
    uint64_t releases; /* generation of weft_fake_release */
    double delay_ms;
    struct {
        weft_fake_kind kind;
        int64_t left;
    } injected[MAX_INJECTED];
} account;

static struct {
    pthread_once_t once;
    weft_lock lock;
    weft_cond changed;
    weft_node accounts;
    struct {
        int64_t id, n_instances;
        bool broken, used;
    } devices[MAX_DEVICES];
} all = {.once = PTHREAD_ONCE_INIT};

static void init_all(void)
{
    weft_lock_init(&all.lock, "fake", LOCK_RANK);
    weft_cond_init(&all.changed);
    weft_node_init(&all.accounts);
}

static void take(void)
{
    pthread_once(&all.once, init_all);
    weft_lock_take(&all.lock);
}

static void drop(void)
{
    weft_lock_drop(&all.lock);
}

static account *find(const char *name, bool create)
{
    account *a;

    weft_assert_held(&all.lock);
    weft_list_each(n, &all.accounts)
    {
        a = weft_container_of(n, account, node);
        if (!strcmp(a->name, name))
            return a;
    }
    if (!create)
        return NULL;
    a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->name = strdup(name);
    if (!a->name) {
        free(a);
        return NULL;
    }
    weft_node_push_back(&all.accounts, &a->node);
    return a;
}

account *weft_fake_account_get(const char *name)
{
    account *a;

    take();
    a = find(name, true);
    drop();
    return a;
}

/* ---- devices --------------------------------------------------------------------------------------------------------------- */

/* The slot of a device, or one that is never broken when there are too many. */
static size_t device_slot(int64_t id)
{
    size_t empty = MAX_DEVICES;

    for (size_t i = 0; i < MAX_DEVICES; i++) {
        if (all.devices[i].used && all.devices[i].id == id)
            return i;
        if (!all.devices[i].used && empty == MAX_DEVICES)
            empty = i;
    }
    if (empty < MAX_DEVICES) {
        memset(&all.devices[empty], 0, sizeof all.devices[empty]);
        all.devices[empty].id = id;
        all.devices[empty].used = true;
    }
    return empty;
}

void weft_fake_device_reset(int64_t device_id)
{
    size_t d;

    take();
    d = device_slot(device_id);
    if (d < MAX_DEVICES)
        all.devices[d].broken = false;
    drop();
}

/* ---- loads and instances --------------------------------------------------------------------------------------------------- */

/* Uses up one injected order of a kind (load and instance), or of any kind that belongs to a run. */
static weft_fake_kind injected(account *a, weft_fake_kind wanted)
{
    for (size_t i = 0; i < MAX_INJECTED; i++) {
        weft_fake_kind k = a->injected[i].kind;
        bool for_run = k != WEFT_FAKE_NO_FAULT && k != WEFT_FAKE_LOAD && k != WEFT_FAKE_INSTANCE;

        if (a->injected[i].left <= 0 || (wanted == WEFT_FAKE_NO_FAULT ? !for_run : k != wanted))
            continue;
        if (--a->injected[i].left == 0) {
            memmove(&a->injected[i], &a->injected[i + 1], (MAX_INJECTED - i - 1) * sizeof a->injected[0]);
            memset(&a->injected[MAX_INJECTED - 1], 0, sizeof a->injected[0]);
        }
        return k;
    }
    return WEFT_FAKE_NO_FAULT;
}

static bool counts_to(const weft_fake_fault *f, int64_t number, int64_t fired)
{
    return (!f->at || f->at == number) && (f->every <= 0 || number % f->every == 0) && (!f->times || fired < f->times);
}

/* The first fault of a kind among the options of the model that fits the number. */
static bool optioned(weft_fake_model *m, weft_fake_kind kind, int64_t number)
{
    const weft_fake_fault *f = m->o.faults.items;

    for (size_t i = 0; i < m->o.faults.n; i++)
        if (f[i].kind == (int)kind && counts_to(&f[i], number, m->fired[i])) {
            m->fired[i]++;
            return true;
        }
    return false;
}

weft_status weft_fake_begin_load(weft_fake_model *m, weft_error *err)
{
    account *a = m->account;
    int64_t deadline, number;
    bool fails;

    take();
    number = (int64_t)++a->counts.loads;
    fails = injected(a, WEFT_FAKE_LOAD) != WEFT_FAKE_NO_FAULT || optioned(m, WEFT_FAKE_LOAD, number);
    if (fails)
        a->counts.failed_loads++;
    else
        a->live++;
    deadline = weft_time_add(weft_now_ns(), weft_ms_to_ns(m->o.load_delay_ms));
    while (weft_now_ns() < deadline)
        weft_cond_wait_until(&all.changed, &all.lock, deadline);
    drop();
    return fails ? weft_fail(err, WEFT_E_RUN_FAILED, "load %lld of the fake model \"%s\" was told to fail", (long long)number,
                             m->name)
                 : WEFT_OK;
}

void weft_fake_end_load(weft_fake_model *m)
{
    take();
    m->account->counts.unloads++;
    m->account->live--;
    drop();
}

weft_status weft_fake_begin_instance(weft_fake_model *m, weft_error *err)
{
    int64_t number;
    bool fails;
    size_t d;

    take();
    number = ++m->n_instances_ever;
    fails = injected(m->account, WEFT_FAKE_INSTANCE) != WEFT_FAKE_NO_FAULT || optioned(m, WEFT_FAKE_INSTANCE, number);
    if (!fails) {
        m->account->counts.instances_created++;
        d = device_slot(m->device_id);
        if (d < MAX_DEVICES)
            all.devices[d].n_instances++;
    }
    drop();
    return fails ? weft_fail(err, WEFT_E_NO_MEMORY, "instance %lld of the fake model \"%s\" was told to fail", (long long)number,
                             m->name)
                 : WEFT_OK;
}

void weft_fake_end_instance(weft_fake_instance *i)
{
    size_t d;

    take();
    weft_assert(!i->running);
    i->model->account->counts.instances_destroyed++;
    d = device_slot(i->model->device_id);
    if (d < MAX_DEVICES && --all.devices[d].n_instances == 0)
        memset(&all.devices[d], 0, sizeof all.devices[d]);
    drop();
}

/* ---- runs
 * ---------------------------------------------------------------------------------------------------------------------- */

static void pick(weft_fake_instance *i, const weft_run *run, int64_t n_rows, weft_fake_order *order)
{
    weft_fake_model *m = i->model;
    const weft_fake_fault *f = m->o.faults.items;
    size_t d = device_slot(m->device_id);

    order->kind = injected(m->account, WEFT_FAKE_NO_FAULT);
    for (size_t k = 0; k < m->o.faults.n && order->kind == WEFT_FAKE_NO_FAULT; k++) {
        if (f[k].kind == WEFT_FAKE_LOAD || f[k].kind == WEFT_FAKE_INSTANCE || !counts_to(&f[k], order->run, m->fired[k]))
            continue;
        if (f[k].rows_over && n_rows <= f[k].rows_over)
            continue;
        if (f[k].when_value.n && !weft_fake_row_has_value(m, run, &f[k].when_value))
            continue;
        m->fired[k]++;
        order->kind = (weft_fake_kind)f[k].kind;
        order->fault = &f[k];
    }
    if (i->broken)
        order->kind = WEFT_FAKE_STREAM;
    if (d < MAX_DEVICES && all.devices[d].broken)
        order->kind = WEFT_FAKE_DEVICE;
    if (order->fault && order->fault->sticky && order->kind == WEFT_FAKE_STREAM)
        i->broken = true;
    if (order->fault && order->fault->sticky && order->kind == WEFT_FAKE_DEVICE && d < MAX_DEVICES)
        all.devices[d].broken = true;
}

static void wait_delay(weft_fake_instance *i, int64_t delay_ns)
{
    int64_t deadline = weft_time_add(weft_now_ns(), delay_ns);

    while (delay_ns > 0 && !i->terminated && weft_now_ns() < deadline) {
        if (!i->model->o.spin) {
            weft_cond_wait_until(&all.changed, &all.lock, deadline);
        } else {
            int64_t until = weft_time_add(weft_now_ns(), SPIN_STEP_NS);

            drop();
            while (weft_now_ns() < until && weft_now_ns() < deadline)
                ;
            take();
        }
    }
}

static void wait_hang(weft_fake_instance *i, bool hard)
{
    account *a = i->model->account;
    uint64_t generation = a->releases;

    a->counts.waiting++;
    weft_cond_broadcast(&all.changed);
    while (a->releases == generation && (hard || !i->terminated))
        weft_cond_wait(&all.changed, &all.lock);
    a->counts.waiting--;
}

static void wait_permit(weft_fake_instance *i)
{
    account *a = i->model->account;

    if (!a->held)
        return;
    a->counts.waiting++;
    weft_cond_broadcast(&all.changed);
    while (a->held && a->permits == 0 && !i->terminated)
        weft_cond_wait(&all.changed, &all.lock);
    if (a->held && a->permits > 0)
        a->permits--;
    a->counts.waiting--;
}

bool weft_fake_begin_run(weft_fake_instance *i, const weft_run *run, weft_fake_order *order)
{
    weft_fake_model *m = i->model;
    account *a = m->account;
    int64_t n_rows = weft_fake_rows(m, run);
    bool alive;

    memset(order, 0, sizeof *order);
    take();
    weft_assert(!i->running); /* one run at a time is the caller's promise */
    i->running = true;
    i->terminated = false;
    order->run = ++m->n_runs;
    a->counts.history[a->counts.runs_started % WEFT_FAKE_HISTORY] = n_rows;
    a->counts.runs_started++;
    a->counts.rows += (uint64_t)n_rows;
    if (n_rows > a->counts.largest_rows)
        a->counts.largest_rows = n_rows;
    weft_cond_broadcast(&all.changed);
    pick(i, run, n_rows, order);
    wait_permit(i);
    wait_delay(i, weft_ms_to_ns(m->o.delay_ms + a->delay_ms + m->o.row_delay_ms * (double)n_rows +
                                (order->fault ? order->fault->delay_ms : 0)));
    if (!i->terminated && (order->kind == WEFT_FAKE_HANG || order->kind == WEFT_FAKE_HANG_HARD))
        wait_hang(i, order->kind == WEFT_FAKE_HANG_HARD);
    alive = !i->terminated || order->kind == WEFT_FAKE_HANG_HARD;
    if (!alive)
        a->counts.terminated++;
    drop();
    return alive;
}

void weft_fake_end_run(weft_fake_instance *i, const weft_fake_order *order, weft_fault fault)
{
    account *a = i->model->account;

    take();
    i->running = false;
    a->counts.runs_ended++;
    if (fault != WEFT_FAULT_NONE)
        a->counts.faults++;
    weft_cond_broadcast(&all.changed);
    drop();
}

void weft_fake_terminate(weft_fake_instance *i)
{
    take();
    if (i->running)
        i->terminated = true;
    weft_cond_broadcast(&all.changed);
    drop();
}

/* ---- the levers
 * ---------------------------------------------------------------------------------------------------------------- */

void weft_fake_count(const char *model, weft_fake_counts *out)
{
    account *a;

    memset(out, 0, sizeof *out);
    take();
    a = find(model, false);
    if (a) {
        uint64_t n = a->counts.runs_started, keep = n < WEFT_FAKE_HISTORY ? n : WEFT_FAKE_HISTORY;

        *out = a->counts;
        out->n_history = (size_t)keep;
        for (uint64_t k = 0; k < keep; k++)
            out->history[k] = a->counts.history[(n - keep + k) % WEFT_FAKE_HISTORY];
    }
    drop();
}

typedef enum wait_for { STARTED, RUNNING, WAITING } wait_for;

static bool wait_count(const char *model, wait_for what, uint64_t n, int64_t timeout_ms)
{
    int64_t deadline = weft_time_add(weft_now_ns(), timeout_ms * WEFT_MS);
    bool reached = false;

    take();
    while (!reached) {
        account *a = find(model, true);
        uint64_t now = 0;

        if (a)
            now = what == STARTED   ? a->counts.runs_started
                  : what == RUNNING ? a->counts.runs_started - a->counts.runs_ended
                                    : a->counts.waiting;
        reached = now >= n;
        if (!reached && (!a || weft_now_ns() >= deadline))
            break;
        if (!reached)
            weft_cond_wait_until(&all.changed, &all.lock, deadline);
    }
    drop();
    return reached;
}

bool weft_fake_wait_started(const char *model, uint64_t n, int64_t timeout_ms)
{
    return wait_count(model, STARTED, n, timeout_ms);
}

bool weft_fake_wait_running(const char *model, uint64_t n, int64_t timeout_ms)
{
    return wait_count(model, RUNNING, n, timeout_ms);
}

bool weft_fake_wait_waiting(const char *model, uint64_t n, int64_t timeout_ms)
{
    return wait_count(model, WAITING, n, timeout_ms);
}

void weft_fake_release(const char *model)
{
    account *a;

    take();
    a = find(model, true);
    if (a)
        a->releases++;
    weft_cond_broadcast(&all.changed);
    drop();
}

void weft_fake_hold(const char *model, bool held)
{
    account *a;

    take();
    a = find(model, true);
    if (a) {
        a->held = held;
        a->permits = 0;
    }
    weft_cond_broadcast(&all.changed);
    drop();
}

void weft_fake_let(const char *model, int64_t n_runs)
{
    account *a;

    take();
    a = find(model, true);
    if (a)
        a->permits += n_runs;
    weft_cond_broadcast(&all.changed);
    drop();
}

bool weft_fake_inject(const char *model, weft_fake_kind kind, int64_t n)
{
    bool done = false;
    account *a;

    take();
    a = find(model, true);
    for (size_t i = 0; a && n > 0 && i < MAX_INJECTED && !done; i++)
        if (a->injected[i].left == 0) {
            a->injected[i].kind = kind;
            a->injected[i].left = n;
            done = true;
        }
    drop();
    return done;
}

void weft_fake_set_delay(const char *model, double delay_ms)
{
    account *a;

    take();
    a = find(model, true);
    if (a)
        a->delay_ms = delay_ms;
    drop();
}

void weft_fake_reset(void)
{
    take();
    weft_list_each_safe(n, next, &all.accounts)
    {
        account *a = weft_container_of(n, account, node);

        weft_assert(a->live == 0);
        weft_node_remove(n);
        free(a->name);
        free(a);
    }
    memset(all.devices, 0, sizeof all.devices);
    drop();
}
