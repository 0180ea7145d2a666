// Where the client is: two descriptors, opened before there is a server.
#ifndef TAD_SERVER_CRASH_CONNECTION_H
#define TAD_SERVER_CRASH_CONNECTION_H

#include "server/settings/options.h"

typedef struct Connection {
    int input, output;
} Connection;

/// Before anything is opened: who starts us without stdin, stdout or stderr shall not find another file in its place.
void connection_keep_places(void);
/// As the options say: our stdin and stdout, or a pipe or a port of an editor that listens.
Error connection_open(Arena *arena, const Options *options, Connection *connection);
/// Writes until the other side takes nothing for `limit_ms`, or is gone.
void connection_write(const Connection *connection, Str text, int limit_ms);

#endif
