// Tensor descriptors of a configuration: their blocks by the kernel's constexprs, and a shape where nobody gave one.
#include "gpu-runner/configure/spec_descriptor.h"

#include "gpu-runner/configure/spec.h"

static bool whole_number(const PlanArgument *argument, int64_t *number) {
    if (argument->kind == ARGUMENT_INTEGER) {
        *number = argument->integer;
        return true;
    }
    if (argument->kind != ARGUMENT_CONSTANT || argument->constant->kind != CONSTANT_INT)
        return false;
    *number = argument->constant->integer;
    return true;
}

/// A constexpr of the configuration, or a quotient of such; false where it does not tell.
static bool number_in(const PlanConfiguration *configuration, const Value *value, int64_t *number) {
    int64_t divisor;
    if (value_is_int(value, number)) return true;
    if (!value->op) return whole_number(&configuration->arguments[value->index], number);
    if (value->op->code != OP_FLOORDIV ||
        !number_in(configuration, value->op->operands[0], number) ||
        !number_in(configuration, value->op->operands[1], &divisor) || divisor < 1)
        return false;
    *number /= divisor;
    return true;
}

/// A size over the kernel's parameters; 0 where the configuration does not tell.
static int64_t size_in(const PlanConfiguration *configuration, const Poly *size) {
    int64_t sum = 0;
    for (int t = 0; size && t < size->count; t++) {
        int64_t term = size->terms[t].coefficient, number;
        for (int a = 0; a < size->terms[t].atom_count; a++) {
            if (!number_in(configuration, size->terms[t].atoms[a], &number)) return 0;
            term *= number;
        }
        sum += term;
    }
    return sum;
}

/// The size that the configuration has for an axis whose blocks are so long; 0 where it says nothing.
static int64_t said_size(const PlanConfiguration *configuration, const ParameterFacts *facts,
                         const Poly *block) {
    int64_t number;
    if (!block || block->count != 1 || block->terms[0].atom_count != 1 ||
        block->terms[0].atoms[0]->op)
        return 0;
    int size = facts[block->terms[0].atoms[0]->index].cut_size - 1;
    bool is_said = size >= 0 && whole_number(&configuration->arguments[size], &number);
    return is_said && number > 0 ? number : 0;
}

/// The sizes that the configuration has, else two blocks along an axis and a part of a third; rows further apart than they are long,
/// by multiples of 16 elements, for TMA wants 16 bytes.
static void make_shape(const PlanConfiguration *configuration, const ParameterFacts *facts,
                       Type type, PlanArgument *argument) {
    int64_t stride = 1;
    argument->rank = argument->stride_count = argument->block_rank;
    for (int axis = argument->rank - 1; axis >= 0; axis--) {
        int64_t block = argument->block[axis],
                said = said_size(configuration, facts, type.dims[axis]),
                made = 2 * block + (configuration->is_fallback || block == 1 ? 0 : 3);
        argument->dims[axis] = said ? said : made;
        argument->strides[axis] = stride;
        stride = (stride * (argument->dims[axis] + 5) + 15) / 16 * 16;
    }
    argument->extent = 1;
    for (int axis = 0; axis < argument->rank; axis++)
        argument->extent += (argument->dims[axis] - 1) * argument->strides[axis];
}

void spec_describe(const Function *symbolic, const ParameterFacts *facts,
                   PlanConfiguration *configuration) {
    for (int i = 0; i < configuration->argument_count && i < symbolic->parameter_count; i++) {
        Type type = symbolic->parameters[i].value->type;
        PlanArgument *argument = &configuration->arguments[i];
        if (type.kind != TYPE_DESCRIPTOR || argument->kind != ARGUMENT_POINTER) continue;
        argument->block_rank = type.rank;
        for (int axis = 0; axis < type.rank; axis++) {
            argument->block[axis] = size_in(configuration, type.dims[axis]);
            if (argument->block[axis] < 1) argument->block_rank = 0;
        }
        bool is_usable =
            argument->rank == type.rank && type.rank > 0 && argument->strides[type.rank - 1] == 1;
        if (argument->block_rank && !is_usable) make_shape(configuration, facts, type, argument);
    }
}
