#include <string.h>

#include "base/option_text.h"
#include "weft/engine.h"

#define AT(member) offsetof(weft_engine_options, member)

const weft_option weft_engine_option_table[] = {
    {.name = "cores",
     .kind = WEFT_OPT_INT,
     .offset = AT(cores),
     .def = "0",
     .min = 0,
     .max = 4096,
     .unit = "cores",
     .help = "core tokens: runs on the CPU, preprocesses and postprocesses at once; 0 = the cores this process may use"},
    {.name = "max_starve_ms",
     .kind = WEFT_OPT_DURATION_MS,
     .offset = AT(max_starve_ms),
     .def = "1s",
     .min = 1,
     .max = 3600000,
     .unit = "ms",
     .help = "nothing waits longer than this while anything of lower claim runs"},
    {.name = "max_run_ms",
     .kind = WEFT_OPT_DURATION_MS,
     .offset = AT(max_run_ms),
     .def = "100ms",
     .min = 1,
     .max = 3600000,
     .unit = "ms",
     .help = "no batch is made longer than this while another model of the device waits"},
    {.name = "max_lost_runs",
     .kind = WEFT_OPT_INT,
     .offset = AT(max_lost_runs),
     .def = "2",
     .min = 0,
     .max = 1024,
     .unit = "runs",
     .help = "more runs that never end than this, and the process asks its supervisor for a restart"},
    {.name = "memory_limit",
     .kind = WEFT_OPT_BYTES,
     .offset = AT(memory_limit),
     .def = "0",
     .min = 0,
     .max = 1125899906842624.0,
     .unit = "bytes",
     .help = "host memory for requests (inputs, rows, results); 0 = no limit"},
    {.name = "onnxruntime_library",
     .kind = WEFT_OPT_STRING,
     .offset = AT(onnxruntime_library),
     .max_count = 4095,
     .is_path = true,
     .help = "path of libonnxruntime.so; absent = $WEFT_ONNXRUNTIME, then the loader's search, then beside the program"},
    {.kind = WEFT_OPT_END},
};

void weft_engine_options_init(weft_engine_options *o)
{
    memset(o, 0, sizeof(*o));
    /* Cannot fail: no list of this table has a default, and every default is tried by a test. */
    (void)weft_options_defaults(weft_engine_option_table, o, NULL, NULL);
}
