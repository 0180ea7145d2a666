// What host code gets from outside: names it, learns its kind from its uses, gives it a concrete value.
#ifndef TAD_ANALYSIS_HOST_VALUES_HOST_INPUT_H
#define TAD_ANALYSIS_HOST_VALUES_HOST_INPUT_H

#include "analysis/host_values/host.h"

// host_input.c: what comes from outside
HostInput *host_input(Host *host, const char *name);
void host_decide(Host *host, HostInput *input, HostInputKind kind);
/// Whether nothing but an operator beside a number has decided on its kind.
bool host_may_be_tensor(const HostInput *input);
/// The undecided inputs that the value is made of seem to be of that kind: one that proves to be a tensor becomes one.
void host_guess(Host *host, const HostValue *value, HostInputKind kind);
/// The undecided inputs that the value is made of are integers (used as a size, a count, an index) or of the kind given.
void host_want(Host *host, const HostValue *value, HostInputKind kind);
/// The next flag of the policy's variant: an input of two values takes one of them by it, another flag for each.
bool host_flag_bit(Host *host);
void host_set_rank(Host *host, HostInput *input, int rank);
/// Notes that the host code looks at this size, when it is one; returns it.
const HostValue *host_look_at(const HostValue *size);
/// What block sizes are made without `keep_blocks` and `divide_blocks`, where none has to stay apart from another.
int64_t host_small_block(int64_t value);
/// What `divide_blocks` makes of a number: an eighth of a power of two from 16 to 4096, anything else as it is.
int64_t host_divided_block(int64_t value);
void host_default(Host *host, HostInput *input, Str annotation, const HostValue *value);

#endif
