/* Where `weft run` puts drawn pictures and outputs: checked before anything is loaded, written after each run. */
#ifndef WEFT_CLI_RUN_OUTPUT_H
#define WEFT_CLI_RUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "weft/result.h"

/* --draw: a .png or .jpg file in a folder that is there; with several pictures a folder. INVALID with what was expected. */
weft_status weft_run_check_draw(const char *draw, bool many, weft_error *err);
/* --output: a folder, or one that can be made. */
weft_status weft_run_check_output(const char *folder, weft_error *err);
/* Decodes the picture again, draws the result on it and writes it; *path (n_path bytes) is where. The folder is made when
 * missing. */
weft_status weft_run_draw(const char *draw, bool many, const char *picture_path, const void *bytes, size_t n_bytes,
                          const weft_result *r, char *path, size_t n_path, weft_error *err);
/* FOLDER/NAME.npy for each tensor, FOLDER/NAME.txt with one line for each string. */
weft_status weft_run_write_outputs(const char *folder, const weft_result *r, weft_error *err);

#endif
