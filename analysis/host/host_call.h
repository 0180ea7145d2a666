// Calls in host code: arguments, Python functions inlined, and the few library functions that launchers are made of.
#ifndef TAD_ANALYSIS_HOST_HOST_CALL_H
#define TAD_ANALYSIS_HOST_HOST_CALL_H

#include "analysis/host_values/host.h"

const HostValue *host_keyword(const HostCall *call, const char *name);
/// Positional `index` or keyword `name`; NULL when neither is there.
const HostValue *host_argument(const HostCall *call, int index, const char *name);
const HostValue *host_library_call(Host *host, Str name, const char *dotted, const HostCall *call);
/// `max` of what torch.finfo gave, which is an object of a name of its own; NULL for other names.
const HostValue *host_type_limit(Host *host, const char *dotted);
const HostValue *host_invoke(Host *host, const HostValue *function, const HostCall *call);
HostCall host_call_arguments(Host *host, HostFrame *frame, SyntaxNode call);

#endif
