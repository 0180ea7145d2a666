// A kernel that reads several upstream gradients in; one that takes None for each of them, and leaves out what would be 0, out.
#include "autodiff/plan/absent.h"

#include <string.h>

#include "analysis/build/build.h"
#include "autodiff/plan/launch_plan.h"
#include "autodiff/rewrite/rewrite.h"

enum { LOOP_BOUNDS = 3 };  // operands of a loop in front of the values that it carries

typedef struct AbsentSearch {
    Arena *arena;
    Function *function;
    Value *upstream;  // its parameter
    Value *present;   // the condition that it is there
    Map pointers;     // addresses of its elements
    Map zeros;        // values that are 0 where the upstream gradient is
    Map refuted;      // carried values that are not, although they start with 0
    Map members;      // ops that a branch takes in
    Map readers;
    WrittenRoots writes;
    bool is_again;  // something was refuted: find all once more
    bool failed;    // what it is used for is not seen through
} AbsentSearch;

/* ---- what is 0 ---- */

static bool is_marked(const AbsentSearch *search, const Value *value) {
    return value && map_has_pointer(&search->zeros, value);
}

static bool is_zero(const AbsentSearch *search, const Value *value) {
    double number;
    if (!value) return false;
    if (is_marked(search, value)) return true;
    if (value_is_number(value, &number)) return number == 0;
    const Op *op = value->op;
    if (op && op->code == OP_FULL) return is_zero(search, op->operands[1]);
    return op && op->code == OP_UNDEFINED;
}

static void mark(AbsentSearch *search, Value *value) {
    for (int d = 0; d < value->type.rank; d++) search->failed |= !value->type.dims[d];
    search->failed |= value->type.kind != TYPE_NUMBER;
    map_set_pointer(&search->zeros, value, value);
}

static bool load_is_zero(AbsentSearch *search, const Op *op) {
    if (!map_has_pointer(&search->pointers, op->operands[0])) return false;
    double other = 0;
    bool is_filled = op->operands[2] && !(value_is_number(op->operands[2], &other) && other == 0);
    search->failed |= is_filled || !load_is_stable(&search->writes, op);
    return true;
}

/// Whether the op's result is 0 where those operands are that are marked.
static bool makes_zero(AbsentSearch *search, const Op *op) {
    Value *const *x = op->operands;
    bool any = false;
    for (int i = 0; i < op->operand_count; i++) any = any || is_marked(search, x[i]);
    if (op->code == OP_LOAD) return load_is_zero(search, op);
    if (!any || !op_is_pure(op)) return false;
    if (op->code == OP_WHERE) return is_zero(search, x[1]) && is_zero(search, x[2]);
    if (op->code == OP_DOT)
        return (is_marked(search, x[0]) || is_marked(search, x[1])) &&
               (!x[2] || is_zero(search, x[2]));
    switch (op_rows[op->code].zero) {
    case ZERO_FIRST: return is_marked(search, x[0]);
    case ZERO_ANY: return is_marked(search, x[0]) || is_marked(search, x[1]);
    case ZERO_ALL: return is_zero(search, x[0]) && is_zero(search, x[1]);
    default: return false;
    }
}

static void find_zeros(AbsentSearch *search, const Region *region);

static void find_in_loop(AbsentSearch *search, const Op *op) {
    const Region *body = op->regions[0];
    const Op *end = region_terminator(body);
    for (int k = 0; k < op->result_count; k++)
        if (is_zero(search, op->operands[LOOP_BOUNDS + k]) &&
            !map_has_pointer(&search->refuted, body->arguments[1 + k]))
            mark(search, body->arguments[1 + k]);
    find_zeros(search, body);
    for (int k = 0; k < op->result_count; k++) {
        if (!is_marked(search, body->arguments[1 + k])) continue;
        if (is_zero(search, end->operands[k])) {
            mark(search, op->results[k]);
        } else {
            map_set_pointer(&search->refuted, body->arguments[1 + k], search);
            search->is_again = true;
        }
    }
}

