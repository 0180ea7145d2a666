// Calls in host code: arguments, Python functions inlined, and the few library functions that launchers are made of.
#include "analysis/host/host_call.h"

#include "analysis/host/host_expression.h"
#include "analysis/host/host_statement.h"
#include "analysis/host/host_tensor.h"
#include "analysis/host/host_tensor_call.h"
#include "analysis/host_values/host.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_solve.h"
#include "analysis/host_values/host_value.h"
#include "analysis/host_values/host_writes.h"
#include "analysis/ir/type_limits.h"
#include "analysis/syntax/syntax_nodes.h"

#include <limits.h>
#include <string.h>

typedef enum Library {
    LIBRARY_OPERATION,  // `detail` is a HostOperation
    LIBRARY_EMPTY,      // torch.empty and relatives: sizes in front; `detail` is HostContents
    LIBRARY_LIKE,
    LIBRARY_FULL,
    LIBRARY_FULL_LIKE,
    LIBRARY_ARANGE,
    LIBRARY_RANDINT,
    LIBRARY_STRIDED,
    LIBRARY_TENSOR,  // with detail 1 a tensor stays what it is
    LIBRARY_LENGTH,
    LIBRARY_RANGE,
    LIBRARY_LIST,
    LIBRARY_FOLD,  // min, max over arguments or a sequence
    LIBRARY_SUM,
    LIBRARY_PRODUCT,
    LIBRARY_ALL,  // `detail` HOST_OP_AND or HOST_OP_OR
    LIBRARY_ENUMERATE,
    LIBRARY_ZIP,
    LIBRARY_ISINSTANCE,
    LIBRARY_TRUE,
    LIBRARY_NONE,
    LIBRARY_METHOD,  // torch.transpose(x, 0, 1) is x.transpose(0, 1)
    LIBRARY_BROADCAST,
    LIBRARY_DICTIONARY,
    LIBRARY_DIVMOD,
    LIBRARY_CONFIG,      // triton.Config
    LIBRARY_SAME,        // its argument
    LIBRARY_DESCRIPTOR,  // a view of the tensor; with detail 1 its shape and strides are given
    LIBRARY_PAD,         // sizes grow by what stands in a list, from the last axis on
    LIBRARY_LIMITS,      // torch.finfo; with detail 1 torch.iinfo
} Library;

