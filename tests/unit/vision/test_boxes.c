/* Boxes and suppression, against numbers worked out by hand and a plain quadratic reading of the definition. */
#include "harness/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "vision/boxes.h"

static void test_iou(void **state)
{
    /* 10x10 boxes shifted by 5: shared 50, union 150. */
    weft_box a = {0, 0, 10, 10}, b = {5, 0, 15, 10};
    assert_float_equal(weft_box_iou(&a, &b), 50.0 / 150.0, 1e-6);
    assert_float_equal(weft_box_iou(&a, &a), 1.0, 0);
    /* Inside: 25 of 100. */
    weft_box inner = {2, 2, 7, 7};
    assert_float_equal(weft_box_iou(&a, &inner), 0.25, 1e-6);
    assert_float_equal(weft_box_iou(&inner, &a), 0.25, 1e-6);
    /* Touching edges share nothing. */
    weft_box beside = {10, 0, 20, 10};
    assert_float_equal(weft_box_iou(&a, &beside), 0, 0);
}

static void test_broken_boxes(void **state)
{
    weft_box good = {0, 0, 10, 10};
    weft_box broken[] = {{5, 5, 5, 9}, {9, 9, 1, 1}, {NAN, 0, 1, 1}, {0, 0, INFINITY, 1}, {-INFINITY, 0, 1, 1}, {0, NAN, NAN, 1}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_false(weft_box_valid(&broken[i]));
        assert_float_equal(weft_box_area(&broken[i]), 0, 0);
        assert_float_equal(weft_box_iou(&good, &broken[i]), 0, 0);
        assert_float_equal(weft_box_iou(&broken[i], &good), 0, 0);
    }
    /* Areas that overflow a float are not an overlap of NaN. */
    weft_box huge = {-3e38f, -3e38f, 3e38f, 3e38f};
    assert_float_equal(weft_box_iou(&huge, &huge), 0, 0);
}

static void test_clip(void **state)
{
    weft_box c = weft_box_clip((weft_box){-5, 3, 120, 90}, 100, 80);
    assert_float_equal(c.x1, 0, 0);
    assert_float_equal(c.y1, 3, 0);
    assert_float_equal(c.x2, 100, 0);
    assert_float_equal(c.y2, 80, 0);
}

static weft_candidate unit_at(float x, float score, int32_t class_index, int32_t source)
{
    return (weft_candidate){{x, 0, x + 10, 10}, score, class_index, source};
}

static void test_collector_keeps_the_best(void **state)
{
    weft_candidate memory[4];
    weft_candidates c = {memory, 0, 4};
    /* Scores 0.00 .. 0.99 in a scrambled order (37 is coprime to 100): the best four are .99 .98 .97 .96. */
    for (int i = 0; i < 100; i++) {
        weft_candidate item = unit_at((float)i, (float)(i * 37 % 100) / 100.0f, 0, i);
        weft_candidates_add(&c, &item);
    }
    weft_candidates_sort(&c);
    assert_int_equal(c.n, 4);
    for (int i = 0; i < 4; i++)
        assert_float_equal(memory[i].score, 0.99f - 0.01f * (float)i, 1e-6);
}

static void test_collector_refuses_rubbish(void **state)
{
    weft_candidate memory[4];
    weft_candidates c = {memory, 0, 4}, none = {NULL, 0, 0};
    weft_candidate bad[] = {unit_at(0, NAN, 0, 0), unit_at(NAN, 0.5f, 0, 1), {{3, 3, 2, 9}, 0.9f, 0, 2}};
    for (size_t i = 0; i < 3; i++)
        weft_candidates_add(&c, &bad[i]);
    assert_int_equal(c.n, 0);
    weft_candidate good = unit_at(0, 0.5f, 0, 0);
    weft_candidates_add(&none, &good);
    assert_int_equal(none.n, 0);
    assert_int_equal(weft_nms(&none, 0.5f, true, 10), 0);
}

static void test_equal_scores_follow_class_then_source(void **state)
{
    weft_candidate memory[8];
    weft_candidates c = {memory, 0, 8};
    const int32_t given[][2] = {{2, 0}, {1, 9}, {1, 3}, {0, 7}};
    for (size_t i = 0; i < 4; i++) {
        weft_candidate item = unit_at(20.0f * (float)i, 0.5f, given[i][0], given[i][1]);
        weft_candidates_add(&c, &item);
    }
    weft_candidates_sort(&c);
    const int32_t wanted[][2] = {{0, 7}, {1, 3}, {1, 9}, {2, 0}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(memory[i].class_index, wanted[i][0]);
        assert_int_equal(memory[i].source, wanted[i][1]);
    }
}

static void test_nms_by_hand(void **state)
{
    /* x = 0, 3, 6 overlap neighbours by 70/130 = 0.538 and 0 with 6 by 40/160 = 0.25: at 0.5 the middle one goes, the outer two
     * stay. */
    weft_candidate memory[3] = {unit_at(6, 0.7f, 0, 2), unit_at(0, 0.9f, 0, 0), unit_at(3, 0.8f, 0, 1)};
    weft_candidates c = {memory, 3, 3};
    assert_int_equal(weft_nms(&c, 0.5f, true, 10), 2);
    assert_int_equal(c.n, 2);
    assert_int_equal(memory[0].source, 0);
    assert_int_equal(memory[1].source, 2);
}

