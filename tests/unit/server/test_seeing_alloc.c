/* /metrics and /openapi.json with every allocation failing once: the buffer says so, or the document is whole; nothing is left.
 */
#include "harness/alloc_fault.h"
#include "harness/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/metrics_http.h"
#include "server/openapi.h"

static const char config[] = "models:\n"
                             "  - name: a\n"
                             "    path: m.fake\n"
                             "    backend: fake\n"
                             "    fake:\n"
                             "      inputs: [{name: x, dtype: FP32, shape: [-1, 2]}]\n"
                             "      outputs: [{name: y, dtype: FP32, shape: [-1, 2]}]\n";

static weft_engine *engine;
static weft_server *server;
static weft_server_options options;

static int start(void **state)
{
    (void)state;
    char dir[] = "/tmp/weft-seeing-XXXXXX", yaml[64], fake[64];
    weft_error err = {0};
    if (!mkdtemp(dir))
        return -1;
    snprintf(yaml, sizeof(yaml), "%s/weft.yaml", dir);
    snprintf(fake, sizeof(fake), "%s/m.fake", dir);
    FILE *f = fopen(yaml, "w"), *m = fopen(fake, "w");
    if (!f || !m)
        return -1;
    fputs(config, f);
    fputs("# described by the options\n", m);
    fclose(f);
    fclose(m);
    weft_status st = weft_engine_open(yaml, &engine, &err);
    unlink(fake);
    unlink(yaml);
    rmdir(dir);
    options = (weft_server_options){.host = "127.0.0.1",
                                    .grpc_port = -1,
                                    .loops = 1,
                                    .max_connections = 10,
                                    .max_head_bytes = 16384,
                                    .max_body_bytes = 1 << 20,
                                    .min_body_rate = 1000};
    if (!st)
        st = weft_server_create(engine, &options, NULL, NULL, &server, &err);
    if (st)
        fprintf(stderr, "%s\n", err.text);
    return st ? -1 : 0;
}

static int stop(void **state)
{
    (void)state;
    weft_server_stop(server);
    weft_engine_destroy(&engine);
    weft_server_destroy(&server);
    return 0;
}

static void write_metrics(weft_buffer *out)
{
    weft_metrics_write(server, true, out);
}

static void write_openapi(weft_buffer *out)
{
    weft_openapi_write(engine, out);
}

static void fails_cleanly(void (*write)(weft_buffer *out), const char *end)
{
    weft_buffer out;
    weft_buffer_init(&out, 0);
    write(&out); /* what the pool keeps from now on is not a leak */
    weft_buffer_fini(&out);
    long before = alloc_outstanding();
    for (long n = 1;; n++) {
        weft_buffer_init(&out, 0);
        alloc_fault_at_thread(n, false);
        write(&out);
        bool hit = alloc_fault_hit();
        alloc_fault_off();
        if (!out.failed)
            assert_string_equal(out.data + out.n_bytes - strlen(end), end);
        else
            assert_true(hit);
        weft_buffer_fini(&out);
        long now = alloc_outstanding(); /* threads that have just started may still give something back */
        assert_true(now <= before);
        before = now;
        if (!hit)
            break;
        assert_true(n < 1000);
    }
}

static void metrics(void **state)
{
    (void)state;
    fails_cleanly(write_metrics, "# EOF\n");
}

static void openapi(void **state)
{
    (void)state;
    fails_cleanly(write_openapi, "}}}\n");
}

/* One block for the document; what the engine takes for its snapshots does not grow with the document. */
static void a_scrape_takes_one_buffer(void **state)
{
    (void)state;
    weft_buffer out;
    weft_buffer_init(&out, 0);
    write_metrics(&out);
    weft_buffer_fini(&out);
    alloc_count_reset();
    write_metrics(&out);
    assert_in_range(alloc_count_thread(), 1, 5); /* the buffer, and what the engine takes to list and copy one model */
    weft_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics),
        cmocka_unit_test(openapi),
        cmocka_unit_test(a_scrape_takes_one_buffer),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
