/* A client of HTTP/2 frames for tests: writes requests by hand (RFC 9113, RFC 7541), never reads heads. */
#ifndef WEFT_TESTS_H2_CLIENT_H
#define WEFT_TESTS_H2_CLIENT_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h> /* numbers only */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

typedef struct h2_out {
    uint8_t bytes[1 << 18];
    size_t n;
} h2_out;

static inline void h2_put(h2_out *o, const void *data, size_t n)
{
    if (n > sizeof(o->bytes) - o->n)
        n = sizeof(o->bytes) - o->n;
    if (n)
        memcpy(o->bytes + o->n, data, n);
    o->n += n;
}

static inline void h2_put_frame(h2_out *o, uint8_t kind, uint8_t flags, uint32_t stream, const void *data, size_t n)
{
    const uint8_t head[9] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, kind, flags, 0, 0, 0, (uint8_t)stream};
    h2_put(o, head, 9);
    h2_put(o, data, n);
}

/* A header without index and without Huffman code (RFC 7541 6.2.2). */
static inline size_t h2_literal(uint8_t *to, const char *name, const char *value)
{
    size_t n = strlen(name), v = strlen(value);
    to[0] = 0;
    to[1] = (uint8_t)n;
    memcpy(to + 2, name, n);
    to[2 + n] = (uint8_t)v;
    memcpy(to + 3 + n, value, v);
    return 3 + n + v;
}

/* One gRPC call on stream 1, its body cut into DATA frames of `cut` bytes (0: 16 KiB). */
static inline void h2_put_call(h2_out *o, const char *path, bool gzip, uint8_t cut, const uint8_t *data, size_t n)
{
    uint8_t block[512];
    size_t k = h2_literal(block, ":method", "POST"), step = cut ? cut : 16384;
    k += h2_literal(block + k, ":scheme", "http");
    k += h2_literal(block + k, ":path", path);
    k += h2_literal(block + k, ":authority", "127.0.0.1");
    k += h2_literal(block + k, "content-type", "application/grpc");
    if (gzip)
        k += h2_literal(block + k, "grpc-encoding", "gzip");
    k += h2_literal(block + k, "grpc-timeout", "200m");
    h2_put_frame(o, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block, k);
    for (; n > step; data += step, n -= step)
        h2_put_frame(o, NGHTTP2_DATA, 0, 1, data, step);
    h2_put_frame(o, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, data, n);
}

/* Sends and reads: with `wait` until stream 1 or the connection ends, aborting when that takes too long; else closes its side and
 * reads to the end. True: stream 1 was answered (not reset). */
static inline bool h2_talk(int port, const h2_out *o, bool wait)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval limit = {.tv_sec = 20};
    uint8_t buf[16384];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        abort(); /* it serves no longer */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    size_t sent = 0;
    while (sent < o->n) {
        ssize_t n = send(fd, o->bytes + sent, o->n - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    if (!wait)
        shutdown(fd, SHUT_WR); /* frames may leave the server waiting: then it sees the end */
    bool answered = false;
    for (bool ended = false; !ended;) {
        ssize_t n = recv(fd, buf, sizeof(buf), 0);
        ended = n <= 0;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) /* neither an answer nor an end */
            abort();
        for (ssize_t i = 0; wait && i + 9 <= n; i += 9 + (buf[i] << 16 | buf[i + 1] << 8 | buf[i + 2])) {
            bool last = buf[i + 8] == 1 && buf[i + 3] <= NGHTTP2_HEADERS && (buf[i + 4] & NGHTTP2_FLAG_END_STREAM);
            answered = answered || last;
            ended = ended || last || (buf[i + 8] == 1 && buf[i + 3] == NGHTTP2_RST_STREAM) || buf[i + 3] == NGHTTP2_GOAWAY;
        }
    }
    close(fd);
    return answered;
}

#endif
