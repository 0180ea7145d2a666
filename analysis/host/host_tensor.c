// Tensors of host code: shapes, strides, views. The sizes are trees over the inputs' sizes.
#include "analysis/host/host_tensor.h"

#include "analysis/host/host_expression.h"
#include "analysis/host_values/host.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_solve.h"
#include "analysis/host_values/host_value.h"
#include "analysis/syntax/syntax_nodes.h"

#include <string.h>

const HostValue *host_of_tensor(Host *host, HostTensor *tensor) {
    HostValue *value = host_new(host, HOST_TENSOR);
    value->tensor = tensor;
    return value;
}

static const HostValue *product(Host *host, const HostValue *a, const HostValue *b) {
    return host_apply(host, HOST_OP_MULTIPLY, a, b);
}

static void set_contiguous(Host *host, HostTensor *tensor) {
    const HostValue *stride = host_of_int(host, 1);
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        tensor->strides[axis] = stride;
        stride = product(host, stride, tensor->dims[axis]);
    }
}

const HostValue *host_numel(Host *host, const HostTensor *tensor) {
    const HostValue *numel = host_of_int(host, 1);
    for (int axis = 0; axis < tensor->rank; axis++)
        numel = product(host, numel, tensor->dims[axis]);
    return numel;
}

static HostTensor *tensor_new(Host *host, int rank) {
    HostTensor *tensor = ARENA_NEW(host->arena, HostTensor);
    tensor->rank = rank > TYPE_MAX_RANK ? TYPE_MAX_RANK : rank;
    tensor->offset = host_of_int(host, 0);
    return tensor;
}

static HostBuffer *buffer_new_of(Host *host, const HostTensor *tensor, HostContents contents) {
    HostBuffer *buffer = ARENA_NEW(host->arena, HostBuffer);
    buffer->id = host->buffer_count++;
    buffer->contents = contents;
    buffer->numel = host_numel(host, tensor);
    return buffer;
}

static HostTensor *input_tensor(Host *host, HostInput *input) {
    if (input->tensor) return input->tensor;
    HostTensor *tensor = tensor_new(host, input->rank);
    for (int axis = 0; axis < tensor->rank; axis++)
        tensor->dims[axis] = host_input_property(host, HOST_SIZE, input, axis);
    set_contiguous(host, tensor);
    tensor->dtype = host_input_property(host, HOST_DTYPE, input, 0);
    tensor->buffer = buffer_new_of(host, tensor, CONTENTS_INPUT);
    tensor->buffer->input = input;
    input->tensor = tensor;
    tensor->like = input;
    return tensor;
}

HostTensor *host_as_tensor(Host *host, const HostValue *value) {
    if (value->kind == HOST_TENSOR) return value->tensor;
    if (value->kind != HOST_INPUT) return NULL;
    if (value->input->kind == INPUT_UNDECIDED) host_decide(host, value->input, INPUT_TENSOR);
    return value->input->kind == INPUT_TENSOR ? input_tensor(host, value->input) : NULL;
}

/// Whether a number is found by taking one from another, as the sizes that a convolution leaves.
static bool is_difference(const HostValue *value, int depth) {
    enum { DEEPEST = 8 };
    if (value->kind != HOST_OPERATION || depth > DEEPEST) return false;
    if (value->operation == HOST_OP_SUBTRACT || value->operation == HOST_OP_NEGATE) return true;
    for (int i = 0; i < value->count; i++)
        if (is_difference(value->items[i], depth + 1)) return true;
    return false;
}

/// PyTorch makes no tensor of a negative size, and one without elements shows nothing.
static void expect_size(Host *host, const HostValue *size) {
    if (!is_difference(size, 0)) return;
    const HostValue *nothing = host_of_int(host, 0);
    host_require(host, host_apply(host, HOST_OP_GREATER_EQUAL, size, nothing), true, HOST_MUST);
    host_require(host, host_apply(host, HOST_OP_GREATER, size, nothing), true, HOST_WISH);
}

const HostValue *host_allocate(Host *host, const HostValue *const *dims, int rank,
                               const HostValue *dtype, HostContents contents,
                               const HostValue *fill) {
    if (rank > TYPE_MAX_RANK) return host_unknown(host, "a tensor of %d dimensions", rank);
    HostTensor *tensor = tensor_new(host, rank);
    for (int axis = 0; axis < rank; axis++) {
        if (dims[axis]->kind == HOST_UNKNOWN) return dims[axis];
        host_want(host, dims[axis], INPUT_INT);
        expect_size(host, dims[axis]);
        tensor->dims[axis] = dims[axis];
    }
    set_contiguous(host, tensor);
    tensor->dtype = dtype ? dtype : host_of_dtype(host, DTYPE_FLOAT32);
    tensor->buffer = buffer_new_of(host, tensor, contents);
    tensor->buffer->fill = fill;
    return host_of_tensor(host, tensor);
}