static const struct {
    const char *name;
    Library call;
    int detail;
} library[] = {
    {"cdiv", LIBRARY_OPERATION, HOST_OP_CDIV},
    {"ceil_div", LIBRARY_OPERATION, HOST_OP_CDIV},
    {"next_power_of_2", LIBRARY_OPERATION, HOST_OP_NEXT_POWER_OF_2},
    {"prev_power_of_2", LIBRARY_OPERATION, HOST_OP_PREVIOUS_POWER_OF_2},
    {"int", LIBRARY_OPERATION, HOST_OP_INT},
    {"float", LIBRARY_OPERATION, HOST_OP_FLOAT},
    {"bool", LIBRARY_OPERATION, HOST_OP_BOOL},
    {"abs", LIBRARY_OPERATION, HOST_OP_ABSOLUTE},
    {"round", LIBRARY_OPERATION, HOST_OP_ROUND},
    {"math.ceil", LIBRARY_OPERATION, HOST_OP_CEIL},
    {"math.floor", LIBRARY_OPERATION, HOST_OP_FLOOR},
    {"math.sqrt", LIBRARY_OPERATION, HOST_OP_SQRT},
    {"sqrt", LIBRARY_OPERATION, HOST_OP_SQRT},
    {"math.exp", LIBRARY_OPERATION, HOST_OP_EXP},
    {"math.log", LIBRARY_OPERATION, HOST_OP_LOG},
    {"math.log2", LIBRARY_OPERATION, HOST_OP_LOG2},
    {"log2", LIBRARY_OPERATION, HOST_OP_LOG2},
    {"math.gcd", LIBRARY_OPERATION, HOST_OP_GCD},
    {"ceil", LIBRARY_OPERATION, HOST_OP_CEIL},
    {"floor", LIBRARY_OPERATION, HOST_OP_FLOOR},
    {"math.pow", LIBRARY_OPERATION, HOST_OP_POWER},
    {"pow", LIBRARY_OPERATION, HOST_OP_POWER},
    {"empty", LIBRARY_EMPTY, CONTENTS_EMPTY},
    {"zeros", LIBRARY_EMPTY, CONTENTS_ZEROS},
    {"ones", LIBRARY_EMPTY, CONTENTS_FILL},
    {"randn", LIBRARY_EMPTY, CONTENTS_RANDOM},
    {"rand", LIBRARY_EMPTY, CONTENTS_RANDOM},
    {"empty_like", LIBRARY_LIKE, CONTENTS_EMPTY},
    {"zeros_like", LIBRARY_LIKE, CONTENTS_ZEROS},
    {"ones_like", LIBRARY_LIKE, CONTENTS_FILL},
    {"rand_like", LIBRARY_LIKE, CONTENTS_RANDOM},
    {"randn_like", LIBRARY_LIKE, CONTENTS_RANDOM},
    {"full", LIBRARY_FULL, 0},
    {"full_like", LIBRARY_FULL_LIKE, 0},
    {"arange", LIBRARY_ARANGE, 0},
    {"randint", LIBRARY_RANDINT, 0},
    {"empty_strided", LIBRARY_STRIDED, 0},
    {"tensor", LIBRARY_TENSOR, 0},
    {"as_tensor", LIBRARY_TENSOR, 1},
    {"len", LIBRARY_LENGTH, 0},
    {"range", LIBRARY_RANGE, 0},
    {"list", LIBRARY_LIST, 0},
    {"tuple", LIBRARY_LIST, 0},
    {"sorted", LIBRARY_LIST, 0},
    {"torch.Size", LIBRARY_LIST, 0},
    {"min", LIBRARY_FOLD, HOST_OP_MINIMUM},
    {"max", LIBRARY_FOLD, HOST_OP_MAXIMUM},
    {"sum", LIBRARY_SUM, 0},
    {"math.prod", LIBRARY_PRODUCT, 0},
    {"prod", LIBRARY_PRODUCT, 0},
    {"all", LIBRARY_ALL, HOST_OP_AND},
    {"any", LIBRARY_ALL, HOST_OP_OR},
    {"enumerate", LIBRARY_ENUMERATE, 0},
    {"zip", LIBRARY_ZIP, 0},
    {"isinstance", LIBRARY_ISINSTANCE, 0},
    {"torch.is_tensor", LIBRARY_TRUE, 0},
    {"callable", LIBRARY_TRUE, 0},
    {"torch.cuda.is_available", LIBRARY_TRUE, 0},
    {"print", LIBRARY_NONE, 0},
    {"torch._check", LIBRARY_NONE, 0},
    {"set_allocator", LIBRARY_NONE, 0},
    {"torch.transpose", LIBRARY_METHOD, 0},
    {"torch.permute", LIBRARY_METHOD, 0},
    {"torch.reshape", LIBRARY_METHOD, 0},
    {"torch.flatten", LIBRARY_METHOD, 0},
    {"torch.squeeze", LIBRARY_METHOD, 0},
    {"torch.unsqueeze", LIBRARY_METHOD, 0},
    {"torch.chunk", LIBRARY_METHOD, 0},
    {"torch.split", LIBRARY_METHOD, 0},
    {"torch.unbind", LIBRARY_METHOD, 0},
    {"torch.clone", LIBRARY_METHOD, 0},
    {"torch.numel", LIBRARY_METHOD, 0},
    {"torch.sum", LIBRARY_METHOD, 0},
    {"torch.mean", LIBRARY_METHOD, 0},
    {"torch.exp", LIBRARY_METHOD, 0},
    {"torch.sqrt", LIBRARY_METHOD, 0},
    {"torch.rsqrt", LIBRARY_METHOD, 0},
    {"torch.sigmoid", LIBRARY_METHOD, 0},
    {"torch.cumsum", LIBRARY_METHOD, 0},
    {"torch.is_floating_point", LIBRARY_METHOD, 0},
    {"broadcast_tensors", LIBRARY_BROADCAST, 0},
    {"dict", LIBRARY_DICTIONARY, 0},
    {"divmod", LIBRARY_DIVMOD, 0},
    {"Config", LIBRARY_CONFIG, 0},
    {"constexpr", LIBRARY_SAME, 0},
    {"cast", LIBRARY_SAME, 1},
    {"from_tensor", LIBRARY_DESCRIPTOR, 0},
    {"TensorDescriptor", LIBRARY_DESCRIPTOR, 1},
    {"finfo", LIBRARY_LIMITS, 0},
    {"iinfo", LIBRARY_LIMITS, 1},
    {"functional.pad", LIBRARY_PAD, 0},
    {"F.pad", LIBRARY_PAD, 0},
};

const HostValue *host_keyword(const HostCall *call, const char *name) {
    for (int i = 0; i < call->name_count; i++)
        if (str_is(call->names[i], name)) return call->values[i];
    return NULL;
}

const HostValue *host_argument(const HostCall *call, int index, const char *name) {
    return index < call->count ? call->items[index] : host_keyword(call, name);
}

static void add_item(Host *host, HostCall *call, int *capacity, const HostValue *value,
                     Range range) {
    if (call->count == *capacity) {
        int grown = *capacity ? 2 * *capacity : 16;
        call->items = arena_grow(host->arena, call->items, sizeof *call->items * (size_t)*capacity,
                                 sizeof *call->items * (size_t)grown);
        call->item_ranges =
            arena_grow(host->arena, call->item_ranges, sizeof(Range) * (size_t)*capacity,
                       sizeof(Range) * (size_t)grown);
        *capacity = grown;
    }
    call->item_ranges[call->count] = range;
    call->items[call->count++] = value;
}

static void add_name(Host *host, HostCall *call, int *capacity, Str name, const HostValue *value,
                     Range range) {
    if (call->name_count == *capacity) {
        int old = *capacity, grown = old ? 2 * old : 16;
        call->names = arena_grow(host->arena, call->names, sizeof(Str) * (size_t)old,
                                 sizeof(Str) * (size_t)grown);
        call->values = arena_grow(host->arena, call->values, sizeof *call->values * (size_t)old,
                                  sizeof *call->values * (size_t)grown);
        call->name_ranges = arena_grow(host->arena, call->name_ranges, sizeof(Range) * (size_t)old,
                                       sizeof(Range) * (size_t)grown);
        *capacity = grown;
    }
    call->names[call->name_count] = name;
    call->name_ranges[call->name_count] = range;
    call->values[call->name_count++] = value;
}

