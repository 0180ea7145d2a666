// A function and its parameters' new places in; the same function with element types that are told by these, out.
#include "autodiff/together/renumber.h"

#include "analysis/ir/walk.h"

typedef struct Renumbering {
    Arena *arena;
    const int *new_index;  // by the index before
    Map done;              // values
} Renumbering;

static void renumber_value(Renumbering *renumbering, Value *value) {
    if (!value || map_has_pointer(&renumbering->done, value)) return;
    map_set_pointer(&renumbering->done, value, value);
    const Constant *constant = value->constant;
    if (constant && constant->kind == CONSTANT_DTYPE &&
        constant->dtype.code == DTYPE_OF_PARAMETER) {
        Constant *copy = ARENA_NEW(renumbering->arena, Constant);
        *copy = *constant;
        copy->dtype.parameter = renumbering->new_index[constant->dtype.parameter];
        value->constant = copy;
    }
    if (value->type.element.code == DTYPE_OF_PARAMETER)
        value->type.element.parameter = renumbering->new_index[value->type.element.parameter];
}

static bool renumber_op(void *context, Op *op) {
    Renumbering *renumbering = context;
    for (int i = 0; i < op->operand_count; i++) renumber_value(renumbering, op->operands[i]);
    for (int i = 0; i < op->keyword_count; i++) renumber_value(renumbering, op->keywords[i].value);
    for (int i = 0; i < op->result_count; i++) renumber_value(renumbering, op->results[i]);
    for (int i = 0; i < op->region_count; i++)
        for (int k = 0; k < op->regions[i]->argument_count; k++)
            renumber_value(renumbering, op->regions[i]->arguments[k]);
    return true;
}

void function_renumber_parameters(Function *function, const int *new_index) {
    Renumbering renumbering = {function->arena, new_index, map_new(function->arena)};
    region_walk(function->body, renumber_op, &renumbering);
    for (int i = 0; i < function->parameter_count; i++)
        renumber_value(&renumbering, function->parameters[i].value);
}
