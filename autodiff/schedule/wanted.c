// Which gradients each operation is for, and branches around what is for a single one.
#include "autodiff/schedule/wanted.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/state/names.h"

enum {
    LOOP_BOUNDS = 3,      // operands of a loop in front of the values that it carries
    MOST_GRADIENTS = 30,  // bits of a mask, one left for all else; beyond: always computed
};
#define NO_GRADIENT (1u << 31)  // it is for something that is no gradient

typedef struct WantedSearch {
    Differentiation *state;
    Function *function;
    Map bits;     // parameter of a gradient -> its bit
    Map purpose;  // value or op -> bits of the gradients that it is for
    WrittenRoots writes;
    unsigned optional;  // gradients that may be left out
    bool changed;
    bool is_ordered;  // threads wait for each other: everything stays where it is
} WantedSearch;

static unsigned purpose_of(const WantedSearch *search, const void *of) {
    return (unsigned)(uintptr_t)map_get_pointer(&search->purpose, of);
}

static void purpose_add(WantedSearch *search, const void *of, unsigned bits) {
    unsigned before = of ? purpose_of(search, of) : bits;
    if ((before | bits) == before) return;
    map_set_pointer(&search->purpose, of, (void *)(uintptr_t)(before | bits));
    search->changed = true;
}

static unsigned bit_of(const WantedSearch *search, const Op *access) {
    const Value *root = pointer_root(access->operands[0]);
    return root ? (unsigned)(uintptr_t)map_get_pointer(&search->bits, root) : 0;
}

/* ---- what it is for ---- */

static unsigned region_purpose(WantedSearch *search, const Region *region);

/// Each carried value is for what its result is for, and for what an iteration needs it for.
static unsigned for_purpose(WantedSearch *search, const Op *op, unsigned bits) {
    const Region *body = op->regions[0];
    const Op *yield = region_terminator(body);
    for (int k = 0; k < op->result_count; k++) {
        unsigned own =
            purpose_of(search, op->results[k]) | purpose_of(search, body->arguments[k + 1]);
        purpose_add(search, yield->operands[k], own);
        purpose_add(search, op->operands[LOOP_BOUNDS + k], own);
    }
    bits |= region_purpose(search, body);
    for (int i = 0; i < LOOP_BOUNDS; i++) purpose_add(search, op->operands[i], bits);
    return bits;
}

static unsigned branch_purpose(WantedSearch *search, const Op *op, unsigned bits) {
    for (int r = 0; r < op->region_count; r++) {
        const Op *yield = region_terminator(op->regions[r]);
        for (int k = 0; yield && k < op->result_count; k++)
            purpose_add(search, yield->operands[k], purpose_of(search, op->results[k]));
        bits |= region_purpose(search, op->regions[r]);
    }
    purpose_add(search, op->operands[0], bits);
    return bits;
}

/// What an operation does besides its results is for a gradient, or for something else.
static unsigned effect_purpose(WantedSearch *search, const Op *op) {
    if (op_rows[op->code].effects & EFFECT_ORDERED) search->is_ordered = true;
    if (op_is_pure(op)) return 0;
    unsigned bit = op_is_access(op) ? bit_of(search, op) : 0;
    if (op->code == OP_LOAD) {
        search->optional &= ~bit;  // something is made of a gradient
        return 0;
    }
    return bit ? bit : NO_GRADIENT;
}

static unsigned op_purpose(WantedSearch *search, const Op *op) {
    unsigned bits = 0;
    for (int i = 0; i < op->result_count; i++) bits |= purpose_of(search, op->results[i]);
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR) return for_purpose(search, op, bits);
    if (op->code == OP_IF) return branch_purpose(search, op, bits);
    if (op_is_loop(op->code)) {
        for (int r = 0; r < op->region_count; r++) bits |= region_purpose(search, op->regions[r]);
        for (int r = 0; r < op->region_count; r++) {
            const Op *end = region_terminator(op->regions[r]);
            for (int i = 0; end && i < end->operand_count; i++)
                purpose_add(search, end->operands[i], bits);
        }
    } else if (op->region_count == 0) {
        bits |= effect_purpose(search, op);
    }
    for (int i = 0; i < op->operand_count; i++) purpose_add(search, op->operands[i], bits);
    return bits;
}

static unsigned region_purpose(WantedSearch *search, const Region *region) {
    unsigned all = 0;
    for (const Op *op = region->last; op; op = op->previous) {
        if (op->code == OP_YIELD || op->code == OP_CONDITION) continue;
        unsigned bits = op_purpose(search, op);
        purpose_add(search, op, bits);
        all |= bits;
    }
    return all;
}

/* ---- which gradients ---- */

static const Gradient *gradient_of(const WantedSearch *search, const Parameter *input) {
    const Backward *result = search->state->result;
    for (int i = 0; i < result->gradient_count; i++)
        if (strcmp(result->gradients[i].input, input->name) == 0) return &result->gradients[i];
    return NULL;
}

typedef struct WrittenBits {
    WantedSearch *search;
    unsigned bits;
    bool multiplies;  // matrices
} WrittenBits;