/// What `*` is put before. A number has no items and is an error at run time: `*(a if c else 0)` asks for the other choice.
static const HostValue *evaluate_spread(Host *host, HostFrame *frame, SyntaxNode node) {
    const HostValue *value = host_evaluate(host, frame, node);
    SyntaxNode chosen = node_child(node, 0), *parts = NULL;
    while (node_kind(chosen) == SYNTAX_PARENTHESIZED) chosen = node_child(chosen, 0);
    if (value->kind != HOST_CONSTANT || node_kind(chosen) != SYNTAX_CONDITIONAL ||
        node_children(host->arena, chosen, &parts) < 3)
        return value;
    const HostValue *condition = host_evaluate(host, frame, parts[1]);
    bool known = false, truth = host_truth(condition, &known);
    if (!host->is_reached) host_require(host, condition, !truth, HOST_MUST);
    return value;
}

HostCall host_call_arguments(Host *host, HostFrame *frame, SyntaxNode node) {
    HostCall call = {.node = node, .frame = frame, .open_from = INT_MAX};
    int item_capacity = 0, name_capacity = 0;
    SyntaxNode list = node_field(node, "arguments");
    const Source *source = frame->module->source;
    if (node_kind(list) == SYNTAX_GENERATOR) {
        add_item(host, &call, &item_capacity, host_evaluate(host, frame, list),
                 node_range(source, list));
        return call;
    }
    SyntaxNode *children = NULL;
    int count = node_children(host->arena, list, &children);
    for (int i = 0; i < count; i++) {
        SyntaxNode child = children[i];
        Range range = node_range(source, child);
        if (host_is_spread(child)) {
            const HostValue *spread = evaluate_spread(host, frame, child);
            const HostValue *const *items = NULL;
            int item_count = 0;
            if (!host_items(host, spread, &items, &item_count)) {
                call.is_open = true;
                if (call.open_from == INT_MAX) call.open_from = call.count;
            }
            const HostInput *input = spread->kind == HOST_SEQUENCE ? spread->shape_of : NULL;
            if (input && !input->is_rank_certain && item_count == input->rank)
                LIST_PUSH(host->arena, &call.spreads,
                          ((OpenSpread){input, item_count, call.count}));
            for (int k = 0; k < item_count; k++) {
                bool looked_at = spread->shape_of && !spread->axis;
                add_item(host, &call, &item_capacity, looked_at ? host_look_at(items[k]) : items[k],
                         range);
            }
            continue;
        }
        switch (node_kind(child)) {
        case SYNTAX_KEYWORD_ARGUMENT: {
            const HostValue *value = host_evaluate(host, frame, node_field(child, "value"));
            add_name(host, &call, &name_capacity, node_text(source, node_field(child, "name")),
                     value, range);
            break;
        }
        case SYNTAX_DICTIONARY_SPLAT: {
            const HostValue *spread = host_evaluate(host, frame, node_child(child, 0));
            if (spread->kind == HOST_INPUT) call.open_names = spread->input;
            if (spread->kind != HOST_DICTIONARY || !spread->keys)
                call.is_open = call.is_open || spread->kind != HOST_DICTIONARY;
            for (int k = 0; spread->kind == HOST_DICTIONARY && k < spread->count; k++)
                add_name(host, &call, &name_capacity, spread->keys[k], spread->items[k], range);
            break;
        }
        default: add_item(host, &call, &item_capacity, host_evaluate(host, frame, child), range);
        }
    }
    return call;
}

static bool ends_with_name(Str dotted, const char *name) {
    size_t size = strlen(name);
    if (dotted.size < size || memcmp(dotted.data + dotted.size - size, name, size) != 0)
        return false;
    return dotted.size == size || dotted.data[dotted.size - size - 1] == '.';
}

static bool last_is(const char *dotted, const char *name) {
    return ends_with_name(str_from(dotted), name);
}

/// The row for a dotted name: rows with a dot need the whole name (or its end), others its last part.
static int find_library(const char *dotted) {
    int rows = (int)(sizeof library / sizeof *library);
    int found = -1;
    Str name = str_from(dotted);
    for (int i = 0; i < rows; i++) {
        if (!ends_with_name(name, library[i].name)) continue;
        if (strchr(library[i].name, '.')) return i;
        if (found < 0) found = i;
    }
    return found;
}

static const HostValue *operation_call(Host *host, HostOperation operation, const HostCall *call) {
    int arity = 0;
    host_operation_text(operation, &arity);
    const HostValue *a = call->count > 0        ? call->items[0]
                         : call->name_count > 0 ? call->values[0]
                                                : NULL;
    const HostValue *b = call->count > 1        ? call->items[1]
                         : call->name_count > 1 ? call->values[1]
                                                : NULL;
    if (!a || (arity == 2 && !b)) return host_unknown(host, "a call with missing arguments");
    if (operation == HOST_OP_CDIV || operation == HOST_OP_NEXT_POWER_OF_2) {
        host_want(host, a, INPUT_INT);
        if (b) host_want(host, b, INPUT_INT);
    }
    HostTensor *tensor = a->kind == HOST_TENSOR ? a->tensor : NULL;
    if (tensor) return host_elementwise(host, tensor, NULL, NULL);
    return host_apply(host, operation, a, arity == 2 ? b : NULL);
}

