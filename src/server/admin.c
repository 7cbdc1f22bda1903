/* Who may change what is served.
 *
 * "local" means a program on this machine that meant us: it comes over the Unix socket, or over loopback and calls us by a
 * loopback name. The second half keeps out a web page in a local browser (it sends an Origin, or reaches us by a name that
 * somebody pointed at 127.0.0.1) and what a reverse proxy on this machine passes on from outside under its public name. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "server/server_internal.h"

static bool is_loopback_address(const struct sockaddr_storage *a)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (a->ss_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24) == 127;
    if (a->ss_family != AF_INET6)
        return false;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (memcmp(six, mapped, 12) == 0 && six->s6_addr[12] == 127);
}

static bool comes_from_here(const weft_conn *c)
{
    struct sockaddr_storage peer;
    int n = sizeof(peer);
    return uv_tcp_getpeername(&c->io.tcp, (struct sockaddr *)&peer, &n) == 0 && is_loopback_address(&peer);
}

static bool is_loopback_host(weft_http_slice host)
{
    size_t n = host.n;
    if (n && host.p[0] == '[') {
        const char *end = memchr(host.p, ']', n);
        n = end ? (size_t)(end - host.p) + 1 : 0;
    } else {
        const char *colon = memchr(host.p, ':', n);
        n = colon ? (size_t)(colon - host.p) : n;
    }
    weft_http_slice name = {host.p, n};
    return weft_http_slice_is(name, "localhost") || weft_http_slice_is(name, "127.0.0.1") || weft_http_slice_is(name, "[::1]");
}

bool weft_admin_allowed(const weft_exchange *x, const weft_http_head *head, weft_error *err)
{
    const weft_http_slice *host = weft_http_header(head, "host");
    int mode = x->loop->server->options.admin;
    if (mode == WEFT_ADMIN_OPEN)
        return true;
    bool by_socket = x->conn && x->conn->io.handle.type == UV_NAMED_PIPE;
    bool by_loopback = x->conn && !by_socket && comes_from_here(x->conn) && (!host || is_loopback_host(*host));
    if (mode == WEFT_ADMIN_LOCAL && (by_socket || by_loopback) && !weft_http_header(head, "origin"))
        return true;
    weft_fail(err, WEFT_E_FORBIDDEN, "%s",
              mode == WEFT_ADMIN_OFF ? "loading and unloading is switched off on this server (server.admin)"
                                     : "loading and unloading is possible from the server's own machine only (server.admin)");
    return false;
}
