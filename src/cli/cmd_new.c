/* weft new executor NAME: copies tools/new_executor/ of the source tree with the name put in, and registers it. */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/cli.h"
#include "executor/executor_list.h"

#define MAX_NAME 32
#define MAX_TEMPLATE_BYTES (1u << 20)
#define LIST_FILE "src/executor/executor_list.def"
#define LAYERS_FILE "script/layers.txt"

/* Where each template goes; @name@ stands for the new name. */
static const struct template_file {
    const char *from, *to;
} files[] = {
    {"tools/new_executor/name.h.in", "src/executor/@name@/@name@.h"},
    {"tools/new_executor/name.c.in", "src/executor/@name@/@name@.c"},
    {"tools/new_executor/test_name.c.in", "tests/unit/executor/test_@name@.c"},
    {"tools/new_executor/name.yaml.in", "examples/@name@.yaml"},
    {"tools/new_executor/name.fake.in", "examples/@name@.fake"},
};
#define N_FILES (sizeof files / sizeof *files)

/* ---- text -------------------------------------------------------------------------------------------------------------- */

/* Appends text with @name@ and @NAME@ replaced. */
static void expand(weft_buffer *out, const char *text, size_t n, const char *name)
{
    for (size_t i = 0; i < n;) {
        bool lower = n - i >= 6 && memcmp(text + i, "@name@", 6) == 0, upper = n - i >= 6 && memcmp(text + i, "@NAME@", 6) == 0;
        if (!lower && !upper) {
            weft_buffer_putc(out, text[i++]);
            continue;
        }
        for (const char *c = name; *c; c++)
            weft_buffer_putc(out, upper && *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
        i += 6;
    }
}

static weft_status path_in(weft_buffer *out, const char *root, const char *relative, const char *name, weft_error *err)
{
    weft_buffer_clear(out);
    weft_buffer_printf(out, "%s/", root);
    expand(out, relative, strlen(relative), name);
    weft_buffer_puts(out, "");
    return out->failed ? weft_fail(err, WEFT_E_NO_MEMORY, "out of memory") : WEFT_OK;
}

/* Reads root/relative and gives its text to `change`, which appends the new text; then writes it to root/to; `to` NULL only
 * tries. */
static weft_status write_changed(const char *root, const char *relative, const char *to, const char *name,
                                 weft_status (*change)(weft_buffer *out, const char *text, size_t n, const char *name,
                                                       weft_error *err),
                                 weft_error *err)
{
    weft_buffer path, text;
    unsigned char *data = NULL;
    size_t n = 0;
    weft_buffer_init(&path, 0);
    weft_buffer_init(&text, 2 * MAX_TEMPLATE_BYTES);
    weft_status s = path_in(&path, root, relative, name, err);
    if (s == WEFT_OK)
        s = weft_cli_read_file((const char *)path.data, MAX_TEMPLATE_BYTES, &data, &n, err);
    if (s == WEFT_OK)
        s = change(&text, (const char *)data, n, name, err);
    if (s == WEFT_OK && text.failed)
        s = weft_fail(err, WEFT_E_NO_MEMORY, "out of memory");
    if (s == WEFT_OK && to)
        s = path_in(&path, root, to, name, err);
    if (s == WEFT_OK && to)
        s = weft_cli_write_file((const char *)path.data, text.data, text.n_bytes, err);
    free(data);
    weft_buffer_fini(&path);
    weft_buffer_fini(&text);
    return s;
}

static weft_status fill_in(weft_buffer *out, const char *text, size_t n, const char *name, weft_error *err)
{
    expand(out, text, n, name);
    return WEFT_OK;
}

/* Appends the text with `line` put before the first line that starts with `before`. */
static weft_status insert_line(weft_buffer *out, const char *text, size_t n, const char *before, const char *line,
                               const char *file, weft_error *err)
{
    size_t n_before = strlen(before);
    for (size_t at = 0; at < n;) {
        if (n - at >= n_before && memcmp(text + at, before, n_before) == 0) {
            weft_buffer_append(out, text, at);
            weft_buffer_puts(out, line);
            weft_buffer_append(out, text + at, n - at);
            return WEFT_OK;
        }
        const char *end = memchr(text + at, '\n', n - at);
        at = end ? (size_t)(end - text) + 1 : n;
    }
    return weft_fail(err, WEFT_E_CONFLICT, "%s has no line that starts with \"%s\", so the new executor cannot be put before it",
                     file, before);
}

static weft_status add_to_list(weft_buffer *out, const char *text, size_t n, const char *name, weft_error *err)
{
    char line[MAX_NAME + 32];
    snprintf(line, sizeof line, "EXECUTOR(%s)\n", name);
    return insert_line(out, text, n, "/* new executors go here */", line, LIST_FILE, err);
}

static weft_status add_to_layers(weft_buffer *out, const char *text, size_t n, const char *name, weft_error *err)
{
    char line[MAX_NAME + 96];
    snprintf(line, sizeof line, "src/executor/%s: public base image vision executor.h builder\n", name);
    return insert_line(out, text, n, "src/config:", line, LAYERS_FILE, err);
}

/* ---- checks ------------------------------------------------------------------------------------------------------------ */

static weft_status check_name(const char *name, weft_error *err)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (n > 0 && n < MAX_NAME && name[n] == 0 && name[0] >= 'a' && name[0] <= 'z')
        return WEFT_OK;
    return weft_fail(err, WEFT_E_INVALID,
                     "\"%.64s\" cannot be a name: it becomes part of C names, so it takes a-z, 0-9 and _, starts with a letter "
                     "and has at most %d characters",
                     name, MAX_NAME - 1);
}