static int sizes_of(Host *host, const HostCall *call, const HostValue **dims) {
    const HostValue *size = host_keyword(call, "size");
    if (!size) size = host_keyword(call, "shape");
    if (!size && call->count == 0) return -1;
    const HostValue *const *items = call->items;
    int count = call->count;
    if (size) {
        items = &size;
        count = 1;
    }
    if (count == 1 && items[0]->kind == HOST_SEQUENCE) {
        count = items[0]->count;
        items = items[0]->items;
    }
    (void)host;
    if (count > TYPE_MAX_RANK) return -1;
    for (int i = 0; i < count; i++) dims[i] = items[i];
    return count;
}

static const HostValue *fold_call(Host *host, HostOperation operation, const HostCall *call) {
    const HostValue *const *items = call->items;
    int count = call->count;
    if (count == 1 && !host_items(host, call->items[0], &items, &count)) {
        HostTensor *tensor = host_as_tensor(host, call->items[0]);
        return tensor ? host_allocate(host, NULL, 0, tensor->dtype, CONTENTS_COMPUTED, NULL)
                      : host_unknown(host, "a minimum or maximum of what is not understood");
    }
    if (count == 0) return host_unknown(host, "a minimum or maximum of nothing");
    const HostValue *result = items[0];
    for (int i = 1; i < count; i++) {
        if (operation == HOST_OP_MINIMUM || operation == HOST_OP_MAXIMUM) {
            bool numeric = result->kind == HOST_CONSTANT || items[i]->kind == HOST_CONSTANT;
            if (numeric && result->kind == HOST_CONSTANT && result->constant.kind == CONSTANT_INT)
                host_want(host, items[i], INPUT_INT);
            if (numeric && items[i]->kind == HOST_CONSTANT &&
                items[i]->constant.kind == CONSTANT_INT)
                host_want(host, result, INPUT_INT);
        }
        result = host_apply(host, operation, result, items[i]);
    }
    return result;
}

static const HostValue *accumulate(Host *host, HostOperation operation, const HostCall *call,
                                   const HostValue *start) {
    const HostValue *const *items = NULL;
    int count = 0;
    if (call->count < 1 || !host_items(host, call->items[0], &items, &count))
        return host_unknown(host, "a sum or product of what is not understood");
    const HostValue *result = call->count > 1 ? call->items[1] : start;
    for (int i = 0; i < count; i++) result = host_apply(host, operation, result, items[i]);
    return result;
}

static const HostValue *range_call(Host *host, const HostCall *call) {
    int64_t start = 0, stop = 0, step = 1;
    for (int i = 0; i < call->count; i++) host_want(host, call->items[i], INPUT_INT);
    bool known = call->count == 1 ? host_int(call->items[0], &stop)
                 : call->count >= 2
                     ? host_int(call->items[0], &start) && host_int(call->items[1], &stop)
                     : false;
    if (known && call->count == 3) known = host_int(call->items[2], &step);
    if (!known || step == 0) return host_unknown(host, "a range that is not known");
    LIST(const HostValue *) items = {0};
    for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
        if (items.count == HOST_MOST_ITEMS) return host_unknown(host, "a range that is very long");
        LIST_PUSH(host->arena, &items, host_of_int(host, i));
        if (__builtin_add_overflow(i, step, &i)) break;  // the next would be beyond `stop`
    }
    return host_sequence(host, items.items, items.count);
}

static const HostValue *zip_call(Host *host, const HostCall *call, bool enumerate) {
    const HostValue *const *columns[ZIP_MOST_SEQUENCES];
    int shortest = 1 << 20, count = call->count;
    if (count > ZIP_MOST_SEQUENCES && !enumerate)
        return host_unknown(host, "a zip of many sequences");
    bool is_bounded = false;
    for (int c = 0; c < count; c++) {
        int length = 0;
        columns[c] = NULL;
        bool is_open = call->items[c]->kind == HOST_INPUT && !enumerate &&
                       call->items[c]->input->kind != INPUT_TENSOR;
        bool is_known = host_items(host, call->items[c], &columns[c], &length);
        if (!is_known && !is_open) return host_unknown(host, "a sequence that is not understood");
        if (is_known && length < shortest) shortest = length;
        is_bounded = is_bounded || is_known;
        if (enumerate) count = 1;
    }
    // What the launcher is given is as long as the others, where one of them is known.
    if (count > 0 && !is_bounded) return host_unknown(host, "a sequence that is not understood");
    if (count == 0) return host_sequence(host, NULL, 0);
    const HostValue **rows = ARENA_ARRAY(host->arena, const HostValue *, shortest + 1);
    for (int i = 0; i < shortest; i++) {
        const HostValue *cells[ZIP_MOST_SEQUENCES + 1];
        int cell_count = 0;
        if (enumerate) cells[cell_count++] = host_of_int(host, i);
        for (int c = 0; c < count; c++)
            cells[cell_count++] = columns[c] ? columns[c][i] : host_item(host, call->items[c], i);
        rows[i] = host_sequence(host, cells, cell_count);
    }
    return host_sequence(host, rows, shortest);
}

