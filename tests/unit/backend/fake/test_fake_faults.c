#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"
#include "help_fake.h"

static const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void test_classes_by_number(void **state)
{
    weft_fake_fault faults[6] = {
        {.kind = WEFT_FAKE_REQUEST, .at = 1}, {.kind = WEFT_FAKE_UNKNOWN, .at = 2},
        {.kind = WEFT_FAKE_MEMORY, .at = 3},  {.kind = WEFT_FAKE_TIMEOUT, .at = 4},
        {.kind = WEFT_FAKE_STREAM, .at = 5},  {.kind = WEFT_FAKE_DEVICE, .at = 6, .message = "gone"},
    };
    static const weft_fault classes[6] = {WEFT_FAULT_REQUEST, WEFT_FAULT_UNKNOWN, WEFT_FAULT_MEMORY,
                                          WEFT_FAULT_TIMEOUT, WEFT_FAULT_STREAM,  WEFT_FAULT_DEVICE};
    static const weft_status statuses[6] = {WEFT_E_INVALID,  WEFT_E_RUN_FAILED, WEFT_E_NO_MEMORY,
                                            WEFT_E_DEADLINE, WEFT_E_DEVICE,     WEFT_E_DEVICE};
    weft_fake_options o = {.faults = {6, faults}};
    weft_tensor x = rows_of(ones, 1);
    weft_fake_counts c;
    fake_rig r;

    assert_int_equal(rig_open(&r, "classes", &o, NULL), WEFT_OK);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(rig_run(&r, &x, 1), statuses[i]);
        assert_int_equal(r.fault, classes[i]);
    }
    assert_string_equal(r.err.text, "gone");
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_int_equal(r.fault, WEFT_FAULT_NONE);
    weft_fake_count("classes", &c);
    assert_int_equal(c.runs_started, 7);
    assert_int_equal(c.runs_ended, 7);
    assert_int_equal(c.faults, 6);
    rig_close(&r);
    weft_fake_count("classes", &c);
    assert_int_equal(c.unloads, 1);
    assert_int_equal(c.instances_destroyed, 1);
}

static void test_every_times_rows_value(void **state)
{
    double poison = 7;
    weft_fake_fault faults[3] = {
        {.kind = WEFT_FAKE_UNKNOWN, .every = 3, .times = 2},
        {.kind = WEFT_FAKE_MEMORY, .rows_over = 2},
        {.kind = WEFT_FAKE_REQUEST, .when_value = {1, &poison}},
    };
    weft_fake_options o = {.faults = {3, faults}};
    float data[16];
    weft_tensor one = rows_of(ones, 1), three = rows_of(ones, 3), poisoned = rows_of(data, 2);
    weft_fault got[10];
    static const weft_fault want[10] = {0, 0, WEFT_FAULT_UNKNOWN, 0, 0, WEFT_FAULT_UNKNOWN, 0, 0, 0, 0};
    fake_rig r;

    assert_int_equal(rig_open(&r, "every", &o, NULL), WEFT_OK);
    for (int i = 0; i < 10; i++) {
        rig_run(&r, &one, 1);
        got[i] = r.fault;
    }
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(rig_run(&r, &three, 1), WEFT_E_NO_MEMORY);
    memcpy(data, ones, sizeof data);
    assert_int_equal(rig_run(&r, &poisoned, 1), WEFT_OK);
    data[4] = 7; /* first element of row 1 */
    assert_int_equal(rig_run(&r, &poisoned, 1), WEFT_E_INVALID);
    data[4] = 1;
    data[5] = 7;
    assert_int_equal(rig_run(&r, &poisoned, 1), WEFT_OK);
    rig_close(&r);
}

static void test_sticky(void **state)
{
    weft_fake_fault stream = {.kind = WEFT_FAKE_STREAM, .at = 1, .sticky = true},
                    device = {.kind = WEFT_FAKE_DEVICE, .at = 1, .sticky = true};
    weft_fake_options o = {.faults = {1, &stream}}, od = {.faults = {1, &device}};
    weft_tensor x = rows_of(ones, 1);
    fake_rig r, other;

    assert_int_equal(rig_open(&r, "stream", &o, NULL), WEFT_OK);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_E_DEVICE);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_E_DEVICE);
    assert_int_equal(r.fault, WEFT_FAULT_STREAM);
    r.backend->instance_destroy(r.self, r.instance);
    assert_int_equal(r.backend->instance_create(r.self, r.model, &r.instance, NULL), WEFT_OK);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    rig_close(&r);

    assert_int_equal(rig_open(&r, "device", &od, NULL), WEFT_OK);
    assert_int_equal(rig_open(&other, "neighbour", NULL, NULL), WEFT_OK);
    assert_int_equal(rig_run(&other, &x, 1), WEFT_OK);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_E_DEVICE);
    assert_int_equal(rig_run(&other, &x, 1), WEFT_E_DEVICE);
    assert_int_equal(other.fault, WEFT_FAULT_DEVICE);
    weft_fake_device_reset(0);
    assert_int_equal(rig_run(&other, &x, 1), WEFT_OK);
    rig_close(&r);
    rig_close(&other);
}

