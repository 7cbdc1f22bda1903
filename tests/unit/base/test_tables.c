#include "harness/check.h"

#include "tbl/events.h"
#include "tbl/metrics.h"

static bool plain(const char *s)
{
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '_'))
            return false;
    return true;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), n_end = strlen(end);

    return n >= n_end && !strcmp(s + n - n_end, end);
}

static void events(void **state)
{
    size_t n;
    const weft_event_decl *e = weft_events(&n);

    assert_int_equal(n, WEFT_N_EVENTS);
    for (size_t i = 0; i < n; i++) {
        assert_true(e[i].name[0] && strspn(e[i].name, "abcdefghijklmnopqrstuvwxyz_.") == strlen(e[i].name));
        assert_in_range(e[i].level, WEFT_LOG_ERROR, WEFT_LOG_DEBUG);
        assert_true(e[i].text[0] && !ends_with(e[i].text, "."));
        assert_ptr_equal(weft_event_find(e[i].name), &e[i]); /* also: no name twice */
        assert_string_equal(weft_event_name((weft_event)i), e[i].name);
        assert_int_equal(weft_event_level((weft_event)i), e[i].level);
    }
    assert_string_equal(weft_event_name(WEFT_EVENT_MODEL_STATE), "model.state");
    assert_int_equal(weft_event_level(WEFT_EVENT_RUN_LOST), WEFT_LOG_ERROR);
    assert_null(weft_event_find("no_such_event"));
    assert_string_equal(weft_event_name(WEFT_N_EVENTS), "?");
}

static void metrics(void **state)
{
    size_t n;
    const weft_metric_decl *m = weft_metrics(&n);

    assert_int_equal(n, WEFT_N_METRICS);
    for (size_t i = 0; i < n; i++) {
        bool ours = !strncmp(m[i].name, "weft_", 5), usual = !strncmp(m[i].name, "process_", 8); /* the names that every exporter has */
        assert_true(plain(m[i].name) && (ours || usual));
        assert_int_equal(ends_with(m[i].name, "_total"), m[i].kind == WEFT_METRIC_COUNTER);
        if (!strcmp(m[i].unit, "seconds") || !strcmp(m[i].unit, "bytes")) /* the unit is part of the name */
            assert_non_null(strstr(m[i].name, m[i].unit));
        assert_true(m[i].help[0] && !ends_with(m[i].help, "."));
        assert_ptr_equal(weft_metric_find(m[i].name), &m[i]);
    }
    assert_null(weft_metric_find("weft_nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(events), cmocka_unit_test(metrics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
