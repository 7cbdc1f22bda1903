/* Query and form parameters of the picture door. Kinds and messages by hand. */
#include "harness/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/predict_params.h"

static const char *const known[] = {"top_k", "min_score", "style", "exact", NULL};
static weft_predict_params p;
static weft_error err;

static weft_status query(const char *text)
{
    weft_predict_params_fini(&p);
    weft_predict_params_init(&p, known, 5000);
    memset(&err, 0, sizeof(err));
    return weft_predict_params_query(&p, (weft_http_slice){text, strlen(text)}, &err);
}

static void refused(const char *text, const char *message)
{
    assert_int_equal(query(text), WEFT_E_INVALID);
    assert_string_equal(err.text, message);
}

static void every_kind_is_told_from_its_text(void **state)
{
    (void)state;
    assert_int_equal(query("top_k=3&min_score=0.25&style=a+b%2Fc&exact=true"), WEFT_OK);
    assert_int_equal(p.n, 4);
    assert_ptr_equal(p.params[0].name, known[0]);
    assert_int_equal(p.params[0].kind, WEFT_PARAM_INT);
    assert_int_equal(p.params[0].i, 3);
    assert_int_equal(p.params[1].kind, WEFT_PARAM_FLOAT);
    assert_true(p.params[1].f == 0.25);
    assert_int_equal(p.params[2].kind, WEFT_PARAM_STRING);
    assert_string_equal(p.params[2].s, "a b/c");
    assert_int_equal(p.params[3].kind, WEFT_PARAM_BOOL);
    assert_int_equal(p.params[3].i, 1);
    assert_int_equal(query("exact=false&top_k=-7&min_score=1e-3&style="), WEFT_OK);
    assert_int_equal(p.params[0].i, 0);
    assert_int_equal(p.params[1].i, -7);
    assert_true(p.params[2].f == 1e-3);
    assert_int_equal(p.params[3].kind, WEFT_PARAM_STRING);
    assert_int_equal(query("style=nan"), WEFT_OK);
    assert_int_equal(p.params[0].kind, WEFT_PARAM_STRING); /* no number that a configuration could not hold either */
    assert_int_equal(query("style=1e999"), WEFT_OK);
    assert_int_equal(p.params[0].kind, WEFT_PARAM_STRING);
    assert_int_equal(query("style=12345678901234567890"), WEFT_OK);
    assert_int_equal(p.params[0].kind, WEFT_PARAM_FLOAT); /* wider than 64 bits */
}

static void the_doors_own(void **state)
{
    (void)state;
    assert_int_equal(query(""), WEFT_OK);
    assert_false(p.draw);
    assert_int_equal(p.timeout_ms, 5000);
    assert_int_equal(query("draw=1&timeout_ms=250&priority=-3"), WEFT_OK);
    assert_true(p.draw && p.timeout_ms == 250 && p.priority == -3 && p.n == 0);
    assert_int_equal(query("&&draw=true&"), WEFT_OK);
    assert_true(p.draw);
    assert_int_equal(query("draw=0"), WEFT_OK);
    assert_false(p.draw);
    assert_int_equal(query("draw=false"), WEFT_OK);
    assert_false(p.draw);
    refused("draw=yes", "draw must be 1 or 0 (or true, false), but is \"yes\"");
    refused("draw", "draw must be 1 or 0 (or true, false), but is \"\"");
    refused("draw=2", "draw must be 1 or 0 (or true, false), but is \"2\"");
    refused("timeout_ms=x", "timeout_ms must be a whole number from 1 to 86400000, but is \"x\"");
    refused("timeout_ms=0", "timeout_ms must be a whole number from 1 to 86400000, but is \"0\"");
    refused("priority=99", "priority must be a whole number from -10 to 10, but is \"99\"");
    refused("priority=99999999999999999999", "priority must be a whole number from -10 to 10, but is \"99999999999999999999\"");
}

static void strangers_are_refused(void **state)
{
    (void)state;
    refused("drw=1", "unknown query parameter \"drw\"; did you mean \"draw\"?");
    refused("topk=1", "unknown query parameter \"topk\"; did you mean \"top_k\"?");
    refused("zebra=1",
            "unknown query parameter \"zebra\"; this model takes: draw, timeout_ms, priority, top_k, min_score, style, "
            "exact");
    refused("top_k=1&top_k=2", "the parameter \"top_k\" is given twice; give it once");
    refused("draw=1&draw=1", "the parameter \"draw\" is given twice; give it once");
    weft_predict_params_fini(&p);
    weft_predict_params_init(&p, NULL, 0);
    assert_int_equal(weft_predict_params_query(&p, (weft_http_slice){"top_k=1", 7}, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "unknown query parameter \"top_k\"; this model takes: draw, timeout_ms, priority");
}

static void bounds(void **state)
{
    (void)state;
    char text[1200] = "style=";
    memset(text + 6, 'x', WEFT_PREDICT_VALUE_BYTES);
    assert_int_equal(query(text), WEFT_OK);
    assert_int_equal(strlen(p.params[0].s), WEFT_PREDICT_VALUE_BYTES);
    text[6 + WEFT_PREDICT_VALUE_BYTES] = 'x';
    assert_int_equal(query(text), WEFT_E_INVALID);
    assert_int_equal(query("style=%zz"), WEFT_E_INVALID);
    assert_int_equal(query("style=%00"), WEFT_E_INVALID);
    assert_int_equal(query("style=%4"), WEFT_E_INVALID);
    static char names[40][16];
    static const char *many[41];
    char all[400] = "";
    for (int i = 0; i < 33; i++) {
        snprintf(names[i], sizeof(names[i]), "p%d", i);
        many[i] = names[i];
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "p%d=1&", i);
    }
    weft_predict_params_fini(&p);
    weft_predict_params_init(&p, many, 0);
    assert_int_equal(weft_predict_params_query(&p, (weft_http_slice){all, strlen(all)}, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "at most 32 parameters are read");
    assert_int_equal(p.n, 32);
}

static void form_fields(void **state)
{
    (void)state;
    assert_int_equal(query("draw=1"), WEFT_OK);
    assert_int_equal(weft_predict_params_field(&p, "top_k", "12", 2, &err), WEFT_OK);
    assert_int_equal(p.params[0].i, 12);
    assert_int_equal(weft_predict_params_field(&p, "top_k", "1", 1, &err), WEFT_E_INVALID);
    assert_int_equal(weft_predict_params_field(&p, "draw", "1", 1, &err), WEFT_E_INVALID); /* the query had it */
    assert_int_equal(weft_predict_params_field(&p, "min_skore", "1", 1, &err), WEFT_E_INVALID);
    assert_string_equal(err.text, "unknown form field \"min_skore\"; did you mean \"min_score\"?");
    assert_int_equal(weft_predict_params_field(&p, "style", "a\0b", 3, &err), WEFT_E_INVALID);
    assert_int_equal(weft_predict_params_field(&p, "style", "", 0, &err), WEFT_OK);
    assert_int_equal(p.params[1].kind, WEFT_PARAM_STRING);
}

static int finish(void **state)
{
    (void)state;
    weft_predict_params_fini(&p);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_told_from_its_text),
        cmocka_unit_test(the_doors_own),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(bounds),
        cmocka_unit_test(form_fields),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
