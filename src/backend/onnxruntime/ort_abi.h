/* What weft calls of ONNX Runtime's C interface, declared by us.
 *
 * The library has one entry, OrtGetApiBase. It leads to a table of functions that only ever grows: a function keeps its place for
 * ever. So neither a header nor a library of ONNX Runtime is needed to build, and one program runs with every release from
 * WEFT_ORT_API_VERSION on. tests/conformance/ort_abi_check.c compares every place, number and struct below with the vendor's
 * header where one is present.
 *
 * Every function that returns an ort_status * returns NULL for success; otherwise the status must be given back with
 * status_release. Strings are UTF-8. Sources of the facts: the vendor's onnxruntime_c_api.h and the key lists beside it (session
 * options). */
#ifndef WEFT_ORT_ABI_H
#define WEFT_ORT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The oldest interface that holds all of WEFT_ORT_CALLS: that of release 1.15. */
#define WEFT_ORT_API_VERSION 15
#define WEFT_ORT_OLDEST_RELEASE "1.15"
/* Interface with WEFT_ORT_LATER_CALLS; used when the library has it. */
#define WEFT_ORT_LATER_API_VERSION 24

typedef struct ort_status ort_status;
typedef struct ort_env ort_env;
typedef struct ort_session ort_session;
typedef struct ort_session_options ort_session_options;
typedef struct ort_run_options ort_run_options;
typedef struct ort_value ort_value;
typedef struct ort_memory_info ort_memory_info;
typedef struct ort_type_info ort_type_info;
typedef struct ort_tensor_info ort_tensor_info;
typedef struct ort_cuda_options ort_cuda_options;

/* A table of callbacks that the library calls instead of its own allocator. `version` says which members are there: 18 ends with
 * `reserve`. */
typedef struct ort_allocator {
    uint32_t version;
    void *(*alloc)(struct ort_allocator *a, size_t n_bytes);
    void (*free)(struct ort_allocator *a, void *p);
    const ort_memory_info *(*info)(const struct ort_allocator *a);
    void *(*reserve)(struct ort_allocator *a, size_t n_bytes); /* memory that a session keeps: weights */
} ort_allocator;
#define WEFT_ORT_ALLOCATOR_VERSION 18

typedef struct ort_api_base {
    const void *const *(*api)(uint32_t version); /* the table, or NULL when the library is older */
    const char *(*version)(void);
} ort_api_base;
#define WEFT_ORT_ENTRY "OrtGetApiBase"

typedef void (*ort_log_fn)(void *cookie, int level, const char *category, const char *id, const char *place, const char *message);
typedef void (*ort_work_fn)(void *work);
/* Starts a thread that calls fn(work) and returns a handle that is not NULL. */
typedef const void *(*ort_thread_start_fn)(void *cookie, ort_work_fn fn, void *work);
typedef void (*ort_thread_join_fn)(const void *handle);