static void test_wrong_answers(void **state)
{
    weft_fake_fault faults[2] = {{.kind = WEFT_FAKE_WRONG_SIZE, .at = 1}, {.kind = WEFT_FAKE_WRONG_VALUES, .at = 2}};
    weft_fake_options o = {.faults = {2, faults}};
    weft_tensor x = rows_of(ones, 1);
    fake_rig r;

    assert_int_equal(rig_open(&r, "wrong", &o, NULL), WEFT_OK);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_int_equal(r.outputs[0].shape[0], 2);
    assert_int_equal(r.outputs[0].n_bytes, 32);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_int_equal(r.outputs[0].shape[0], 1);
    assert_float_equal(((float *)r.outputs[0].data)[0], 5, 0);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_float_equal(((float *)r.outputs[0].data)[0], 4, 0);
    rig_close(&r);
}

typedef struct job {
    fake_rig rig;
    weft_thread thread;
    weft_status status;
} job;

static void run_one(void *arg)
{
    job *j = arg;
    weft_tensor x = rows_of(ones, 1);

    j->status = rig_run(&j->rig, &x, 1);
}

static void test_hangs(void **state)
{
    weft_fake_fault faults[3] = {
        {.kind = WEFT_FAKE_HANG, .at = 1}, {.kind = WEFT_FAKE_HANG, .at = 2}, {.kind = WEFT_FAKE_HANG_HARD, .at = 3}};
    weft_fake_options o = {.faults = {3, faults}};
    weft_fake_counts c;
    job j;

    memset(&j, 0, sizeof j);
    assert_int_equal(rig_open(&j.rig, "hang", &o, NULL), WEFT_OK);
    j.rig.backend->terminate(j.rig.self, j.rig.instance); /* nothing runs: nothing happens */
    assert_int_equal(weft_thread_start(&j.thread, "run", run_one, &j, NULL), WEFT_OK);
    assert_true(weft_fake_wait_waiting("hang", 1, 10000));
    j.rig.backend->terminate(j.rig.self, j.rig.instance);
    weft_thread_join(&j.thread);
    assert_int_equal(j.status, WEFT_E_DEADLINE);
    assert_int_equal(j.rig.fault, WEFT_FAULT_TIMEOUT);

    assert_int_equal(weft_thread_start(&j.thread, "run", run_one, &j, NULL), WEFT_OK);
    assert_true(weft_fake_wait_waiting("hang", 1, 10000));
    weft_fake_release("hang");
    weft_thread_join(&j.thread);
    assert_int_equal(j.status, WEFT_OK);

    assert_int_equal(weft_thread_start(&j.thread, "run", run_one, &j, NULL), WEFT_OK);
    assert_true(weft_fake_wait_waiting("hang", 1, 10000));
    j.rig.backend->terminate(j.rig.self, j.rig.instance);
    usleep(20000);
    weft_fake_count("hang", &c);
    assert_int_equal(c.waiting, 1); /* terminate does nothing to it */
    weft_fake_release("hang");
    weft_thread_join(&j.thread);
    assert_int_equal(j.status, WEFT_OK);
    assert_float_equal(((float *)j.rig.outputs[0].data)[0], 4, 0);
    weft_fake_count("hang", &c);
    assert_int_equal(c.terminated, 1);
    rig_close(&j.rig);
}

static void test_delay_is_cut_by_terminate(void **state)
{
    for (int spin = 0; spin < 2; spin++) {
        weft_fake_options o = {.delay_ms = 60000, .spin = spin != 0};
        job j;

        memset(&j, 0, sizeof j);
        assert_int_equal(rig_open(&j.rig, "slow", &o, NULL), WEFT_OK);
        assert_int_equal(weft_thread_start(&j.thread, "run", run_one, &j, NULL), WEFT_OK);
        assert_true(weft_fake_wait_running("slow", 1, 10000));
        j.rig.backend->terminate(j.rig.self, j.rig.instance);
        weft_thread_join(&j.thread);
        assert_int_equal(j.rig.fault, WEFT_FAULT_TIMEOUT);
        rig_close(&j.rig);
    }
}

static void test_delays_last(void **state)
{
    weft_fake_options o = {.delay_ms = 10, .row_delay_ms = 5};
    weft_tensor x = rows_of(ones, 4);
    int64_t start;
    fake_rig r;

    assert_int_equal(rig_open(&r, "delays", &o, NULL), WEFT_OK);
    start = weft_now_ns();
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_true(weft_now_ns() - start >= 30 * WEFT_MS);
    weft_fake_set_delay("delays", 20);
    start = weft_now_ns();
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    assert_true(weft_now_ns() - start >= 50 * WEFT_MS);
    rig_close(&r);
}

