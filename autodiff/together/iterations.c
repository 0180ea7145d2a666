// A loop over programs in; the same with several of them in each iteration, out.
#include "autodiff/together/iterations.h"

#include "analysis/build/build.h"
#include "autodiff/padding/vanishing.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/together/launch_parameter.h"
#include "autodiff/together/lift.h"
#include "autodiff/together/sliced_grid.h"

enum { LOWER, UPPER, STEP, BOUNDS };

/// The loop of the branch over programs from this one on, by slices; NULL: there is none, or another one beside it.
static Op *loop_over_programs(const Op *branch, const Value *stages) {
    const Op *condition = branch->operands[0]->op;
    Op *found = NULL;
    for (Op *op = branch->regions[0]->first; op; op = op->next) {
        if (!op_is_loop(op->code)) continue;
        bool fits = op->code == OP_FOR && op->keyword_count == 1 &&
                    op->keywords[0].value == stages &&
                    op->operands[LOWER] == condition->operands[0] &&
                    op->operands[STEP] == condition->operands[1];
        if (found || !fits) return NULL;
        found = op;
    }
    return found;
}

typedef struct Addition {
    Op *op;
    int term;  // which of its operands is not what was carried
} Addition;

/// A value that a loop carries, and what adds to it.
typedef struct RowSum {
    Arena *arena;
    const Map *readers;
    const Value *carried;
    LIST(Addition) additions;
    LIST(const Op *) ends;  // of branches' ways, and the loop's own
} RowSum;

/// Whether `value` is what is carried with terms added, and is read once.
static bool adds_up(RowSum *sum, const Value *value) {
    Op *op = value->op;
    if (value == sum->carried) return true;
    if (!op || value_readers(sum->readers, value)->count != 1) return false;
    if (op->code == OP_ADD) {
        if (op->operands[0] == op->operands[1]) return false;
        for (int side = 0; side < 2; side++) {
            int additions = sum->additions.count, ends = sum->ends.count;
            if (adds_up(sum, op->operands[side])) {
                LIST_PUSH(sum->arena, &sum->additions, ((Addition){op, 1 - side}));
                return true;
            }
            sum->additions.count = additions;
            sum->ends.count = ends;
        }
        return false;
    }
    if (op->code != OP_IF) return false;
    for (int side = 0; side < 2; side++) {
        const Op *end = region_terminator(op->regions[side]);
        if (!end || !adds_up(sum, end->operands[value->index])) return false;
        LIST_PUSH(sum->arena, &sum->ends, end);
    }
    return true;
}

static bool is_known(const RowSum *sum, const Op *reader) {
    for (LIST_EACH(int, i, sum->additions))
        if (sum->additions.items[i].op == reader) return true;
    for (LIST_EACH(int, i, sum->ends))
        if (sum->ends.items[i] == reader) return true;
    return false;
}

/// Whether the loop begins with 0, adds, and does nothing else with what it carries.
static bool is_sum(RowSum *sum, const Op *loop, int index) {
    const Op *end = region_terminator(loop->regions[0]);
    sum->carried = loop->regions[0]->arguments[1 + index];
    bool begins =
        dtype_is_float(sum->carried->type.element) && value_is_zero(loop->operands[BOUNDS + index]);
    if (!begins || !adds_up(sum, end->operands[index])) return false;
    LIST_PUSH(sum->arena, &sum->ends, end);
    const OpList *readers = value_readers(sum->readers, sum->carried);
    for (LIST_EACH(int, i, *readers))
        if (!is_known(sum, readers->items[i])) return false;
    return true;
}

/* ---- the tiles ---- */

/// The members of an iteration, in front of everything in the loop.
static void number_members(Members *values, Op *loop) {
    Region *body = loop->regions[0];
    Builder outside = {
        .function = values->function, .region = loop->parent, .before = loop, .range = loop->range};
    Builder b = {.function = values->function, .region = body, .before = body->first};
    Value *lanes = build_binary(&b, OP_ARANGE, build_int(&b, 0), values->together);
    Value *numbers = build_binary(&b, OP_ADD, values->root, lanes);
    numbers->name = values->root->name;
    values->root->name = "first";
    values->first = numbers->op;
    values->numbers = numbers;
    values->inside = members_below(values, &b, loop->operands[UPPER]);
    for (int i = 0; i < BOUNDS; i++)
        if (i != UPPER)
            op_set_operand(loop, i,
                           build_binary(&outside, OP_MUL, loop->operands[i], values->together));
}