static bool visit_written(void *context, Op *op) {
    WrittenBits *written = context;
    if (op_is_access(op)) written->bits |= bit_of(written->search, op);
    written->multiplies = written->multiplies || op_is_product(op->code);
    return true;
}

/// Finds the gradients that the kernel writes. False where nothing is to be left out: there is but one, or each is its program's own and
/// products take longer than what would be left out.
static bool find_gradients(WantedSearch *search) {
    Differentiation *state = search->state;
    int count = 0;
    unsigned sums = 0, tuned = 0;
    for (int i = 0; i < state->primal->parameter_count && count < MOST_GRADIENTS; i++) {
        const Parameter *input = &state->primal->parameters[i];
        const Value *target = map_get_pointer(&state->buffers.gradients, input->value);
        const Gradient *gradient = target ? gradient_of(search, input) : NULL;
        if (!gradient) continue;
        unsigned bit = 1u << count++;
        map_set_pointer(&search->bits, target, (void *)(uintptr_t)bit);
        bool is_running = map_has_pointer(&state->buffers.running, input->value);
        if (!gradient->is_program_sum && !is_running) search->optional |= bit;
        if (gradient->is_sum) sums |= bit;
    }
    // a tuner that sets sums to 0 between its runs takes no None
    if (state->primal->definition->is_autotuned) tuned = sums;
    WrittenBits written = {.search = search};
    region_walk(search->function->body, visit_written, &written);
    search->optional &= written.bits & ~tuned;
    bool is_worth_it = (written.bits & sums) || !written.multiplies;
    return is_worth_it && (written.bits & (written.bits - 1)) && search->optional;
}

/* ---- the branches ---- */

/// What stands in one region and is for one gradient.
typedef struct WantedGroup {
    WantedSearch *search;
    Region *region;
    unsigned bit;
    const Value *gradient;
    const Map *readers;
    LIST(Op *) ops;  // in order
    Map members;
} WantedGroup;

static bool visit_movable(void *context, Op *op) {
    const WantedSearch *search = context;
    if (op->code == OP_YIELD || op->code == OP_CONDITION || op->region_count) return true;
    if (op->code == OP_LOAD) return load_is_stable(&search->writes, op);
    return op_is_pure(op) || bit_of(search, op);
}

static bool is_member(const WantedGroup *group, Op *op) {
    if (op->code == OP_UNDEFINED || op->code == OP_CONSTANT) return false;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type.is_constexpr) return false;  // shapes may be made of it
    if (purpose_of(group->search, op) != group->bit) return false;
    if (!op->region_count) return visit_movable(group->search, op);
    bool is_movable = true;
    for (int r = 0; r < op->region_count && is_movable; r++)
        is_movable = region_walk(op->regions[r], visit_movable, group->search);
    return is_movable;
}

/// Whether a loop can go on with what it has carried where the value is not computed.
static bool is_carried_on(const WantedGroup *group, const Op *reader, const Value *value) {
    const Op *loop = group->region->parent;
    if (!loop || (loop->code != OP_FOR && loop->code != OP_STATIC_FOR)) return false;
    for (int k = 0; k < reader->operand_count; k++)
        if (reader->operands[k] == value &&
            !type_equal(group->region->arguments[k + 1]->type, value->type))
            return false;
    return true;
}

static bool stays_within(const WantedGroup *group, const Value *value) {
    const OpList *readers = value_readers(group->readers, value);
    for (int i = 0; i < readers->count; i++) {
        const Op *reader = readers->items[i];
        while (reader && reader->parent != group->region) reader = reader->parent->parent;
        if (!reader) return false;
        bool is_end = reader == region_terminator(group->region);
        if (is_end ? !is_carried_on(group, reader, value)
                   : !map_get_pointer(&group->members, reader))
            return false;
    }
    return true;
}

/// Whether it is worth a branch: it touches memory, or it computes tiles.
static bool is_work(const Op *op) {
    bool is_work = op->region_count > 0 || !op_is_pure(op);
    for (int i = 0; i < op->result_count; i++)
        is_work =
            is_work || (op->results[i]->type.kind == TYPE_NUMBER && op->results[i]->type.rank);
    return is_work;
}

/// Collects the group: what nobody outside of it reads. False where there is nothing in it.
static bool collect(WantedGroup *group) {
    Arena *arena = group->search->state->arena;
    LIST(Op *) found = {0};
    for (Op *op = group->region->first; op; op = op->next) {
        if (!is_member(group, op)) continue;
        LIST_PUSH(arena, &found, op);
        map_set_pointer(&group->members, op, op);
    }
    for (int i = found.count - 1; i >= 0; i--) {  // readers stand behind what they read
        Op *op = found.items[i];
        for (int k = 0; k < op->result_count; k++)
            if (!stays_within(group, op->results[k])) {
                map_set_pointer(&group->members, op, NULL);
                found.items[i] = NULL;
                break;
            }
    }
    bool works = false;
    for (int i = 0; i < found.count; i++) {
        if (!found.items[i]) continue;
        LIST_PUSH(arena, &group->ops, found.items[i]);
        works |= is_work(found.items[i]);
    }
    return works;
}