const HostValue *host_like(Host *host, const HostTensor *model, const HostValue *tensor) {
    (void)host;
    if (tensor->kind == HOST_TENSOR) tensor->tensor->like = model->like;
    return tensor;
}

const HostValue *host_shape(Host *host, const HostTensor *tensor, bool strides) {
    HostValue *shape = host_new(host, HOST_SEQUENCE);
    shape->items = strides ? tensor->strides : tensor->dims;
    shape->count = tensor->rank;
    shape->shape_of = tensor->like;
    shape->axis = strides;  // sizes that are looked at count, strides do not
    return shape;
}

static HostTensor *view_of(Host *host, const HostTensor *base) {
    HostTensor *view = ARENA_NEW(host->arena, HostTensor);
    *view = *base;
    return view;
}

static const HostValue *swapped(Host *host, const HostTensor *tensor, int a, int b) {
    if (a < 0 || b < 0 || a >= tensor->rank || b >= tensor->rank)
        return host_unknown(host, "axes out of range");
    HostTensor *view = view_of(host, tensor);
    view->dims[a] = tensor->dims[b];
    view->dims[b] = tensor->dims[a];
    view->strides[a] = tensor->strides[b];
    view->strides[b] = tensor->strides[a];
    return host_of_tensor(host, view);
}

const HostValue *host_tensor_attribute(Host *host, const HostValue *self, HostTensor *tensor,
                                       Str name) {
    if (str_is(name, "shape")) return host_shape(host, tensor, false);
    if (str_is(name, "dtype")) return tensor->dtype;
    if (str_is(name, "ndim")) {
        if (self->kind == HOST_INPUT) return host_input_property(host, HOST_RANK, self->input, 0);
        return host_of_int(host, tensor->rank);
    }
    if (str_is(name, "device")) return host_object(host, "torch.device.cuda");
    if (str_is(name, "is_cuda") || str_is(name, "requires_grad")) return host_of_bool(host, true);
    if (str_is(name, "is_sparse")) return host_of_bool(host, false);
    if (str_is(name, "data")) return self;
    if (str_is(name, "itemsize")) return host_of_int(host, 4);
    if (str_is(name, "T") || str_is(name, "mT") || str_is(name, "H"))
        return tensor->rank < 2 ? self : swapped(host, tensor, tensor->rank - 2, tensor->rank - 1);
    return NULL;
}

bool host_need_rank(Host *host, const HostInput *like, int actual, int rank) {
    if (rank <= actual) return true;
    if (like && !like->is_rank_certain && rank <= TYPE_MAX_RANK) {
        HostInput *input = host_input(host, like->name);
        host_set_rank(host, input, rank);
        input->is_rank_certain = false;
    }
    return false;
}

static const HostValue *bound_of(Host *host, const HostValue *bound, const HostValue *size,
                                 const HostValue *missing) {
    if (!bound) return missing;
    int64_t value = 0, from_start = 0;
    if (!host_int(bound, &value)) return bound;
    const HostValue *place = value < 0 ? host_apply(host, HOST_OP_ADD, size, bound) : bound;
    if (host_int(place, &from_start) && from_start < 0) return host_of_int(host, 0);  // as Python
    return place;
}

/// `lower:upper:step` of one axis of the view.
static bool slice_axis(Host *host, HostFrame *frame, HostTensor *view, int axis, SyntaxNode node) {
    const HostValue *parts[3] = {NULL, NULL, NULL};
    int part = 0;
    for (uint32_t i = 0; i < node_all_child_count(node) && part < 3; i++) {
        SyntaxNode child = node_all_child(node, i);
        if (strcmp(node_kind_name(child), ":") == 0)
            part++;
        else if (node_kind(child) != SYNTAX_COMMENT)
            parts[part] = host_evaluate(host, frame, child);
    }
    for (int i = 0; i < 3; i++)
        if (parts[i] && parts[i]->kind == HOST_UNKNOWN) return false;
    const HostValue *size = view->dims[axis];
    const HostValue *start = bound_of(host, parts[0], size, NULL);
    const HostValue *stop = bound_of(host, parts[1], size, size);
    if (parts[1] && stop != size && stop == parts[1])
        stop = host_apply(host, HOST_OP_MINIMUM, stop, size);
    int64_t first = 0, end = 0;
    if (start && host_int(start, &first) && host_int(stop, &end) && first > end) start = stop;
    if (start) {
        view->offset =
            host_apply(host, HOST_OP_ADD, view->offset, product(host, start, view->strides[axis]));
        stop = host_apply(host, HOST_OP_SUBTRACT, stop, start);
    }
    int64_t step = 1;
    if (parts[2]) {
        if (!host_int(parts[2], &step) || step < 1) return false;
        stop = host_apply(host, HOST_OP_CDIV, stop, parts[2]);
        view->strides[axis] = product(host, view->strides[axis], parts[2]);
    }
    view->dims[axis] = stop;
    return true;
}

