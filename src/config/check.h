/* `weft config check`: the dry run. Opens every model file through its backend and every executor on what the file says, in load
 * order, and compares with the options; nothing is warmed and nothing runs. */
#ifndef WEFT_CONFIG_CHECK_H
#define WEFT_CONFIG_CHECK_H

#include "config/config.h"

/* Adds errors, warnings and notes (one for each model: what it is) to diags and sorts them. Each backend is opened once and
 * closed again; log may be NULL. OK when there are no errors; CONFIG with the messages joined; NO_MEMORY. */
weft_status weft_config_check(const weft_config *c, weft_log_fn log, void *log_cookie, weft_diagnostics *diags, weft_error *err);

#endif