static void find_zeros(AbsentSearch *search, const Region *region) {
    for (Op *op = region->first; op; op = op->next) {
        if (op->code == OP_FOR || op->code == OP_STATIC_FOR) {
            find_in_loop(search, op);
            continue;
        }
        for (int r = 0; r < op->region_count; r++) find_zeros(search, op->regions[r]);
        if (op->code == OP_IF) {
            const Op *ends[] = {region_terminator(op->regions[0]),
                                region_terminator(op->regions[1])};
            for (int k = 0; k < op->result_count; k++) {
                const Value *sides[] = {ends[0]->operands[k], ends[1]->operands[k]};
                bool any = is_marked(search, sides[0]) || is_marked(search, sides[1]);
                if (any && is_zero(search, sides[0]) && is_zero(search, sides[1]))
                    mark(search, op->results[k]);
            }
        } else if (!op->region_count && op->result_count == 1 && makes_zero(search, op)) {
            mark(search, op->results[0]);
        }
    }
}

/// Finds addresses of the upstream gradient's elements; fails where they go elsewhere than into loads.
static bool visit_pointer(void *context, Op *op) {
    AbsentSearch *search = context;
    bool any = false;
    for (int i = 0; i < op->operand_count; i++)
        any = any || (op->operands[i] && map_has_pointer(&search->pointers, op->operands[i]));
    if (!any || op->code == OP_IS_NONE) return true;
    if (op->code == OP_LOAD) return true;
    bool is_address = op_is_pure(op) && !op->region_count && op->result_count == 1 &&
                      op->results[0]->type.kind == TYPE_POINTER;
    if (is_address)
        map_set_pointer(&search->pointers, op->results[0], op);
    else
        search->failed = true;
    return !search->failed;
}

/* ---- what a branch takes in ---- */

static bool visit_movable(void *context, Op *op) {
    const AbsentSearch *search = context;
    if (op->code == OP_YIELD || op->region_count)
        return !op_is_loop(op->code) || op->code == OP_FOR;
    if (op->code == OP_LOAD) return load_is_stable(&search->writes, op);
    return op_is_pure(op);
}

static bool is_movable(const AbsentSearch *search, Op *op) {
    if (op->code == OP_UNDEFINED || op->code == OP_CONSTANT || op->code == OP_YIELD) return false;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type.is_constexpr) return false;  // shapes may be made of it
    if (!visit_movable((void *)(uintptr_t)search, op)) return false;
    for (int r = 0; r < op->region_count; r++)
        if (!region_walk(op->regions[r], visit_movable, (void *)(uintptr_t)search)) return false;
    return op->result_count > 0;
}

/// What a sum comes to without its marked term, or NULL: it is no such sum.
static Value *without(const AbsentSearch *search, const Op *op) {
    Value *const *x = op->operands;
    if (op->result_count != 1 || is_marked(search, op->results[0])) return NULL;
    Value *rest = NULL;
    if (op->code == OP_ADD) rest = is_marked(search, x[0]) ? x[1] : x[0];
    if (op->code == OP_SUB) rest = x[0];
    bool has_term = (op->code == OP_ADD && is_marked(search, x[0])) ||
                    ((op->code == OP_ADD || op->code == OP_SUB) && is_marked(search, x[1]));
    bool is_alike = has_term && rest->type.rank == op->results[0]->type.rank &&
                    type_equal(rest->type, op->results[0]->type);
    return is_alike ? rest : NULL;
}

/// Whether the op is such a sum, and nobody reads the term who needs a number there.
static bool leaves_term(const AbsentSearch *search, const Op *op) {
    if (!without(search, op)) return false;
    const Value *term = is_marked(search, op->operands[0]) ? op->operands[0] : op->operands[1];
    const OpList *readers = value_readers(&search->readers, term);
    for (int i = 0; i < readers->count; i++) {
        const Op *reader = readers->items[i];
        bool is_one = reader->result_count == 1 && is_marked(search, reader->results[0]);
        if (!is_one && !without(search, reader)) return false;
    }
    return true;
}

static bool all_are_marked(const AbsentSearch *search, const Op *op) {
    for (int i = 0; i < op->result_count; i++)
        if (!is_marked(search, op->results[i])) return false;
    return op->result_count > 0;
}