static void test_nms_per_class(void **state)
{
    weft_candidate given[2] = {unit_at(0, 0.9f, 0, 0), unit_at(1, 0.8f, 1, 1)}, memory[2];
    memcpy(memory, given, sizeof given);
    weft_candidates c = {memory, 2, 2};
    assert_int_equal(weft_nms(&c, 0.5f, true, 10), 2);
    memcpy(memory, given, sizeof given);
    c.n = 2;
    assert_int_equal(weft_nms(&c, 0.5f, false, 10), 1);
}

static void test_nms_stops_at_max(void **state)
{
    weft_candidate memory[50];
    weft_candidates c = {memory, 0, 50};
    for (int i = 0; i < 50; i++) {
        weft_candidate item = unit_at(20.0f * (float)i, 0.5f + 0.01f * (float)i, 0, i);
        weft_candidates_add(&c, &item);
    }
    assert_int_equal(weft_nms(&c, 0.5f, true, 7), 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(memory[i].source, 49 - i);
}

static uint32_t next_random(uint32_t *seed)
{
    return *seed = *seed * 1664525u + 1013904223u;
}

static weft_candidate random_candidate(uint32_t *seed, int32_t source)
{
    float x = (float)(next_random(seed) >> 24), y = (float)(next_random(seed) >> 24);
    float w = 10.0f + (float)(next_random(seed) >> 27), h = 10.0f + (float)(next_random(seed) >> 27);
    float score = (float)(next_random(seed) >> 26) / 64.0f; /* many equal scores on purpose */
    return (weft_candidate){{x, y, x + w, y + h}, score, (int32_t)(next_random(seed) >> 30), source};
}

/* The definition, written the slow way: a box survives when no survivor that comes before it overlaps it. */
static size_t plain_nms(const weft_candidate *in, size_t n, float iou, int32_t *survivors)
{
    bool done[300] = {false};
    size_t kept = 0, kept_at[300];
    for (size_t round = 0; round < n; round++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++) {
            if (done[i])
                continue;
            if (best == n || in[i].score > in[best].score ||
                (in[i].score == in[best].score &&
                 (in[i].class_index < in[best].class_index ||
                  (in[i].class_index == in[best].class_index && in[i].source < in[best].source))))
                best = i;
        }
        done[best] = true;
        bool dropped = false;
        for (size_t k = 0; k < kept; k++) {
            const weft_candidate *a = &in[kept_at[k]], *b = &in[best];
            float w = fminf(a->box.x2, b->box.x2) - fmaxf(a->box.x1, b->box.x1),
                  h = fminf(a->box.y2, b->box.y2) - fmaxf(a->box.y1, b->box.y1);
            float shared = w > 0 && h > 0 ? w * h : 0;
            float both =
                (a->box.x2 - a->box.x1) * (a->box.y2 - a->box.y1) + (b->box.x2 - b->box.x1) * (b->box.y2 - b->box.y1) - shared;
            dropped |= a->class_index == b->class_index && shared / both > iou;
        }
        if (!dropped) {
            kept_at[kept] = best;
            survivors[kept++] = in[best].source;
        }
    }
    return kept;
}

static void test_nms_equals_the_definition(void **state)
{
    uint32_t seed = 7;
    for (int round = 0; round < 50; round++) {
        weft_candidate given[300], memory[300];
        int32_t wanted[300];
        for (int32_t i = 0; i < 300; i++)
            given[i] = random_candidate(&seed, i);
        size_t n = plain_nms(given, 300, 0.3f, wanted);
        memcpy(memory, given, sizeof given);
        weft_candidates c = {memory, 300, 300};
        assert_int_equal(weft_nms(&c, 0.3f, true, 300), n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(memory[i].source, wanted[i]);
    }
}

typedef struct seen {
    size_t n;
    size_t group[16];
    int32_t source[16];
} seen;

static void see(void *cookie, size_t group, const weft_candidate *member)
{
    seen *s = cookie;
    assert_true(s->n < 16);
    s->group[s->n] = group;
    s->source[s->n++] = member->source;
}

static void test_groups(void **state)
{
    /* As in test_nms_by_hand, and a far box: 0 takes 3 with it, 6 stands alone although 3 overlaps it. */
    weft_candidate memory[4] = {unit_at(6, 0.7f, 0, 2), unit_at(100, 0.6f, 0, 3), unit_at(0, 0.9f, 0, 0), unit_at(3, 0.8f, 0, 1)};
    weft_candidates c = {memory, 4, 4};
    seen s = {0};
    assert_int_equal(weft_nms_groups(&c, 0.5f, 10, see, &s), 3);
    const int32_t source[] = {0, 1, 2, 3};
    const size_t group[] = {0, 0, 1, 2};
    assert_int_equal(s.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(s.source[i], source[i]);
        assert_int_equal(s.group[i], group[i]);
    }
}

static void test_groups_stop_at_max(void **state)
{
    weft_candidate memory[3] = {unit_at(0, 0.7f, 0, 0), unit_at(50, 0.6f, 0, 1), unit_at(90, 0.5f, 0, 2)};
    weft_candidates c = {memory, 3, 3};
    seen s = {0};
    assert_int_equal(weft_nms_groups(&c, 0.5f, 2, see, &s), 2);
    assert_int_equal(s.n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iou),
        cmocka_unit_test(test_broken_boxes),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_collector_keeps_the_best),
        cmocka_unit_test(test_collector_refuses_rubbish),
        cmocka_unit_test(test_equal_scores_follow_class_then_source),
        cmocka_unit_test(test_nms_by_hand),
        cmocka_unit_test(test_nms_per_class),
        cmocka_unit_test(test_nms_stops_at_max),
        cmocka_unit_test(test_nms_equals_the_definition),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_groups_stop_at_max),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
