// Methods of tensors in host code: one row per name, one case per kind of method.
#include "analysis/host/host_tensor_call.h"

#include "analysis/host/host_call.h"
#include "analysis/host/host_tensor.h"
#include "analysis/host_values/host.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_solve.h"
#include "analysis/host_values/host_value.h"
#include "analysis/host_values/host_writes.h"
#include "analysis/host_values/torch.h"
#include "analysis/syntax/syntax_nodes.h"

#include <string.h>

typedef enum Method {
    METHOD_SIZE,
    METHOD_STRIDE,
    METHOD_NUMEL,
    METHOD_RANK,
    METHOD_ELEMENT_SIZE,
    METHOD_TRUE,
    METHOD_ZERO,
    METHOD_SAME,  // the tensor itself (or a copy that differs in nothing that matters)
    METHOD_CONTIGUOUS,
    METHOD_COPY,  // its own memory, same shape
    METHOD_VIEW,
    METHOD_VIEW_AS,
    METHOD_EXPAND,
    METHOD_TRANSPOSE,
    METHOD_T,
    METHOD_PERMUTE,
    METHOD_FLATTEN,
    METHOD_UNFLATTEN,
    METHOD_SQUEEZE,
    METHOD_UNSQUEEZE,
    METHOD_TO,
    METHOD_DTYPE,  // .float(), .long()
    METHOD_NEW,    // new_empty and relatives
    METHOD_NEW_FULL,
    METHOD_FILL,
    METHOD_CHUNK,
    METHOD_REDUCE,
    METHOD_ELEMENTWISE,
    METHOD_IS_FLOAT,
    METHOD_FREE,  // a number from the tensor's contents
} Method;

static const struct {
    const char *name;
    Method method;
    int detail;  // a dtype or contents
} methods[] = {
    {"size", METHOD_SIZE, 0},
    {"stride", METHOD_STRIDE, 0},
    {"numel", METHOD_NUMEL, 0},
    {"nelement", METHOD_NUMEL, 0},
    {"dim", METHOD_RANK, 0},
    {"ndimension", METHOD_RANK, 0},
    {"element_size", METHOD_ELEMENT_SIZE, 0},
    {"is_contiguous", METHOD_TRUE, 0},
    {"data_ptr", METHOD_ZERO, 0},
    {"storage_offset", METHOD_ZERO, 0},
    {"get_device", METHOD_ZERO, 0},
    {"contiguous", METHOD_CONTIGUOUS, 0},
    {"cuda", METHOD_SAME, 0},
    {"cpu", METHOD_SAME, 0},
    {"detach", METHOD_SAME, 0},
    {"requires_grad_", METHOD_SAME, 0},
    {"clone", METHOD_COPY, 0},
    {"view", METHOD_VIEW, 0},
    {"reshape", METHOD_VIEW, 0},
    {"view_as", METHOD_VIEW_AS, 0},
    {"reshape_as", METHOD_VIEW_AS, 0},
    {"expand", METHOD_EXPAND, 0},
    {"expand_as", METHOD_VIEW_AS, 1},
    {"transpose", METHOD_TRANSPOSE, 0},
    {"swapaxes", METHOD_TRANSPOSE, 0},
    {"t", METHOD_T, 0},
    {"permute", METHOD_PERMUTE, 0},
    {"flatten", METHOD_FLATTEN, 0},
    {"unflatten", METHOD_UNFLATTEN, 0},
    {"squeeze", METHOD_SQUEEZE, 0},
    {"unsqueeze", METHOD_UNSQUEEZE, 0},
    {"to", METHOD_TO, 0},
    {"type", METHOD_TO, 0},
    {"type_as", METHOD_TO, 0},
    {"float", METHOD_DTYPE, DTYPE_FLOAT32},
    {"half", METHOD_DTYPE, DTYPE_FLOAT16},
    {"bfloat16", METHOD_DTYPE, DTYPE_BFLOAT16},
    {"double", METHOD_DTYPE, DTYPE_FLOAT64},
    {"long", METHOD_DTYPE, DTYPE_INT64},
    {"int", METHOD_DTYPE, DTYPE_INT32},
    {"bool", METHOD_DTYPE, DTYPE_INT1},
    {"new_empty", METHOD_NEW, CONTENTS_EMPTY},
    {"new_zeros", METHOD_NEW, CONTENTS_ZEROS},
    {"new_ones", METHOD_NEW, CONTENTS_FILL},
    {"new_full", METHOD_NEW_FULL, 0},
    {"zero_", METHOD_FILL, CONTENTS_ZEROS},
    {"fill_", METHOD_FILL, CONTENTS_FILL},
    {"copy_", METHOD_SAME, 0},
    {"chunk", METHOD_CHUNK, 0},
    {"split", METHOD_CHUNK, 1},
    {"unbind", METHOD_CHUNK, 2},
    {"sum", METHOD_REDUCE, 0},
    {"mean", METHOD_REDUCE, 0},
    {"amax", METHOD_REDUCE, 0},
    {"amin", METHOD_REDUCE, 0},
    {"max", METHOD_REDUCE, 0},
    {"min", METHOD_REDUCE, 0},
    {"is_floating_point", METHOD_IS_FLOAT, 0},
    {"is_complex", METHOD_IS_FLOAT, 1},
    {"item", METHOD_FREE, 0},
};

