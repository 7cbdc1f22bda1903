/* weft run: a model on pictures or tensors, once each. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/cli.h"
#include "cli/npy.h"
#include "cli/run_output.h"
#include "cli/show_result.h"
#include "image/decode.h"
#include "wire/result_json.h"

#define MAX_FILE_BYTES ((size_t)1 << 30)
#define MAX_TENSORS 32

typedef struct run_options {
    const char *config, *type, *draw, *output;
    char *inputs[MAX_TENSORS]; /* NAME=FILE or FILE */
    size_t n_inputs;
    int64_t timeout_ms;
    bool json, debug;
    bool is_file; /* the model is a file, not a name of the configuration */
} run_options;

static const struct option long_options[] = {{"config", required_argument, NULL, 'c'}, {"type", required_argument, NULL, 't'},
                                             {"input", required_argument, NULL, 'i'},  {"draw", required_argument, NULL, 'd'},
                                             {"output", required_argument, NULL, 'o'}, {"timeout", required_argument, NULL, 'T'},
                                             {"json", no_argument, NULL, 'j'},         {"debug", no_argument, NULL, 'D'},
                                             {"image", required_argument, NULL, 'I'},  {NULL, 0, NULL, 0}};

static void log_to_stderr(void *cookie, weft_log_level level, const char *event, const char *model, const char *line)
{
    const run_options *o = cookie;
    if (level <= WEFT_LOG_WARN || o->debug)
        fprintf(stderr, "weft: %s%s%s: %s\n", event, model[0] ? " " : "", model, line);
}

/* ---- one run -------------------------------------------------------------------------------------------------------------- */

static void show(const run_options *o, const char *title, const weft_result *r)
{
    weft_buffer out;
    weft_buffer_init(&out, 0);
    if (o->json) {
        weft_result_json(&out, r);
        weft_buffer_putc(&out, '\n');
    } else {
        weft_show_result(&out, title, r);
    }
    if (out.failed)
        fprintf(stderr, "weft run: out of memory while printing\n");
    else
        fwrite(out.data, 1, out.n_bytes, stdout);
    weft_buffer_fini(&out);
}

static weft_status infer(const run_options *o, weft_engine *e, const char *model, const weft_input *inputs, size_t n,
                         const char *id, weft_result **r, weft_error *err)
{
    weft_call call = {.model = model, .id = id, .inputs = inputs, .n_inputs = n, .timeout_ms = o->timeout_ms};
    return weft_infer(e, &call, r, err);
}

/* A model of raw tensors was given a picture: says how to run a picture model. */
static void add_picture_hint(const run_options *o, weft_engine *e, const char *model, const char *path, const void *bytes,
                             size_t n_bytes, weft_error *err)
{
    const weft_model_info *info = NULL;
    weft_picture_info picture;
    char types[300];
    if (weft_engine_model_info(e, model, &info, NULL) != WEFT_OK)
        return;
    bool takes_tensors = info->picture_input == NULL;
    weft_model_info_unref(info);
    if (!takes_tensors || weft_picture_probe(bytes, n_bytes, NULL, &picture, NULL) != WEFT_OK)
        return;
    weft_cli_picture_types(types, sizeof(types));
    weft_error before = *err;
    weft_cli_plain(&before);
    weft_fail(err, before.status, "%.600s; %s is a %s; to run a picture model %s %s", before.text, weft_cli_base_name(path),
              weft_picture_format_name(picture.format), o->is_file ? "add --type" : "its block needs type:", types);
}

