// Diagnostics to the client: made on the fast queue from the newest text, sent unless a newer one has come.
#ifndef TAD_SERVER_GRADIENTS_PUBLISH_H
#define TAD_SERVER_GRADIENTS_PUBLISH_H

#include "server/gradients/gradients.h"
#include "server/session/session.h"
#include "server/settings/wanted.h"

/// Adds those of `diagnostics`, of the request's document, that are wanted to a JSON array that was begun with `[`.
void diagnostics_write(Request *request, const Snapshot *snapshot, const Filter *filter,
                       const Diagnostics *diagnostics, Buffer *list);
/// What the client is told of a snapshot: what the settings want and no comment silences; and the results of checks.
Json *diagnostics_json(Request *request, const Snapshot *snapshot, StaleList *stale);
/// Analyses those anew that import what has changed.
void server_recheck_importers(Server *server);
Json *diagnostic_json(Request *request, const Snapshot *snapshot, const Diagnostic *diagnostic);
/// Analyses the document's newest text and publishes what was found. On the loop's thread.
void publish_document(Server *server, Document *document);
/// The text has changed, or the document is closed: what was held back is no more.
void publish_forget_late(Document *document);
void publish_nothing(Server *server, const char *uri);
/// Publishes at once what was held back until a pause. False where there is nothing.
bool publish_held(Server *server);

#endif
