/* Executors and backends made for these tests: every kind of option, sub-models, and tables shaped like the author's types. */
#ifndef HELP_CONFIG_H
#define HELP_CONFIG_H

#include "harness/check.h"

#include "base/buffer.h"
#include "config/config.h"

typedef struct help_inner {
    int64_t count;
    double ratio;
    const char *label;
} help_inner;

typedef struct help_named {
    const char *key;
    int64_t level;
    bool active;
} help_named;

typedef struct help_kinds {
    bool flag;
    int64_t whole;
    double real;
    const char *text;
    int word;
    int tri;
    double wait_ms;
    uint64_t room_bytes;
    weft_size area;
    weft_list numbers; /* double */
    weft_list texts;   /* const char * */
    weft_list areas;   /* weft_size */
    weft_list files;   /* const char * */
    const char *file;
    help_inner inner;
    weft_list blocks; /* help_inner */
    weft_list named;  /* help_named */
    weft_list pass;   /* weft_key_value */
} help_kinds;

typedef struct help_preprocess {
    weft_size input_size;
    int resize_mode;
    int normalize;
    weft_list mean, std;
} help_preprocess;

typedef struct help_picture {
    help_preprocess preprocess;
    struct {
        double min_confidence;
        int64_t max_texts;
    } postprocess;
} help_picture;

typedef struct help_backend_options {
    int64_t spin_us;
    bool arena;
} help_backend_options;

extern const weft_option help_kinds_table[];
extern const weft_executor *const help_executors[];
extern const weft_backend *const help_backends[];

/* What the counting backend of help_backends saw; reset by the test. */
typedef struct help_counts {
    int opens, closes, loads, unloads, executor_opens, executor_closes;
} help_counts;
extern help_counts help_count;

/* Loads a text as "conf/weft.yaml" ("" with no_folder); fails the test when it does not load. Destroy the result. */
weft_config *help_load(const char *text);
/* All diagnostics of a text, one a line: "3:5 error models[0].name: text; did you mean x". The string is static. */
const char *help_mistakes(const char *text);
/* Equal by table: scalars, texts and lists, recursively. On a difference the path is in *where. */
bool help_equal(const weft_option *table, const void *a, const void *b, char *where, size_t n_where);

#endif
