#include "cli/run_output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "cli/cli.h"
#include "cli/npy.h"
#include "image/decode.h"
#include "image/draw_result.h"
#include "image/encode.h"

#define DRAW_QUALITY 92

/* ---- drawing ----------------------------------------------------------------------------------------------------------------
 */

static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n > m && strcasecmp(path + n - m, ending) == 0;
}

static bool is_jpeg(const char *path)
{
    return has_ending(path, ".jpg") || has_ending(path, ".jpeg");
}

static bool is_folder_name(const char *path)
{
    size_t n = strlen(path);
    return (n && path[n - 1] == '/') || weft_cli_is_folder(path);
}

static weft_status check_parent(const char *option, const char *path, weft_error *err)
{
    char parent[1024];
    return weft_cli_parent_exists(path, parent, sizeof(parent))
               ? WEFT_OK
               : weft_fail(err, WEFT_E_INVALID, "there is no folder %s for %s %s; make it first", parent, option, path);
}

weft_status weft_run_check_draw(const char *draw, bool many, weft_error *err)
{
    struct stat st;
    if (many && stat(draw, &st) == 0 && !S_ISDIR(st.st_mode))
        return weft_fail(err, WEFT_E_INVALID, "--draw wants a folder when there are several pictures, but %s is a file", draw);
    if (!many && !is_folder_name(draw) && !is_jpeg(draw) && !has_ending(draw, ".png"))
        return weft_fail(err, WEFT_E_INVALID, "--draw wants .png or .jpg, got \"%s\"", draw);
    return weft_cli_is_folder(draw) ? WEFT_OK : check_parent("--draw", draw, err);
}

weft_status weft_run_check_output(const char *folder, weft_error *err)
{
    struct stat st;
    if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
        return weft_fail(err, WEFT_E_INVALID, "--output wants a folder, but %s is a file", folder);
    return weft_cli_is_folder(folder) ? WEFT_OK : check_parent("--output", folder, err);
}

static weft_status make_folder(const char *folder, weft_error *err)
{
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return WEFT_OK;
    return weft_fail(err, WEFT_E_IO, "cannot create the folder %s: %s", folder, strerror(errno));
}

static weft_status draw_path(const char *draw, bool many, const char *picture_path, char *path, size_t n_path, weft_error *err)
{
    const char *base = weft_cli_base_name(picture_path), *dot = strrchr(base, '.');
    int n = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    if (!many && !is_folder_name(draw)) {
        snprintf(path, n_path, "%s", draw);
        return WEFT_OK;
    }
    bool slash = draw[strlen(draw) - 1] == '/';
    snprintf(path, n_path, "%s%s%.*s.png", draw, slash ? "" : "/", n, base);
    return make_folder(draw, err);
}

weft_status weft_run_draw(const char *draw, bool many, const char *picture_path, const void *bytes, size_t n_bytes,
                          const weft_result *r, char *path, size_t n_path, weft_error *err)
{
    weft_picture p;
    weft_buffer out;
    memset(&p, 0, sizeof(p));
    weft_buffer_init(&out, 0);
    weft_status st = draw_path(draw, many, picture_path, path, n_path, err);
    if (st == WEFT_OK)
        st = weft_picture_decode(bytes, n_bytes, NULL, 3, &p, err);
    if (st == WEFT_OK)
        st = weft_draw_result(&p, r, NULL, err);
    if (st == WEFT_OK)
        st = is_jpeg(path) ? weft_picture_encode_jpeg(&p, DRAW_QUALITY, WEFT_CHROMA_444, &out, err)
                           : weft_picture_encode_png(&p, -1, &out, err);
    if (st == WEFT_OK)
        st = weft_cli_write_file(path, out.data, out.n_bytes, err);
    weft_buffer_fini(&out);
    weft_picture_destroy(&p);
    return st;
}

/* ---- outputs ----------------------------------------------------------------------------------------------------------------
 */

/* A line for each string; line ends inside of one become blanks, so that line i is item i. */
static weft_status put_strings(const weft_result *r, const weft_tensor *t, weft_buffer *out, weft_error *err)
{
    int64_t n = 0;
    weft_shape_elements(t->shape, t->rank, &n);
    for (int64_t i = 0; i < n; i++) {
        size_t n_bytes = 0;
        const char *s = weft_result_text(r, t->name, (size_t)i, &n_bytes);
        for (size_t k = 0; s && k < n_bytes; k++)
            weft_buffer_putc(out, s[k] == '\n' || s[k] == '\r' ? ' ' : s[k]);
        weft_buffer_putc(out, '\n');
    }
    return out->failed ? weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the output %s", t->name) : WEFT_OK;
}

weft_status weft_run_write_outputs(const char *folder, const weft_result *r, weft_error *err)
{
    weft_status st = make_folder(folder, err);
    for (size_t i = 0; st == WEFT_OK && i < r->n_columns; i++) {
        const weft_tensor *t = &r->columns[i].tensor;
        bool strings = t->dtype == WEFT_DT_STRING;
        char path[1200], name[200];
        snprintf(name, sizeof(name), "%s", t->name);
        for (char *c = name; *c; c++)
            if (*c == '/')
                *c = '_';
        snprintf(path, sizeof(path), "%s/%s.%s", folder, name, strings ? "txt" : "npy");
        weft_buffer out;
        weft_buffer_init(&out, 0);
        st = strings ? put_strings(r, t, &out, err) : weft_npy_write(t, &out, err);
        if (st == WEFT_OK)
            st = weft_cli_write_file(path, out.data, out.n_bytes, err);
        weft_buffer_fini(&out);
    }
    return st;
}
