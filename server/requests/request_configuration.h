// What the user set in the editor, asked of the client.
#ifndef TAD_SERVER_REQUESTS_REQUEST_CONFIGURATION_H
#define TAD_SERVER_REQUESTS_REQUEST_CONFIGURATION_H

#include "server/session/session.h"

/// Asks for the section of each folder; the answers go to server_configure.
void client_ask_configuration(Server *server);

#endif
