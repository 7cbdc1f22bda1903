/* Compiled and run only here: src/backend/onnxruntime/ort_abi.h against the vendor's header. WEFT_ORT_HEADER_DIR names the folder
 * that has onnxruntime_c_api.h. */
#include <onnxruntime_c_api.h>
#include <onnxruntime_session_options_config_keys.h>
#include <stdio.h>
#include <string.h>

/* Our names for the vendor's structs become theirs, so that the types of functions can be compared. */
#define ort_status OrtStatus
#define ort_env OrtEnv
#define ort_session OrtSession
#define ort_session_options OrtSessionOptions
#define ort_run_options OrtRunOptions
#define ort_value OrtValue
#define ort_memory_info OrtMemoryInfo
#define ort_type_info OrtTypeInfo
#define ort_tensor_info OrtTensorTypeAndShapeInfo
#define ort_cuda_options OrtCUDAProviderOptionsV2
#define ort_allocator our_allocator /* complete on both sides: members are compared below */
#include "backend/onnxruntime/ort_abi.h"

#define PLACE(place, vendor, result, name, args)                                                                                 \
    _Static_assert(offsetof(OrtApi, vendor) / sizeof(void *) == (place), #vendor " is at another place");                        \
    _Static_assert(sizeof(((OrtApi *)0)->vendor) == sizeof(((ort_calls *)0)->name), #vendor);
WEFT_ORT_CALLS(PLACE)
WEFT_ORT_LATER_CALLS(PLACE)

#define NUMBER(ours, value, vendor)                                                                                              \
    _Static_assert((int)(vendor) == (value) && (int)(ours) == (int)(vendor), #vendor " has another value");
WEFT_ORT_NUMBERS(NUMBER)

#define MEMBER(ours, vendor)                                                                                                     \
    _Static_assert(offsetof(ort_allocator, ours) == offsetof(OrtAllocator, vendor), "OrtAllocator." #vendor);
MEMBER(version, version)
MEMBER(alloc, Alloc)
MEMBER(free, Free)
MEMBER(info, Info)
MEMBER(reserve, Reserve)
_Static_assert(offsetof(ort_api_base, api) == offsetof(OrtApiBase, GetApi), "OrtApiBase");
_Static_assert(offsetof(ort_api_base, version) == offsetof(OrtApiBase, GetVersionString), "OrtApiBase");
_Static_assert(sizeof(enum OrtErrorCode) == sizeof(int) && sizeof(enum ONNXTensorElementDataType) == sizeof(int) &&
                   sizeof(enum OrtMemType) == sizeof(int),
               "enums are passed as int");
_Static_assert(ORT_API_VERSION >= WEFT_ORT_API_VERSION, "an older header than what weft calls");

/* Functions whose types differ in ways that do not matter to a call: an enum where we say int, our complete ort_allocator for
 * theirs, a handle of a thread. */
static const char different[] =
    " GetErrorCode CreateEnvWithCustomLogger RegisterAllocator GetAllocatorWithDefaultOptions AllocatorFree "
    "SetSessionExecutionMode "
    "SetSessionGraphOptimizationLevel SessionOptionsSetCustomCreateThreadFn SessionOptionsSetCustomJoinThreadFn "
    "SessionGetInputName SessionGetOutputName "
    "GetOnnxTypeFromTypeInfo GetTensorElementType CreateTensorAsOrtValue CreateTensorWithDataAsOrtValue GetValueType ";

int check_types(void);
int check_types(void)
{
    static OrtApi theirs;
    static ort_calls ours;
    int failed = 0;

#define COMPARE(place, vendor, result, name, args)                                                                               \
    if (!__builtin_types_compatible_p(__typeof__(theirs.vendor), __typeof__(ours.name)) !=                                       \
        !!strstr(different, " " #vendor " ")) {                                                                                  \
        printf("the type of %s is another one (or no longer is)\n", #vendor);                                                    \
        failed++;                                                                                                                \
    }
    WEFT_ORT_CALLS(COMPARE)
    WEFT_ORT_LATER_CALLS(COMPARE)
    (void)theirs;
    (void)ours;
    return failed;
}

int check_keys(void);
int check_keys(void)
{
    return strcmp(ORT_KEY_USE_ENV_ALLOCATORS, kOrtSessionOptionsConfigUseEnvAllocators) ||
           strcmp(ORT_KEY_INTRA_SPINNING, kOrtSessionOptionsConfigAllowIntraOpSpinning) ||
           strcmp(ORT_KEY_INTER_SPINNING, kOrtSessionOptionsConfigAllowInterOpSpinning);
}

int main(void)
{
    return check_keys() || check_types();
}
