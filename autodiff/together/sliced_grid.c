// A kernel whose first programs do everything in; the same for a grid of these alone, out.
#include "autodiff/together/sliced_grid.h"

#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/tape.h"
#include "autodiff/together/launch_parameter.h"

typedef struct AxisReads {
    Value *ids[PROGRAM_AXES], *counts[PROGRAM_AXES];
    bool is_twice;  // some id or count is read at two places
} AxisReads;

static bool is_count(const Value *value, int axis) {
    int64_t number;
    return value->op && value->op->code == OP_NUM_PROGRAMS &&
           value_is_int(value->op->operands[0], &number) && number == axis;
}

static bool visit_reads(void *context, Op *op) {
    AxisReads *reads = context;
    for (int axis = 0; axis < PROGRAM_AXES && op->result_count; axis++) {
        Value *value = op->results[0];
        Value **known = value_is_program_id(value, axis) ? &reads->ids[axis]
                        : is_count(value, axis)          ? &reads->counts[axis]
                                                         : NULL;
        if (!known) continue;
        reads->is_twice = reads->is_twice || *known;
        *known = value;
    }
    return true;
}

/// The one statement of the kernel that does something, if that is a branch.
static Op *only_branch(const Function *function) {
    Op *branch = NULL;
    for (Op *op = function->body->first; op; op = op->next) {
        bool is_pure = !op->region_count && op_is_pure(op);
        if (is_pure || op == region_terminator(function->body)) continue;
        if (branch || op->code != OP_IF || op->result_count) return NULL;
        branch = op;
    }
    const Region *other = branch ? branch->regions[1] : NULL;
    return other && other->first == region_terminator(other) ? branch : NULL;
}

/// `program` of `program < minimum(programs, most_slices)`; NULL: the condition is another one.
static Value *sliced_number(const Op *branch, const Value *most) {
    const Op *condition = branch->operands[0]->op;
    if (!condition || condition->code != OP_LT) return NULL;
    const Op *slices = condition->operands[1]->op;
    if (!slices || slices->code != OP_MINIMUM) return NULL;
    bool has_most = slices->operands[0] == most || slices->operands[1] == most;
    return has_most ? condition->operands[0] : NULL;
}

Op *sliced_branch(const Function *backward, const Value *most_slices) {
    Op *branch = only_branch(backward);
    return branch && sliced_number(branch, most_slices) ? branch : NULL;
}

/// Whether `program` numbers the programs along those axes whose ids are read in it, the first one's follow each other: the number of those
/// along the first axis alone is theirs along the axis.
static bool numbers_axes(Arena *arena, const AxisReads *reads, Value *program, bool *sliced) {
    const Poly *number = value_poly(arena, program), *expected = NULL, *weight = NULL;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        Value *id = reads->ids[axis];
        sliced[axis] = id && poly_mentions(number, id);
        if (!sliced[axis]) continue;
        if (!reads->counts[axis]) return false;
        const Poly *term = poly_atom(arena, id), *count = poly_atom(arena, reads->counts[axis]);
        expected = expected ? poly_add(arena, expected, poly_multiply(arena, term, weight)) : term;
        weight = weight ? poly_multiply(arena, weight, count) : count;
    }
    return expected && poly_equal(number, expected);
}

typedef struct IdUses {
    const AxisReads *reads;
    const bool *sliced;
    int count;
} IdUses;

static bool visit_uses(void *context, Op *op) {
    IdUses *uses = context;
    for (int i = 0; i < op->operand_count; i++)
        for (int axis = 0; axis < PROGRAM_AXES; axis++)
            uses->count += uses->sliced[axis] && op->operands[i] == uses->reads->ids[axis];
    return true;
}

/// How often `value` is made of the ids: each is read nowhere else where that is all there is.
static int uses_in(const Value *value, const IdUses *uses) {
    int count = 0;
    const Op *op = value->op;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (uses->sliced[axis] && value == uses->reads->ids[axis]) return 1;
    if (!op || op->region_count || op->code == OP_NUM_PROGRAMS) return 0;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]) count += uses_in(op->operands[i], uses);
    return count;
}

static bool ids_only_number(const Function *function, const AxisReads *reads, const bool *sliced,
                            const Value *program) {
    IdUses uses = {reads, sliced, 0};
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (sliced[axis] && program == reads->ids[axis])
            return true;  // other uses are of the number
    region_walk(function->body, visit_uses, &uses);
    return uses.count == uses_in(program, &uses);
}

/// The forward's grid, of which nothing else is changed, and a launch that says how many slices there are.
static const BackwardArgument *slices_of_plain(const Differentiation *state,
                                               const BackwardLaunch *launch) {
    const FunctionDefinition *kernel = state->primal->definition;
    bool is_set = state->options && state->options->wrapper == WRAPPER_AUTOGRAD;
    bool is_changed = launch->has_tiles || launch->elements || launch->flat_lanes ||
                      launch->flat_end || launch->turns_end || launch->has_together;
    if (!is_set || is_changed || kernel->is_autotuned || kernel->has_heuristics ||
        launch->argument_count != state->backward->parameter_count)
        return NULL;
    const BackwardArgument *slices = NULL;
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->is_program_sum || argument->use == ARGUMENT_SCRATCH) return NULL;
        if (argument->use == ARGUMENT_SLICES && !argument->is_constexpr) slices = argument;
    }
    return slices && !slices->turns && !slices->has_own ? slices : NULL;
}

void grid_take_slices(Differentiation *state, BackwardLaunch *launch) {
    Function *backward = state->backward;
    AxisReads reads = {0};
    bool sliced[PROGRAM_AXES];
    const Op *branch = sliced_branch(backward, state->parts.slices);
    if (!slices_of_plain(state, launch) || !branch) return;
    region_walk(backward->body, visit_reads, &reads);
    Value *program = branch->operands[0]->op->operands[0];
    if (reads.is_twice || !numbers_axes(state->arena, &reads, program, sliced) ||
        !ids_only_number(backward, &reads, sliced, program))
        return;
    int axes = sliced[0] + sliced[1] + sliced[2];
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        launch->sliced[axis] = sliced[axis];
        if (!sliced[axis]) continue;
        Value *count = reads.counts[axis];
        const char *name = axes == 1 ? "programs" : arena_printf(state->arena, "programs_%d", axis);
        Value *given = launch_add_parameter(
            state, launch, name, (BackwardArgument){.use = ARGUMENT_PROGRAMS, .axis = axis});
        region_replace_uses(backward->body, count, given);
        op_remove(count->op);
    }
    launch->is_sliced = true;
}