static bool is_tree(const char *root)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", root, LIST_FILE);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

/* The source tree that the current folder lies in. */
static weft_status find_root(const char *given, char root[PATH_MAX], weft_error *err)
{
    if (!realpath(given ? given : ".", root))
        return weft_fail(err, WEFT_E_NOT_FOUND, "there is no folder %s", given ? given : ".");
    while (!is_tree(root)) {
        char *slash = strrchr(root, '/');
        if (given || !slash || slash == root)
            return weft_fail(err, WEFT_E_NOT_FOUND,
                             "%s is not in a source tree of weft (it has no %s); go there, or name it with --root",
                             given ? given : "this folder", LIST_FILE);
        *slash = 0;
    }
    return WEFT_OK;
}

/* File names are unique in src/; nftw has no cookie, so the search keeps its answer here. */
static struct {
    char header[MAX_NAME + 4], source[MAX_NAME + 4];
    char found[PATH_MAX];
} search;

static int same_name(const char *path, const struct stat *st, int type, struct FTW *at)
{
    const char *name = path + at->base;
    if (type == FTW_F && (strcmp(name, search.header) == 0 || strcmp(name, search.source) == 0)) {
        snprintf(search.found, sizeof search.found, "%s", path);
        return 1;
    }
    return 0;
}

static weft_status check_free(const char *root, const char *name, weft_error *err)
{
    weft_buffer path;
    weft_status s = WEFT_OK;
    const weft_executor *taken = weft_executor_by_name(weft_builtin_executors, name);
    if (taken)
        return weft_fail(err, WEFT_E_CONFLICT, "the executor %s answers to this name already; choose another", taken->name);
    weft_buffer_init(&path, 0);
    for (size_t i = 0; s == WEFT_OK && i < N_FILES; i++) {
        s = path_in(&path, root, files[i].to, name, err);
        if (s == WEFT_OK && access((const char *)path.data, F_OK) == 0)
            s = weft_fail(err, WEFT_E_CONFLICT, "%s is there already; choose another name", path.data + strlen(root) + 1);
    }
    if (s == WEFT_OK)
        s = path_in(&path, root, "src", name, err);
    snprintf(search.header, sizeof search.header, "%s.h", name);
    snprintf(search.source, sizeof search.source, "%s.c", name);
    if (s == WEFT_OK && nftw((const char *)path.data, same_name, 16, FTW_PHYS) == 1)
        s = weft_fail(err, WEFT_E_CONFLICT, "file names are unique in src/, and %s has this one; choose another name",
                      search.found + strlen(root) + 1);
    weft_buffer_fini(&path);
    return s;
}

/* ---- the work ---------------------------------------------------------------------------------------------------------- */

/* Takes back what was written before a failure; only ever what this call has created. */
static void remove_files(const char *root, const char *name, size_t n)
{
    weft_buffer path;
    weft_buffer_init(&path, 0);
    for (size_t i = 0; i < n; i++)
        if (path_in(&path, root, files[i].to, name, NULL) == WEFT_OK)
            unlink((const char *)path.data);
    if (path_in(&path, root, "src/executor/@name@", name, NULL) == WEFT_OK)
        rmdir((const char *)path.data);
    weft_buffer_fini(&path);
}

