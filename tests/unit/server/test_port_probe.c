/* A taken port is found before anything is loaded. */
#include "harness/cmocka_all.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/port_probe.h"

static int listen_somewhere(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void ports(void **state)
{
    weft_error err = {0};
    int port, fd = listen_somewhere(&port);
    char words[64];
    assert_int_equal(weft_port_probe("127.0.0.1", port, &err), WEFT_E_IO);
    snprintf(words, sizeof(words), "cannot listen on 127.0.0.1 port %d: ", port);
    assert_memory_equal(err.text, words, strlen(words));
    assert_int_equal(weft_port_probe("localhost", port, &err), WEFT_E_IO);
    close(fd);
    assert_int_equal(weft_port_probe("127.0.0.1", port, &err), WEFT_OK);
    assert_int_equal(weft_port_probe("127.0.0.1", port, &err), WEFT_OK); /* nothing stays open */
    assert_int_equal(weft_port_probe("127.0.0.1", 0, &err), WEFT_OK);
    assert_int_equal(weft_port_probe("no.address", 80, &err), WEFT_OK); /* the server says what is wrong with it */
}

static void sockets(void **state)
{
    weft_error err = {0};
    char path[] = "/tmp/weft-probe-XXXXXX";
    assert_int_equal(weft_unix_socket_probe(NULL, &err), WEFT_OK);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(weft_unix_socket_probe(path, &err), WEFT_E_IO);
    unlink(path);
    assert_int_equal(weft_unix_socket_probe(path, &err), WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ports), cmocka_unit_test(sockets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
