/* One log file family: DIR/NAME-YYYYMMDD-HHMMSS-mmm.log (UTC), rotated by size and age, old ones removed. One thread at a time.
 */
#ifndef WEFT_LOG_LOG_FILE_H
#define WEFT_LOG_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/status.h"

typedef struct weft_log_file {
    int fd; /* -1 = not open */
    const char *directory;
    char name[80];
    uint64_t rotate_bytes, n_bytes;
    int64_t rotate_age_ns, opened_ns; /* monotonic */
    int64_t keep_files;
    bool failed; /* a write failed: reported once, tried again at the next rotation */
} weft_log_file;

/* directory lives as long as the file. Opens lazily at the first write. */
void weft_log_file_init(weft_log_file *f, const char *directory, const char *name, uint64_t rotate_bytes, int64_t rotate_age_ns,
                        int64_t keep_files);
void weft_log_file_fini(weft_log_file *f);
/* Appends whole lines; rotates first when it is time. IO on the first failure of a file, OK when it is already known to fail. */
weft_status weft_log_file_write(weft_log_file *f, const char *lines, size_t n_bytes, weft_error *err);

#endif
