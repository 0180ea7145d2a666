// A model asked from the editor, or a kernel tuned: a `tad-lsp --ask` or `--tune` of its own each time, which holds the key, the network and
// the workers.
#ifndef TAD_SERVER_GRADIENTS_ASKING_H
#define TAD_SERVER_GRADIENTS_ASKING_H

#include "server/session/session.h"

struct Askings;
struct Askings *askings_new(Server *server);
/// Stops what runs; requests that wait are let go.
void askings_end(struct Askings *askings);
void askings_free(struct Askings *askings);

/// Asks about the kernel of the request's text; what is proved is sent as an edit. The held request is answered with
/// {"kernel", "proved", "refused", "summary", "report"}. On the loop's thread.
/// `phases`: as `--phase` has them; NULL: the first.
void askings_start(struct Askings *askings, Request *request, const char *kernel,
                   const char *phases);
/// Searches the kernel's fastest configurations on the GPU; a list of them is sent as an edit. The held request is answered with
/// {"kernel", "summary", "report", "edits"}.
void askings_tune(struct Askings *askings, Request *request, const char *kernel);
/// Stops the one whose progress has this token.
void askings_cancel_token(struct Askings *askings, const Json *token);
void askings_cancel_request(struct Askings *askings, const Request *request);

#endif