static bool is_ellipsis(SyntaxNode node) { return node_kind(node) == SYNTAX_ELLIPSIS; }

/// Moves axes [axis, rank) one place on (by +1) or back (by -1).
static void shift_axes(HostTensor *view, int axis, int by) {
    if (by > 0) {
        for (int i = view->rank; i > axis; i--) {
            view->dims[i] = view->dims[i - 1];
            view->strides[i] = view->strides[i - 1];
        }
    } else {
        for (int i = axis; i + 1 < view->rank; i++) {
            view->dims[i] = view->dims[i + 1];
            view->strides[i] = view->strides[i + 1];
        }
    }
    view->rank += by;
}

const HostValue *host_tensor_subscript(Host *host, HostTensor *tensor, HostFrame *frame,
                                       SyntaxNode node) {
    SyntaxNode entries[2 * TYPE_MAX_RANK];
    int count = 0, indexed = 0, ellipses = 0;
    SyntaxNode value = node_field(node, "value");
    for (uint32_t i = 0; i < node_child_count(node); i++) {
        SyntaxNode child = node_child(node, i);
        if (child.id == value.id || node_kind(child) == SYNTAX_COMMENT) continue;
        if (count == 2 * TYPE_MAX_RANK) return host_unknown(host, "too many subscripts");
        entries[count++] = child;
        ellipses += is_ellipsis(child);
        indexed += !is_ellipsis(child) && node_kind(child) != SYNTAX_NONE;
    }
    if (ellipses > 1) return host_unknown(host, "more than one ellipsis");
    if (!host_need_rank(host, tensor->like, tensor->rank, indexed))
        return host_unknown(host, "more subscripts than dimensions");
    HostTensor *view = view_of(host, tensor);
    view->like = NULL;
    int axis = 0;
    for (int i = 0; i < count; i++) {
        SyntaxNode entry = entries[i];
        if (is_ellipsis(entry)) {
            axis += tensor->rank - indexed;
        } else if (node_kind(entry) == SYNTAX_NONE) {
            if (view->rank == TYPE_MAX_RANK) return host_unknown(host, "too many dimensions");
            shift_axes(view, axis, 1);
            view->dims[axis] = host_of_int(host, 1);
            view->strides[axis] = host_of_int(host, 0);
            axis++;
        } else if (axis >= view->rank) {
            return host_unknown(host, "more subscripts than dimensions");
        } else if (node_kind(entry) == SYNTAX_SLICE) {
            if (!slice_axis(host, frame, view, axis, entry))
                return host_unknown(host, "a slice that is not understood");
            axis++;
        } else {
            const HostValue *index = host_evaluate(host, frame, entry);
            host_want(host, index, INPUT_INT);
            int64_t position = 0;
            if (!host_int(index, &position))
                return host_unknown(host, "a subscript that is not understood");
            if (position < 0) index = host_apply(host, HOST_OP_ADD, view->dims[axis], index);
            view->offset = host_apply(host, HOST_OP_ADD, view->offset,
                                      product(host, index, view->strides[axis]));
            shift_axes(view, axis, -1);
        }
    }
    return host_of_tensor(host, view);
}

const HostValue *host_elementwise(Host *host, HostTensor *a, HostTensor *b,
                                  const HostValue *dtype) {
    const HostTensor *wide = b && b->rank > a->rank ? b : a;
    const HostTensor *other = wide == a ? b : a;
    const HostValue *dims[TYPE_MAX_RANK];
    for (int axis = 0; axis < wide->rank; axis++) {
        dims[axis] = wide->dims[axis];
        int from = other ? axis - (wide->rank - other->rank) : -1;
        int64_t one = 0;
        if (from >= 0 && host_int(dims[axis], &one) && one == 1) dims[axis] = other->dims[from];
    }
    return host_like(
        host, wide,
        host_allocate(host, dims, wide->rank, dtype ? dtype : a->dtype, CONTENTS_COMPUTED, NULL));
}
