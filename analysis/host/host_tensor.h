// Tensors of host code: shapes, strides, views. The sizes are trees over the inputs' sizes.
#ifndef TAD_ANALYSIS_HOST_HOST_TENSOR_H
#define TAD_ANALYSIS_HOST_HOST_TENSOR_H

#include "analysis/host_values/host.h"

// host_tensor.c
HostTensor *host_as_tensor(Host *host, const HostValue *value);
const HostValue *host_of_tensor(Host *host, HostTensor *tensor);
/// A new contiguous tensor of its own.
const HostValue *host_allocate(Host *host, const HostValue *const *dims, int rank,
                               const HostValue *dtype, HostContents contents,
                               const HostValue *fill);
/// The allocated `tensor`, which has as many dimensions as `model` whatever that turns out to be.
const HostValue *host_like(Host *host, const HostTensor *model, const HostValue *tensor);
/// Whether `actual` dimensions are enough; where they are not and the host code has not fixed them, asks for another run with `rank`.
bool host_need_rank(Host *host, const HostInput *like, int actual, int rank);
const HostValue *host_shape(Host *host, const HostTensor *tensor, bool strides);
const HostValue *host_numel(Host *host, const HostTensor *tensor);
/// `tensor.NAME`; NULL when there is no such attribute.
const HostValue *host_tensor_attribute(Host *host, const HostValue *self, HostTensor *tensor,
                                       Str name);
const HostValue *host_tensor_subscript(Host *host, HostTensor *tensor, HostFrame *frame,
                                       SyntaxNode node);
/// Elementwise result over broadcast shapes.
const HostValue *host_elementwise(Host *host, HostTensor *a, HostTensor *b, const HostValue *dtype);

#endif
