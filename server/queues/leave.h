// The end of a session: a client that says no more may still wait for answers.
#ifndef TAD_SERVER_QUEUES_LEAVE_H
#define TAD_SERVER_QUEUES_LEAVE_H

#include "server/session/session.h"

/// The client says no more: ends when what it waits for is answered, and cancels what takes longer than `patience_ms`.
void server_leave(Server *server, uint64_t patience_ms);
/// A request is done: it may have been the last that a leaving server owes.
void server_leave_on(Server *server);

/// Ends the loop when the client has taken everything; the exit status is 0 only after `shutdown`.
void server_end(Server *server);

#endif
