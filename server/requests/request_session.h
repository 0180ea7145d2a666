// The life of a session: initialize, documents, shutdown, exit. On the loop's thread.
#ifndef TAD_SERVER_REQUESTS_REQUEST_SESSION_H
#define TAD_SERVER_REQUESTS_REQUEST_SESSION_H

#include "server/session/session.h"

/// Ends the session when the process is gone. 0: none to watch.
void server_watch_client(Server *server, int process);
/// Takes the `tad` section of the settings, and one for each folder or NULL for a folder that has none of its own.
void server_configure(Server *server, const Json *section, const FolderSection *folders,
                      int folder_count);
/// Analyses all open documents anew.
void server_recheck(Server *server);

#endif
