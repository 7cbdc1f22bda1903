/* /openapi.json: nothing of the route table is missing, and schemas follow the fields. The document as a whole is validated by
 * tests/e2e/seeing_test.py with other people's programs. */
#include "harness/cmocka_all.h"

#include <string.h>

#include "server/openapi.h"
#include "server/openapi_schema.h"

static void every_route_is_described(void **state)
{
    (void)state;
    size_t n = 0;
    for (const weft_route *r = weft_routes; r->pattern; r++, n++)
        if (!weft_openapi_knows(r))
            fail_msg("openapi.c has no line for %s", r->pattern);
    assert_true(n > 10 && n < WEFT_ROUTE_OTHER);
}

static void paths_and_methods_have_names(void **state)
{
    (void)state;
    char path[160];
    weft_route r = {.method = WEFT_HTTP_GET, .pattern = "/v2/models/{}/versions/{}/infer"};
    weft_route_path(&r, path, sizeof(path));
    assert_string_equal(path, "/v2/models/{name}/versions/{version}/infer");
    assert_string_equal(weft_http_method_name(WEFT_HTTP_DELETE), "DELETE");
    assert_string_equal(weft_http_method_name(WEFT_HTTP_OTHER), "");
    assert_int_equal(weft_route_index(NULL), WEFT_ROUTE_NONE);
    assert_int_equal(weft_route_index(&r), WEFT_ROUTE_OTHER);
    assert_int_equal(weft_route_index(&weft_routes[4]), 4);
    weft_http_head head = {.path = {"/healthz", 8}};
    assert_int_equal(weft_route_methods(&head), 1u << WEFT_HTTP_GET | 1u << WEFT_HTTP_HEAD);
    head.path = (weft_http_slice){"/v1/models/a/predict", 20};
    assert_int_equal(weft_route_methods(&head), 1u << WEFT_HTTP_POST);
}

static void results_follow_the_fields(void **state)
{
    (void)state;
    static const weft_field_decl fields[] = {
        {"score", WEFT_FIELD_SCORE, WEFT_DT_F32, true, 0, "0..1"}, {"points", WEFT_FIELD_POINTS, WEFT_DT_F32, true, 6, NULL},
        {"index", WEFT_FIELD_NUMBER, WEFT_DT_I32, true, 0, ""},    {"matte", WEFT_FIELD_MATTE, WEFT_DT_U8, false, 0, ""},
        {"*", WEFT_FIELD_TENSOR, WEFT_DT_NONE, false, 0, ""},
    };
    static const char want[] =
        "{\"type\":\"object\",\"required\":[\"model\",\"version\",\"timing\"],\"properties\":{\"id\":{\"type\":\"string\"},"
        "\"model\":{\"type\":\"string\"},\"version\":{\"type\":\"string\"},"
        "\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
        "\"score\":{\"description\":\"0..1\",\"type\":\"number\",\"minimum\":0,\"maximum\":1},"
        "\"points\":{\"type\":\"array\",\"minItems\":6,\"maxItems\":6,\"items\":{\"type\":\"array\",\"minItems\":2,\"maxItems\":"
        "2,"
        "\"items\":{\"type\":\"number\"}}},"
        "\"index\":{\"type\":[\"integer\",\"array\"]}}}},"
        "\"matte\":{\"type\":\"object\",\"properties\":{\"width\":{\"type\":\"integer\"},\"height\":{\"type\":\"integer\"},"
        "\"data\":{\"type\":\"string\",\"contentEncoding\":\"base64\"}}},"
        "\"outputs\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/components/schemas/RawOutput\"}},"
        "\"timing\":{\"$ref\":\"#/components/schemas/Timing\"}}}";
    const weft_model_info info = {.fields = fields, .n_fields = 5};
    weft_buffer out;
    weft_json j;
    weft_buffer_init(&out, 0);
    weft_json_init(&j, &out);
    weft_openapi_result(&j, &info);
    assert_true(weft_json_finish(&j));
    assert_string_equal(out.data, want);
    weft_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_described),
        cmocka_unit_test(paths_and_methods_have_names),
        cmocka_unit_test(results_follow_the_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
