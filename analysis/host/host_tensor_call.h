// Methods of tensors in host code: one row per name, one case per kind of method.
#ifndef TAD_ANALYSIS_HOST_HOST_TENSOR_CALL_H
#define TAD_ANALYSIS_HOST_HOST_TENSOR_CALL_H

#include "analysis/host_values/host.h"

// host_tensor_call.c, host_call.c
const HostValue *host_tensor_method(Host *host, const HostValue *self, HostTensor *tensor, Str name,
                                    const HostCall *call);

#endif