/// Whether all of it is one branch on a constexpr, without another side: then that asks for the gradient as well.
static bool join_condition(const WantedGroup *group, Builder *b, Value *wanted) {
    Op *branch = group->ops.items[0];
    if (group->ops.count != 1 || branch->code != OP_IF) return false;
    Value *condition = branch->operands[0];
    if (!condition->type.is_constexpr || branch->regions[1]->first->code != OP_YIELD) return false;
    const Op *present = condition->op;
    const Op *absent = present && present->code == OP_LOGICAL_NOT ? present->operands[0]->op : NULL;
    const Differentiation *state = group->search->state;
    bool is_own = absent && absent->code == OP_IS_NONE;
    if (is_own) {  // without the tensor there is no gradient of it
        is_own = false;
        for (int i = 0; i < state->primal->parameter_count && !is_own; i++) {
            Value *input = state->primal->parameters[i].value;
            is_own = recomputed(state, input) == absent->operands[0] &&
                     map_get_pointer(&state->buffers.gradients, input) == group->gradient;
        }
    }
    if (!is_own) wanted = build_binary(b, OP_LOGICAL_AND, condition, wanted);
    op_set_operand(branch, 0, wanted);
    map_set_pointer(&group->search->purpose, branch, NULL);  // nothing is left to do in it
    return true;
}

/// What the sum of a gradient is called that has no name: as the tensor is, where no parameter is called so.
static const char *sum_name(const WantedGroup *group) {
    const Function *function = group->search->function;
    const char *name = name_of_tensor(function->arena, group->gradient->name);
    for (int i = 0; i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0)
            return arena_printf(function->arena, "%s_sum", name);
    return name;
}

/// A loop goes on with what the branch computes, else with what it has carried.
static void carry_on(const WantedGroup *group, Op *branch, Op *const *ends) {
    Function *function = group->search->function;
    Op *end = region_terminator(group->region);
    for (int k = 0; end && k < end->operand_count; k++) {
        Value *value = end->operands[k];
        if (!value || !value->op || value->op->parent != branch->regions[0]) continue;
        Value *before = group->region->arguments[k + 1];
        if (!before->name) before->name = sum_name(group);
        op_append_operand(function, ends[0], value);
        op_append_operand(function, ends[1], before);
        Value *result = op_append_result(function, branch, before->type);
        result->name = group->region->parent->results[k]->name = before->name;
        op_set_operand(end, k, result);
    }
}

static void guard_group(WantedGroup *group) {
    Function *function = group->search->function;
    Op *last = group->ops.items[group->ops.count - 1];
    Builder start = {.function = function, .region = function->body, .range = last->range};
    start.before = function->body->first;
    Value *gradient = (Value *)(uintptr_t)group->gradient;
    Value *wanted = build_unary(&start, OP_LOGICAL_NOT, build_unary(&start, OP_IS_NONE, gradient));
    Builder b = {
        .function = function, .region = group->region, .before = last->next, .range = last->range};
    if (join_condition(group, &start, wanted)) return;
    Op *branch = op_append(&b, OP_IF, &wanted, 1, 0), *ends[2];
    for (int r = 0; r < 2; r++) {
        Builder side = {.function = function, .region = op_add_region(&b, branch)};
        side.range = last->range;
        ends[r] = op_append(&side, OP_YIELD, NULL, 0, 0);
    }
    for (LIST_EACH(int, i, group->ops)) op_move_before(group->ops.items[i], ends[0]);
    carry_on(group, branch, ends);
}

static void guard_region(WantedSearch *search, Region *region, const Map *readers) {
    Differentiation *state = search->state;
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Value *gradient =
            map_get_pointer(&state->buffers.gradients, state->primal->parameters[i].value);
        unsigned bit = gradient ? (unsigned)(uintptr_t)map_get_pointer(&search->bits, gradient) : 0;
        if (!(bit & search->optional)) continue;
        WantedGroup group = {.search = search,
                             .region = region,
                             .bit = bit,
                             .gradient = gradient,
                             .readers = readers,
                             .members = map_new(state->arena)};
        map_set_pointer(&state->parts.optional, gradient, (void *)(uintptr_t)gradient);
        if (collect(&group)) guard_group(&group);
    }
    for (Op *op = region->first; op; op = op->next)
        for (int r = 0; r < op->region_count && purpose_of(search, op); r++)
            guard_region(search, op->regions[r], readers);
}

void wanted_guard(Differentiation *state) {
    if (state->options && state->options->wrapper == WRAPPER_TRITON_OP) return;
    WantedSearch search = {.state = state,
                           .function = state->backward,
                           .bits = map_new(state->arena),
                           .purpose = map_new(state->arena),
                           .writes = function_writes(state->backward)};
    if (search.writes.has_unknown || !find_gradients(&search)) return;
    do {
        search.changed = false;
        region_purpose(&search, state->backward->body);
    } while (search.changed);
    if (search.is_ordered || !search.optional) return;
    Map readers = function_readers(state->arena, state->backward);
    guard_region(&search, state->backward->body, &readers);
}
