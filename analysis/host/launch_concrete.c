// One launch with numbers in it, and its readable text.
#include "analysis/host/launch_concrete.h"

#include "analysis/host/launch.h"

#include "analysis/host_values/host.h"
#include "analysis/host_values/host_value.h"

#include <string.h>

typedef struct Concretizer {
    Arena *arena;
    ConcreteLaunch *launch;
    LIST(const HostBuffer *) buffers;
} Concretizer;

static DTypeCode dtype_code(const HostValue *dtype) {
    Constant now;
    if (dtype && dtype->kind == HOST_DTYPE) return dtype->input->dtype;
    return dtype && host_compute(dtype, &now) && now.kind == CONSTANT_DTYPE ? now.dtype.code
                                                                            : DTYPE_UNKNOWN;
}

static bool all_read(const HostInput *input) {
    if (input->is_count_read) return true;
    for (int axis = 0; axis < input->rank; axis++)
        if (!input->is_dim_read[axis]) return false;
    return true;
}

/// Whether a number follows from a size that the host code leaves out: it is what the kernel takes it for.
static bool has_left_out(const HostValue *value) {
    if (value->kind == HOST_SIZE)
        return value->input->is_dim_left_out[value->axis] &&
               !value->input->is_dim_read[value->axis];
    for (int i = 0; i < value->count; i++)
        if (has_left_out(value->items[i])) return true;
    return false;
}

static int buffer_index(Concretizer *state, const HostTensor *tensor, Str parameter) {
    const HostBuffer *buffer = tensor->buffer;
    for (int i = 0; i < state->buffers.count; i++)
        if (state->buffers.items[i] == buffer) return i;
    ConcreteBuffer concrete = {.contents = buffer->contents,
                               .dtype = dtype_code(tensor->dtype),
                               .may_be_written = buffer->may_be_written};
    concrete.name = buffer->input ? buffer->input->name : str_dup(state->arena, parameter);
    concrete.is_extent_certain =
        host_int(buffer->numel, &concrete.numel) &&
        (buffer->input ? all_read(buffer->input) : !has_left_out(buffer->numel));
    if (buffer->fill && !host_number(buffer->fill, &concrete.fill))
        concrete.contents = CONTENTS_COMPUTED;
    LIST_PUSH(state->arena, &state->buffers, buffer);
    LIST_PUSH(state->arena, &state->launch->buffers, concrete);
    return state->buffers.count - 1;
}

static bool concrete_tensor(Concretizer *state, ConcreteArgument *argument,
                            const HostTensor *tensor, Str parameter) {
    argument->rank = tensor->rank;
    for (int axis = 0; axis < tensor->rank; axis++)
        if (!host_int(tensor->dims[axis], &argument->dims[axis]) ||
            !host_int(tensor->strides[axis], &argument->strides[axis]))
            return false;
    if (!host_int(tensor->offset, &argument->offset)) return false;
    argument->dtype = dtype_code(tensor->dtype);
    argument->buffer = buffer_index(state, tensor, parameter);
    argument->kind = CONCRETE_TENSOR;
    return true;
}

/// A tuple of numbers, texts and the like; false where one of its items is not known.
static bool concrete_tuple(Arena *arena, const HostValue *value, Constant *tuple) {
    Constant *items = ARENA_ARRAY(arena, Constant, value->count + 1);
    for (int i = 0; i < value->count; i++) {
        if (!value->items[i]->is_concrete) return false;
        items[i] = value->items[i]->constant;
    }
    *tuple = (Constant){.kind = CONSTANT_TUPLE, .items = items, .item_count = value->count};
    return true;
}

ConcreteLaunch *host_concretize(Arena *arena, const HostLaunch *launch) {
    Concretizer state = {.arena = arena, .launch = ARENA_NEW(arena, ConcreteLaunch)};
    ConcreteLaunch *concrete = state.launch;
    concrete->argument_count = launch->argument_count;
    concrete->arguments = ARENA_ARRAY(arena, ConcreteArgument, launch->argument_count + 1);
    concrete->is_complete = launch->argument_count > 0 || launch->kernel->parameter_count == 0;
    for (int i = 0; i < launch->argument_count; i++) {
        const HostValue *value = launch->arguments[i].value;
        ConcreteArgument *argument = &concrete->arguments[i];
        if (value && value->kind == HOST_TENSOR) {
            if (!concrete_tensor(&state, argument, value->tensor,
                                 launch->kernel->parameters[i].name))
                concrete->is_complete = false;
        } else if (value && value->kind == HOST_SEQUENCE &&
                   concrete_tuple(arena, value, &argument->constant)) {
            argument->kind = CONCRETE_SCALAR;
        } else if (value && value->is_concrete) {
            argument->kind = CONCRETE_SCALAR;
            argument->constant = value->constant;
        } else {
            concrete->is_complete = false;
        }
    }
    bool known = launch->grid_rank > 0;
    for (int axis = 0; axis < 3; axis++) {
        concrete->grid[axis] = 1;
        if (axis < launch->grid_rank && !host_int(launch->grid[axis], &concrete->grid[axis]))
            known = false;
    }
    if (!known) {
        memset(concrete->grid, 0, sizeof concrete->grid);
        concrete->is_complete = false;
    }
    return concrete;
}

