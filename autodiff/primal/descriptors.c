// A kernel with descriptors from its launcher in, one with pointers, sizes and strides in their place out.
#include "autodiff/primal/descriptors.h"

#include <string.h>

#include "analysis/build/build.h"
#include "autodiff/rewrite/rewrite.h"

const DescriptorNumber *descriptor_number(const Differentiation *state, const Value *value) {
    return map_get_pointer(&state->descriptors.numbers, value);
}

static bool is_named(const Function *function, const char *name) {
    for (int i = 0; i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0) return true;
    return false;
}

static const char *free_name(Arena *arena, const Function *function, const char *name) {
    while (is_named(function, name)) name = arena_printf(arena, "%s_", name);
    return name;
}

/// `x` of `x_desc`, `desc_x`, `x_descriptor`; another name as it is.
static const char *stem_of(Arena *arena, const char *name) {
    static const char *const words[] = {"descriptor", "desc"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]), whole = strlen(name);
        if (whole < size + 2) continue;
        if (strncmp(name, words[i], size) == 0 && name[size] == '_') return name + size + 1;
        const char *end = name + whole - size;
        if (strcmp(end, words[i]) == 0 && end[-1] == '_')
            return arena_printf(arena, "%.*s", (int)(whole - size - 1), name);
    }
    return name;
}

/// `x_ptr` for `x_desc`: what the emitted kernel calls the pointer.
static const char *pointer_name(Arena *arena, const Function *function, const char *name) {
    return free_name(arena, function, arena_printf(arena, "%s_ptr", stem_of(arena, name)));
}

static Value *number_parameter(Differentiation *state, int index, ArgumentUse use, int axis) {
    const Parameter *of = &state->primal->parameters[index];
    const char *name = arena_printf(state->arena, "%s_%s_%d", stem_of(state->arena, of->name),
                                    use == ARGUMENT_SHAPE ? "shape" : "stride", axis);
    bool is_wide = use == ARGUMENT_STRIDE;
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(is_wide ? DTYPE_INT64 : DTYPE_INT32)};
    name = free_name(state->arena, state->primal, name);
    Value *value = function_add_parameter(state->primal, name, type);
    DescriptorNumber *number = ARENA_NEW(state->arena, DescriptorNumber);
    const char *descriptor = state->primal->parameters[index].name;
    *number = (DescriptorNumber){.of = descriptor, .use = use, .axis = axis};
    map_set_pointer(&state->descriptors.numbers, value, number);
    return value;
}

static bool is_used(const Function *function, const Value *value) {
    Map uses = function_count_uses(function->arena, function);
    return map_has_pointer(&uses, value);
}

typedef struct {
    Value *from, *to;
} DescriptorReplacement;

/// `x is None` of `from` becomes one of `to`.
static bool ask_another(void *context, Op *op) {
    const DescriptorReplacement *replacement = context;
    if (op->code == OP_IS_NONE && op->operands[0] == replacement->from)
        op_set_operand(op, 0, replacement->to);
    return true;
}

/// A constant that the kernel has already is shared, and may stand behind `place`: it moves, with what it is made of.
static void define_before(Value *value, Op *place) {
    Op *op = value ? value->op : NULL;
    if (!op || op->parent != place->parent || op_comes_before(op, place)) return;
    for (int i = 0; i < op->operand_count; i++) define_before(op->operands[i], place);
    op_move_before(op, place);
}

static void descriptor_open(Differentiation *state, int index) {
    Function *primal = state->primal;
    Value *value = primal->parameters[index].value;
    Type type = value->type;
    Builder b = {.function = primal,
                 .region = primal->body,
                 .before = primal->body->first,
                 .range = primal->parameters[index].range};
    value->type = (Type){.kind = TYPE_POINTER, .element = type.element};
    map_set_pointer(
        &state->descriptors.pointer_names, value,
        (void *)(uintptr_t)pointer_name(state->arena, primal, primal->parameters[index].name));
    if (!is_used(primal, value)) return;
    Value *shape[TYPE_MAX_RANK], *strides[TYPE_MAX_RANK], *lengths[TYPE_MAX_RANK];
    for (int axis = 0; axis < type.rank; axis++) {
        if (!type.dims[axis]) {
            adjoint_fail(
                state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, primal->parameters[index].range,
                "the size of the blocks of `%s` along axis %d is not to be seen in this kernel; make the descriptor in it with tl.make_tensor_descriptor",
                primal->parameters[index].name, axis);
            return;
        }
        shape[axis] = number_parameter(state, index, ARGUMENT_SHAPE, axis);
        // A launcher's descriptor has its last axis contiguous.
        strides[axis] = axis + 1 < type.rank ? number_parameter(state, index, ARGUMENT_STRIDE, axis)
                                             : build_int(&b, 1);
        lengths[axis] = build_poly(&b, type.dims[axis]);
    }
    Value *operands[] = {value, build_tuple(&b, shape, type.rank),
                         build_tuple(&b, strides, type.rank), build_tuple(&b, lengths, type.rank),
                         build_string(&b, "zero")};
    Value *made = build(&b, OP_MAKE_TENSOR_DESCRIPTOR, operands, 5);
    for (int axis = 0; axis < type.rank; axis++) {
        define_before(strides[axis], operands[1]->op);
        define_before(lengths[axis], operands[1]->op);
    }
    define_before(operands[4], operands[1]->op);
    region_replace_uses(primal->body, value, made);
    op_set_operand(made->op, 0, value);
    // What may be None is what the launcher passes, not what is made of it.
    region_walk(primal->body, ask_another, &(DescriptorReplacement){.from = made, .to = value});
}

void descriptors_open(Differentiation *state) {
    int count = state->primal->parameter_count;
    for (int i = 0; i < count && !state->failed; i++)
        if (state->primal->parameters[i].value->type.kind == TYPE_DESCRIPTOR)
            descriptor_open(state, i);
}
