// Where another server answers for Python in the same files: what it says is not said twice.
#ifndef TAD_SERVER_QUEUES_BESIDE_H
#define TAD_SERVER_QUEUES_BESIDE_H

#include "server/queues/request.h"

/// Whether the setting `besidePython` says that there is one. It has names, uses, outlines and what is no Python at all.
bool request_is_beside(const Request *request);
/// Whether it also finds Triton installed, and so knows the names and parameters of its language. Looks at the disk.
bool request_is_beside_triton(const Request *request);

#endif