static const HostValue *isinstance_call(Host *host, const HostCall *call) {
    if (call->count < 2) return host_unknown(host, "isinstance without a class");
    const HostValue *value = call->items[0], *class = call->items[1];
    const char *name = class->kind == HOST_OBJECT ? class->note : "";
    if (value->kind == HOST_INPUT && value->input->kind == INPUT_UNDECIDED &&
        last_is(name, "Tensor"))
        host_decide(host, value->input, INPUT_TENSOR);
    bool tensor = value->kind == HOST_TENSOR ||
                  (value->kind == HOST_INPUT && value->input->kind == INPUT_TENSOR);
    if (last_is(name, "Tensor")) return host_of_bool(host, tensor);
    if (value->is_concrete) {
        ConstantKind kind = value->constant.kind;
        if (last_is(name, "int"))
            return host_of_bool(host, kind == CONSTANT_INT || kind == CONSTANT_BOOL);
        if (last_is(name, "float")) return host_of_bool(host, kind == CONSTANT_FLOAT);
        if (last_is(name, "bool")) return host_of_bool(host, kind == CONSTANT_BOOL);
        if (last_is(name, "str")) return host_of_bool(host, kind == CONSTANT_STRING);
    }
    if (last_is(name, "list") || last_is(name, "tuple") || last_is(name, "dict"))
        return host_of_bool(host, value->kind ==
                                      (last_is(name, "dict") ? HOST_DICTIONARY : HOST_SEQUENCE));
    return host_unknown(host, "isinstance that is not understood");
}

/// A tensor descriptor: its tensor, as the shape and strides say that it describes.
static const HostValue *descriptor_call(Host *host, const HostCall *call, int is_explicit) {
    const HostValue *base = host_argument(call, 0, is_explicit ? "base" : "tensor");
    HostTensor *tensor = base ? host_as_tensor(host, base) : NULL;
    const HostValue *const *dims, *const *strides;
    int rank, stride_count;
    if (!tensor || !is_explicit) return tensor ? host_of_tensor(host, tensor) : NULL;
    const HostValue *shape = host_argument(call, 1, "shape"),
                    *steps = host_argument(call, 2, "strides");
    if (!shape || !steps || !host_items(host, shape, &dims, &rank) ||
        !host_items(host, steps, &strides, &stride_count) || rank != stride_count ||
        rank > TYPE_MAX_RANK)
        return NULL;
    HostTensor *view = ARENA_NEW(host->arena, HostTensor);
    *view = *tensor;
    view->rank = rank;
    view->like = NULL;
    for (int axis = 0; axis < rank; axis++) {
        view->dims[axis] = dims[axis];
        view->strides[axis] = strides[axis];
    }
    return host_of_tensor(host, view);
}

/// torch.nn.functional.pad(x, (left, right, top, bottom)): a new tensor, its last axes longer.
static const HostValue *pad_call(Host *host, const HostCall *call) {
    const HostValue *input = host_argument(call, 0, "input"), *pads = host_argument(call, 1, "pad");
    HostTensor *tensor = input ? host_as_tensor(host, input) : NULL;
    const HostValue *const *sizes, *dims[TYPE_MAX_RANK];
    int count;
    if (!tensor || !pads || !host_items(host, pads, &sizes, &count) || count % 2 ||
        count > 2 * TYPE_MAX_RANK)
        return NULL;
    if (count > 2 * tensor->rank) {
        host_need_rank(host, tensor->like, tensor->rank, count / 2);
        return NULL;
    }
    for (int axis = 0; axis < tensor->rank; axis++) dims[axis] = tensor->dims[axis];
    for (int i = 0; i < count; i++) {
        int axis = tensor->rank - 1 - i / 2;
        int64_t number;
        if (host_int(sizes[i], &number) && !number && sizes[i]->kind == HOST_CONSTANT) continue;
        dims[axis] = host_apply(host, HOST_OP_ADD, dims[axis], sizes[i]);
    }
    return host_allocate(host, dims, tensor->rank, tensor->dtype, CONTENTS_COMPUTED, NULL);
}

static const HostValue *dictionary_call(Host *host, const HostCall *call, bool config) {
    HostValue *value = host_new(host, HOST_DICTIONARY);
    const HostValue *base = config        ? host_argument(call, 0, "kwargs")
                            : call->count ? call->items[0]
                                          : NULL;
    int base_count = base && base->kind == HOST_DICTIONARY ? base->count : 0, count = 0;
    Str *keys = ARENA_ARRAY(host->arena, Str, base_count + call->name_count + 1);
    const HostValue **items =
        ARENA_ARRAY(host->arena, const HostValue *, base_count + call->name_count + 1);
    for (int i = 0; i < base_count; i++) {
        keys[count] = base->keys[i];
        items[count++] = base->items[i];
    }
    for (int i = 0; i < call->name_count; i++) {
        if (config && (str_is(call->names[i], "kwargs") || str_is(call->names[i], "pre_hook")))
            continue;
        keys[count] = call->names[i];
        items[count++] = call->values[i];
    }
    value->keys = keys;
    value->items = items;
    value->count = count;
    return value;
}