/// The dimensions given as f(a, b, c), f((a, b, c)) or f([a, b, c]), from argument `from`.
static bool given_dims(Host *host, const HostCall *call, int from, const HostValue **dims,
                       int *rank) {
    const HostValue *size = from == 0 ? host_keyword(call, "size") : NULL;
    if (!size && from == 0) size = host_keyword(call, "shape");
    const HostValue *const *items = call->items + from;
    int count = call->count - from;
    if (size || (count >= 1 && items[0]->kind == HOST_SEQUENCE)) {
        const HostValue *sequence = size ? size : items[0];
        if (sequence->kind != HOST_SEQUENCE)
            return dims[0] = sequence, *rank = 1, sequence->kind != HOST_UNKNOWN;
        items = sequence->items;
        count = sequence->count;
    }
    (void)host;
    if (count < 0 || count > TYPE_MAX_RANK) return false;
    for (int i = 0; i < count; i++) {
        if (items[i]->kind == HOST_UNKNOWN) return false;
        dims[i] = items[i];
    }
    *rank = count;
    return true;
}

static HostTensor *copy_of(Host *host, const HostTensor *tensor) {
    HostTensor *view = ARENA_NEW(host->arena, HostTensor);
    *view = *tensor;
    view->like = NULL;
    return view;
}

static bool axis_of(Host *host, const HostTensor *tensor, const HostValue *value, int extra,
                    int *axis) {
    int64_t number = 0;
    if (!value || !host_int(value, &number)) return false;
    int64_t rank = tensor->rank + extra;
    int64_t needed = number >= 0 ? number + 1 - extra : -number - extra;
    if (needed <= TYPE_MAX_RANK) host_need_rank(host, tensor->like, tensor->rank, (int)needed);
    if (number < 0) number += rank;
    if (number < 0 || number >= rank) return false;
    *axis = (int)number;
    return true;
}

/// A contiguous reading of the same elements under other dimensions; -1 is worked out.
static const HostValue *viewed(Host *host, const HostTensor *tensor, const HostValue **dims,
                               int rank) {
    const HostValue *numel = host_numel(host, tensor);
    const HostValue *known = host_of_int(host, 1);
    int inferred = -1;
    for (int axis = 0; axis < rank; axis++) {
        int64_t size = 0;
        host_want(host, dims[axis], INPUT_INT);
        if (host_int(dims[axis], &size) && size == -1)
            inferred = axis;
        else
            known = host_apply(host, HOST_OP_MULTIPLY, known, dims[axis]);
    }
    if (inferred >= 0) {
        host_require(host,
                     host_apply(host, HOST_OP_EQUAL, host_apply(host, HOST_OP_MODULO, numel, known),
                                host_of_int(host, 0)),
                     true, HOST_MUST);
        // The usual case, x.view(-1, x.shape[-1]), keeps its readable form.
        const HostValue *rest = host_of_int(host, 1);
        bool trailing = inferred == 0 && rank - 1 <= tensor->rank;
        for (int axis = 1; trailing && axis < rank; axis++)
            trailing = dims[axis] == tensor->dims[tensor->rank - rank + axis];
        for (int axis = 0; trailing && axis <= tensor->rank - rank; axis++)
            rest = host_apply(host, HOST_OP_MULTIPLY, rest, tensor->dims[axis]);
        dims[inferred] = trailing ? rest : host_apply(host, HOST_OP_FLOOR_DIVIDE, numel, known);
    } else {
        host_require(host, host_apply(host, HOST_OP_EQUAL, numel, known), true, HOST_MUST);
    }
    HostTensor *view = copy_of(host, tensor);
    view->rank = rank;
    const HostValue *stride = host_of_int(host, 1);
    for (int axis = rank - 1; axis >= 0; axis--) {
        // Every one of the `rank` dims is set above. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
        view->dims[axis] = dims[axis];
        view->strides[axis] = stride;
        stride = host_apply(host, HOST_OP_MULTIPLY, stride, dims[axis]);
    }
    return host_of_tensor(host, view);
}