static weft_status run_picture(const run_options *o, weft_engine *e, const char *model, const char *path, bool many,
                               weft_error *err)
{
    unsigned char *bytes;
    size_t n_bytes;
    weft_result *r = NULL;
    weft_status st = weft_cli_read_file(path, MAX_FILE_BYTES, &bytes, &n_bytes, err);
    if (st != WEFT_OK)
        return st;
    weft_input in = weft_input_bytes(NULL, bytes, n_bytes);
    st = infer(o, e, model, &in, 1, weft_cli_base_name(path), &r, err);
    if (st == WEFT_OK) {
        char drawn[1200];
        show(o, weft_cli_base_name(path), r);
        if (o->draw)
            st = weft_run_draw(o->draw, many, path, bytes, n_bytes, r, drawn, sizeof(drawn), err);
        if (st == WEFT_OK && o->draw && !o->json)
            printf("  drawn: %s\n", drawn);
        if (st == WEFT_OK && o->output)
            st = weft_run_write_outputs(o->output, r, err);
    } else {
        add_picture_hint(o, e, model, path, bytes, n_bytes, err);
        weft_cli_plain(err);
        weft_fail_prefix(err, st, "%s", path);
    }
    weft_result_unref(r);
    free(bytes);
    return st;
}

static weft_status run_tensors(const run_options *o, weft_engine *e, const char *model, weft_error *err)
{
    unsigned char *bytes[MAX_TENSORS] = {NULL};
    weft_input inputs[MAX_TENSORS];
    weft_result *r = NULL;
    weft_status st = WEFT_OK;
    for (size_t i = 0; st == WEFT_OK && i < o->n_inputs; i++) {
        char *equals = strchr(o->inputs[i], '=');
        const char *path = equals ? equals + 1 : o->inputs[i];
        size_t n_bytes;
        weft_tensor t;
        st = weft_cli_read_file(path, MAX_FILE_BYTES, &bytes[i], &n_bytes, err);
        if (st != WEFT_OK)
            break;
        st = weft_npy_read(bytes[i], n_bytes, &t, err);
        if (st != WEFT_OK) {
            weft_fail_prefix(err, st, "%s", path);
            break;
        }
        if (equals)
            *equals = 0;
        t.name = equals ? o->inputs[i] : NULL;
        inputs[i] = weft_input_tensor(&t);
    }
    if (st == WEFT_OK)
        st = infer(o, e, model, inputs, o->n_inputs, "", &r, err);
    if (st == WEFT_OK) {
        show(o, "tensors", r);
        if (o->output)
            st = weft_run_write_outputs(o->output, r, err);
    }
    weft_result_unref(r);
    for (size_t i = 0; i < o->n_inputs; i++)
        free(bytes[i]);
    return st;
}

static int parse(int argc, char **argv, run_options *o, char **pictures, size_t *n_pictures)
{
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "c:t:i:d:o:", long_options, NULL)) != -1) {
        char *end;
        switch (c) {
        case 'c':
            o->config = optarg;
            break;
        case 't':
            o->type = optarg;
            break;
        case 'i':
            if (o->n_inputs == MAX_TENSORS)
                return weft_cli_usage("run", "at most %d inputs", MAX_TENSORS);
            o->inputs[o->n_inputs++] = optarg;
            break;
        case 'I':
            pictures[(*n_pictures)++] = optarg;
            break;
        case 'd':
            o->draw = optarg;
            break;
        case 'o':
            o->output = optarg;
            break;
        case 'T':
            o->timeout_ms = strtoll(optarg, &end, 10);
            if (*end || o->timeout_ms < 1)
                return weft_cli_usage("run", "--timeout wants milliseconds, a whole number from 1, but got \"%s\"", optarg);
            break;
        case 'j':
            o->json = true;
            break;
        case 'D':
            o->debug = true;
            break;
        default:
            return weft_cli_bad_option("run", long_options, argv[optind - 1]);
        }
    }
    return WEFT_EXIT_OK;
}

