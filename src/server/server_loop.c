/* The server and its loops: bind, run, drain, stop. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "server/h2_conn.h"
#include "server/server_internal.h"

#define SWEEP_MS 100
#define BACKLOG 1024
#define KEEP_BYTES                                                                                                               \
    (256u << 20) /* idle body memory kept for the next requests: giving it back to the system costs 3.7x at 600 KB */

/* ---- one loop ------------------------------------------------------------------------------------------------------------ */

static void on_connection(uv_stream_t *listener, int status)
{
    weft_loop *loop = listener->data;
    bool left = status == 0 && !weft_conn_accept(loop, listener, false);
    if (listener->type == UV_TCP)
        loop->left_tcp = left;
    else
        loop->left_pipe = left;
}

static void on_grpc_connection(uv_stream_t *listener, int status)
{
    weft_loop *loop = listener->data;
    loop->left_grpc = status == 0 && !weft_conn_accept(loop, listener, true);
}

static void accept_left(weft_loop *loop)
{
    if (loop->left_tcp)
        on_connection((uv_stream_t *)&loop->tcp, 0);
    if (loop->left_pipe)
        on_connection((uv_stream_t *)&loop->pipe, 0);
    if (loop->left_grpc)
        on_grpc_connection((uv_stream_t *)&loop->grpc, 0);
}

static void on_before_sleep(uv_prepare_t *p)
{
    weft_loop *loop = p->data;
    weft_h2_flush_loop(loop);
    if (!weft_node_empty(&loop->dirty)) /* one of them has more than its share: do not sleep */
        uv_async_send(&loop->wake);
}

static void take_mailbox(weft_loop *loop)
{
    weft_node list;
    weft_node_init(&list);
    weft_lock_take(&loop->lock);
    while (!weft_node_empty(&loop->mailbox))
        weft_node_push_back(&list, weft_node_pop_front(&loop->mailbox));
    weft_lock_drop(&loop->lock);
    while (!weft_node_empty(&list)) {
        weft_exchange *x = weft_container_of(weft_node_pop_front(&list), weft_exchange, node);
        x->in_engine = false;
        if (x->conn && x->route->finish)
            x->route->finish(x);
        weft_exchange_unref(x);
    }
}

static void stop_listening(weft_loop *loop)
{
    loop->left_tcp = loop->left_grpc = loop->left_pipe = false;
    if (loop->has_tcp && !uv_is_closing((uv_handle_t *)&loop->tcp))
        uv_close((uv_handle_t *)&loop->tcp, NULL);
    if (loop->has_grpc && !uv_is_closing((uv_handle_t *)&loop->grpc))
        uv_close((uv_handle_t *)&loop->grpc, NULL);
    if (loop->has_pipe && !uv_is_closing((uv_handle_t *)&loop->pipe))
        uv_close((uv_handle_t *)&loop->pipe, NULL);
}

static void on_wake(uv_async_t *a)
{
    weft_loop *loop = a->data;
    take_mailbox(loop);
    weft_lock_take(&loop->lock);
    int order = loop->order;
    weft_lock_drop(&loop->lock);
    if (order == WEFT_LOOP_RUN)
        return;
    stop_listening(loop);
    weft_list_each_safe(n, tmp, &loop->conns)
    {
        weft_conn *c = weft_container_of(n, weft_conn, node);
        if (order == WEFT_LOOP_STOP)
            weft_conn_close(c);
        else
            weft_conn_drain(c);
    }
    if (order == WEFT_LOOP_STOP && !uv_is_closing((uv_handle_t *)&loop->wake)) {
        uv_close((uv_handle_t *)&loop->wake, NULL);
        uv_close((uv_handle_t *)&loop->sweep, NULL);
        uv_close((uv_handle_t *)&loop->before_sleep, NULL);
    }
}

static void on_sweep(uv_timer_t *t)
{
    weft_loop *loop = t->data;
    int64_t now = weft_now_ns();
    accept_left(loop);
    weft_list_each_safe(n, tmp, &loop->conns) weft_conn_sweep(weft_container_of(n, weft_conn, node), now);
}