static bool is_contiguous(const HostTensor *tensor) {
    int64_t expected = 1;
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        int64_t size = 0, stride = 0;
        if (!host_int(tensor->dims[axis], &size) || !host_int(tensor->strides[axis], &stride))
            return false;
        if (size != 1 && stride != expected) return false;
        expected *= size;
    }
    return true;
}

static const HostValue *copied(Host *host, const HostTensor *tensor, const HostValue *dtype) {
    return host_like(host, tensor,
                     host_allocate(host, tensor->dims, tensor->rank, dtype ? dtype : tensor->dtype,
                                   CONTENTS_COMPUTED, NULL));
}

static const HostValue *permuted(Host *host, const HostTensor *tensor, const HostCall *call) {
    const HostValue *order[TYPE_MAX_RANK];
    int rank = 0;
    if (!given_dims(host, call, 0, order, &rank))
        return host_unknown(host, "permute with axes that are not understood");
    if (rank != tensor->rank) {
        if (tensor->like && !tensor->like->is_rank_certain)
            host_set_rank(host, host_input(host, tensor->like->name), rank);
        return host_unknown(host, "permute of another number of dimensions");
    }
    HostTensor *view = copy_of(host, tensor);
    for (int i = 0; i < rank; i++) {
        int axis = 0;
        if (!axis_of(host, tensor, order[i], 0, &axis))
            return host_unknown(host, "permute with axes that are not understood");
        view->dims[i] = tensor->dims[axis];
        view->strides[i] = tensor->strides[axis];
    }
    return host_of_tensor(host, view);
}

static const HostValue *transposed(Host *host, const HostTensor *tensor, const HostValue *first,
                                   const HostValue *second) {
    int a = 0, b = 0;
    if (!axis_of(host, tensor, first, 0, &a) || !axis_of(host, tensor, second, 0, &b))
        return host_unknown(host, "transpose with axes that are not understood");
    HostTensor *view = copy_of(host, tensor);
    view->like = tensor->like;
    view->dims[a] = tensor->dims[b];
    view->dims[b] = tensor->dims[a];
    view->strides[a] = tensor->strides[b];
    view->strides[b] = tensor->strides[a];
    return host_of_tensor(host, view);
}

static const HostValue *flattened(Host *host, const HostTensor *tensor, const HostCall *call) {
    int first = 0, last = tensor->rank - 1;
    const HostValue *from = host_argument(call, 0, "start_dim"),
                    *to = host_argument(call, 1, "end_dim");
    if ((from && !axis_of(host, tensor, from, 0, &first)) ||
        (to && !axis_of(host, tensor, to, 0, &last)) || first > last)
        return host_unknown(host, "flatten with axes that are not understood");
    const HostValue *dims[TYPE_MAX_RANK];
    int rank = 0;
    for (int axis = 0; axis < tensor->rank; axis++) {
        if (axis <= first || axis > last)
            dims[rank++] = tensor->dims[axis];
        else
            dims[rank - 1] = host_apply(host, HOST_OP_MULTIPLY, dims[rank - 1], tensor->dims[axis]);
    }
    return viewed(host, tensor, dims, rank);
}