/* X(our name, value, vendor's name) */
#define WEFT_ORT_NUMBERS(X)                                                                                                      \
    X(ORT_CODE_FAIL, 1, ORT_FAIL)                                                                                                \
    X(ORT_CODE_INVALID_ARGUMENT, 2, ORT_INVALID_ARGUMENT)                                                                        \
    X(ORT_CODE_NO_SUCH_FILE, 3, ORT_NO_SUCHFILE)                                                                                 \
    X(ORT_CODE_BAD_PROTOBUF, 7, ORT_INVALID_PROTOBUF)                                                                            \
    X(ORT_CODE_NOT_IMPLEMENTED, 9, ORT_NOT_IMPLEMENTED)                                                                          \
    X(ORT_CODE_BAD_GRAPH, 10, ORT_INVALID_GRAPH)                                                                                 \
    X(ORT_KIND_TENSOR, 1, ONNX_TYPE_TENSOR)                                                                                      \
    X(ORT_KIND_SEQUENCE, 2, ONNX_TYPE_SEQUENCE)                                                                                  \
    X(ORT_KIND_MAP, 3, ONNX_TYPE_MAP)                                                                                            \
    X(ORT_KIND_OPAQUE, 4, ONNX_TYPE_OPAQUE)                                                                                      \
    X(ORT_KIND_SPARSE, 5, ONNX_TYPE_SPARSETENSOR)                                                                                \
    X(ORT_KIND_OPTIONAL, 6, ONNX_TYPE_OPTIONAL)                                                                                  \
    X(ORT_LOG_VERBOSE, 0, ORT_LOGGING_LEVEL_VERBOSE)                                                                             \
    X(ORT_LOG_INFO, 1, ORT_LOGGING_LEVEL_INFO)                                                                                   \
    X(ORT_LOG_WARNING, 2, ORT_LOGGING_LEVEL_WARNING)                                                                             \
    X(ORT_LOG_ERROR, 3, ORT_LOGGING_LEVEL_ERROR)                                                                                 \
    X(ORT_LOG_FATAL, 4, ORT_LOGGING_LEVEL_FATAL)                                                                                 \
    X(ORT_OPTIMIZE_OFF, 0, ORT_DISABLE_ALL)                                                                                      \
    X(ORT_OPTIMIZE_BASIC, 1, ORT_ENABLE_BASIC)                                                                                   \
    X(ORT_OPTIMIZE_EXTENDED, 2, ORT_ENABLE_EXTENDED)                                                                             \
    X(ORT_OPTIMIZE_ALL, 99, ORT_ENABLE_ALL)                                                                                      \
    X(ORT_ONE_NODE_AT_A_TIME, 0, ORT_SEQUENTIAL)                                                                                 \
    X(ORT_PLAIN_ALLOCATOR, 0, OrtDeviceAllocator)                                                                                \
    X(ORT_USUAL_MEMORY, 0, OrtMemTypeDefault)                                                                                    \
    X(ORT_ELEMENT_F32, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)                                                                   \
    X(ORT_ELEMENT_U8, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8)                                                                    \
    X(ORT_ELEMENT_I8, 3, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8)                                                                     \
    X(ORT_ELEMENT_U16, 4, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16)                                                                  \
    X(ORT_ELEMENT_I16, 5, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16)                                                                   \
    X(ORT_ELEMENT_I32, 6, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32)                                                                   \
    X(ORT_ELEMENT_I64, 7, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)                                                                   \
    X(ORT_ELEMENT_STRING, 8, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING)                                                               \
    X(ORT_ELEMENT_BOOL, 9, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL)                                                                   \
    X(ORT_ELEMENT_F16, 10, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16)                                                                \
    X(ORT_ELEMENT_F64, 11, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE)                                                                 \
    X(ORT_ELEMENT_U32, 12, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32)                                                                 \
    X(ORT_ELEMENT_U64, 13, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64)                                                                 \
    X(ORT_ELEMENT_BF16, 16, ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16)

enum {
#define WEFT_ORT_NUMBER(ours, value, vendor) ours = (value),
    WEFT_ORT_NUMBERS(WEFT_ORT_NUMBER)
#undef WEFT_ORT_NUMBER
};

