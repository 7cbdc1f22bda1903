#include "config/log_options.h"

#include "weft/engine.h"

#define AT(member) offsetof(weft_log_options, member)

static const weft_enum_value levels[] = {{"error", WEFT_LOG_ERROR, "what failed"},
                                         {"warn", WEFT_LOG_WARN, "and what may fail soon"},
                                         {"info", WEFT_LOG_INFO, "and what changed"},
                                         {"debug", WEFT_LOG_DEBUG, "and every step"},
                                         {NULL, 0, NULL}};
static const weft_enum_value formats[] = {{"text", WEFT_LOG_FORMAT_TEXT, "key=value lines for people"},
                                          {"json", WEFT_LOG_FORMAT_JSON, "one JSON object a line"},
                                          {NULL, 0, NULL}};

const weft_option weft_log_option_table[] = {
    {.name = "directory", .alias = "dir", .kind = WEFT_OPT_STRING, .offset = AT(directory), .max_count = 1024, .is_path = true,
     .help = "folder for log files; absent = the process log on stderr and no model logs"},
    {.name = "level", .kind = WEFT_OPT_ENUM, .offset = AT(level), .def = "info", .values = levels, .help = "least important lines that are written"},
    {.name = "format", .kind = WEFT_OPT_ENUM, .offset = AT(format), .def = "text", .values = formats, .help = "form of a line"},
    {.name = "per_model", .kind = WEFT_OPT_BOOL, .offset = AT(per_model), .def = "true",
     .help = "one file for each model: MODEL-STARTTIME.log, a line for each request with its stage times"},
    {.name = "rotate_bytes", .kind = WEFT_OPT_BYTES, .offset = AT(rotate_bytes), .def = "64MiB", .min = 4096, .max = 1e12, .unit = "bytes",
     .help = "a file over this size is closed and a new one begun"},
    {.name = "rotate_age_ms", .kind = WEFT_OPT_DURATION_MS, .offset = AT(rotate_age_ms), .def = "24h", .min = 0, .max = 31536000000.0,
     .unit = "ms", .help = "likewise by age; 0 = never"},
    {.name = "keep_files", .kind = WEFT_OPT_INT, .offset = AT(keep_files), .def = "7", .min = 1, .max = 1000,
     .help = "files kept for each log, the current one included"},
    {.name = "slow_ms", .kind = WEFT_OPT_DURATION_MS, .offset = AT(slow_ms), .def = "0", .min = 0, .max = 3600000, .unit = "ms",
     .help = "requests slower than this also get a line in the process log; 0 = off"},
    {.kind = WEFT_OPT_END},
};