static const HostValue *unflattened(Host *host, const HostTensor *tensor, const HostCall *call) {
    int axis = 0;
    const HostValue *sizes = host_argument(call, 1, "sizes");
    if (!axis_of(host, tensor, host_argument(call, 0, "dim"), 0, &axis) || !sizes ||
        sizes->kind != HOST_SEQUENCE || tensor->rank + sizes->count - 1 > TYPE_MAX_RANK)
        return host_unknown(host, "unflatten that is not understood");
    const HostValue *dims[2 * TYPE_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < axis; i++) dims[rank++] = tensor->dims[i];
    for (int i = 0; i < sizes->count; i++) dims[rank++] = sizes->items[i];
    for (int i = axis + 1; i < tensor->rank; i++) dims[rank++] = tensor->dims[i];
    return viewed(host, tensor, dims, rank);
}

static const HostValue *squeezed(Host *host, const HostValue *self, const HostTensor *tensor,
                                 const HostCall *call, bool insert) {
    int axis = 0;
    if (!axis_of(host, tensor, host_argument(call, 0, "dim"), insert ? 1 : 0, &axis) ||
        (insert && tensor->rank == TYPE_MAX_RANK))
        return call->count == 0 && !insert ? self
                                           : host_unknown(host, "squeeze that is not understood");
    HostTensor *view = copy_of(host, tensor);
    if (insert) {
        for (int i = tensor->rank; i > axis; i--) {
            view->dims[i] = tensor->dims[i - 1];
            view->strides[i] = tensor->strides[i - 1];
        }
        view->dims[axis] = host_of_int(host, 1);
        view->strides[axis] = host_of_int(host, 0);
        view->rank++;
        return host_of_tensor(host, view);
    }
    int64_t size = 0;
    if (host_int(tensor->dims[axis], &size) && size != 1) return self;
    for (int i = axis; i + 1 < tensor->rank; i++) {
        view->dims[i] = tensor->dims[i + 1];
        view->strides[i] = tensor->strides[i + 1];
    }
    view->rank--;
    return host_of_tensor(host, view);
}

static const HostValue *expanded(Host *host, const HostTensor *tensor, const HostValue *const *dims,
                                 int rank) {
    if (rank < tensor->rank) return host_unknown(host, "expand to fewer dimensions");
    HostTensor *view = copy_of(host, tensor);
    view->rank = rank;
    for (int axis = 0; axis < rank; axis++) {
        int from = axis - (rank - tensor->rank);
        int64_t size = 0, old = 1;
        bool keep = host_int(dims[axis], &size) && size == -1;
        bool known = from >= 0 && host_int(tensor->dims[from], &old);
        view->dims[axis] = keep && from >= 0 ? tensor->dims[from] : dims[axis];
        bool same = from >= 0 && (keep || !known || old != 1 || size == 1);
        view->strides[axis] = same ? tensor->strides[from] : host_of_int(host, 0);
    }
    return host_of_tensor(host, view);
}

static const HostValue *converted(Host *host, const HostValue *self, const HostTensor *tensor,
                                  const HostCall *call) {
    const HostValue *dtype = host_keyword(call, "dtype");
    for (int i = 0; i < call->count && !dtype; i++) {
        const HostValue *given = call->items[i];
        if (given->kind == HOST_DTYPE ||
            (given->is_concrete && given->constant.kind == CONSTANT_DTYPE))
            dtype = given;
        else if (given->kind == HOST_TENSOR)
            dtype = given->tensor->dtype;
        else if (given->kind == HOST_INPUT && given->input->kind == INPUT_DTYPE)
            dtype = given;
    }
    if (!dtype) return self;
    Constant wanted, now;
    HostInput *input = self->kind == HOST_INPUT ? self->input : NULL;
    if (host_compute(dtype, &wanted) && wanted.kind == CONSTANT_DTYPE) {
        // Indices converted to an integer type are integers from the start, as far as contents go.
        if (input && input->dtype == DTYPE_UNKNOWN && !dtype_is_float(wanted.dtype)) {
            input->dtype = wanted.dtype.code;
            host->is_changed = true;
        }
        if (host_compute(tensor->dtype, &now) && dtype_equal(now.dtype, wanted.dtype)) return self;
        if (input && !dtype_is_float(wanted.dtype)) {
            HostTensor *view = copy_of(host, tensor);
            view->like = tensor->like;
            view->dtype = dtype;
            return host_of_tensor(host, view);
        }
    }
    if (dtype->kind == HOST_DTYPE && dtype == tensor->dtype) return self;
    return copied(host, tensor, dtype);
}