static const HostValue *tensor_call(Host *host, const HostCall *call, bool is_conversion) {
    const HostValue *data = host_argument(call, 0, "data"), *dtype = host_keyword(call, "dtype");
    const HostValue *dims[TYPE_MAX_RANK];
    int rank = 0;
    const HostValue *inner = data;
    while (inner && inner->kind == HOST_SEQUENCE && rank < TYPE_MAX_RANK) {
        dims[rank++] = host_of_int(host, inner->count);
        inner = inner->count ? inner->items[0] : NULL;
    }
    HostTensor *same =
        inner && rank == 0 ? (inner->kind == HOST_TENSOR ? inner->tensor : NULL) : NULL;
    if (same) return data;
    // a parameter of the launcher: a tensor of a type that nobody knows, or numbers
    if (is_conversion && !dtype && rank == 0 && inner && inner->kind == HOST_INPUT)
        return inner->input->kind == INPUT_TENSOR ? data : NULL;
    bool integers = inner && inner->is_concrete && inner->constant.kind == CONSTANT_INT;
    if (!dtype) dtype = host_of_dtype(host, integers ? DTYPE_INT64 : DTYPE_FLOAT32);
    return host_allocate(host, dims, rank, dtype,
                         rank == 0 && inner ? CONTENTS_FILL : CONTENTS_COMPUTED,
                         rank == 0 ? inner : NULL);
}

static const HostValue *strided_call(Host *host, const HostCall *call) {
    const HostValue *dims[TYPE_MAX_RANK];
    HostCall sizes = {.items = call->items,
                      .count = call->count > 0 ? 1 : 0,
                      .names = call->names,
                      .values = call->values,
                      .name_count = call->name_count};
    int rank = sizes_of(host, &sizes, dims);
    const HostValue *strides = host_argument(call, 1, "stride"),
                    *dtype = host_keyword(call, "dtype");
    if (rank < 0 || !strides || strides->kind != HOST_SEQUENCE || strides->count != rank)
        return host_unknown(host, "empty_strided that is not understood");
    const HostValue *value = host_allocate(host, dims, rank, dtype, CONTENTS_EMPTY, NULL);
    for (int i = 0; value->kind == HOST_TENSOR && i < rank; i++)
        value->tensor->strides[i] = strides->items[i];
    return value;
}

static const HostValue *allocation(Host *host, Library kind, int detail, const HostCall *call) {
    const HostValue *dims[TYPE_MAX_RANK], *dtype = host_keyword(call, "dtype");
    const HostValue *one = detail == CONTENTS_FILL ? host_of_int(host, 1) : NULL;
    HostCall sizes = *call;
    int rank = 0;
    switch (kind) {
    case LIBRARY_EMPTY:
        rank = sizes_of(host, call, dims);
        if (rank < 0) return host_unknown(host, "a size that is not understood");
        return host_allocate(host, dims, rank, dtype, (HostContents)detail, one);
    case LIBRARY_FULL:
        if (sizes.count > 1) sizes.count = 1;
        rank = sizes_of(host, &sizes, dims);
        if (rank < 0) return host_unknown(host, "a size that is not understood");
        return host_allocate(host, dims, rank, dtype, CONTENTS_FILL,
                             host_argument(call, 1, "fill_value"));
    case LIBRARY_RANDINT: {
        const HostValue *size = host_keyword(call, "size");
        if (!size && call->count > 0) size = call->items[call->count - 1];
        if (!size || size->kind != HOST_SEQUENCE || size->count > TYPE_MAX_RANK)
            return host_unknown(host, "randint of an unknown size");
        return host_allocate(host, size->items, size->count,
                             dtype ? dtype : host_of_dtype(host, DTYPE_INT64), CONTENTS_RANDOM,
                             NULL);
    }
    case LIBRARY_ARANGE: {
        const HostValue *start = call->count > 1 ? call->items[0] : host_of_int(host, 0);
        const HostValue *stop = call->count > 1   ? call->items[1]
                                : call->count > 0 ? call->items[0]
                                                  : host_keyword(call, "end");
        if (!stop) return host_unknown(host, "arange without an end");
        const HostValue *count =
            call->count > 1 ? host_apply(host, HOST_OP_SUBTRACT, stop, start) : stop;
        if (call->count > 2) count = host_apply(host, HOST_OP_CDIV, count, call->items[2]);
        return host_allocate(host, &count, 1, dtype ? dtype : host_of_dtype(host, DTYPE_INT64),
                             CONTENTS_INDICES, NULL);
    }
    default: break;
    }
    const HostValue *model = host_argument(call, 0, "input");
    HostTensor *tensor = model ? host_as_tensor(host, model) : NULL;
    if (!tensor) return host_unknown(host, "a tensor like what is not understood");
    if (!dtype) dtype = tensor->dtype;
    const HostValue *fill = kind == LIBRARY_FULL_LIKE ? host_argument(call, 1, "fill_value") : one;
    HostContents contents = kind == LIBRARY_FULL_LIKE ? CONTENTS_FILL : (HostContents)detail;
    return host_like(host, tensor,
                     host_allocate(host, tensor->dims, tensor->rank, dtype, contents, fill));
}