static void run_loop(void *arg)
{
    weft_loop *loop = arg;
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static void order_loop(weft_loop *loop, int order)
{
    weft_lock_take(&loop->lock);
    loop->order = order;
    weft_lock_drop(&loop->lock);
    uv_async_send(&loop->wake);
}

/* ---- binding --------------------------------------------------------------------------------------------------------------- */

/* *port: the one to listen on, 0 = any; then the one it became. */
static weft_status listen_tcp(weft_server *s, weft_loop *loop, uv_tcp_t *tcp, bool *has, const struct sockaddr *addr,
                              uv_connection_cb on, const char *option, int *port, weft_error *err)
{
    struct sockaddr_storage at;
    int yes = 1, fd = -1;
    memcpy(&at, addr, addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    if (at.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&at)->sin6_port = htons((uint16_t)*port);
    else
        ((struct sockaddr_in *)&at)->sin_port = htons((uint16_t)*port);
    int rc = uv_tcp_init_ex(&loop->uv, tcp, at.ss_family);
    *has = rc == 0;
    tcp->data = loop;
    if (rc == 0)
        rc = uv_fileno((uv_handle_t *)tcp, &fd);
    if (rc == 0 && s->n_loops > 1 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) < 0)
        rc = -errno;
    if (rc == 0)
        rc = uv_tcp_bind(tcp, (struct sockaddr *)&at, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)tcp, BACKLOG, on);
    if (rc < 0)
        return weft_fail(err, WEFT_E_IO, "Cannot listen on %s port %d: %s. Choose another port with --%s or server.%s.",
                         s->options.host, *port, uv_strerror(rc), option[0] == 'g' ? "grpc-port" : "port", option);
    int n = sizeof(at);
    if (uv_tcp_getsockname(tcp, (struct sockaddr *)&at, &n) == 0)
        *port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port : ((struct sockaddr_in *)&at)->sin_port);
    return WEFT_OK;
}

/* With several loops sharing a port, another program must not join by SO_REUSEPORT unseen: probe first without it. */
static weft_status probe_port(weft_server *s, const struct sockaddr *addr, socklen_t n_addr, const char *option, int64_t port,
                              weft_error *err)
{
    struct sockaddr_storage at;
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return weft_fail(err, WEFT_E_IO, "Cannot open a socket: %s.", strerror(errno));
    memcpy(&at, addr, n_addr);
    if (at.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&at)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)&at)->sin_port = htons((uint16_t)port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    int rc = bind(fd, (struct sockaddr *)&at, n_addr), e = errno;
    if (rc == 0)
        rc = listen(fd, 1), e = errno;
    close(fd);
    if (rc < 0)
        return weft_fail(err, WEFT_E_IO, "Cannot listen on %s port %lld: %s. Choose another port with --%s or server.%s.",
                         s->options.host, (long long)port, strerror(e), option[0] == 'g' ? "grpc-port" : "port", option);
    return WEFT_OK;
}

static weft_status listen_unix(weft_server *s, weft_loop *loop, weft_error *err)
{
    int rc = uv_pipe_init(&loop->uv, &loop->pipe, 0);
    loop->has_pipe = rc == 0;
    loop->pipe.data = loop;
    if (rc == 0)
        rc = uv_pipe_bind(&loop->pipe, s->options.unix_socket);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&loop->pipe, BACKLOG, on_connection);
    if (rc < 0)
        return weft_fail(err, WEFT_E_IO, "Cannot listen on the Unix socket %s: %s. Remove a stale file or choose another path.",
                         s->options.unix_socket, uv_strerror(rc));
    return WEFT_OK;
}