static const HostValue *pieces(Host *host, HostTensor *tensor, const HostCall *call, int form) {
    int axis = 0;
    const HostValue *dim = host_argument(call, form == 2 ? 0 : 1, "dim");
    if (dim && !axis_of(host, tensor, dim, 0, &axis))
        return host_unknown(host, "an axis that is not understood");
    if (tensor->rank == 0) return host_unknown(host, "a tensor without dimensions in pieces");
    const HostValue *sizes[TENSOR_MOST_PIECES],
        *given = form == 2
                     ? NULL
                     : host_argument(call, 0, form == 0 ? "chunks" : "split_size_or_sections");
    int64_t count = 0, total = 0, size = 0;
    if (form != 2 && !given) return host_unknown(host, "chunk of a number that is not known");
    if (form == 1 && given->kind == HOST_SEQUENCE) {
        count = given->count;
        for (int i = 0; i < count && i < TENSOR_MOST_PIECES; i++) sizes[i] = given->items[i];
    } else if (form == 2) {
        if (!host_int(tensor->dims[axis], &count))
            return host_unknown(host, "unbind of an unknown size");
        for (int i = 0; i < count && i < TENSOR_MOST_PIECES; i++) sizes[i] = host_of_int(host, 1);
    } else if (host_int(tensor->dims[axis], &total) && host_int(given, &size) && size > 0) {
        const HostValue *each =
            form == 0 ? host_apply(host, HOST_OP_CDIV, tensor->dims[axis], given) : given;
        const HostValue *exact = host_apply(host, HOST_OP_MODULO, tensor->dims[axis], given);
        host_require(host, host_apply(host, HOST_OP_EQUAL, exact, host_of_int(host, 0)), true,
                     HOST_WISH);
        count = form == 0 ? size : (total + size - 1) / size;
        for (int i = 0; i < count && i < TENSOR_MOST_PIECES; i++) sizes[i] = each;
    }
    if (count < 1 || count > TENSOR_MOST_PIECES)
        return host_unknown(host, "a tensor in pieces that are not understood");
    const HostValue *parts[TENSOR_MOST_PIECES], *start = host_of_int(host, 0);
    for (int i = 0; i < count; i++) {
        HostTensor *view = copy_of(host, tensor);
        view->dims[axis] = sizes[i];
        view->offset = host_apply(host, HOST_OP_ADD, view->offset,
                                  host_apply(host, HOST_OP_MULTIPLY, start, view->strides[axis]));
        start = host_apply(host, HOST_OP_ADD, start, sizes[i]);
        for (int a = axis; form == 2 && a + 1 < tensor->rank; a++) {
            view->dims[a] = tensor->dims[a + 1];
            view->strides[a] = tensor->strides[a + 1];
        }
        if (form == 2) view->rank--;
        parts[i] = host_of_tensor(host, view);
    }
    return host_sequence(host, parts, (int)count);
}

static const HostValue *reduced(Host *host, const HostTensor *tensor, const HostCall *call) {
    const HostValue *dim = host_argument(call, 0, "dim");
    const HostValue *keep = host_argument(call, 1, "keepdim"), *dtype = host_keyword(call, "dtype");
    bool known = false, kept = keep && host_truth(keep, &known);
    const HostValue *dims[TYPE_MAX_RANK];
    int rank = 0, axis = -1;
    if (dim && dim->kind == HOST_SEQUENCE && dim->count == 1) dim = dim->items[0];
    if (dim && !host_is_none(dim) && !axis_of(host, tensor, dim, 0, &axis))
        return host_unknown(host, "a reduction over axes that are not understood");
    for (int i = 0; axis >= 0 && i < tensor->rank; i++) {
        if (i != axis)
            dims[rank++] = tensor->dims[i];
        else if (kept)
            dims[rank++] = host_of_int(host, 1);
    }
    return host_allocate(host, dims, rank, dtype ? dtype : tensor->dtype, CONTENTS_COMPUTED, NULL);
}