static weft_status write_all(const char *root, const char *name, weft_error *err)
{
    weft_buffer folder;
    size_t done = 0;
    weft_buffer_init(&folder, 0);
    weft_status s = write_changed(root, LAYERS_FILE, NULL, name, add_to_layers, err);
    if (s == WEFT_OK)
        s = write_changed(root, LIST_FILE, NULL, name, add_to_list, err);
    if (s == WEFT_OK)
        s = path_in(&folder, root, "src/executor/@name@", name, err);
    if (s == WEFT_OK && mkdir((const char *)folder.data, 0777) != 0)
        s = weft_fail(err, errno == EEXIST ? WEFT_E_CONFLICT : WEFT_E_IO, "cannot make the folder %s: %s", folder.data,
                      strerror(errno));
    weft_buffer_fini(&folder);
    if (s != WEFT_OK)
        return s;
    for (; s == WEFT_OK && done < N_FILES; done++)
        s = write_changed(root, files[done].from, files[done].to, name, fill_in, err);
    if (s == WEFT_OK)
        s = write_changed(root, LAYERS_FILE, LAYERS_FILE, name, add_to_layers, err);
    if (s == WEFT_OK)
        s = write_changed(root, LIST_FILE, LIST_FILE, name, add_to_list, err);
    if (s != WEFT_OK)
        remove_files(root, name, done);
    return s;
}

static void say_what_is_next(const char *name)
{
    weft_buffer text;
    weft_buffer_init(&text, 0);
    static const char words[] = "src/executor/@name@/@name@.c          the executor: fill in its six parts\n"
                                "src/executor/@name@/@name@.h\n"
                                "src/executor/executor_list.def, script/layers.txt          one line each\n"
                                "tests/unit/executor/test_@name@.c     a test that passes\n"
                                "examples/@name@.yaml, @name@.fake     a configuration that runs with a stand-in for the model\n"
                                "\n"
                                "Next (docs/howto/add-an-executor.md):\n"
                                "  ./script/setup --test\n"
                                "  cmake --preset release -DBUILD_TESTING=ON\n"
                                "  cmake --build --preset release --target weft_program unit-executor\n"
                                "  ctest --preset release -R unit.executor.@name@\n"
                                "  build/release/weft run @name@ photo.jpg --config examples/@name@.yaml\n"
                                "\n"
                                "The block for your own configuration:\n"
                                "  - name: @name@\n"
                                "    type: @name@\n"
                                "    path: models/@name@.onnx\n"
                                "    postprocess:\n"
                                "      top_k: 3\n";
    expand(&text, words, sizeof words - 1, name);
    if (!text.failed)
        fwrite(text.data, 1, text.n_bytes, stdout);
    weft_buffer_fini(&text);
}

int weft_cmd_new(int argc, char **argv)
{
    static const struct option options[] = {{"root", required_argument, NULL, 0}, {"help", no_argument, NULL, 'h'}, {0}};
    const char *words[2] = {NULL, NULL}, *given_root = NULL;
    size_t n_words = 0;
    char root[PATH_MAX];
    weft_error err = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return weft_cli_help("new");
        if (strcmp(argv[i], "--root") == 0 && i + 1 < argc)
            given_root = argv[++i];
        else if (argv[i][0] == '-')
            return weft_cli_bad_option("new", options, argv[i]);
        else if (n_words < 2)
            words[n_words++] = argv[i];
        else
            return weft_cli_usage("new", "one name is expected, %s is another", argv[i]);
    }
    if (n_words == 0 || strcmp(words[0], "executor") != 0)
        return weft_cli_usage("new", "expected \"weft new executor NAME\", got %s%s%s", words[0] ? "\"weft new " : "nothing",
                              words[0] ? words[0] : "", words[0] ? "\"" : "");
    if (n_words < 2)
        return weft_cli_usage("new", "a name is missing: expected \"weft new executor NAME\"");
    if (check_name(words[1], &err) != WEFT_OK)
        return weft_cli_usage("new", "%s", err.text);
    weft_status s = find_root(given_root, root, &err);
    if (s == WEFT_OK)
        s = check_free(root, words[1], &err);
    if (s == WEFT_OK)
        s = write_all(root, words[1], &err);
    if (s != WEFT_OK)
        return weft_cli_fail("new", &err);
    say_what_is_next(words[1]);
    return WEFT_EXIT_OK;
}
