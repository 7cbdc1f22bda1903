/* Configuration files. Whatever loads must print as YAML that loads to the same; whatever does not must have said why. */
#include "../unit/config/help_config.h"

#include <stdlib.h>
#include <string.h>

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void same(const weft_config *a, const weft_config *b)
{
    char where[100];
    must(a->n_models == b->n_models && help_equal(weft_config_root_table, a, b, where, sizeof(where)));
    for (size_t i = 0; i < a->n_models; i++) {
        const weft_config_model *m = &a->models[i], *n = weft_config_find(b, m->config.name);
        must(n && m->executor == n->executor && m->backend == n->backend && m->n_slots == n->n_slots);
        must(help_equal(weft_model_option_table, &m->config, &n->config, where, sizeof(where)));
        if (m->executor->options)
            must(help_equal(m->executor->options, m->config.executor_options, n->config.executor_options, where, sizeof(where)));
        if (m->backend && m->backend->options)
            must(help_equal(m->backend->options, m->config.backend_options, n->config.backend_options, where, sizeof(where)));
        for (size_t k = 0; k < m->n_slots; k++)
            must(m->slots[k].model < i);
    }
}

static void print_and_read(const weft_config *c)
{
    weft_buffer b;
    weft_config *again;
    weft_error err;
    weft_buffer_init(&b, 0);
    weft_config_print(c, &b);
    must(!b.failed);
    weft_status s = weft_config_load_text((const char *)b.data, b.n_bytes, "", help_executors, help_backends, &again, NULL, &err);
    if (s == WEFT_E_TOO_LARGE || s == WEFT_E_CONFIG) {
        /* Written out, aliases may go over the bounds that the short form kept: only that may be said. */
        must(s == WEFT_E_TOO_LARGE || strstr(err.text, "too many values"));
    } else {
        must(s == WEFT_OK);
        same(c, again);
    }
    weft_config_destroy(&again);
    weft_buffer_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weft_config *c;
    weft_error err;
    weft_buffer text;
    weft_diagnostics *d = weft_diagnostics_create();
    must(d != NULL);
    weft_status s = weft_config_load_text((const char *)data, n, "", help_executors, help_backends, &c, d, &err);
    must((s == WEFT_OK) == (c != NULL));
    must(s == WEFT_OK || s == WEFT_E_CONFIG || s == WEFT_E_TOO_LARGE);
    must((s == WEFT_E_CONFIG) == (weft_diagnostics_errors(d) > 0));
    weft_buffer_init(&text, 0);
    weft_diagnostics_print(d, &text, true);
    weft_diagnostics_json(d, &text);
    must(!text.failed);
    weft_buffer_fini(&text);
    for (size_t i = 0; i < weft_diagnostics_count(d); i++)
        must(*weft_diagnostics_at(d, i)->text != 0);
    if (c)
        print_and_read(c);
    weft_config_destroy(&c);
    weft_diagnostics_destroy(&d);
    return 0;
}
