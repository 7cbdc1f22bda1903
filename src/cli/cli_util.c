/* Messages, files and exit codes of the subcommands. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

int weft_cli_usage(const char *command, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, command ? "weft %s: " : "weft: ", command);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    if (command) {
        fprintf(stderr, "; see `weft %s --help`\n", command);
        return WEFT_EXIT_USAGE;
    }
    fprintf(stderr, "; see `weft --help`\n");
    return WEFT_EXIT_USAGE;
}

int weft_cli_fail(const char *command, const weft_error *err)
{
    fprintf(stderr, "weft %s: %s\n", command, err->text);
    return err->status == WEFT_E_CONFIG ? WEFT_EXIT_CONFIG : WEFT_EXIT_FAILED;
}

int weft_cli_help(const char *command)
{
    fputs(weft_command_find(command)->usage, stdout);
    return WEFT_EXIT_OK;
}

bool weft_cli_is_terminal(FILE *f)
{
    const char *term = getenv("TERM");
    return isatty(fileno(f)) && !(term && strcmp(term, "dumb") == 0);
}

weft_status weft_cli_read_file(const char *path, size_t max_bytes, unsigned char **data, size_t *n_bytes, weft_error *err)
{
    *data = NULL;
    *n_bytes = 0;
    FILE *f = fopen(path, "rb");
    struct stat st;
    int e = f && fstat(fileno(f), &st) == 0 ? (S_ISDIR(st.st_mode) ? EISDIR : 0) : errno;
    if (e) {
        if (f)
            fclose(f);
        return weft_fail(err, e == ENOENT ? WEFT_E_NOT_FOUND : WEFT_E_IO, "Cannot read %s: %s.", path, strerror(e));
    }
    size_t capacity = st.st_size > 0 ? (size_t)st.st_size + 1 : 65536, n = 0;
    unsigned char *p = capacity <= max_bytes + 1 ? malloc(capacity) : NULL;
    while (p && n <= max_bytes) {
        size_t got = fread(p + n, 1, capacity - n, f);
        n += got;
        if (n < capacity)
            break;
        unsigned char *more = realloc(p, capacity * 2);
        if (!more) {
            free(p);
            p = NULL;
            break;
        }
        p = more;
        capacity *= 2;
    }
    bool failed = ferror(f) != 0;
    fclose(f);
    if (!p || failed || n > max_bytes) {
        free(p);
        return weft_fail(err, failed ? WEFT_E_IO : WEFT_E_TOO_LARGE, failed ? "Reading %s failed." : "%s is too large.", path);
    }
    *data = p;
    *n_bytes = n;
    return WEFT_OK;
}

weft_status weft_cli_write_file(const char *path, const void *data, size_t n_bytes, weft_error *err)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return weft_fail(err, WEFT_E_IO, "Cannot write %s: %s.", path, strerror(errno));
    bool ok = fwrite(data, 1, n_bytes, f) == n_bytes;
    ok = fclose(f) == 0 && ok;
    return ok ? WEFT_OK : weft_fail(err, WEFT_E_IO, "Cannot write %s: %s.", path, strerror(errno));
}

const char *weft_cli_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
