/* weft run: a model on pictures or tensors, once each. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "cli/cli.h"
#include "cli/npy.h"
#include "cli/show_result.h"
#include "image/decode.h"
#include "image/draw_result.h"
#include "image/encode.h"
#include "wire/result_json.h"

#define MAX_FILE_BYTES ((size_t)1 << 30)
#define MAX_TENSORS 32
#define DRAW_QUALITY 92

typedef struct run_options {
    const char *config, *type, *draw, *output;
    char *inputs[MAX_TENSORS]; /* NAME=FILE or FILE */
    size_t n_inputs;
    int64_t timeout_ms;
    bool json, debug;
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

/* ---- drawing -------------------------------------------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat st;
    size_t n = strlen(path);
    return (n && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

static weft_status draw(const run_options *o, const char *picture_path, const unsigned char *bytes, size_t n_bytes,
                        const weft_result *r, bool many, weft_error *err)
{
    char path[1200];
    const char *base = weft_cli_base_name(picture_path), *dot = strrchr(base, '.');
    if (many || is_folder(o->draw)) {
        if (mkdir(o->draw, 0777) < 0 && errno != EEXIST)
            return weft_fail(err, WEFT_E_IO, "Cannot create the folder %s: %s.", o->draw, strerror(errno));
        snprintf(path, sizeof(path), "%s/%.*s.png", o->draw, (int)(dot ? dot - base : (long)strlen(base)), base);
    } else {
        snprintf(path, sizeof(path), "%s", o->draw);
    }
    weft_picture p;
    weft_buffer out;
    memset(&p, 0, sizeof(p));
    weft_buffer_init(&out, 0);
    const char *ext = strrchr(path, '.');
    bool jpeg = ext && (strcmp(ext, ".jpg") == 0 || strcmp(ext, ".jpeg") == 0);
    weft_status st = weft_picture_decode(bytes, n_bytes, NULL, 3, &p, err);
    if (st == WEFT_OK)
        st = weft_draw_result(&p, r, NULL, err);
    if (st == WEFT_OK)
        st = jpeg ? weft_picture_encode_jpeg(&p, DRAW_QUALITY, WEFT_CHROMA_444, &out, err)
                  : weft_picture_encode_png(&p, -1, &out, err);
    if (st == WEFT_OK)
        st = weft_cli_write_file(path, out.data, out.n_bytes, err);
    if (st == WEFT_OK && !o->json)
        printf("  drawn: %s\n", path);
    weft_buffer_fini(&out);
    weft_picture_destroy(&p);
    return st;
}

/* ---- one run ----------------------------------------------------------------------------------------------------------------
 */

static weft_status write_outputs(const char *folder, const weft_result *r, weft_error *err)
{
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        return weft_fail(err, WEFT_E_IO, "Cannot create the folder %s: %s.", folder, strerror(errno));
    weft_status st = WEFT_OK;
    for (size_t i = 0; st == WEFT_OK && i < r->n_columns; i++) {
        const weft_tensor *t = &r->columns[i].tensor;
        if (t->dtype == WEFT_DT_STRING)
            continue;
        char path[1200], name[200];
        snprintf(name, sizeof(name), "%s", t->name);
        for (char *c = name; *c; c++)
            if (*c == '/')
                *c = '_';
        snprintf(path, sizeof(path), "%s/%s.npy", folder, name);
        weft_buffer out;
        weft_buffer_init(&out, 0);
        st = weft_npy_write(t, &out, err);
        if (st == WEFT_OK)
            st = weft_cli_write_file(path, out.data, out.n_bytes, err);
        weft_buffer_fini(&out);
    }
    return st;
}

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
    weft_status st = weft_infer(e, &call, r, err);
    return st;
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
        show(o, weft_cli_base_name(path), r);
        if (o->draw)
            st = draw(o, path, bytes, n_bytes, r, many, err);
        if (st == WEFT_OK && o->output)
            st = write_outputs(o->output, r, err);
    } else {
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
        if (st == WEFT_OK)
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
            st = write_outputs(o->output, r, err);
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
            return weft_cli_usage("run", "unknown or incomplete option \"%s\"", argv[optind - 1]);
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
        exit_code = weft_cli_usage("run", "which model?");
    if (exit_code == WEFT_EXIT_OK && n_pictures == 0 && o.n_inputs == 0)
        exit_code = weft_cli_usage("run", "no picture and no --input is given");
    if (exit_code == WEFT_EXIT_OK) {
        struct stat st;
        bool is_file = !o.config && stat(model, &st) == 0 && S_ISREG(st.st_mode);
        weft_config *c =
            is_file ? weft_cli_config_of_file("run", model, o.type, &exit_code) : weft_cli_config("run", o.config, &exit_code);
        if (c) {
            const char *name = is_file ? c->models[c->n_models - 1].config.name : model;
            exit_code = run_all(&o, name, name, c, pictures, n_pictures);
        }
        weft_config_destroy(&c);
    }
    free(pictures);
    return exit_code;
}
