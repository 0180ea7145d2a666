// What the editor is told of a worker's GPU: once when the processor takes over, once when the GPU is back.
#ifndef TAD_SERVER_GRADIENTS_HANDOVER_H
#define TAD_SERVER_GRADIENTS_HANDOVER_H

#include "server/session/session.h"

typedef struct Handover {
    bool is_told;  // that the GPU is gone
} Handover;

/// Takes the answer of a worker: its "cuda" says whether the GPU did something, or why it does nothing.
void handover_take(Handover *handover, Server *server, const Json *answer);
/// The worker itself ended with `message`. A fresh one proves the same without a GPU. `command`: of the worker; one without a GPU is none of this.
void handover_take_death(Handover *handover, Server *server, const char *command,
                         const char *message);

#endif