static void test_hold_and_let(void **state)
{
    weft_fake_counts c;
    job j;

    memset(&j, 0, sizeof j);
    assert_int_equal(rig_open(&j.rig, "held", NULL, NULL), WEFT_OK);
    weft_fake_hold("held", true);
    weft_fake_let("held", 1);
    run_one(&j); /* the permit is there */
    assert_int_equal(j.status, WEFT_OK);
    assert_int_equal(weft_thread_start(&j.thread, "run", run_one, &j, NULL), WEFT_OK);
    assert_true(weft_fake_wait_waiting("held", 1, 10000));
    assert_false(weft_fake_wait_waiting("held", 2, 1));
    weft_fake_let("held", 1);
    weft_thread_join(&j.thread);
    assert_int_equal(j.status, WEFT_OK);
    weft_fake_hold("held", false);
    run_one(&j);
    weft_fake_count("held", &c);
    assert_int_equal(c.runs_ended, 3);
    assert_int_equal(c.waiting, 0);
    rig_close(&j.rig);
}

static void test_injected(void **state)
{
    weft_tensor x = rows_of(ones, 1);
    weft_fake_counts c;
    fake_rig r;

    assert_true(weft_fake_inject("told", WEFT_FAKE_LOAD, 1));
    assert_int_equal(rig_open(&r, "told", NULL, NULL), WEFT_E_RUN_FAILED);
    assert_true(weft_fake_inject("told", WEFT_FAKE_INSTANCE, 1));
    assert_int_equal(rig_open(&r, "told", NULL, NULL), WEFT_E_NO_MEMORY);
    assert_int_equal(rig_open(&r, "told", NULL, NULL), WEFT_OK);
    assert_true(weft_fake_inject("told", WEFT_FAKE_UNKNOWN, 2));
    assert_true(weft_fake_inject("told", WEFT_FAKE_MEMORY, 1));
    assert_int_equal(rig_run(&r, &x, 1), WEFT_E_RUN_FAILED);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_E_RUN_FAILED);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_E_NO_MEMORY);
    assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    for (int i = 0; i < 16; i++)
        assert_true(weft_fake_inject("told", WEFT_FAKE_UNKNOWN, 1));
    assert_false(weft_fake_inject("told", WEFT_FAKE_UNKNOWN, 1));
    rig_close(&r);
    weft_fake_count("told", &c);
    assert_int_equal(c.loads, 3);
    assert_int_equal(c.failed_loads, 1);
    assert_int_equal(c.unloads, 2);
}

static void test_history(void **state)
{
    weft_fake_counts c;
    fake_rig r;

    assert_int_equal(rig_open(&r, "history", NULL, NULL), WEFT_OK);
    for (int64_t n = 1; n <= WEFT_FAKE_HISTORY + 3; n++) {
        weft_tensor x = rows_of(ones, 1 + n % 4);

        assert_int_equal(rig_run(&r, &x, 1), WEFT_OK);
    }
    weft_fake_count("history", &c);
    assert_int_equal(c.n_history, WEFT_FAKE_HISTORY);
    for (int64_t k = 0; k < WEFT_FAKE_HISTORY; k++)
        assert_int_equal(c.history[k], 1 + (k + 4) % 4);
    assert_int_equal(c.largest_rows, 4);
    rig_close(&r);
}

/* The process of the test must live, so a child dies. */
static void test_crashes(void **state)
{
    static const struct {
        weft_fake_kind kind;
        int signal;
    } cases[2] = {{WEFT_FAKE_ABORT, SIGABRT}, {WEFT_FAKE_SEGV, SIGSEGV}};

    for (int i = 0; i < 2; i++) {
        int how;
        pid_t child = fork();

        assert_true(child >= 0);
        if (!child) {
            weft_fake_fault f = {.kind = cases[i].kind};
            weft_fake_options o = {.faults = {1, &f}};
            weft_tensor x = rows_of(ones, 1);
            struct rlimit none = {0, 0};
            fake_rig r;

            setrlimit(RLIMIT_CORE, &none);
            signal(SIGABRT, SIG_DFL);
            if (rig_open(&r, "crash", &o, NULL))
                _exit(1);
            rig_run(&r, &x, 1);
            _exit(2);
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        assert_int_equal(WTERMSIG(how), cases[i].signal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_by_number),
        cmocka_unit_test(test_every_times_rows_value),
        cmocka_unit_test(test_sticky),
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_hangs),
        cmocka_unit_test(test_delay_is_cut_by_terminate),
        cmocka_unit_test(test_delays_last),
        cmocka_unit_test(test_hold_and_let),
        cmocka_unit_test(test_injected),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_crashes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    weft_fake_reset();
    return failed;
}