static void note_stride(Host *host, const HostTensor *tensor, const HostValue *dim, int axis) {
    HostInput *input = host_input(host, tensor->like->name);
    int64_t number = 0;
    if (axis > 0 && axis + 1 == tensor->rank) input->is_last_stride_read = true;
    if (!host_int(dim, &number)) return;
    if (number < 0)
        input->strides_from_end |= 1U << (tensor->rank - 1 - axis);
    else
        input->strides_from_front |= 1U << axis;
}

static const HostValue *size_or_stride(Host *host, HostTensor *tensor, const HostCall *call,
                                       bool strides) {
    const HostValue *dim = host_argument(call, 0, "dim");
    if (!dim) return host_shape(host, tensor, strides);
    int axis = 0;
    if (!axis_of(host, tensor, dim, 0, &axis))
        return host_unknown(host, "a dimension that is not understood");
    if (strides && tensor->like) note_stride(host, tensor, dim, axis);
    return strides ? tensor->strides[axis] : host_look_at(tensor->dims[axis]);
}

/// The tensor with other sizes and strides, over the same elements.
static const HostValue *rearranged(Host *host, const HostValue *self, HostTensor *tensor,
                                   Method method, int detail, const HostCall *call) {
    const HostValue *dims[2 * TYPE_MAX_RANK];
    int rank = 0;
    switch (method) {
    case METHOD_VIEW:
        if (call->count == 1 && call->items[0]->is_concrete &&
            call->items[0]->constant.kind == CONSTANT_DTYPE)
            return converted(host, self, tensor, call);
        if (!given_dims(host, call, 0, dims, &rank))
            return host_unknown(host, "view with sizes that are not understood");
        return viewed(host, tensor, dims, rank);
    case METHOD_VIEW_AS: {
        HostTensor *other = call->count ? host_as_tensor(host, call->items[0]) : NULL;
        if (!other) return host_unknown(host, "view_as what is not understood");
        if (detail) return expanded(host, tensor, other->dims, other->rank);
        for (int i = 0; i < other->rank; i++) dims[i] = other->dims[i];
        return viewed(host, tensor, dims, other->rank);
    }
    case METHOD_EXPAND:
        if (!given_dims(host, call, 0, dims, &rank))
            return host_unknown(host, "expand with sizes that are not understood");
        return expanded(host, tensor, dims, rank);
    case METHOD_TRANSPOSE:
        return transposed(host, tensor, host_argument(call, 0, "dim0"),
                          host_argument(call, 1, "dim1"));
    case METHOD_T:
        return tensor->rank < 2
                   ? self
                   : transposed(host, tensor, host_of_int(host, 0), host_of_int(host, 1));
    case METHOD_PERMUTE: return permuted(host, tensor, call);
    case METHOD_FLATTEN: return flattened(host, tensor, call);
    case METHOD_UNFLATTEN: return unflattened(host, tensor, call);
    case METHOD_SQUEEZE: return squeezed(host, self, tensor, call, false);
    case METHOD_UNSQUEEZE: return squeezed(host, self, tensor, call, true);
    default: return NULL;
    }
}

/// What calls of new_empty and its like have for a type: the tensor's own where they say none.
static const HostValue *new_dtype(const HostTensor *tensor, const HostCall *call) {
    const HostValue *dtype = host_keyword(call, "dtype");
    return dtype ? dtype : tensor->dtype;
}

static const HostValue *new_tensor(Host *host, const HostTensor *tensor, const HostCall *call,
                                   HostContents contents) {
    const HostValue *dims[2 * TYPE_MAX_RANK];
    int rank = 0;
    if (!given_dims(host, call, 0, dims, &rank))
        return host_unknown(host, "a size that is not understood");
    return host_allocate(host, dims, rank, new_dtype(tensor, call), contents,
                         contents == CONTENTS_FILL ? host_of_int(host, 1) : NULL);
}

