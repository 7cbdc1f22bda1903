/* weft serve: the models of a configuration behind HTTP, until a signal. */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "log/log_sink.h"
#include "server/port_probe.h"
#include "server/server.h"

typedef struct serve_options {
    const char *config, *host, *log_dir;
    int64_t port, grpc_port; /* INT64_MIN = from the configuration */
    bool json;
} serve_options;

static const struct option long_options[] = {{"config", required_argument, NULL, 'c'},
                                             {"host", required_argument, NULL, 'H'},
                                             {"port", required_argument, NULL, 'p'},
                                             {"log-dir", required_argument, NULL, 'l'},
                                             {"grpc-port", required_argument, NULL, 'g'},
                                             {"json", no_argument, NULL, 'j'},
                                             {NULL, 0, NULL, 0}};

static int parse(int argc, char **argv, serve_options *o)
{
    int c;
    opterr = 0;
    o->port = o->grpc_port = INT64_MIN;
    while ((c = getopt_long(argc, argv, "c:p:", long_options, NULL)) != -1) {
        char *end;
        switch (c) {
        case 'c':
            o->config = optarg;
            break;
        case 'H':
            o->host = optarg;
            break;
        case 'p':
            o->port = strtoll(optarg, &end, 10);
            if (*end || end == optarg || o->port < 0 || o->port > 65535)
                return weft_cli_usage("serve", "--port wants a number from 0 to 65535, but got \"%s\"", optarg);
            break;
        case 'g':
            o->grpc_port = strtoll(optarg, &end, 10);
            if (*end || end == optarg || o->grpc_port < -1 || o->grpc_port > 65535)
                return weft_cli_usage("serve", "--grpc-port wants a number from 0 to 65535, or -1 for no gRPC, but got \"%s\"",
                                      optarg);
            break;
        case 'l':
            o->log_dir = optarg;
            break;
        case 'j':
            o->json = true;
            break;
        default:
            return weft_cli_bad_option("serve", long_options, argv[optind - 1]);
        }
    }
    if (optind < argc)
        return weft_cli_usage("serve", "nothing expected after the options, but got \"%s\"", argv[optind]);
    return WEFT_EXIT_OK;
}

/* Signals are taken by one thread with sigwait, so that no handler ever runs. */
static void signal_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGQUIT);
}

typedef struct hurry {
    weft_server *server;
    pthread_t thread;
} hurry;

static void *wait_for_second_signal(void *arg)
{
    hurry *h = arg;
    sigset_t set;
    int sig;
    signal_set(&set);
    sigwait(&set, &sig);
    weft_server_hurry(h->server);
    return NULL;
}

static void fatal(void *cookie, const char *why)
{
    (void)cookie;
    fprintf(stderr, "weft serve: %s; ending so that the supervisor starts a fresh process\n", why);
    kill(getpid(), SIGTERM);
}

/* A line to paste, for the first model that takes pictures. */
static void print_example(const weft_config *c, const char *host, int port)
{
    bool any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0, v6 = strchr(host, ':') && !any;
    for (size_t i = 0; i < c->n_models; i++) {
        if (c->models[i].config.hidden || !c->models[i].executor->picture_input)
            continue;
        printf("try: curl --data-binary @photo.jpg http://%s%s%s:%d/v1/models/%s/predict\n", v6 ? "[" : "",
               any ? "127.0.0.1" : host, v6 ? "]" : "", port, c->models[i].config.name);
        return;
    }
}

static void print_started(const serve_options *o, const weft_server_options *so, const weft_server *s, const weft_config *c,
                          double seconds)
{
    if (o->json) {
        printf("{\"event\":\"serving\",\"host\":\"%s\",\"port\":%d,\"grpc_port\":%d,\"models\":%zu,\"start_seconds\":%.3f,"
               "\"pid\":%ld}\n",
               so->host, weft_server_port(s), weft_server_grpc_port(s), c->n_models, seconds, (long)getpid());
    } else {
        printf("weft %s serving on http://%s:%d", weft_version(), so->host, weft_server_port(s));
        if (weft_server_grpc_port(s) >= 0)
            printf(" and grpc://%s:%d", so->host, weft_server_grpc_port(s));
        printf(" after %.2f s\n", seconds);
        for (size_t i = 0; i < c->n_models; i++)
            if (!c->models[i].config.hidden)
                printf("  %-20s %s\n", c->models[i].config.name, c->models[i].executor->name);
        print_example(c, so->host, weft_server_port(s));
    }
    fflush(stdout);
}

