/* Messages, files and exit codes of the subcommands. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

int weft_cli_usage(const char *command, const char *fmt, ...)
{
    char text[WEFT_ERROR_TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    bool question = text[0] && text[strlen(text) - 1] == '?';
    const char *space = command ? " " : "", *name = command ? command : "";
    fprintf(stderr, "weft%s%s: %s%s `weft%s%s --help`\n", space, name, text, question ? " See" : "; see", space, name);
    return WEFT_EXIT_USAGE;
}

void weft_cli_plain(weft_error *err)
{
    char *t = err->text;
    size_t n = strlen(t);
    if (t[0] >= 'A' && t[0] <= 'Z' && ((t[1] >= 'a' && t[1] <= 'z') || t[1] == ' ')) /* not ONNX, JPEG */
        t[0] = (char)(t[0] - 'A' + 'a');
    if (n > 1 && t[n - 1] == '.' && t[n - 2] != '.')
        t[n - 1] = 0;
}

int weft_cli_fail(const char *command, const weft_error *err)
{
    weft_error plain = *err;
    weft_cli_plain(&plain);
    fprintf(stderr, "weft %s: %s\n", command, plain.text);
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

/* ---- options ----------------------------------------------------------------------------------------------------------------
 */

/* What an option wants, as the help texts call it. */
static const char *value_of(const char *option)
{
    static const struct {
        const char *option, *value;
    } values[] = {{"config", "a FILE"},        {"draw", "a FILE"},     {"image", "a FILE"},  {"output", "a folder"},
                  {"log-dir", "a folder"},     {"type", "a NAME"},     {"port", "a number"}, {"grpc-port", "a number"},
                  {"timeout", "milliseconds"}, {"host", "an address"}, {"root", "a folder"}, {"input", "NAME=FILE"}};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (strcmp(values[i].option, option) == 0)
            return values[i].value;
    return "a value";
}

static const struct option *find_option(const struct option *table, const char *given, size_t n)
{
    for (const struct option *o = table; o->name; o++)
        if (given[1] == '-' ? strlen(o->name) == n - 2 && memcmp(o->name, given + 2, n - 2) == 0 : n == 2 && o->val == given[1])
            return o;
    return NULL;
}

int weft_cli_bad_option(const char *command, const struct option *table, const char *given)
{
    const char *equals = strchr(given, '='), *names[64];
    size_t n = equals ? (size_t)(equals - given) : strlen(given), n_names = 0;
    const struct option *o = n >= 2 ? find_option(table, given, n) : NULL;
    if (o && o->has_arg == required_argument)
        return weft_cli_usage(command, "%.*s needs %s", (int)n, given, value_of(o->name));
    if (o)
        return weft_cli_usage(command, "%.*s takes no value, but got \"%s\"", (int)n, given, equals ? equals + 1 : "");
    for (o = table; o->name && n_names < 64; o++)
        names[n_names++] = o->name;
    char bare[64];
    snprintf(bare, sizeof(bare), "%.*s", n > 2 ? (int)(n - 2) : 0, given + (n > 2 ? 2 : 0));
    const char *near = given[1] == '-' ? weft_nearest_name(bare, names, n_names) : NULL;
    if (near)
        return weft_cli_usage(command, "unknown option \"%.*s\"; did you mean \"--%s\"?", (int)n, given, near);
    return weft_cli_usage(command, "unknown option \"%.*s\"", (int)n, given);
}

int weft_cli_unknown_command(const char *name)
{
    const char *names[32];
    size_t n = 0;
    for (const weft_command *c = weft_commands; c->name && n < 32; c++)
        names[n++] = c->name;
    const char *near = weft_nearest_name(name, names, n);
    if (near)
        return weft_cli_usage(NULL, "there is no command \"%s\"; did you mean \"%s\"?", name, near);
    return weft_cli_usage(NULL, "there is no command \"%s\"", name);
}

/* ---- files ------------------------------------------------------------------------------------------------------------------
 */

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
        return weft_fail(err, e == ENOENT ? WEFT_E_NOT_FOUND : WEFT_E_IO, "cannot read %s: %s", path, strerror(e));
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
        return weft_fail(err, failed ? WEFT_E_IO : WEFT_E_TOO_LARGE, failed ? "reading %s failed" : "%s is too large", path);
    }
    *data = p;
    *n_bytes = n;
    return WEFT_OK;
}

weft_status weft_cli_write_file(const char *path, const void *data, size_t n_bytes, weft_error *err)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return weft_fail(err, WEFT_E_IO, "cannot write %s: %s", path, strerror(errno));
    bool ok = fwrite(data, 1, n_bytes, f) == n_bytes;
    ok = fclose(f) == 0 && ok;
    return ok ? WEFT_OK : weft_fail(err, WEFT_E_IO, "cannot write %s: %s", path, strerror(errno));
}

const char *weft_cli_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool weft_cli_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool weft_cli_parent_exists(const char *path, char *parent, size_t n_parent)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    snprintf(parent, n_parent, "%.*s", n ? (int)n : 1, n ? path : ".");
    return weft_cli_is_folder(parent);
}
