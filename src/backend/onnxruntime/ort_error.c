#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "backend/onnxruntime/ort_internal.h"

/* ---- cleaning
 * -------------------------------------------------------------------------------------------------------------------------- */

static bool is_source_place(const char *word, size_t n)
{
    char copy[512];
    static const char *const marks[] = {".cc:", ".h:", ".hpp:", ".cpp:", ".inc:"};

    if (!memchr(word, '/', n) || n >= sizeof copy)
        return false;
    memcpy(copy, word, n);
    copy[n] = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(copy, marks[i]))
            return true;
    return strstr(copy, "/onnxruntime/core/") != NULL;
}

/* After the place of a source file ORT prints the signature of the function. Its end: the parenthesis that closes the arguments,
 * then const, noexcept and [with ...]. Text that does not look like a signature (no "::" and no "(" in it) is left alone. */
static const char *skip_signature(const char *p)
{
    const char *open = strchr(p, '('), *q;
    int depth = 0;

    if (!open || open - p > 400 ||
        (!memmem(p, (size_t)(open - p), "::", 2) && !memchr(p, '&', (size_t)(open - p)) && !memchr(p, '*', (size_t)(open - p))))
        return p;
    for (q = open; *q; q++) {
        depth += *q == '(' ? 1 : *q == ')' ? -1 : 0;
        if (!depth)
            break;
    }
    if (!*q)
        return p;
    q++;
    for (;;) {
        while (*q == ' ')
            q++;
        if (!strncmp(q, "const ", 6) || !strncmp(q, "noexcept ", 9)) {
            q += *q == 'c' ? 5 : 8;
        } else if (!strncmp(q, "[with ", 6)) {
            for (depth = 0; *q; q++) {
                depth += *q == '[' ? 1 : *q == ']' ? -1 : 0;
                if (!depth)
                    break;
            }
            q += *q == ']';
        } else {
            return q;
        }
    }
}

static bool is_address(const char *word, size_t n)
{
    if (n < 8 || word[0] != '0' || word[1] != 'x')
        return false;
    for (size_t i = 2; i < n; i++)
        if (!isxdigit((unsigned char)word[i]))
            return false;
    return true;
}

void weft_ort_clean(const char *text, char *buf, size_t n_buf)
{
    size_t at = 0;
    const char *stack = strstr(text, "Stacktrace:"), *end = stack ? stack : text + strlen(text);

    if (!n_buf)
        return;
    while (text < end) {
        const char *word;
        size_t n;

        while (text < end && ((unsigned char)*text <= ' ' || *text == 127))
            text++;
        word = text;
        while (text < end && (unsigned char)*text > ' ' && *text != 127)
            text++;
        n = (size_t)(text - word);
        if (is_source_place(word, n)) {
            while (text < end && *text == ' ')
                text++;
            text = skip_signature(text);
            continue;
        }
        if (!n || is_address(word, n))
            continue;
        if (at + n + 2 > n_buf)
            break;
        if (at)
            buf[at++] = ' ';
        memcpy(buf + at, word, n);
        at += n;
    }
    buf[at] = 0;
}

/* ---- statuses to errors
 * ------------------------------------------------------------------------------------------------------------------ */

static bool is_memory(const char *text)
{
    return strstr(text, "bad_alloc") || strstr(text, "Failed to allocate memory") || strstr(text, "emory allocation failed");
}

void weft_ort_ignore(ort_status *s)
{
    if (s)
        ORT(status_release)(s);
}

weft_status weft_ort_check(ort_status *s, const char *what, weft_error *err)
{
    char text[400];
    bool memory;

    if (!s)
        return WEFT_OK;
    weft_ort_clean(ORT(status_text)(s), text, sizeof text);
    memory = is_memory(text);
    ORT(status_release)(s);
    return weft_fail(err, memory ? WEFT_E_NO_MEMORY : WEFT_E_INTERNAL, "ONNX Runtime: %s: %s", what, text);
}

weft_status weft_ort_load_failed(ort_status *s, const char *model, const char *path, weft_error *err)
{
    char text[600];
    weft_status status = WEFT_E_CONFIG;

    weft_ort_clean(ORT(status_text)(s), text, sizeof text);
    switch (ORT(status_code)(s)) {
    case ORT_CODE_NO_SUCH_FILE:
        status = WEFT_E_NOT_FOUND;
        break;
    case ORT_CODE_NOT_IMPLEMENTED:
        status = WEFT_E_UNSUPPORTED;
        break;
    }
    ORT(status_release)(s);
    if (is_memory(text))
        return weft_fail(err, WEFT_E_NO_MEMORY, "model \"%s\": out of memory while loading %s", model, path);
    return weft_fail(err, status, "model \"%s\": ONNX Runtime %s does not load %s: %s", model, weft_ort.version, path, text);
}

weft_status weft_ort_run_failed(ort_status *s, bool out_of_memory, weft_fault *fault, weft_error *err)
{
    char text[500];
    int code = ORT(status_code)(s);

    weft_ort_clean(ORT(status_text)(s), text, sizeof text);
    ORT(status_release)(s);
    if (out_of_memory || is_memory(text)) {
        *fault = WEFT_FAULT_MEMORY;
        return weft_fail(err, WEFT_E_NO_MEMORY, "the run needs more memory than the model may have");
    }
    if (strstr(text, "terminate flag")) {
        *fault = WEFT_FAULT_TIMEOUT;
        return weft_fail(err, WEFT_E_DEADLINE, "the run was terminated");
    }
    /* Before the first node the inputs did not fit the model; inside a node it may be the values or the model. */
    if (code == ORT_CODE_INVALID_ARGUMENT && !strstr(text, "while running")) {
        *fault = WEFT_FAULT_REQUEST;
        return weft_fail(err, WEFT_E_INVALID, "the model does not take these inputs: %s", text);
    }
    *fault = WEFT_FAULT_UNKNOWN;
    return weft_fail(err, WEFT_E_RUN_FAILED, "the run failed: %s", text);
}
