#include "server/multipart.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The boundary parameter: a token or a quoted string of 1..70 characters (RFC 2046 5.1.1). */
static bool read_boundary(const char *type, char out[76], size_t *n_out)
{
    const char *p = type;
    while ((p = strchr(p, ';')) != NULL) {
        p++;
        while (*p == ' ' || *p == '\t')
            p++;
        if (strncasecmp(p, "boundary=", 9) == 0) {
            p += 9;
            bool quoted = *p == '"';
            p += quoted;
            size_t n = strcspn(p, quoted ? "\"" : "; \t");
            if (n == 0 || n > 70 || (quoted && p[n] != '"'))
                return false;
            memcpy(out, "\r\n--", 4);
            memcpy(out + 4, p, n);
            *n_out = n + 4;
            return true;
        }
    }
    return false;
}

static bool part_param(const char *line, size_t n, const char *key, char *out, size_t n_out, bool *present)
{
    size_t n_key = strlen(key);
    *present = false;
    for (size_t i = 0; i + n_key + 1 < n; i++) {
        if ((line[i] != ' ' && line[i] != ';' && line[i] != '\t') || strncasecmp(line + i + 1, key, n_key) != 0 ||
            line[i + 1 + n_key] != '=')
            continue;
        const char *v = line + i + 2 + n_key, *end = line + n;
        bool quoted = v < end && *v == '"';
        v += quoted;
        size_t o = 0;
        while (v < end && *v != (quoted ? '"' : ';')) {
            if (quoted && *v == '\\' && v + 1 < end)
                v++;
            if (out && o + 1 < n_out)
                out[o] = *v;
            o++;
            v++;
        }
        if (quoted && v == end)
            return false;
        if (out) {
            if (o >= n_out)
                return false;
            out[o] = 0;
        }
        *present = true;
        return true;
    }
    return true;
}

static bool read_part_line(const char *line, size_t n, weft_part *p)
{
    bool present;
    if (n >= 20 && strncasecmp(line, "content-disposition:", 20) == 0)
        return part_param(line + 20, n - 20, "name", p->name, sizeof(p->name), &present) &&
               part_param(line + 20, n - 20, "filename", NULL, 0, &p->has_filename);
    if (n >= 13 && strncasecmp(line, "content-type:", 13) == 0) {
        const char *v = line + 13, *end = line + n;
        while (v < end && (*v == ' ' || *v == '\t'))
            v++;
        size_t o = 0;
        while (v < end && *v != ';' && *v != ' ' && o + 1 < sizeof(p->content_type))
            p->content_type[o++] = (char)tolower((unsigned char)*v++);
        p->content_type[o] = 0;
    }
    return true;
}

/* Header lines of a part; returns the first byte after the blank line, NULL when malformed. */
static const unsigned char *read_part_head(const unsigned char *p, const unsigned char *end, weft_part *part)
{
    for (int lines = 0; lines < 16; lines++) {
        const unsigned char *eol = memmem(p, (size_t)(end - p), "\r\n", 2);
        if (!eol)
            return NULL;
        if (eol == p)
            return p + 2;
        if (!read_part_line((const char *)p, (size_t)(eol - p), part))
            return NULL;
        p = eol + 2;
    }
    return NULL;
}

weft_status weft_multipart_split(const char *content_type, const unsigned char *body, size_t n_body, weft_part *parts,
                                 size_t *n_parts, weft_error *err)
{
    char mark[76];
    size_t n_mark;
    *n_parts = 0;
    if (!read_boundary(content_type, mark, &n_mark))
        return weft_fail(
            err, WEFT_E_INVALID,
            "The form has no usable boundary; Content-Type must say multipart/form-data; boundary=... with 1 to 70 characters.");
    const unsigned char *p = body, *end = body + n_body;
    if (n_body >= n_mark - 2 && memcmp(body, mark + 2, n_mark - 2) == 0) { /* the first boundary needs no line break before it */
        p = body + n_mark - 2;
    } else {
        p = memmem(body, n_body, mark, n_mark);
        if (!p)
            return weft_fail(err, WEFT_E_INVALID, "The form does not contain its boundary.");
        p += n_mark;
    }
    for (;;) {
        if (end - p >= 2 && p[0] == '-' && p[1] == '-')
            return WEFT_OK;
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        if (end - p < 2 || p[0] != '\r' || p[1] != '\n')
            return weft_fail(err, WEFT_E_INVALID, "The form is cut short: a boundary is not followed by a line end.");
        if (*n_parts == WEFT_MULTIPART_MAX_PARTS)
            return weft_fail(err, WEFT_E_INVALID, "The form has more than %d parts.", WEFT_MULTIPART_MAX_PARTS);
        weft_part *part = &parts[*n_parts];
        memset(part, 0, sizeof(*part));
        const unsigned char *data = read_part_head(p + 2, end, part);
        if (!data)
            return weft_fail(err, WEFT_E_INVALID, "Part %zu of the form has malformed headers.", *n_parts + 1);
        /* an empty part's data starts at the line break that belongs to the boundary */
        const unsigned char *stop = memmem(data - 2, (size_t)(end - data + 2), mark, n_mark);
        if (!stop)
            return weft_fail(err, WEFT_E_INVALID, "Part %zu of the form is not ended by the boundary.", *n_parts + 1);
        part->data = data;
        part->n_bytes = stop > data ? (size_t)(stop - data) : 0;
        (*n_parts)++;
        p = stop + n_mark;
    }
}