/// Whether members of the region alone read the value, and none in order to go on with it.
static bool is_for_members(const AbsentSearch *search, const Region *region, const Value *value) {
    const OpList *readers = value_readers(&search->readers, value);
    for (int i = 0; i < readers->count; i++) {
        const Op *reader = readers->items[i];
        if (without(search, reader) == value) return false;
        while (reader && reader->parent != region) reader = reader->parent->parent;
        if (!reader || !map_has_pointer(&search->members, reader)) return false;
    }
    return readers->count > 0;
}

static void choose_members(AbsentSearch *search, Region *region) {
    for (Op *op = region->last; op; op = op->previous) {
        if (!is_movable(search, op)) continue;
        bool is_member = all_are_marked(search, op) || leaves_term(search, op);
        if (!is_member && !op->region_count) {
            is_member = true;
            for (int i = 0; i < op->result_count; i++)
                is_member = is_member && is_for_members(search, region, op->results[i]);
        }
        if (is_member) map_set_pointer(&search->members, op, op);
    }
}

/* ---- the branches ---- */

/// Members in one region that nobody outside has read yet.
typedef struct AbsentGroup {
    AbsentSearch *search;
    Region *region;
    LIST(Op *) ops;
} AbsentGroup;

static bool is_below(const Op *op, const Region *region) {
    while (op && op->parent != region) op = op->parent->parent;
    return op != NULL;
}

static Value *zero_like(Builder *b, Type type) {
    DTypeCode code = type.element.code == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    if (type.rank == 0) return build_float(b, 0.0);
    return build_ternary(b, OP_FULL, build_shape(b, type), build_float(b, 0.0),
                         build_dtype(b, dtype_of(code)));
}

/// What the value is where the upstream gradient is absent: nothing is computed, or one operand goes on.
static Value *value_without(const AbsentGroup *group, Builder *b, const Region *then,
                            const Value *value, const Op *end) {
    const AbsentSearch *search = group->search;
    Value *rest = NULL;
    for (const Op *op = value->op; op && op->parent == then; op = rest->op) {
        Value *next = without(search, op);
        if (!next) break;
        rest = next;
    }
    if (rest && !(rest->op && rest->op->parent == then)) {
        if (!rest->name && rest->op) rest->name = value->name;
        return rest;
    }
    const Op *loop = group->region->parent;
    bool is_carried = loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR) && end;
    for (int k = 0; is_carried && k < end->operand_count; k++) {
        Value *before = group->region->arguments[1 + k];
        if (end->operands[k] == value && is_marked(search, before) &&
            type_equal(before->type, value->type))
            return before;
    }
    return zero_like(b, value->type);
}

static bool is_work(const Op *op) {
    bool is_work = op->region_count > 0 || !op_is_pure(op);
    for (int i = 0; i < op->result_count; i++)
        is_work =
            is_work || (op->results[i]->type.kind == TYPE_NUMBER && op->results[i]->type.rank);
    return is_work;
}

/// Those that read the value outside of the branch read what the branch hands on.
static void hand_on(const AbsentGroup *group, Op *branch, Op *const *ends, Value *value) {
    Function *function = group->search->function;
    const AbsentSearch *search = group->search;
    const OpList *readers = value_readers(&search->readers, value);
    Value *result = NULL;
    for (int i = 0; i < readers->count; i++) {
        Op *reader = readers->items[i];
        if (is_below(reader, branch->regions[0])) continue;
        if (!result) {
            Builder b = {.function = function, .region = branch->regions[1], .before = ends[1]};
            b.range = branch->range;
            const Op *end = region_terminator(group->region);
            Value *other = value_without(group, &b, branch->regions[0], value, end);
            result = op_append_result(function, branch, value->type);
            result->name = value->name;
            op_append_operand(function, ends[0], value);
            op_append_operand(function, ends[1], other);
        }
        for (int k = 0; k < reader->operand_count; k++)
            if (reader->operands[k] == value) op_set_operand(reader, k, result);
    }
    if (result && is_marked(search, value)) map_set_pointer(&group->search->zeros, result, result);
}

