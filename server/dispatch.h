// Bytes in; messages to their methods. Everything about methods is asked of the table.
#ifndef TAD_SERVER_DISPATCH_H
#define TAD_SERVER_DISPATCH_H

#include "server/session/session.h"

/// Takes bytes from the client.
void dispatch_bytes(Server *server, const char *data, size_t size);

#endif