static int run_all(const run_options *o, const char *model, const char *only, const weft_config *c, char **pictures,
                   size_t n_pictures)
{
    int exit_code = WEFT_EXIT_OK;
    weft_error err;
    weft_engine_options eo = c->engine;
    eo.log = log_to_stderr;
    eo.log_cookie = (void *)o;
    weft_engine *e = weft_cli_engine("run", c, only, &eo, &exit_code);
    if (!e)
        return exit_code;
    weft_error_clear(&err);
    if (o->n_inputs && run_tensors(o, e, model, &err) != WEFT_OK)
        exit_code = weft_cli_fail("run", &err);
    for (size_t i = 0; i < n_pictures; i++)
        if (run_picture(o, e, model, pictures[i], n_pictures > 1, &err) != WEFT_OK)
            exit_code = weft_cli_fail("run", &err);
    weft_engine_destroy(&e);
    return exit_code;
}

/* Everything that can be told from the command line alone, before a model is loaded. */
static int check_places(const run_options *o, size_t n_pictures)
{
    weft_error err;
    if (o->draw && n_pictures == 0)
        return weft_cli_usage("run", "--draw needs a picture to draw on");
    if (o->draw && weft_run_check_draw(o->draw, n_pictures > 1, &err) != WEFT_OK)
        return weft_cli_usage("run", "%s", err.text);
    if (o->output && weft_run_check_output(o->output, &err) != WEFT_OK)
        return weft_cli_usage("run", "%s", err.text);
    return WEFT_EXIT_OK;
}

/* Without a configuration the model may be a file: is it one that can be run? */
static int check_model(run_options *o, const char *model)
{
    struct stat st;
    char known[200];
    weft_error err;
    if (o->config)
        return WEFT_EXIT_OK;
    bool there = stat(model, &st) == 0;
    if (there && S_ISDIR(st.st_mode) && (strchr(model, '/') || access("weft.yaml", R_OK) != 0))
        return weft_cli_usage("run", "%s is a folder; give a model file, or a name of the configuration", model);
    o->is_file = there && S_ISREG(st.st_mode);
    if (!there && (o->type || strchr(model, '/') || weft_cli_has_model_extension(model))) {
        weft_fail(&err, WEFT_E_NOT_FOUND, "there is no file %s", model);
        return weft_cli_fail("run", &err);
    }
    if (o->is_file && !weft_cli_has_model_extension(model)) {
        weft_cli_extensions(known, sizeof(known));
        weft_fail(&err, WEFT_E_INVALID, "%s is no model file; known: %s", model, known);
        return weft_cli_fail("run", &err);
    }
    return WEFT_EXIT_OK;
}

int weft_cmd_run(int argc, char **argv)
{
    run_options o = {0};
    size_t n_pictures = 0;
    char **pictures = calloc((size_t)argc + 1, sizeof(*pictures));
    if (!pictures)
        return WEFT_EXIT_FAILED;
    int exit_code = parse(argc, argv, &o, pictures, &n_pictures);
    const char *model = optind < argc ? argv[optind] : NULL;
    for (int i = optind + 1; i < argc; i++)
        pictures[n_pictures++] = argv[i];
    if (exit_code == WEFT_EXIT_OK && !model)
        exit_code = weft_cli_usage("run", "expected \"weft run MODEL PICTURE\", got no model");
    if (exit_code == WEFT_EXIT_OK && n_pictures == 0 && o.n_inputs == 0)
        exit_code = weft_cli_usage("run", "no picture and no --input is given");
    if (exit_code == WEFT_EXIT_OK)
        exit_code = check_places(&o, n_pictures);
    if (exit_code == WEFT_EXIT_OK)
        exit_code = check_model(&o, model);
    if (exit_code == WEFT_EXIT_OK) {
        weft_config *c =
            o.is_file ? weft_cli_config_of_file("run", model, o.type, &exit_code) : weft_cli_config("run", o.config, &exit_code);
        if (c) {
            const char *name = o.is_file ? c->models[c->n_models - 1].config.name : model;
            exit_code = run_all(&o, name, name, c, pictures, n_pictures);
        }
        weft_config_destroy(&c);
    }
    free(pictures);
    return exit_code;
}
