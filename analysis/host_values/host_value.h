// Values of host code: making them, folding scalar operations, computing them anew when the choice of inputs changes.
#ifndef TAD_ANALYSIS_HOST_VALUES_HOST_VALUE_H
#define TAD_ANALYSIS_HOST_VALUES_HOST_VALUE_H

#include "analysis/host_values/host.h"
#include "analysis/host_values/host_launch.h"

// host_value.c: values
HostValue *host_new(Host *host, HostKind kind);
const HostValue *host_unknown(Host *host, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const HostValue *host_constant(Host *host, Constant constant);
const HostValue *host_of_int(Host *host, int64_t value);
const HostValue *host_of_bool(Host *host, bool value);
const HostValue *host_of_float(Host *host, double value);
const HostValue *host_of_string(Host *host, Str value);
const HostValue *host_of_dtype(Host *host, DTypeCode code);
const HostValue *host_none(Host *host);
const HostValue *host_object(Host *host, const char *name);
/// A jit function by the name that the module has for it: an object, and a constant where a launch passes it.
const HostValue *host_of_jit(Host *host, const FunctionDefinition *function, Str name);
/// A container of its own with the same items.
const HostValue *host_copy(Host *host, const HostValue *container);
const HostValue *host_sequence(Host *host, const HostValue *const *items, int count);
const HostValue *host_input_value(Host *host, HostInput *input);
const HostValue *host_input_property(Host *host, HostKind kind, HostInput *input, int axis);
const HostValue *host_apply(Host *host, HostOperation operation, const HostValue *a,
                            const HostValue *b);
const HostValue *host_equal(Host *host, const HostValue *a, const HostValue *b);
/// True where the value under the present choice is known and truthy; `*known` says whether it is known.
bool host_truth(const HostValue *value, bool *known);
bool host_is_none(const HostValue *value);
/// A scalar anew from what the inputs are now; false where it is not known.
bool host_compute(const HostValue *value, Constant *result);
const char *host_operation_text(HostOperation operation, int *arity);
/// The values of a scalar under the present choice.
bool host_int(const HostValue *value, int64_t *integer);
bool host_number(const HostValue *value, double *number);

#endif
