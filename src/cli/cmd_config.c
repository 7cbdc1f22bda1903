/* weft config: check, print, reference. */
#include <getopt.h>
#include <string.h>

#include "backend/backend_list.h"
#include "base/buffer.h"
#include "base/text.h"
#include "cli/cli.h"
#include "config/check.h"
#include "config/reference.h"
#include "executor/executor_list.h"

static int put(weft_buffer *out, FILE *f, int exit_code)
{
    if (out->failed) {
        fprintf(stderr, "weft config: out of memory\n");
        exit_code = WEFT_EXIT_FAILED;
    } else if (out->n_bytes && fwrite(out->data, 1, out->n_bytes, f) != out->n_bytes) {
        exit_code = WEFT_EXIT_FAILED;
    }
    weft_buffer_fini(out);
    return exit_code;
}

static int check(const char *path, bool json)
{
    weft_error err;
    weft_config *c = NULL;
    weft_diagnostics *diags = weft_diagnostics_create();
    weft_buffer out;
    weft_buffer_init(&out, 0);
    weft_status st = weft_config_load_file(path, weft_builtin_executors, weft_builtin_backends, &c, diags, &err);
    if (st == WEFT_OK)
        st = weft_config_check(c, NULL, NULL, diags, &err);
    if (json)
        weft_diagnostics_json(diags, &out);
    else if (weft_diagnostics_count(diags) > 0)
        weft_diagnostics_print(diags, &out, weft_cli_is_terminal(stdout));
    else if (st != WEFT_OK)
        weft_buffer_printf(&out, "%s: %s\n", path, err.text);
    if (!json && st == WEFT_OK)
        weft_buffer_printf(&out, "%s: fine, %zu model%s\n", path, c->n_models, c->n_models == 1 ? "" : "s");
    if (json && (!out.n_bytes || out.data[out.n_bytes - 1] != '\n'))
        weft_buffer_putc(&out, '\n');
    weft_diagnostics_destroy(&diags);
    weft_config_destroy(&c);
    return put(&out, stdout, st == WEFT_OK ? WEFT_EXIT_OK : WEFT_EXIT_CONFIG);
}

static int print(const char *path)
{
    int exit_code;
    weft_config *c = weft_cli_config("config", path, &exit_code);
    if (!c)
        return exit_code;
    weft_buffer out;
    weft_buffer_init(&out, 0);
    weft_config_print(c, &out);
    weft_config_destroy(&c);
    return put(&out, stdout, WEFT_EXIT_OK);
}

static int reference(void)
{
    weft_buffer out;
    weft_buffer_init(&out, 0);
    weft_config_reference(weft_builtin_executors, weft_builtin_backends, &out);
    return put(&out, stdout, WEFT_EXIT_OK);
}

static int unknown_word(const char *what)
{
    static const char *const words[] = {"check", "print", "reference"};
    const char *near = weft_nearest_name(what, words, 3);
    if (near)
        return weft_cli_usage("config", "there is no \"weft config %s\"; did you mean \"%s\"?", what, near);
    return weft_cli_usage("config", "expected check, print or reference, got %s%s%s", what[0] ? "\"" : "",
                          what[0] ? what : "nothing", what[0] ? "\"" : "");
}

int weft_cmd_config(int argc, char **argv)
{
    static const struct option long_options[] = {{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
    bool json = false;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (c != 'j')
            return weft_cli_bad_option("config", long_options, argv[optind - 1]);
        json = true;
    }
    const char *what = optind < argc ? argv[optind] : "", *path = optind + 1 < argc ? argv[optind + 1] : NULL;
    if (strcmp(what, "reference") == 0)
        return reference();
    bool is_check = strcmp(what, "check") == 0;
    if (!is_check && strcmp(what, "print") != 0)
        return unknown_word(what);
    if (!path)
        return weft_cli_usage("config", "expected \"weft config %s FILE\", got no file", what);
    if (optind + 2 < argc)
        return weft_cli_usage("config", "one file is expected, \"%s\" is another", argv[optind + 2]);
    return is_check ? check(path, json) : print(path);
}
