// Code actions: offered on the fast queue, made exact on the slow one, where a backward may be derived.
#ifndef TAD_SERVER_REQUESTS_REQUEST_ACTION_H
#define TAD_SERVER_REQUESTS_REQUEST_ACTION_H

#include "server/queues/answer.h"

/// The edit of a code action. NULL and a failed request where it is refused.
Json *action_edit_json(Request *request, const Snapshot *snapshot, const ActionEdit *edit);

#endif
