/* Inside the ONNX Runtime backend: who holds what.
 *
 *   ort_library.c  finds and opens the library, once per process; never closed
 *   ort_env.c      the one environment of the process, shared by all engines through a count; log; threads of sessions
 *   ort_memory.c   the allocator behind every session: scratch blocks for runs, accounts per model
 *   ort_error.c    statuses to weft's errors
 *   ort_onnx.c     the few facts that the interface does not tell, read from the file itself
 *   ort_session.c  options of sessions, and sessions
 *   ort_model.c    loading: descriptions, several files, gears
 *   ort_run.c      instances and runs
 *   ort_string.c   BYTES to string tensors and back
 *   ort_backend.c  the table and the options */
#ifndef WEFT_ORT_INTERNAL_H
#define WEFT_ORT_INTERNAL_H

#include <stdatomic.h>

#include "backend/onnxruntime/ort_abi.h"
#include "backend/onnxruntime/ort_backend.h"
#include "base/arena.h"
#include "base/lock.h"

/* ---- ort_library.c
 * ------------------------------------------------------------------------------------------------------------------ */
typedef struct weft_ort_library {
    void *handle;
    char path[512];   /* as it was opened, or as the loader found it */
    char version[64]; /* "1.30.0" */
    ort_calls call;
    void (*throw_bad_alloc)(void); /* from the library's own C++ runtime; NULL = not found */
} weft_ort_library;

extern weft_ort_library weft_ort; /* filled by the first weft_ort_library_open that succeeds; constant after */
#define ORT(name) weft_ort.call.name

/* Opens once; a later call with another path is refused with CONFLICT. UNAVAILABLE with everything that was tried. The caller
 * holds the environment's lock. */
weft_status weft_ort_library_open(const char *path, weft_error *err);

/* ---- ort_memory.c
 * -------------------------------------------------------------------------------------------------------------------- */
/* The memory of one model. Lives as long as the model; all blocks are given back by then. */
typedef struct weft_ort_account {
    const char *model;
    uint64_t limit_bytes;            /* weights + work; 0 = none */
    _Atomic(bool) loading;           /* what is taken now is weights */
    _Atomic(int64_t) weights_bytes;  /* through the allocator; ORT holds others of its own */
    _Atomic(int64_t) base_bytes;     /* weights that count against the limit: measured, set after load */
    _Atomic(int64_t) work_bytes;     /* of runs in progress, and what kernels keep */
    _Atomic(int64_t) peak_run_bytes; /* largest run so far */
    _Atomic(int64_t) n_blocks;       /* alive */
    _Atomic(int64_t) fail_after;     /* tests: the n-th allocation from now fails; 0 = none */
} weft_ort_account;

typedef struct weft_ort_scratch weft_ort_scratch;

/* What the calling thread does for ORT just now. */
typedef struct weft_ort_thread {
    struct weft_ort_self *self; /* whose log */
    weft_ort_account *account;
    weft_ort_scratch *scratch; /* during a run */
    const char *model;         /* for the log */
    bool out_of_memory;        /* an allocation was refused since it was cleared */
} weft_ort_thread;
extern _Thread_local weft_ort_thread weft_ort_here;

/* The callbacks; `info` is set by ort_env.c. */
extern ort_allocator weft_ort_allocator;
extern ort_memory_info *weft_ort_cpu_memory;
/* Takes a scratch block for a run of `account` on this thread, and gives it back. NULL scratch (no address space) is fine: the
 * heap serves then. */
void weft_ort_scratch_enter(weft_ort_account *account);
void weft_ort_scratch_leave(bool release);
/* Gives the memory of idle scratch blocks back to the system; with `destroy` the blocks too. */
void weft_ort_scratch_trim(bool destroy);
typedef struct weft_ort_scratch_counts {
    size_t n_blocks, reserved_bytes, touched_bytes;
} weft_ort_scratch_counts;
void weft_ort_scratch_count(weft_ort_scratch_counts *out);

/* ---- ort_env.c
 * ------------------------------------------------------------------------------------------------------------------------ */
typedef struct weft_ort_self {
    weft_backend_env env;
} weft_ort_self;

