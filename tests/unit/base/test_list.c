#include "harness/check.h"

#include "base/list.h"

typedef struct item {
    int value;
    weft_node node;
} item;

static void order(void **state)
{
    weft_node head;
    item items[5];
    int n = 0;

    weft_node_init(&head);
    assert_true(weft_node_empty(&head));
    assert_null(weft_node_pop_front(&head));
    for (int i = 0; i < 5; i++) {
        items[i] = (item){.value = i};
        assert_false(weft_node_linked(&items[i].node));
    }
    weft_node_push_back(&head, &items[2].node);
    weft_node_push_back(&head, &items[4].node);
    weft_node_push_front(&head, &items[0].node);
    weft_node_insert_before(&items[2].node, &items[1].node);
    weft_node_insert_before(&items[4].node, &items[3].node);
    weft_list_each(p, &head) assert_int_equal(weft_container_of(p, item, node)->value, n++);
    assert_int_equal(n, 5);
    weft_node_remove(&items[2].node);
    weft_node_remove(&items[2].node); /* twice is harmless */
    assert_false(weft_node_linked(&items[2].node));
    weft_list_each_safe(p, next, &head) if (weft_container_of(p, item, node)->value == 3) weft_node_remove(p);
    assert_ptr_equal(weft_node_pop_front(&head), &items[0].node);
    assert_ptr_equal(weft_node_pop_front(&head), &items[1].node);
    assert_ptr_equal(weft_node_pop_front(&head), &items[4].node);
    assert_true(weft_node_empty(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
