/* Is an address free? Asked before models are loaded, so that a taken port is said at once and not after all of them. */
#ifndef WEFT_SERVER_PORT_PROBE_H
#define WEFT_SERVER_PORT_PROBE_H

#include "weft/status.h"

/* Listens for a moment and stops again. port 0 is always free. IO with the system's reason when another program has it; OK for a
 * host that is no address, which weft_server_create refuses with its own sentence. */
weft_status weft_port_probe(const char *host, int64_t port, weft_error *err);
/* Likewise for the path of a Unix socket: IO when something is there. NULL is OK. */
weft_status weft_unix_socket_probe(const char *path, weft_error *err);

#endif