/// Sums of each member, whose sum is what the loop's result was: where that is read, if it is at one place.
static void widen_sum(const Members *values, const Map *readers, Op *loop, int index) {
    Value *result = loop->results[index], *carried = loop->regions[0]->arguments[1 + index];
    const OpList *reads = value_readers(readers, result);
    Op *place = reads->count == 1 ? reads->items[0] : loop->next;
    Builder behind = {.function = values->function,
                      .region = place->parent,
                      .before = place,
                      .range = loop->range};
    Builder b = {.function = values->function, .region = loop->parent, .before = loop};
    members_add_axis(values, result);
    members_add_axis(values, carried);
    op_set_operand(loop, BOUNDS + index,
                   build_ternary(&b, OP_FULL, build_shape(&b, result->type), build_float(&b, 0.0),
                                 build_dtype(&b, result->type.element)));
    Value *total = build_binary(&behind, OP_SUM, result, build_int(&behind, 0));
    region_replace_uses(loop->parent, result, total);
    op_set_operand(total->op, 0, result);
}

/// Whether it is what was loaded, which is 0 of a member that is not there.
static bool is_loaded(const Members *values, const Value *term) {
    while (term->op && term->op->code == OP_CAST) term = term->op->operands[0];
    const Op *op = term->op;
    int other = op_parameter_index(OP_LOAD, STR("other"));
    return op && op->code == OP_LOAD && value_is_lifted(values, op->operands[0]) &&
           value_is_zero(op->operands[other]);
}

/// A term of a member that is not there counts as 0, also where it computes NaN.
static void mask_terms(Members *values, const RowSum *sum) {
    for (LIST_EACH(int, i, sum->additions)) {
        Op *op = sum->additions.items[i].op;
        int at = sum->additions.items[i].term;
        if (is_loaded(values, op->operands[at])) continue;
        Builder b = {.function = values->function, .region = op->parent, .before = op};
        Value *inside = members_inside(values, op, op->results[0]->type.rank - 1);
        op_set_operand(op, at,
                       build_ternary(&b, OP_WHERE, inside, op->operands[at], build_float(&b, 0.0)));
    }
}

/// A launch on a sliced grid, which leaves tiles and warps to say.
static bool launch_fits(const Differentiation *state, const BackwardLaunch *launch) {
    bool is_chosen = launch->loop || launch->stream || launch->row.block || launch->has_bytes;
    const BackwardArgument *slices = NULL;
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_SLICES && !launch->arguments[i].is_constexpr)
            slices = &launch->arguments[i];
    return launch->is_sliced && !is_chosen && launch->tile && slices && slices->programs &&
           state->parts.stages;
}

void iterations_side_by_side(Differentiation *state, BackwardLaunch *launch) {
    Function *backward = state->backward;
    if (!launch_fits(state, launch)) return;
    Op *loop =
        loop_over_programs(sliced_branch(backward, state->parts.slices), state->parts.stages);
    if (!loop) return;
    Region *body = loop->regions[0];
    Members values = {.state = state,
                      .function = backward,
                      .former = former_new(state->arena),
                      .root = body->arguments[0],
                      .ranks = map_new(state->arena)};
    Map readers = function_readers(state->arena, backward);
    RowSum *sums = ARENA_ARRAY(state->arena, RowSum, loop->result_count + 1);
    for (int i = 0; i < loop->result_count; i++) {
        sums[i] = (RowSum){.arena = state->arena, .readers = &readers};
        if (!is_sum(&sums[i], loop, i) || body->arguments[1 + i]->type.rank >= TYPE_MAX_RANK)
            return;
        lift_value(&values, body->arguments[1 + i]);
    }
    if (!members_fit(&values, body)) return;
    values.together =
        launch_add_parameter(state, launch, "TOGETHER",
                             (BackwardArgument){.use = ARGUMENT_TOGETHER, .is_constexpr = true});
    number_members(&values, loop);
    for (int i = 0; i < loop->result_count; i++) widen_sum(&values, &readers, loop, i);
    members_widen(&values, body);
    for (int i = 0; i < loop->result_count; i++) mask_terms(&values, &sums[i]);
    function_drop_unread(backward);  // what the sums began with
    launch->has_together = launch->together_iterates = true;
}