static const HostValue *new_full(Host *host, const HostTensor *tensor, const HostCall *call) {
    const HostValue *dims[2 * TYPE_MAX_RANK], *fill = host_argument(call, 1, "fill_value");
    HostCall sizes = {.items = call->items, .count = call->count > 0 ? 1 : 0};
    int rank = 0;
    if (!given_dims(host, &sizes, 0, dims, &rank))
        return host_unknown(host, "a size that is not understood");
    return host_allocate(host, dims, rank, new_dtype(tensor, call), CONTENTS_FILL, fill);
}

/// Whether a method in place leaves what the evaluation knows of: the contents that were, or one number.
static bool is_followed(const TorchRow *row) {
    return row && (row->contents == TORCH_ZEROS || row->contents == TORCH_FULL ||
                   row->contents == TORCH_COPIED);
}

/// `x.numel()` of an input as a whole.
static void note_count(const HostTensor *tensor) {
    for (int axis = 0; axis < tensor->rank; axis++) {
        const HostValue *size = tensor->dims[axis];
        bool is_own = size->kind == HOST_SIZE && size->input == tensor->buffer->input;
        if (!is_own || size->axis != axis || size->input->rank != tensor->rank) return;
    }
    if (tensor->rank) tensor->dims[0]->input->is_count_read = true;
}

const HostValue *host_tensor_method(Host *host, const HostValue *self, HostTensor *tensor, Str name,
                                    const HostCall *call) {
    size_t row = 0, rows = sizeof methods / sizeof *methods;
    const TorchRow *known = torch_row(name);
    if (str_ends(name, "_") && !is_followed(known)) host_note_written(self);
    while (row < rows && !str_is(name, methods[row].name)) row++;
    if (row == rows) {
        bool is_computed = known && known->contents == TORCH_COMPUTED;
        if (is_computed && known->storage == TORCH_IN_PLACE) return self;
        bool is_new = is_computed && known->storage == TORCH_NEW && known->shape == TORCH_KEEPS;
        return is_new ? host_elementwise(host, tensor, NULL, NULL) : NULL;
    }
    int detail = methods[row].detail;
    switch (methods[row].method) {
    case METHOD_SIZE: return size_or_stride(host, tensor, call, false);
    case METHOD_STRIDE: return size_or_stride(host, tensor, call, true);
    case METHOD_NUMEL: note_count(tensor); return host_numel(host, tensor);
    case METHOD_RANK: return host_tensor_attribute(host, self, tensor, STR("ndim"));
    case METHOD_ELEMENT_SIZE: return host_of_int(host, 4);
    case METHOD_TRUE: return host_of_bool(host, true);
    case METHOD_ZERO: return host_of_int(host, 0);
    case METHOD_SAME: return self;
    case METHOD_CONTIGUOUS: return is_contiguous(tensor) ? self : copied(host, tensor, NULL);
    case METHOD_COPY: return copied(host, tensor, NULL);
    case METHOD_TO: return converted(host, self, tensor, call);
    case METHOD_DTYPE: {
        const HostValue *wanted = host_of_dtype(host, (DTypeCode)detail);
        HostCall to = {.items = &wanted, .count = 1};
        return converted(host, self, tensor, &to);
    }
    case METHOD_FILL:
        if (tensor->buffer->contents != CONTENTS_INPUT) {
            tensor->buffer->contents = (HostContents)detail;
            if (detail == CONTENTS_FILL) tensor->buffer->fill = host_argument(call, 0, "value");
        }
        return self;
    case METHOD_NEW: return new_tensor(host, tensor, call, (HostContents)detail);
    case METHOD_NEW_FULL: return new_full(host, tensor, call);
    case METHOD_CHUNK: return pieces(host, tensor, call, detail);
    case METHOD_REDUCE: return reduced(host, tensor, call);
    case METHOD_ELEMENTWISE: return host_elementwise(host, tensor, NULL, NULL);
    case METHOD_IS_FLOAT: {
        Constant now;
        if (detail) return host_of_bool(host, false);
        return host_of_bool(host, !host_compute(tensor->dtype, &now) || dtype_is_float(now.dtype));
    }
    case METHOD_FREE: {
        Range range = node_range(call->frame->module->source, call->node);
        return host_input_value(
            host,
            host_input(host, arena_printf(host->arena, "%.*s", STR_ARGS(source_slice(range)))));
    }
    default: return rearranged(host, self, tensor, methods[row].method, detail, call);
    }
}
