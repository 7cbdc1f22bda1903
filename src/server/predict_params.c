#include "server/predict_params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/text.h"

enum { DRAW, TIMEOUT_MS, PRIORITY, N_DOOR };
static const char *const door_names[N_DOOR] = {"draw", "timeout_ms", "priority"};

void weft_predict_params_init(weft_predict_params *p, const char *const *known, int64_t timeout_ms)
{
    memset(p, 0, sizeof(*p));
    p->known = known;
    p->timeout_ms = timeout_ms;
    p->priority = WEFT_PRIORITY_DEFAULT;
}

void weft_predict_params_fini(weft_predict_params *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->texts[i]);
    p->n = 0;
}

/* `query parameter "drw"`; the name is a stranger's and is cut. */
static weft_status unknown(const weft_predict_params *p, const char *what, const char *name, weft_error *err)
{
    const char *names[N_DOOR + WEFT_PREDICT_MAX_PARAMS];
    char list[400] = "";
    size_t n = 0, len = 0;
    for (int i = 0; i < N_DOOR; i++)
        names[n++] = door_names[i];
    for (size_t i = 0; p->known && p->known[i] && i < WEFT_PREDICT_MAX_PARAMS; i++)
        names[n++] = p->known[i];
    const char *near = weft_nearest_name(name, names, n);
    if (near)
        return weft_fail(err, WEFT_E_INVALID, "unknown %s \"%.64s\"; did you mean \"%s\"?", what, name, near);
    for (size_t i = 0; i < n && len + 40 < sizeof(list); i++)
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%.32s", i ? ", " : "", names[i]);
    return weft_fail(err, WEFT_E_INVALID, "unknown %s \"%.64s\"; this model takes: %s", what, name, list);
}

static bool read_whole(const char *text, int64_t *value)
{
    char *end;
    const char *digits = text + (*text == '-');
    if (!*digits || strspn(digits, "0123456789") != strlen(digits) || strlen(digits) > 18)
        return false;
    *value = strtoll(text, &end, 10);
    return true;
}

static bool read_number(const char *text, double *value)
{
    char *end;
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return false;
    weft_c_locale before = weft_c_locale_enter();
    *value = strtod(text, &end);
    weft_c_locale_leave(before);
    return *end == 0 && end != text && isfinite(*value);
}

static bool read_bool(const char *text, bool *value)
{
    *value = strcmp(text, "true") == 0;
    return *value || strcmp(text, "false") == 0;
}

static weft_status whole_between(const char *name, const char *text, int64_t min, int64_t max, int64_t *value, weft_error *err)
{
    int64_t v;
    if (!read_whole(text, &v) || v < min || v > max)
        return weft_fail(err, WEFT_E_INVALID, "%s must be a whole number from %lld to %lld, but is \"%.24s\"", name,
                         (long long)min, (long long)max, text);
    *value = v;
    return WEFT_OK;
}

static weft_status read_draw(const char *text, bool *value, weft_error *err)
{
    int64_t v;
    if (read_bool(text, value))
        return WEFT_OK;
    if (!read_whole(text, &v) || v < 0 || v > 1)
        return weft_fail(err, WEFT_E_INVALID, "draw must be 1 or 0 (or true, false), but is \"%.24s\"", text);
    *value = v == 1;
    return WEFT_OK;
}

static weft_status twice(const char *name, weft_error *err)
{
    return weft_fail(err, WEFT_E_INVALID, "the parameter \"%.64s\" is given twice; give it once", name);
}

static weft_status add_door(weft_predict_params *p, int which, const char *text, weft_error *err)
{
    if (p->door_given & (1u << which))
        return twice(door_names[which], err);
    p->door_given |= 1u << which;
    if (which == DRAW)
        return read_draw(text, &p->draw, err);
    if (which == TIMEOUT_MS)
        return whole_between("timeout_ms", text, 1, 86400000, &p->timeout_ms, err);
    return whole_between("priority", text, WEFT_PRIORITY_MIN, WEFT_PRIORITY_MAX, &p->priority, err);
}

static weft_status add(weft_predict_params *p, const char *what, const char *name, const char *text, weft_error *err)
{
    for (int i = 0; i < N_DOOR; i++)
        if (strcmp(name, door_names[i]) == 0)
            return add_door(p, i, text, err);
    size_t k = 0;
    while (p->known && p->known[k] && strcmp(p->known[k], name) != 0)
        k++;
    if (!p->known || !p->known[k])
        return unknown(p, what, name, err);
    for (size_t i = 0; i < p->n; i++)
        if (p->params[i].name == p->known[k])
            return twice(name, err);
    if (p->n == WEFT_PREDICT_MAX_PARAMS)
        return weft_fail(err, WEFT_E_INVALID, "at most %d parameters are read", WEFT_PREDICT_MAX_PARAMS);
    weft_param *q = &p->params[p->n];
    bool yes;
    *q = (weft_param){.name = p->known[k]};
    p->texts[p->n] = NULL;
    if (read_whole(text, &q->i)) {
        q->kind = WEFT_PARAM_INT;
    } else if (read_number(text, &q->f)) {
        q->kind = WEFT_PARAM_FLOAT;
    } else if (read_bool(text, &yes)) {
        q->kind = WEFT_PARAM_BOOL;
        q->i = yes;
    } else {
        q->kind = WEFT_PARAM_STRING;
        q->s = p->texts[p->n] = strdup(text);
        if (!q->s)
            return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for a parameter");
    }
    p->n++;
    return WEFT_OK;
}

weft_status weft_predict_params_query(weft_predict_params *p, weft_http_slice query, weft_error *err)
{
    char name[WEFT_PREDICT_NAME_BYTES + 1], value[WEFT_PREDICT_VALUE_BYTES + 1];
    int rc;
    while ((rc = weft_http_query_next(&query, name, sizeof(name), value, sizeof(value))) > 0) {
        weft_status s = add(p, "query parameter", name, value, err);
        if (s != WEFT_OK)
            return s;
    }
    return rc == 0
               ? WEFT_OK
               : weft_fail(err, WEFT_E_INVALID,
                           "the query cannot be read: expected name=value&..., percent-encoded, names of at most %d and values "
                           "of at most %d bytes",
                           WEFT_PREDICT_NAME_BYTES, WEFT_PREDICT_VALUE_BYTES);
}

weft_status weft_predict_params_field(weft_predict_params *p, const char *name, const void *value, size_t n_bytes,
                                      weft_error *err)
{
    char text[WEFT_PREDICT_VALUE_BYTES + 1];
    if (n_bytes > WEFT_PREDICT_VALUE_BYTES || memchr(value, 0, n_bytes))
        return weft_fail(err, WEFT_E_INVALID,
                         "the form field \"%.64s\" is no text of at most %d bytes; a picture goes into the field "
                         "\"image\"",
                         name, WEFT_PREDICT_VALUE_BYTES);
    memcpy(text, value, n_bytes);
    text[n_bytes] = 0;
    return add(p, "form field", name, text, err);
}
