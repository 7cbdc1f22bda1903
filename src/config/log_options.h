/* What the logs may be told by the file: block `log:`. */
#ifndef WEFT_CONFIG_LOG_OPTIONS_H
#define WEFT_CONFIG_LOG_OPTIONS_H

#include "weft/option.h"

typedef enum weft_log_format { WEFT_LOG_FORMAT_TEXT = 1, WEFT_LOG_FORMAT_JSON } weft_log_format;

typedef struct weft_log_options {
    const char *directory;   /* NULL = no files: the process log goes to stderr, model logs are off */
    int level;               /* weft_log_level */
    int format;              /* weft_log_format */
    bool per_model;          /* one file a model, named MODEL-STARTTIME.log */
    uint64_t rotate_bytes;   /* a file that grows over this is closed and a new one begun */
    double rotate_age_ms;    /* likewise by age; 0 = never */
    int64_t keep_files;      /* rotated files kept per log */
    bool access;             /* one line a request in access-STARTTIME.log, or on stderr without a directory */
    double slow_ms;          /* requests slower than this get a line at level warn in the process log; 0 = off */
} weft_log_options;

extern const weft_option weft_log_option_table[];

#endif