static int drain(weft_server *s)
{
    uint64_t finished = 0, dropped = 0;
    hurry h = {.server = s};
    bool watched = pthread_create(&h.thread, NULL, wait_for_second_signal, &h) == 0;
    fprintf(stderr, "weft serve: finishing what was accepted; a second signal ends at once\n");
    weft_server_drain(s, &finished, &dropped);
    if (watched) {
        pthread_cancel(h.thread);
        pthread_join(h.thread, NULL);
    }
    fprintf(stderr, "weft serve: %llu answered while draining, %llu dropped\n", (unsigned long long)finished,
            (unsigned long long)dropped);
    return dropped == 0 ? WEFT_EXIT_OK : WEFT_EXIT_FAILED;
}

static uint64_t dropped(void *logs)
{
    return weft_log_sink_dropped(logs);
}

static int serve(const serve_options *o, const weft_config *c, weft_log_sink *logs, int64_t start_ns)
{
    int exit_code = WEFT_EXIT_FAILED;
    weft_error err;
    weft_engine_options eo = c->engine;
    weft_server_options so = c->server;
    eo.log = weft_log_sink_write;
    eo.observe = weft_log_sink_observe;
    eo.log_cookie = eo.observe_cookie = logs;
    eo.fatal = fatal;
    so.host = o->host ? o->host : so.host;
    so.port = o->port != INT64_MIN ? o->port : so.port;
    so.grpc_port = o->grpc_port != INT64_MIN ? o->grpc_port : so.grpc_port;
    weft_engine *e = weft_cli_engine("serve", c, NULL, &eo, &exit_code);
    weft_server *s = NULL;
    const weft_server_hooks hooks = {
        .access = c->log.access ? weft_log_sink_access : NULL, .dropped_lines = dropped, .cookie = logs};
    if (!e)
        return exit_code;
    if (weft_server_create(e, &so, weft_log_sink_write, logs, &s, &err) != WEFT_OK) {
        weft_engine_destroy(&e);
        return weft_cli_fail("serve", &err);
    }
    weft_server_set_config(s, c);
    weft_server_set_hooks(s, &hooks);
    print_started(o, &so, s, c, (double)(weft_now_ns() - start_ns) / 1e9);
    sigset_t set;
    int sig = 0;
    signal_set(&set);
    sigwait(&set, &sig);
    exit_code = drain(s);
    weft_server_stop(s);
    weft_engine_destroy(&e); /* gives back every body it borrowed */
    weft_server_destroy(&s);
    return exit_code;
}

/* Before any model is loaded: is there a place to listen? */
static weft_status check_places(const serve_options *o, const weft_config *c, weft_error *err)
{
    weft_status s = weft_port_probe(o->host ? o->host : c->server.host, o->port >= 0 ? o->port : c->server.port, err);
    return s == WEFT_OK ? weft_unix_socket_probe(c->server.unix_socket, err) : s;
}

int weft_cmd_serve(int argc, char **argv)
{
    int64_t start_ns = weft_now_ns();
    serve_options o = {0};
    int exit_code = parse(argc, argv, &o);
    if (exit_code != WEFT_EXIT_OK)
        return exit_code;
    sigset_t set;
    signal_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    weft_config *c = weft_cli_config("serve", o.config, &exit_code);
    if (!c)
        return exit_code;
    weft_log_options lo = c->log;
    lo.directory = o.log_dir ? o.log_dir : lo.directory;
    weft_log_sink *logs = NULL;
    weft_error err;
    if (check_places(&o, c, &err) != WEFT_OK || weft_log_sink_create(&lo, &logs, &err) != WEFT_OK)
        exit_code = weft_cli_fail("serve", &err);
    else
        exit_code = serve(&o, c, logs, start_ns);
    weft_log_sink_destroy(&logs);
    weft_config_destroy(&c);
    return exit_code;
}