/* X(place in the table, vendor's name, result, our name, (arguments)) */
#define WEFT_ORT_CALLS(X)                                                                                                        \
    X(1, GetErrorCode, int, status_code, (const ort_status *s))                                                                  \
    X(2, GetErrorMessage, const char *, status_text, (const ort_status *s))                                                      \
    X(93, ReleaseStatus, void, status_release, (ort_status * s))                                                                 \
    X(4, CreateEnvWithCustomLogger, ort_status *, env_create,                                                                    \
      (ort_log_fn log, void *cookie, int level, const char *id, ort_env **out))                                                  \
    X(6, DisableTelemetryEvents, ort_status *, env_no_telemetry, (const ort_env *e))                                             \
    X(92, ReleaseEnv, void, env_release, (ort_env * e))                                                                          \
    X(176, RegisterAllocator, ort_status *, env_set_allocator, (ort_env * e, ort_allocator * a))                                 \
    X(177, UnregisterAllocator, ort_status *, env_unset_allocator, (ort_env * e, const ort_memory_info *m))                      \
    X(125, GetAvailableProviders, ort_status *, providers, (char ***out, int *n))                                                \
    X(126, ReleaseAvailableProviders, ort_status *, providers_release, (char **p, int n))                                        \
    X(68, CreateMemoryInfo, ort_status *, memory_info_create,                                                                    \
      (const char *name, int allocator, int id, int memory, ort_memory_info **out))                                              \
    X(94, ReleaseMemoryInfo, void, memory_info_release, (ort_memory_info * m))                                                   \
    X(78, GetAllocatorWithDefaultOptions, ort_status *, default_allocator, (ort_allocator * *out))                               \
    X(76, AllocatorFree, ort_status *, allocator_free, (ort_allocator * a, void *p))                                             \
    X(10, CreateSessionOptions, ort_status *, options_create, (ort_session_options * *out))                                      \
    X(100, ReleaseSessionOptions, void, options_release, (ort_session_options * o))                                              \
    X(11, SetOptimizedModelFilePath, ort_status *, options_save_to, (ort_session_options * o, const char *path))                 \
    X(13, SetSessionExecutionMode, ort_status *, options_mode, (ort_session_options * o, int mode))                              \
    X(17, DisableMemPattern, ort_status *, options_no_pattern, (ort_session_options * o))                                        \
    X(22, SetSessionLogSeverityLevel, ort_status *, options_log_level, (ort_session_options * o, int level))                     \
    X(23, SetSessionGraphOptimizationLevel, ort_status *, options_optimize, (ort_session_options * o, int level))                \
    X(24, SetIntraOpNumThreads, ort_status *, options_intra_threads, (ort_session_options * o, int n))                           \
    X(25, SetInterOpNumThreads, ort_status *, options_inter_threads, (ort_session_options * o, int n))                           \
    X(124, AddFreeDimensionOverrideByName, ort_status *, options_fix_dim,                                                        \
      (ort_session_options * o, const char *dim, int64_t size))                                                                  \
    X(130, AddSessionConfigEntry, ort_status *, options_set, (ort_session_options * o, const char *key, const char *value))      \
    X(196, SessionOptionsSetCustomCreateThreadFn, ort_status *, options_thread_start,                                            \
      (ort_session_options * o, ort_thread_start_fn fn))                                                                         \
    X(197, SessionOptionsSetCustomThreadCreationOptions, ort_status *, options_thread_cookie,                                    \
      (ort_session_options * o, void *cookie))                                                                                   \
    X(198, SessionOptionsSetCustomJoinThreadFn, ort_status *, options_thread_join,                                               \
      (ort_session_options * o, ort_thread_join_fn fn))                                                                          \
    X(216, SessionOptionsAppendExecutionProvider, ort_status *, options_add_provider,                                            \
      (ort_session_options * o, const char *name, const char *const *keys, const char *const *values, size_t n))                 \
    X(205, CreateCUDAProviderOptions, ort_status *, cuda_options_create, (ort_cuda_options * *out))                              \
    X(206, UpdateCUDAProviderOptions, ort_status *, cuda_options_set,                                                            \
      (ort_cuda_options * o, const char *const *keys, const char *const *values, size_t n))                                      \
    X(208, ReleaseCUDAProviderOptions, void, cuda_options_release, (ort_cuda_options * o))                                       \
    X(204, SessionOptionsAppendExecutionProvider_CUDA_V2, ort_status *, options_add_cuda,                                        \
      (ort_session_options * o, const ort_cuda_options *c))                                                                      \
    X(7, CreateSession, ort_status *, session_create,                                                                            \
      (const ort_env *e, const char *path, const ort_session_options *o, ort_session **out))                                     \
    X(95, ReleaseSession, void, session_release, (ort_session * s))                                                              \
    X(30, SessionGetInputCount, ort_status *, session_inputs, (const ort_session *s, size_t *n))                                 \
    X(31, SessionGetOutputCount, ort_status *, session_outputs, (const ort_session *s, size_t *n))                               \
    X(36, SessionGetInputName, ort_status *, session_input_name,                                                                 \
      (const ort_session *s, size_t i, ort_allocator *a, char **name))                                                           \
    X(37, SessionGetOutputName, ort_status *, session_output_name,                                                               \
      (const ort_session *s, size_t i, ort_allocator *a, char **name))                                                           \
    X(33, SessionGetInputTypeInfo, ort_status *, session_input_type, (const ort_session *s, size_t i, ort_type_info **out))      \
    X(34, SessionGetOutputTypeInfo, ort_status *, session_output_type, (const ort_session *s, size_t i, ort_type_info **out))    \
    X(98, ReleaseTypeInfo, void, type_release, (ort_type_info * t))                                                              \
    X(56, GetOnnxTypeFromTypeInfo, ort_status *, type_kind, (const ort_type_info *t, int *kind))                                 \
    X(55, CastTypeInfoToTensorInfo, ort_status *, type_tensor, (const ort_type_info *t, const ort_tensor_info **borrowed))       \
    X(60, GetTensorElementType, ort_status *, tensor_element, (const ort_tensor_info *t, int *element))                          \
    X(61, GetDimensionsCount, ort_status *, tensor_rank, (const ort_tensor_info *t, size_t *rank))                               \
    X(62, GetDimensions, ort_status *, tensor_dims, (const ort_tensor_info *t, int64_t *dims, size_t rank))                      \
    X(63, GetSymbolicDimensions, ort_status *, tensor_dim_names, (const ort_tensor_info *t, const char **borrowed, size_t rank)) \
    X(99, ReleaseTensorTypeAndShapeInfo, void, tensor_release, (ort_tensor_info * t))                                            \
    X(39, CreateRunOptions, ort_status *, run_options_create, (ort_run_options * *out))                                          \
    X(97, ReleaseRunOptions, void, run_options_release, (ort_run_options * r))                                                   \
    X(41, RunOptionsSetRunLogSeverityLevel, ort_status *, run_options_log_level, (ort_run_options * r, int level))               \
    X(46, RunOptionsSetTerminate, ort_status *, run_options_stop, (ort_run_options * r))                                         \
    X(47, RunOptionsUnsetTerminate, ort_status *, run_options_go, (ort_run_options * r))                                         \
    X(9, Run, ort_status *, run,                                                                                                 \
      (ort_session * s, const ort_run_options *r, const char *const *in_names, const ort_value *const *in, size_t n_in,          \
       const char *const *out_names, size_t n_out, ort_value **out))                                                             \
    X(48, CreateTensorAsOrtValue, ort_status *, value_create,                                                                    \
      (ort_allocator * a, const int64_t *dims, size_t rank, int element, ort_value **out))                                       \
    X(49, CreateTensorWithDataAsOrtValue, ort_status *, value_over,                                                              \
      (const ort_memory_info *m, void *data, size_t n_bytes, const int64_t *dims, size_t rank, int element, ort_value **out))    \
    X(96, ReleaseValue, void, value_release, (ort_value * v))                                                                    \
    X(67, GetValueType, ort_status *, value_kind, (const ort_value *v, int *kind))                                               \
    X(65, GetTensorTypeAndShape, ort_status *, value_tensor, (const ort_value *v, ort_tensor_info **out))                        \
    X(51, GetTensorMutableData, ort_status *, value_data, (ort_value * v, void **data))                                          \
    X(53, GetStringTensorDataLength, ort_status *, strings_bytes, (const ort_value *v, size_t *n_bytes))                         \
    X(54, GetStringTensorContent, ort_status *, strings_content,                                                                 \
      (const ort_value *v, void *to, size_t n_bytes, size_t *offsets, size_t n_offsets))                                         \
    X(252, GetResizedStringTensorElementBuffer, ort_status *, string_room, (ort_value * v, size_t i, size_t n_bytes, char **to))

#define WEFT_ORT_LATER_CALLS(X) X(390, TensorTypeAndShape_HasShape, bool, tensor_has_shape, (const ort_tensor_info *t))

typedef struct ort_calls {
#define WEFT_ORT_MEMBER(place, vendor, result, name, args) result(*name) args;
    WEFT_ORT_CALLS(WEFT_ORT_MEMBER)
    WEFT_ORT_LATER_CALLS(WEFT_ORT_MEMBER) /* NULL when the library is older */
#undef WEFT_ORT_MEMBER
} ort_calls;

/* Keys of options_set. */
#define ORT_KEY_USE_ENV_ALLOCATORS "session.use_env_allocators"
#define ORT_KEY_INTRA_SPINNING "session.intra_op.allow_spinning"
#define ORT_KEY_INTER_SPINNING "session.inter_op.allow_spinning"

#endif