static void print_constant(Buffer *out, const Constant *constant) {
    switch (constant->kind) {
    case CONSTANT_NONE: buffer_puts(out, "None"); break;
    case CONSTANT_BOOL: buffer_puts(out, constant->integer ? "True" : "False"); break;
    case CONSTANT_INT: buffer_printf(out, "%lld", (long long)constant->integer); break;
    case CONSTANT_FLOAT: buffer_printf(out, "%.9g", constant->number); break;
    case CONSTANT_STRING: buffer_printf(out, "\"%.*s\"", STR_ARGS(constant->string)); break;
    case CONSTANT_DTYPE:
        buffer_puts(out,
                    dtype_name(constant->dtype.code) ? dtype_name(constant->dtype.code) : "dtype");
        break;
    case CONSTANT_TUPLE: constant_write_tuple(out, constant, print_constant); break;
    case CONSTANT_FUNCTION: buffer_printf(out, "%.*s", STR_ARGS(constant->string)); break;
    }
}

static void print(Buffer *out, const HostValue *value, int depth);

static void print_list(Buffer *out, const HostValue *const *items, int count, int depth) {
    for (int i = 0; i < count; i++) {
        if (i) buffer_puts(out, ", ");
        print(out, items[i], depth);
    }
}

static void print_operation(Buffer *out, const HostValue *value, int depth) {
    int arity = 0;
    const char *text = host_operation_text(value->operation, &arity);
    bool word = text[0] >= 'a' && text[0] <= 'z',
         logical = strcmp(text, "and") == 0 || strcmp(text, "or") == 0;
    if (word && !logical && strcmp(text, "not ") != 0) {
        buffer_printf(out, "%s(", text);
        print_list(out, value->items, value->count, depth);
        buffer_putc(out, ')');
        return;
    }
    if (arity == 1) buffer_puts(out, text);
    for (int i = 0; i < arity; i++) {
        bool nested = value->items[i]->kind == HOST_OPERATION;
        if (i) buffer_printf(out, " %s ", text);
        if (nested) buffer_putc(out, '(');
        print(out, value->items[i], depth);
        if (nested) buffer_putc(out, ')');
    }
}

static void print_tensor(Buffer *out, const HostTensor *tensor, int depth) {
    static const char *const contents[] = {"",       "empty",  "zeros",   "full",
                                           "arange", "random", "computed"};
    const HostBuffer *buffer = tensor->buffer;
    buffer_printf(out, "%s[", buffer->input ? buffer->input->name : contents[buffer->contents]);
    print_list(out, tensor->dims, tensor->rank, depth);
    buffer_puts(out, "] strides (");
    print_list(out, tensor->strides, tensor->rank, depth);
    buffer_putc(out, ')');
}

static void print(Buffer *out, const HostValue *value, int depth) {
    if (depth > 40) {
        buffer_puts(out, "...");
        return;
    }
    switch (value->kind) {
    case HOST_UNKNOWN: buffer_printf(out, "? (%s)", value->note); break;
    case HOST_CONSTANT: print_constant(out, &value->constant); break;
    case HOST_INPUT: buffer_puts(out, value->input->name); break;
    case HOST_SIZE: buffer_printf(out, "%s.shape[%d]", value->input->name, value->axis); break;
    case HOST_RANK: buffer_printf(out, "%s.dim()", value->input->name); break;
    case HOST_DTYPE: buffer_printf(out, "%s.dtype", value->input->name); break;
    case HOST_IS_NONE: buffer_printf(out, "%s is None", value->input->name); break;
    case HOST_OPERATION: print_operation(out, value, depth + 1); break;
    case HOST_TENSOR: print_tensor(out, value->tensor, depth + 1); break;
    case HOST_SEQUENCE:
        buffer_putc(out, '(');
        print_list(out, value->items, value->count, depth + 1);
        buffer_puts(out, value->count == 1 ? ",)" : ")");
        break;
    case HOST_DICTIONARY: buffer_puts(out, "{...}"); break;
    case HOST_FUNCTION: buffer_puts(out, "function"); break;
    case HOST_OBJECT: buffer_puts(out, value->note); break;
    }
}

const char *host_print(Arena *arena, const HostValue *value) {
    Buffer out = buffer_new(arena);
    print(&out, value, 0);
    return buffer_text(&out);
}

static void print_line(Buffer *out, Str name, const HostValue *value) {
    buffer_printf(out, "%.*s = ", STR_ARGS(name));
    if (value)
        print(out, value, 0);
    else
        buffer_puts(out, "?");
    if (value && value->is_concrete && value->kind != HOST_CONSTANT) {
        buffer_puts(out, "  # ");
        print_constant(out, &value->constant);
    }
    buffer_putc(out, '\n');
}

const char *host_launch_print(Arena *arena, const HostLaunch *launch) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < launch->argument_count; i++)
        print_line(&out, launch->kernel->parameters[i].name, launch->arguments[i].value);
    static const Str axes[3] = {{"grid[0]", 7}, {"grid[1]", 7}, {"grid[2]", 7}};
    for (int i = 0; i < launch->grid_rank; i++) print_line(&out, axes[i], launch->grid[i]);
    for (int i = 0; i < launch->options.count; i++)
        print_line(&out, launch->options.items[i].name, launch->options.items[i].value);
    if (launch->reason) buffer_printf(&out, "! %s\n", launch->reason);
    return buffer_text(&out);
}