/// Puts a branch around the group, in front of an op that reads it.
static void flush(AbsentGroup *group, Op *before) {
    AbsentSearch *search = group->search;
    Function *function = search->function;
    bool works = false;
    for (LIST_EACH(int, i, group->ops)) works = works || is_work(group->ops.items[i]);
    if (works) {
        Builder b = {.function = function, .region = group->region, .before = before};
        b.range = group->ops.items[group->ops.count - 1]->range;
        Op *branch = op_append(&b, OP_IF, &search->present, 1, 0), *ends[2];
        branch->range = b.range;
        for (int r = 0; r < 2; r++) {
            Builder side = {.function = function, .region = op_add_region(&b, branch)};
            side.range = b.range;
            ends[r] = op_append(&side, OP_YIELD, NULL, 0, 0);
        }
        for (LIST_EACH(int, i, group->ops)) op_move_before(group->ops.items[i], ends[0]);
        for (LIST_EACH(int, i, group->ops))
            for (int k = 0; k < group->ops.items[i]->result_count; k++)
                hand_on(group, branch, ends, group->ops.items[i]->results[k]);
    }
    if (works) search->readers = function_readers(search->arena, function);
    group->ops.count = 0;
}

typedef struct GroupReads {
    const AbsentGroup *group;
    bool found;
} GroupReads;

static bool visit_reads(void *context, Op *op) {
    GroupReads *reads = context;
    const AbsentGroup *group = reads->group;
    for (int i = 0; i < op->operand_count && !reads->found; i++) {
        const Op *made = op->operands[i] ? op->operands[i]->op : NULL;
        bool may_be = made && made->parent == group->region;
        for (int k = 0; may_be && k < group->ops.count && !reads->found; k++)
            reads->found = made == group->ops.items[k];
    }
    return !reads->found;
}

static bool reads_group(const AbsentGroup *group, Op *op) {
    GroupReads reads = {.group = group};
    visit_reads(&reads, op);
    for (int r = 0; r < op->region_count && !reads.found; r++)
        region_walk(op->regions[r], visit_reads, &reads);
    return reads.found;
}

static void guard_region(AbsentSearch *search, Region *region) {
    AbsentGroup group = {.search = search, .region = region};
    choose_members(search, region);
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        if (map_has_pointer(&search->members, op)) {
            LIST_PUSH(search->arena, &group.ops, op);
            continue;
        }
        if (reads_group(&group, op)) flush(&group, op);
        for (int r = 0; r < op->region_count; r++) guard_region(search, op->regions[r]);
    }
}

/// What a branch hands on as 0 that branches on the same condition alone read needs no value.
static bool visit_handed_on(void *context, Op *op) {
    AbsentSearch *search = context;
    if (op->code != OP_IF || op->operands[0] != search->present) return true;
    Op *end = region_terminator(op->regions[1]);
    for (int k = 0; k < op->result_count; k++) {
        bool is_read = !is_zero(search, end->operands[k]);
        const OpList *readers = value_readers(&search->readers, op->results[k]);
        for (int i = 0; i < readers->count && !is_read; i++) {
            const Op *reader = readers->items[i], *outer = reader->parent->parent;
            const Region *side = reader->parent;
            while (outer && !(outer->code == OP_IF && outer->operands[0] == search->present)) {
                side = outer->parent;
                outer = side->parent;
            }
            is_read = !outer || side != outer->regions[0];
        }
        if (is_read) continue;
        Builder b = {.function = search->function, .region = op->regions[1], .before = end};
        b.range = op->range;
        const Value *zeros = end->operands[k];
        Op *nothing = op_append(&b, OP_UNDEFINED, NULL, 0, 1);
        nothing->note = "nobody reads it";
        nothing->results[0]->type = op->results[k]->type;
        op_set_operand(end, k, nothing->results[0]);
        if (zeros->op && zeros->op->parent == op->regions[1]) op_remove(zeros->op);
    }
    return true;
}