static const HostValue *method_call(Host *host, const char *dotted, const HostCall *call) {
    const char *name = strrchr(dotted, '.');
    const HostValue *self = host_argument(call, 0, "input");
    HostTensor *tensor = self ? host_as_tensor(host, self) : NULL;
    if (!tensor || !name) return host_unknown(host, "%s of what is not understood", dotted);
    HostCall rest = *call;
    if (rest.count > 0) {
        rest.items++;
        rest.count--;
    }
    const HostValue *result = host_tensor_method(host, self, tensor, str_from(name + 1), &rest);
    return result ? result : host_unknown(host, "%s", dotted);
}

static const char *const limits_of[] = {"finfo of ", "iinfo of "};

/// `torch.finfo(dtype)`: an object whose attributes are numbers.
static const HostValue *limits_call(Host *host, const HostCall *call, int is_whole) {
    const HostValue *dtype = host_argument(call, 0, is_whole ? "type" : "dtype");
    Constant now;
    TypeLimits limits;
    if (!dtype || !host_compute(dtype, &now) || now.kind != CONSTANT_DTYPE ||
        !type_limits(now.dtype.code, &limits) || limits.is_float == (is_whole != 0))
        return NULL;
    return host_object(
        host, arena_printf(host->arena, "%s%s", limits_of[is_whole], dtype_name(now.dtype.code)));
}

const HostValue *host_type_limit(Host *host, const char *dotted) {
    const char *dot = strrchr(dotted, '.');
    TypeLimits limits;
    for (int is_whole = 0; dot && is_whole < 2; is_whole++) {
        size_t size = strlen(limits_of[is_whole]);
        if (strncmp(dotted, limits_of[is_whole], size) != 0) continue;
        Str type = {dotted + size, (size_t)(dot - dotted) - size}, name = str_from(dot + 1);
        if (!type_limits(dtype_from_name(type), &limits)) return NULL;
        if (str_is(name, "bits")) return host_of_int(host, limits.bits);
        if (str_is(name, "max"))
            return is_whole ? host_of_int(host, limits.most) : host_of_float(host, limits.high);
        if (str_is(name, "min"))
            return is_whole ? host_of_int(host, limits.least) : host_of_float(host, -limits.high);
        if (str_is(name, "eps") && !is_whole) return host_of_float(host, limits.eps);
        bool is_tiny = str_is(name, "tiny") || str_is(name, "smallest_normal");
        return is_tiny && !is_whole ? host_of_float(host, limits.tiny) : NULL;
    }
    return NULL;
}

const HostValue *host_library_call(Host *host, Str name, const char *dotted, const HostCall *call) {
    (void)name;
    int row = find_library(dotted);
    if (row < 0) return NULL;
    const HostValue *out = strncmp(dotted, "torch.", 6) == 0 ? host_keyword(call, "out") : NULL;
    if (out && !host_is_none(out)) {
        host_note_written(out);
        return out;
    }
    int detail = library[row].detail;
    const HostValue *first = call->count > 0 ? call->items[0] : NULL;
    switch (library[row].call) {
    case LIBRARY_OPERATION: return operation_call(host, (HostOperation)detail, call);
    case LIBRARY_EMPTY:
    case LIBRARY_LIKE:
    case LIBRARY_FULL:
    case LIBRARY_FULL_LIKE:
    case LIBRARY_ARANGE:
    case LIBRARY_RANDINT: return allocation(host, library[row].call, detail, call);
    case LIBRARY_STRIDED: return strided_call(host, call);
    case LIBRARY_TENSOR: return tensor_call(host, call, detail != 0);
    case LIBRARY_LENGTH: {
        if (!first) return NULL;
        if (first->kind == HOST_SEQUENCE && first->shape_of && !first->shape_of->is_rank_certain &&
            first->count == first->shape_of->rank)
            return host_input_property(host, HOST_RANK, host_input(host, first->shape_of->name), 0);
        if (first->kind == HOST_SEQUENCE || first->kind == HOST_DICTIONARY)
            return host_of_int(host, first->count);
        HostTensor *tensor = first->kind == HOST_TENSOR || (first->kind == HOST_INPUT &&
                                                            first->input->kind == INPUT_TENSOR)
                                 ? host_as_tensor(host, first)
                                 : NULL;
        if (!tensor || tensor->rank == 0) return NULL;
        return host_look_at(tensor->dims[0]);
    }
    case LIBRARY_RANGE: return range_call(host, call);
    case LIBRARY_LIST: {
        const HostValue *const *items = NULL;
        int count = 0;
        if (!first) return host_sequence(host, NULL, 0);
        if (first->kind == HOST_SEQUENCE) return host_copy(host, first);
        return host_items(host, first, &items, &count) ? host_sequence(host, items, count) : NULL;
    }
    case LIBRARY_FOLD: return fold_call(host, (HostOperation)detail, call);
    case LIBRARY_SUM: return accumulate(host, HOST_OP_ADD, call, host_of_int(host, 0));
    case LIBRARY_PRODUCT: return accumulate(host, HOST_OP_MULTIPLY, call, host_of_int(host, 1));
    case LIBRARY_ALL:
        return accumulate(host, (HostOperation)detail, call,
                          host_of_bool(host, detail == HOST_OP_AND));
    case LIBRARY_ENUMERATE: return zip_call(host, call, true);
    case LIBRARY_ZIP: return zip_call(host, call, false);
    case LIBRARY_ISINSTANCE: return isinstance_call(host, call);
    case LIBRARY_TRUE: return host_of_bool(host, true);
    case LIBRARY_NONE: return host_none(host);
    case LIBRARY_METHOD: return method_call(host, dotted, call);
    case LIBRARY_BROADCAST: {
        if (call->count == 0) return NULL;
        HostTensor *whole = host_as_tensor(host, call->items[0]);
        for (int i = 1; whole && i < call->count; i++) {
            HostTensor *next = host_as_tensor(host, call->items[i]);
            if (!next) return NULL;
            whole = host_elementwise(host, whole, next, NULL)->tensor;
        }
        if (!whole) return NULL;
        const HostValue **results = ARENA_ARRAY(host->arena, const HostValue *, call->count);
        for (int i = 0; i < call->count; i++) {
            const HostValue *sizes = host_sequence(host, whole->dims, whole->rank);
            HostCall expand = {.items = &sizes, .count = 1};
            results[i] = host_tensor_method(
                host, call->items[i], host_as_tensor(host, call->items[i]), STR("expand"), &expand);
        }
        return host_sequence(host, results, call->count);
    }
    case LIBRARY_DESCRIPTOR: return descriptor_call(host, call, detail);
    case LIBRARY_PAD: return pad_call(host, call);
    case LIBRARY_LIMITS: return limits_call(host, call, detail);
    case LIBRARY_SAME: return detail < call->count ? call->items[detail] : NULL;
    case LIBRARY_DICTIONARY: return dictionary_call(host, call, false);
    case LIBRARY_CONFIG: return dictionary_call(host, call, true);
    case LIBRARY_DIVMOD: {
        if (call->count != 2) return NULL;
        const HostValue *both[2] = {host_apply(host, HOST_OP_FLOOR_DIVIDE, first, call->items[1]),
                                    host_apply(host, HOST_OP_MODULO, first, call->items[1])};
        return host_sequence(host, both, 2);
    }
    }
    return NULL;
}