static weft_status parse_address(weft_server *s, struct sockaddr_storage *addr, socklen_t *n_addr, weft_error *err)
{
    memset(addr, 0, sizeof(*addr));
    const char *host = strcmp(s->options.host, "localhost") == 0 ? "127.0.0.1" : s->options.host;
    *n_addr = sizeof(struct sockaddr_in);
    if (uv_ip4_addr(host, (int)s->options.port, (struct sockaddr_in *)addr) == 0)
        return WEFT_OK;
    *n_addr = sizeof(struct sockaddr_in6);
    if (uv_ip6_addr(host, (int)s->options.port, (struct sockaddr_in6 *)addr) == 0)
        return WEFT_OK;
    return weft_fail(err, WEFT_E_CONFIG,
                     "server.host must be an IPv4 or IPv6 address such as 127.0.0.1 or 0.0.0.0, but is \"%s\".", host);
}

static weft_status init_loop(weft_server *s, weft_loop *loop, weft_error *err)
{
    loop->server = s;
    weft_node_init(&loop->conns);
    weft_node_init(&loop->mailbox);
    weft_node_init(&loop->dirty);
    weft_lock_init(&loop->lock, "loop-mailbox", 900);
    int rc = uv_loop_init(&loop->uv);
    if (rc < 0) {
        weft_lock_fini(&loop->lock);
        return weft_fail(err, WEFT_E_IO, "Cannot create an event loop: %s.", uv_strerror(rc));
    }
    loop->inited = true;
    uv_async_init(&loop->uv, &loop->wake, on_wake);
    uv_timer_init(&loop->uv, &loop->sweep);
    uv_prepare_init(&loop->uv, &loop->before_sleep);
    uv_prepare_start(&loop->before_sleep, on_before_sleep);
    loop->wake.data = loop->sweep.data = loop->before_sleep.data = loop;
    uv_timer_start(&loop->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    return WEFT_OK;
}

static weft_status bind_loops(weft_server *s, weft_error *err)
{
    struct sockaddr_storage addr;
    socklen_t n_addr;
    const struct sockaddr *at = (struct sockaddr *)&addr;
    weft_status st = parse_address(s, &addr, &n_addr, err);
    if (st == WEFT_OK && s->n_loops > 1 && s->options.port != 0)
        st = probe_port(s, at, n_addr, "port", s->options.port, err);
    if (st == WEFT_OK && s->n_loops > 1 && s->options.grpc_port > 0)
        st = probe_port(s, at, n_addr, "grpc_port", s->options.grpc_port, err);
    s->port = (int)s->options.port; /* 0: the first socket chooses, the others join it */
    s->grpc_port = (int)s->options.grpc_port;
    for (size_t i = 0; st == WEFT_OK && i < s->n_loops; i++) {
        weft_loop *loop = &s->loops[i];
        st = listen_tcp(s, loop, &loop->tcp, &loop->has_tcp, at, on_connection, "port", &s->port, err);
        if (st == WEFT_OK && s->grpc_port >= 0)
            st = listen_tcp(s, loop, &loop->grpc, &loop->has_grpc, at, on_grpc_connection, "grpc_port", &s->grpc_port, err);
    }
    if (st == WEFT_OK && s->options.unix_socket)
        st = listen_unix(s, &s->loops[0], err);
    return st;
}

/* ---- the server ------------------------------------------------------------------------------------------------------------ */

weft_status weft_server_create(weft_engine *engine, const weft_server_options *options, weft_log_fn log, void *log_cookie,
                               weft_server **out, weft_error *err)
{
    *out = NULL;
    weft_server *s = calloc(1, sizeof(*s));
    if (!s)
        return weft_fail(err, WEFT_E_NO_MEMORY, "No memory for the server.");
    s->engine = engine;
    s->options = *options;
    s->log = log;
    s->log_cookie = log_cookie;
    s->started_unix_ns = weft_unix_ns();
    int cores = weft_cores();
    size_t n_loops = options->loops > 0 ? (size_t)options->loops : (size_t)(cores < 4 ? cores : 4);
    s->pool = weft_chunk_pool_create(KEEP_BYTES, 0);
    s->loops = calloc(n_loops, sizeof(*s->loops));
    weft_status st = WEFT_OK;
    if (!s->pool || !s->loops)
        st = weft_fail(err, WEFT_E_NO_MEMORY, "No memory for the server.");
    for (size_t i = 0; st == WEFT_OK && i < n_loops; i++) {
        st = init_loop(s, &s->loops[i], err);
        s->n_loops += st == WEFT_OK;
    }
    if (st == WEFT_OK)
        st = bind_loops(s, err);
    for (size_t i = 0; st == WEFT_OK && i < s->n_loops; i++) {
        int rc = uv_thread_create(&s->loops[i].thread, run_loop, &s->loops[i]);
        s->loops[i].started = rc == 0;
        if (rc < 0)
            st = weft_fail(err, WEFT_E_IO, "Cannot start a server thread: %s.", uv_strerror(rc));
    }
    if (st != WEFT_OK)
        weft_server_destroy(&s);
    *out = s;
    return st;
}

void weft_server_set_config(weft_server *s, const struct weft_config *config)
{
    atomic_store(&s->config, config);
}

void weft_server_set_hooks(weft_server *s, const weft_server_hooks *hooks)
{
    atomic_store(&s->hooks, hooks);
}

int weft_server_port(const weft_server *s)
{
    return s->port;
}

int weft_server_grpc_port(const weft_server *s)
{
    return s->grpc_port;
}

static void sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

void weft_server_drain(weft_server *s, uint64_t *n_finished, uint64_t *n_dropped)
{
    uint64_t before = atomic_load(&s->n_answered);
    atomic_store(&s->not_ready, true);
    int64_t grace_end = weft_time_add(weft_now_ns(), weft_ms_to_ns(s->options.drain_grace_ms));
    while (weft_now_ns() < grace_end && !atomic_load(&s->hurry))
        sleep_ms(10);
    atomic_store(&s->refuse_new, true);
    int64_t end = weft_time_add(weft_now_ns(), weft_ms_to_ns(s->options.drain_ms));
    do { /* connections that become idle meanwhile are closed by their own answer or by the next round */
        for (size_t i = 0; i < s->n_loops; i++)
            order_loop(&s->loops[i], WEFT_LOOP_DRAIN);
        sleep_ms(10);
    } while (atomic_load(&s->n_conns) > 0 && weft_now_ns() < end && !atomic_load(&s->hurry));
    *n_finished = atomic_load(&s->n_answered) - before;
    /* without connections, what is left belongs to clients that went away themselves */
    *n_dropped = atomic_load(&s->n_conns) > 0 ? (uint64_t)atomic_load(&s->n_exchanges) : 0;
}

void weft_server_hurry(weft_server *s)
{
    atomic_store(&s->hurry, true);
}

/* A loop whose thread never ran still has handles to close: run it here. */
static void end_loop(weft_loop *loop)
{
    if (!loop->inited || loop->ended)
        return;
    loop->ended = true;
    order_loop(loop, WEFT_LOOP_STOP);
    if (loop->started)
        uv_thread_join(&loop->thread);
    else
        uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void weft_server_stop(weft_server *s)
{
    for (size_t i = 0; s->loops && i < s->n_loops; i++)
        end_loop(&s->loops[i]);
    while (atomic_load(&s->n_changes) > 0) /* a load ends by itself; the engine must outlive it */
        sleep_ms(1);
}

void weft_server_destroy(weft_server **sp)
{
    if (!sp || !*sp)
        return;
    weft_server *s = *sp;
    *sp = NULL;
    weft_server_stop(s);
    /* The engine may still hold bodies; each comes back when its run is over. Answers that come now find no connection. */
    while (atomic_load(&s->n_exchanges) > 0) {
        for (size_t i = 0; i < s->n_loops; i++)
            take_mailbox(&s->loops[i]);
        if (atomic_load(&s->n_exchanges) > 0)
            sleep_ms(1);
    }
    for (size_t i = 0; s->loops && i < s->n_loops; i++) {
        uv_loop_close(&s->loops[i].uv);
        weft_lock_fini(&s->loops[i].lock);
    }
    free(s->loops);
    weft_chunk_pool_destroy(&s->pool);
    free(s);
}