extern ort_env *weft_ort_env;
weft_status weft_ort_env_ref(weft_ort_self *self, weft_error *err);
void weft_ort_env_unref(void);
/* One load at a time, so that the difference of the heap is that of one model. */
void weft_ort_load_begin(void);
void weft_ort_load_end(void);
/* Sets the threads of a session to ours: named, tagged with the model. */
ort_status *weft_ort_own_threads(ort_session_options *o, weft_ort_account *account);
void weft_ort_say(weft_ort_self *self, weft_log_level level, const char *event, const char *model, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* ---- ort_error.c
 * ---------------------------------------------------------------------------------------------------------------------- */
/* Without paths of source files, signatures and addresses; one line. */
void weft_ort_clean(const char *text, char *buf, size_t n_buf);
/* All of these take the status (NULL = OK) and give it back to ORT. */
weft_status weft_ort_load_failed(ort_status *s, const char *model, const char *path, weft_error *err);
weft_status weft_ort_run_failed(ort_status *s, bool out_of_memory, weft_fault *fault, weft_error *err);
void weft_ort_ignore(ort_status *s);
weft_status weft_ort_check(ort_status *s, const char *what, weft_error *err); /* INTERNAL, or NO_MEMORY */

/* ---- ort_onnx.c
 * ----------------------------------------------------------------------------------------------------------------------- */
typedef struct weft_onnx_facts {
    int64_t ir_version, opset; /* of the default domain; 0 = not known */
    char producer[128];        /* "pytorch 2.1", or "" */
    bool sizes_follow_values;  /* has a node whose output shape depends on values: NonZero, Loop, ... */
} weft_onnx_facts;
/* Reads the outer fields of an ONNX file, skipping weights. Never fails: what cannot be read stays unknown. */
void weft_onnx_read_facts(const char *path, weft_onnx_facts *out);
/* The same from memory, for tests. */
void weft_onnx_parse_facts(const uint8_t *data, size_t n_bytes, weft_onnx_facts *out);

/* ---- ort_model.c
 * ---------------------------------------------------------------------------------------------------------------------- */
#define WEFT_ORT_MAX_FILES 64
#define WEFT_ORT_MAX_TENSORS 1024
#define WEFT_ORT_LEARNED 8 /* input shapes whose output shapes an instance remembers; a power of two */

typedef struct weft_ort_file {
    ort_session *session;
    const char *path;
    weft_tensor_desc *inputs, *outputs;
} weft_ort_file;

/* Where a dynamic dim of an output comes from: the dim of the same name of an input. */
typedef struct weft_ort_dim {
    int16_t input, axis; /* input -1 = not known */
} weft_ort_dim;

typedef struct weft_ort_model {
    weft_arena *arena; /* holds all of this */
    weft_ort_self *self;
    weft_ort_account account;
    const char *name;
    size_t n_files, n_inputs, n_outputs;
    weft_ort_file *files;
    weft_tensor_desc *inputs, *outputs; /* of all files together */
    weft_ort_dim (*output_dims)[WEFT_MAX_RANK];
    _Atomic(bool) *unbound; /* per output: its size was told wrong once, so ORT allocates it */
    int64_t *batch_sizes;
    size_t n_batch_sizes;
    const char **input_names, **output_names;
    weft_onnx_facts facts;
    uint64_t weights_bytes;
    bool release_memory;
} weft_ort_model;

/* ---- ort_session.c */
extern const weft_ort_options weft_ort_default_options;
weft_status weft_ort_session_options(weft_ort_model *m, const weft_model_source *src, ort_session_options **out, weft_error *err);
/* cache: the path of `optimized_model`, or NULL. */
weft_status weft_ort_session_create(weft_ort_model *m, weft_ort_file *f, ort_session_options *so, const char *cache,
                                    weft_error *err);
/* That a model file is there; adds its size to *n_bytes. */
weft_status weft_ort_check_file(const char *model, const char *path, uint64_t *n_bytes, weft_error *err);
/* Bytes of malloc in use; 0 where that cannot be told (sanitizers, other C libraries). */
uint64_t weft_ort_heap_bytes(void);

weft_status weft_ort_model_load(void *self, const weft_model_source *src, void **model, weft_model_desc *desc, weft_error *err);
void weft_ort_model_unload(void *self, void *model);
weft_dtype weft_ort_dtype(int element); /* WEFT_DT_NONE = weft has no such type */
int weft_ort_element(weft_dtype t);
/* "UINT4", "FLOAT8E4M3FN", ... for messages. */
const char *weft_ort_element_name(int element);

/* ---- ort_run.c
 * ------------------------------------------------------------------------------------------------------------------------ */
weft_status weft_ort_instance_create(void *self, void *model, void **instance, weft_error *err);
void weft_ort_instance_destroy(void *self, void *instance);
weft_status weft_ort_run(void *self, void *instance, weft_run *run, weft_error *err);
void weft_ort_terminate(void *self, void *instance);

/* ---- ort_string.c
 * --------------------------------------------------------------------------------------------------------------------- */
/* A string tensor with the elements of t, which was checked. */
weft_status weft_ort_string_value(const weft_tensor *t, ort_value **out, weft_error *err);
/* Writes the elements of a string tensor into run->outputs[output] (shape and dtype are set already), taking memory where needed.
 */
weft_status weft_ort_string_output(ort_value *v, weft_run *run, size_t output, int64_t n_elements, weft_error *err);
/* The output's buffer with room for n_bytes: its own, or from run->alloc. NULL = out of memory (never for 0 bytes). */
void *weft_ort_room(weft_run *run, size_t output, size_t n_bytes);

#endif