/// Binds one parameter of a Python function; returns false for `*args` and the like, which take the rest.
static void bind_parameters(Host *host, const HostValue *function, HostFrame *frame,
                            const HostCall *call) {
    SyntaxNode parameters = node_field(function->node, "parameters");
    SyntaxNode *children = NULL;
    int count = node_is_null(parameters) ? 0 : node_children(host->arena, parameters, &children);
    const Source *source = frame->module->source;
    int position = 0;
    bool positional = true;
    for (int i = 0; i < count; i++) {
        SyntaxNode node = children[i], name_node = node;
        SyntaxKind kind = node_kind(node);
        if (kind == SYNTAX_KEYWORD_SEPARATOR) positional = false;
        if (kind == SYNTAX_KEYWORD_SEPARATOR || kind == SYNTAX_POSITIONAL_SEPARATOR) continue;
        if (kind == SYNTAX_TYPED_PARAMETER) name_node = node_child(node, 0);
        if (kind == SYNTAX_DEFAULT_PARAMETER || kind == SYNTAX_TYPED_DEFAULT_PARAMETER)
            name_node = node_field(node, "name");
        if (node_kind(name_node) == SYNTAX_LIST_SPLAT_PATTERN) {
            int rest = call->count > position ? call->count - position : 0;
            map_set(
                &frame->names, node_text(source, node_child(name_node, 0)),
                (void *)(uintptr_t)host_sequence(host, call->items + (rest ? position : 0), rest));
            positional = false;
            continue;
        }
        Str name = node_text(source, name_node);
        if (node_kind(name_node) == SYNTAX_DICTIONARY_SPLAT_PATTERN) continue;
        const HostValue *value =
            positional && position < call->count ? call->items[position] : NULL;
        if (positional) position++;
        for (int k = 0; !value && k < call->name_count; k++)
            if (str_equal(call->names[k], name)) value = call->values[k];
        SyntaxNode default_node = node_field(node, "value");
        if (!value && !node_is_null(default_node))
            value = host_evaluate(host, frame->outer ? frame->outer : frame, default_node);
        if (!value) value = host_unknown(host, "an argument that is not passed");
        map_set(&frame->names, name, (void *)(uintptr_t)value);
    }
}

const HostValue *host_invoke(Host *host, const HostValue *function, const HostCall *call) {
    if (host->call_depth >= 16) return host_unknown(host, "calls nested too deeply");
    HostFrame *frame = host_frame(host, function->frame, function->frame->module);
    bind_parameters(host, function, frame, call);
    SyntaxNode body = node_field(function->node, "body");
    host->call_depth++;
    const HostValue *result = NULL;
    if (node_kind(function->node) == SYNTAX_LAMBDA) {
        result = host_evaluate(host, frame, body);
    } else {
        host_run_block(host, frame, body);
        result = frame->result ? frame->result : host_none(host);
    }
    host->call_depth--;
    return result;
}