/// An address outside of the branches would be one of None.
static bool visit_address(void *context, Op *op) {
    AbsentSearch *search = context;
    bool any = false;
    for (int i = 0; i < op->operand_count; i++)
        any = any || (op->operands[i] && map_has_pointer(&search->pointers, op->operands[i]));
    if (!any || op->code == OP_IS_NONE) return true;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type.kind == TYPE_POINTER)
            map_set_pointer(&search->pointers, op->results[i], op);
    const Op *outer = op->parent->parent;
    const Region *side = op->parent;
    while (outer && !(outer->code == OP_IF && outer->operands[0] == search->present)) {
        side = outer->parent;
        outer = side->parent;
    }
    search->failed = !outer || side != outer->regions[0];
    return !search->failed;
}

static bool guard_upstream(Arena *arena, Function *backward, Value *upstream) {
    AbsentSearch search = {.arena = arena,
                           .function = backward,
                           .upstream = upstream,
                           .pointers = map_new(arena),
                           .refuted = map_new(arena),
                           .members = map_new(arena),
                           .writes = function_writes(backward)};
    if (search.writes.has_unknown) return false;
    map_set_pointer(&search.pointers, upstream, upstream);
    region_walk(backward->body, visit_pointer, &search);
    do {
        search.is_again = false;
        search.zeros = map_new(arena);
        if (!search.failed) find_zeros(&search, backward->body);
    } while (search.is_again);
    if (search.failed) return false;
    Builder start = {.function = backward, .region = backward->body};
    start.before = backward->body->first;
    if (start.before) start.range = start.before->range;
    search.present = build_unary(&start, OP_LOGICAL_NOT, build_unary(&start, OP_IS_NONE, upstream));
    search.readers = function_readers(arena, backward);
    guard_region(&search, backward->body);
    region_walk(backward->body, visit_handed_on, &search);
    function_sink_addresses(backward);
    search.pointers = map_new(arena);
    map_set_pointer(&search.pointers, upstream, upstream);
    region_walk(backward->body, visit_address, &search);
    return !search.failed;
}

/* ---- the launches ---- */

static int count_upstreams(const BackwardLaunch *launch) {
    int count = 0;
    for (int i = 0; i < launch->argument_count; i++)
        count += launch->arguments[i].use == ARGUMENT_UPSTREAM;
    return count;
}

void absent_choose(Backward *backward) {
    bool is_running = false;
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++)
            is_running |= backward->launches[i].arguments[k].use == ARGUMENT_RUNNING;
    for (int i = 0; i < backward->launch_count && !is_running; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            BackwardArgument *argument = &backward->launches[i].arguments[k];
            if (argument->use != ARGUMENT_UPSTREAM) continue;
            argument->is_optional = true;
            for (int j = 0; j < backward->launch_count; j++)
                if (launch_index(&backward->launches[j], argument->name) >= 0 &&
                    count_upstreams(&backward->launches[j]) < 2)
                    argument->is_optional = false;
        }
}

void absent_guard(Arena *arena, Function *backward, BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        if (argument->use == ARGUMENT_UPSTREAM && argument->is_optional)
            argument->is_optional = guard_upstream(arena, backward, backward->parameters[i].value);
    }
}

static BackwardArgument *argument_of(const BackwardLaunch *launch, const char *name) {
    int index = launch_index(launch, name);
    return index < 0 ? NULL : &launch->arguments[index];
}

void absent_settle(Backward *backward) {
    for (int i = 0; i < backward->whole.argument_count; i++) {
        BackwardArgument *argument = &backward->whole.arguments[i];
        if (argument->use != ARGUMENT_UPSTREAM) continue;
        bool is_optional = true;
        for (int k = 0; k < backward->launch_count; k++) {
            const BackwardArgument *own = argument_of(&backward->launches[k], argument->name);
            is_optional = is_optional && (!own || own->is_optional);
        }
        for (int k = 0; k < backward->launch_count; k++) {
            BackwardArgument *own = argument_of(&backward->launches[k], argument->name);
            if (own) own->is_optional = is_optional;
        }
        argument->is_optional = is_optional;
    }
}

bool upstreams_may_be_absent(const Backward *backward) {
    for (int i = 0; i < backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &backward->whole.arguments[i];
        if (argument->use == ARGUMENT_UPSTREAM && argument->is_optional) return true;
    }
    return false;
}

const BackwardArgument *upstream_of(const Backward *backward, const char *output) {
    return launch_argument(backward, ARGUMENT_UPSTREAM, output);
}
