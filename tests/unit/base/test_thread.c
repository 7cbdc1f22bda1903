#include "harness/check.h"

#include "base/cores.h"
#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

static char folder[] = "/tmp/weft-cores-XXXXXX";

static void put(const char *name, const char *text)
{
    char path[300], *slash;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (slash = strchr(path + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int cores(const char *proc_text)
{
    char proc[300], mount[300];

    put("proc", proc_text);
    snprintf(proc, sizeof proc, "%s/proc", folder);
    snprintf(mount, sizeof mount, "%s/cg", folder);
    return weft_cgroup_cores(proc, mount);
}

static void quotas(void **state)
{
    char command[400];

    assert_non_null(mkdtemp(folder));
    put("cg/a/b/cpu.max", "150000 100000\n");
    put("cg/a/cpu.max", "max 100000\n");
    assert_int_equal(cores("0::/a/b\n"), 2); /* 1.5, rounded up */
    assert_int_equal(cores("0::/a\n"), 0);   /* max = none */
    put("cg/a/cpu.max", "50000 100000\n");
    assert_int_equal(cores("0::/a/b\n"), 1); /* the group above leaves less */
    assert_int_equal(cores("0::/a/b/not/there\n"), 1);
    assert_int_equal(cores("0::/\n"), 0);
    put("cg/cpu.max", "300000 100000\n"); /* a container sees its own group as the root */
    assert_int_equal(cores("0::/\n"), 3);
    assert_int_equal(cores("0::/elsewhere/outside\n"), 3);
    put("cg/cpu.max", "nonsense\n");
    assert_int_equal(cores("0::/\n"), 0);
    put("cg/cpu.max", "100000 0\n");
    assert_int_equal(cores("0::/\n"), 0);
    put("cg/cpu/x/cpu.cfs_quota_us", "400000\n");
    put("cg/cpu/x/cpu.cfs_period_us", "100000\n");
    put("cg/cpu/cpu.cfs_quota_us", "-1\n");
    put("cg/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cores("5:memory:/x\n4:cpu,cpuacct:/x\n"), 4);
    assert_int_equal(cores("4:cpuset:/x\n"), 0); /* another controller whose name begins alike */
    assert_int_equal(cores("no colon\n\n0:\n"), 0);
    assert_int_equal(weft_cgroup_cores("/nonexistent", "/nonexistent"), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    assert_true(weft_cores() >= 1);
}

static struct {
    char name[32];
    sigset_t mask;
    int value;
} seen;

static void look(void *arg)
{
    pthread_getname_np(pthread_self(), seen.name, sizeof seen.name);
    pthread_sigmask(SIG_SETMASK, NULL, &seen.mask);
    seen.value = *(int *)arg;
}

static void name_and_signals(void **state)
{
    weft_thread t;
    int value = 42;
    sigset_t before, after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(weft_thread_start(&t, "weft-instance-number-7", look, &value, NULL), WEFT_OK);
    assert_true(t.started);
    weft_thread_join(&t);
    assert_false(t.started);
    weft_thread_join(&t);
    assert_int_equal(seen.value, 42);
    assert_string_equal(seen.name, "weft-instance-n");
    assert_true(sigismember(&seen.mask, SIGTERM) && sigismember(&seen.mask, SIGUSR1));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM)); /* the caller's mask is as it was */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quotas), cmocka_unit_test(name_and_signals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
