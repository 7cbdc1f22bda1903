#include "server/port_probe.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

weft_status weft_port_probe(const char *host, int64_t port, weft_error *err)
{
    struct sockaddr_storage addr;
    socklen_t n_addr = sizeof(struct sockaddr_in);
    int on = 1;
    if (port <= 0)
        return WEFT_OK;
    memset(&addr, 0, sizeof(addr));
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (uv_ip4_addr(host, (int)port, (struct sockaddr_in *)&addr) != 0) {
        n_addr = sizeof(struct sockaddr_in6);
        if (uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)&addr) != 0)
            return WEFT_OK;
    }
    int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return weft_fail(err, WEFT_E_IO, "cannot open a socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* what lingers after an earlier server is no hindrance */
    int rc = bind(fd, (struct sockaddr *)&addr, n_addr), e = errno;
    if (rc == 0)
        rc = listen(fd, 1), e = errno;
    close(fd);
    return rc == 0
               ? WEFT_OK
               : weft_fail(err, WEFT_E_IO, "cannot listen on %s port %lld: %s; choose another port with --port or server.port",
                           host, (long long)port, strerror(e));
}

weft_status weft_unix_socket_probe(const char *path, weft_error *err)
{
    if (!path || access(path, F_OK) != 0)
        return WEFT_OK;
    return weft_fail(err, WEFT_E_IO,
                     "cannot listen on the Unix socket %s: there is a file; remove it if no server uses it, or choose "
                     "another path",
                     path);
}
