#include "executor/ocr/ocr_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

/* A last line without a newline counts; a newline at the end starts no line. */
static int64_t count_lines(const char *text, size_t n_bytes)
{
    int64_t n = n_bytes > 0 && text[n_bytes - 1] != '\n';
    for (size_t i = 0; i < n_bytes; i++)
        n += text[i] == '\n';
    return n;
}

/* Blanks belong to a word (a line may be a space); only the line's end is cut. */
static weft_status take_words(const char *path, const char *text, size_t n_bytes, weft_ocr_word *words, weft_error *err)
{
    const char *at = text, *end = text + n_bytes;
    for (int64_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        if (stop > at && stop[-1] == '\r')
            stop--;
        size_t n = (size_t)(stop - at);
        if (n > WEFT_OCR_MAX_WORD_BYTES || !weft_utf8_valid(at, n) || memchr(at, 0, n))
            return weft_fail(err, WEFT_E_CONFIG,
                             "line %" PRId64
                             " of the dictionary %s is %s; a dictionary is UTF-8 text with one character or word a line",
                             line, path, n > WEFT_OCR_MAX_WORD_BYTES ? "too long" : "not UTF-8 text");
        words[line] = (weft_ocr_word){at, n};
        at = next;
    }
    return WEFT_OK;
}

static weft_status size_mismatch(weft_status s, const weft_ocr_dictionary *d, int64_t n_classes, weft_error *err)
{
    return weft_fail(err, s,
                     "the dictionary %s has %" PRId64 " lines, which makes %" PRId64
                     " classes with the blank and the space (%" PRId64 " without the space), but the recogniser has %" PRId64
                     " classes; give the dictionary that belongs to the model",
                     d->path, d->n_lines, d->n_lines + 2, d->n_lines + 1, n_classes);
}

weft_status weft_ocr_dictionary_open(const weft_open *o, const char *path, int64_t n_model_classes, weft_ocr_dictionary *out,
                                     weft_error *err)
{
    const char *text;
    size_t n_bytes;
    *out = (weft_ocr_dictionary){.path = path};
    weft_status s = o->read_file(o, path, WEFT_OCR_DICTIONARY_MAX_BYTES, &text, &n_bytes, err);
    if (s != WEFT_OK)
        return s;
    if (n_bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        n_bytes -= 3;
    }
    out->n_lines = count_lines(text, n_bytes);
    if (out->n_lines == 0 || out->n_lines > WEFT_OCR_MAX_CLASSES)
        return weft_fail(err, WEFT_E_CONFIG, "the dictionary %s has %" PRId64 " lines; 1 to %d were expected", path, out->n_lines,
                         WEFT_OCR_MAX_CLASSES);
    out->n_classes = n_model_classes < 0 ? out->n_lines + 2 : n_model_classes;
    if (out->n_classes != out->n_lines + 1 && out->n_classes != out->n_lines + 2)
        return size_mismatch(WEFT_E_CONFIG, out, n_model_classes, err);
    weft_ocr_word *words = o->alloc(o, ((size_t)out->n_lines + 2) * sizeof *words);
    if (!words)
        return weft_fail(err, WEFT_E_NO_MEMORY, "no memory for the %" PRId64 " lines of the dictionary %s", out->n_lines, path);
    words[0] = (weft_ocr_word){"", 0};
    words[out->n_lines + 1] = (weft_ocr_word){" ", 1};
    out->words = words;
    return take_words(path, text, n_bytes, words, err);
}

weft_status weft_ocr_dictionary_check(const weft_ocr_dictionary *d, int64_t n_classes, weft_error *err)
{
    return n_classes == d->n_classes ? WEFT_OK : size_mismatch(WEFT_E_RUN_FAILED, d, n_classes, err);
}
