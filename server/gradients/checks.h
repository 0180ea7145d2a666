// Gradient checks in the background: prepared on the slow queue, run by worker processes, several at a time.
#ifndef TAD_SERVER_GRADIENTS_CHECKS_H
#define TAD_SERVER_GRADIENTS_CHECKS_H

#include "server/gradients/gradients.h"
#include "server/proofs/proof.h"

typedef struct Checks Checks;

Checks *checks_new(Server *server);
/// Stops the workers and lets go of the requests that wait.
void checks_end(Checks *checks);

/// Checks one kernel, or all forward kernels for NULL. A held `request`, when not NULL, is answered when the last one is done.
/// Without it there is progress of our own. On the loop's thread.
void checks_start(Checks *checks, QueueDocument *document, Text *text, const char *kernel,
                  Request *request);
/// Stops the check that has this progress token, or that `request` waits for.
void checks_cancel_token(Checks *checks, const Json *token);
void checks_cancel_request(Checks *checks, const Request *request);

#endif
