// Sockets are connected while nothing else is to be done.
#include "server/crash/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_pipe(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(name) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    int end = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (end < 0) return -1;
    return connect(end, (const struct sockaddr *)&address, sizeof address) ? -1 : end;
}

static int connect_port(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int yes = 1;
    int end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (end < 0) return -1;
    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return connect(end, (const struct sockaddr *)&address, sizeof address) ? -1 : end;
}

void connection_keep_places(void) {
    int place;
    do place = open("/dev/null", O_RDWR);
    while (place >= 0 && place <= STDERR_FILENO);
    if (place > STDERR_FILENO) close(place);
}

/// A terminal that is read without blocking would stay so for the shell that comes after us.
static int own_terminal(int input) {
    const char *name = ttyname(input);
    int own = name ? open(name, O_RDONLY | O_NOCTTY | O_CLOEXEC) : -1;
    return own < 0 ? input : own;
}

Error connection_open(Arena *arena, const Options *options, Connection *connection) {
    if (!options->pipe && !options->socket) {
        *connection = (Connection){own_terminal(STDIN_FILENO), STDOUT_FILENO};
        return NULL;
    }
    connection->input = options->pipe ? connect_pipe(options->pipe) : connect_port(options->socket);
    const char *place =
        options->pipe ? options->pipe : arena_printf(arena, "port %d", options->socket);
    // Reading and writing are waited for separately.
    connection->output = connection->input < 0 ? -1 : fcntl(connection->input, F_DUPFD_CLOEXEC, 0);
    return connection->output < 0 ? arena_printf(arena, "%s: %s", place, strerror(errno)) : NULL;
}

void connection_write(const Connection *connection, Str text, int limit_ms) {
    struct pollfd writable = {.fd = connection->output, .events = POLLOUT};
    while (text.size && poll(&writable, 1, limit_ms) > 0) {
        ssize_t size = write(connection->output, text.data, text.size);
        if (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return;
        if (size > 0) text = (Str){text.data + size, text.size - (size_t)size};
    }
}
