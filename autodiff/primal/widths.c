// Element types with pointers to float64: an analysis with open types takes what a float meets for float32, and there it is wider.
#include "autodiff/primal/widths.h"

#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/launches/launch_tensors.h"
#include "autodiff/rewrite/rewrite.h"

typedef struct SavedType {
    Value *value;
    Type type;
} SavedType;

/// One walk over a function whose pointers have these types.
typedef struct WidthWalk {
    Arena *arena;
    Function *function;
    const bool *is_double;  // by parameter
    int parameter_count;
    bool mends;              // casts where types do not meet
    bool fits;               // else: whether they do, everywhere
    int constexpr_branches;  // around the op at hand, of which Triton compiles one
    Map *needed;             // casts to float32 of something wider
    Map plain;               // values -> their types with open pointers
} WidthWalk;

/* ---- types for the time of a walk ---- */

typedef LIST(SavedType) SavedTypes;

typedef struct TypeSaver {
    Arena *arena;
    SavedTypes types;
} TypeSaver;

static void save_type(TypeSaver *saver, Value *value) {
    LIST_PUSH(saver->arena, &saver->types, ((SavedType){value, value->type}));
}

static bool visit_save(void *context, Op *op) {
    for (int i = 0; i < op->result_count; i++) save_type(context, op->results[i]);
    for (int r = 0; r < op->region_count; r++)
        for (int i = 0; i < op->regions[r]->argument_count; i++)
            save_type(context, op->regions[r]->arguments[i]);
    return true;
}

static void resolve(const WidthWalk *walk, Value *value) {
    DType *element = &value->type.element;
    bool is_open =
        element->code == DTYPE_OF_PARAMETER && element->parameter < walk->parameter_count;
    if (is_open && !dtype_is_integer(*element))
        *element = dtype_of(walk->is_double[element->parameter] ? DTYPE_FLOAT64 : DTYPE_FLOAT32);
}

static bool is_double(const Value *value) {
    return value->type.kind == TYPE_NUMBER && value->type.element.code == DTYPE_FLOAT64 &&
           !value->constant;
}

/// Whether two values that have to be of one type are not: one is double, the other another float.
static bool types_differ(const Value *a, const Value *b) {
    bool floats = dtype_is_float(a->type.element) && dtype_is_float(b->type.element);
    return floats && is_double(a) != is_double(b);
}

static void pass_element(const Value *from, Value *to) {
    if (from->type.kind != TYPE_NUMBER || to->type.kind != TYPE_NUMBER) return;
    bool wide = is_double(from);
    if (wide || to->type.element.code == DTYPE_FLOAT64 || dtype_is_float(from->type.element))
        to->type.element = from->type.element;
}

/* ---- casts ---- */

/// Whether the analysis takes a double for float32. Of what it leaves open a cast would change the type with other pointers.
static bool is_taken_for_single(const WidthWalk *walk, const Value *value) {
    const Type *plain = map_get_pointer(&walk->plain, value);
    return is_double(value) && plain && plain->element.code == DTYPE_FLOAT32;
}

static void narrow_operand(const WidthWalk *walk, Op *op, int index, Op *before);

/// Whether a sum is double because of one of its terms; that is narrowed instead.
static bool narrow_term(const WidthWalk *walk, const Value *sum) {
    Op *op = sum->op;
    if (!op || op->code != OP_ADD || is_double(op->operands[0]) == is_double(op->operands[1]))
        return false;
    for (int i = 0; i < 2; i++) narrow_operand(walk, op, i, op);
    return !is_double(op->operands[0]) && !is_double(op->operands[1]);
}

/// `value` as float32, before an op; the whole of a sum keeps its name.
static Value *as_single(const WidthWalk *walk, Value *value, Op *before) {
    if (narrow_term(walk, value)) {
        value->type.element = dtype_of(DTYPE_FLOAT32);
        return value;
    }
    Builder b = {.function = walk->function, .region = before->parent, .before = before};
    b.range = value->range;
    Value *operands[] = {value, build_dtype(&b, dtype_of(DTYPE_FLOAT32)), NULL, NULL};
    Op *cast = op_append(&b, OP_CAST, operands, 4, 1);
    cast->results[0]->type = value->type;
    cast->results[0]->type.element = dtype_of(DTYPE_FLOAT32);
    cast->results[0]->name = value->name;
    if (value->op && op_is_pure(value->op)) value->name = NULL;
    map_set_pointer(walk->needed, cast, (void *)1);
    return cast->results[0];
}

static void narrow_operand(const WidthWalk *walk, Op *op, int index, Op *before) {
    if (op->operands[index] && is_taken_for_single(walk, op->operands[index]))
        op->operands[index] = as_single(walk, op->operands[index], before);
}

/// Notes that the function is refused with these types, unless in a branch that Triton may leave out.
static void note_misfit(WidthWalk *walk) {
    if (walk->constexpr_branches == 0) walk->fits = false;
}

/* ---- control flow ---- */

static void walk_region(WidthWalk *walk, Region *region);

/// Mends or notes what a loop carries; whether the walk of its body has to be repeated.
static bool settle_carried(WidthWalk *walk, Op *loop, Region *body, int first, int shift) {
    Op *yield = region_terminator(body);
    bool again = false;
    for (int i = 0; yield && i < loop->result_count; i++) {
        const Value *initial = loop->operands[first + i];
        if (!types_differ(body->arguments[shift + i], yield->operands[i])) continue;
        if (!walk->mends) {
            note_misfit(walk);
        } else if (is_double(initial)) {
            narrow_operand(walk, loop, first + i, loop);
            again = true;
        } else {
            narrow_operand(walk, yield, i, yield);
        }
    }
    return again;
}

static void walk_loop(WidthWalk *walk, Op *loop) {
    bool is_while = loop->code == OP_WHILE;
    int first = is_while ? 0 : 3, shift = is_while ? 0 : 1;
    Region *body = loop->regions[is_while ? 1 : 0];
    bool again = true;
    for (int iteration = 0; again && iteration <= loop->result_count; iteration++) {
        for (int r = 0; r < loop->region_count; r++) {
            for (int i = 0; i < loop->result_count; i++)
                pass_element(loop->operands[first + i], loop->regions[r]->arguments[shift + i]);
            walk_region(walk, loop->regions[r]);
        }
        again = loop->code != OP_STATIC_FOR && settle_carried(walk, loop, body, first, shift);
    }
    for (int i = 0; i < loop->result_count; i++)
        pass_element(loop->operands[first + i], loop->results[i]);
}

/// Whether a branch adds to what was float32 before the branch: the sum has the name of that, and Triton wants its type.
static bool grows_single(const Op *branch, int side, int index) {
    const Value *sum = region_terminator(branch->regions[side])->operands[index];
    const Op *add = sum->op && sum->op->code == OP_ADD && is_double(sum) ? sum->op : NULL;
    for (int i = 0; add && i < 2; i++) {
        const Value *term = add->operands[i];
        if (!is_double(term) && !region_defines(branch->regions[side], term)) return true;
    }
    return false;
}

/// Whether one branch hands on what a loop carries, and the loop carries on what comes of it: that has one type in all iterations.
static bool is_carried(const Op *branch, int index) {
    const Op *loop = branch->parent->parent, *yield = region_terminator(branch->parent);
    bool is_idle = false, is_carried = false;
    if (!loop || !op_is_loop(loop->code)) return false;
    for (int r = 0; r < 2; r++) {
        const Value *value = region_terminator(branch->regions[r])->operands[index];
        is_idle = is_idle || (!value->op && value->region == branch->parent);
    }
    for (int i = 0; yield && i < yield->operand_count; i++)
        is_carried = is_carried || yield->operands[i] == branch->results[index];
    return is_idle && is_carried;
}

static void walk_if(WidthWalk *walk, Op *branch) {
    const Value *condition = branch->operands[0];
    bool is_open = !condition->type.is_constexpr && !condition->constant;
    if (!is_open) walk->constexpr_branches++;
    Op *yields[2];
    for (int r = 0; r < 2; r++) {
        walk_region(walk, branch->regions[r]);
        yields[r] = region_terminator(branch->regions[r]);
    }
    for (int i = 0; i < branch->result_count; i++) {
        Value *branches[2] = {yields[0]->operands[i], yields[1]->operands[i]};
        bool grows = walk->mends && (grows_single(branch, 0, i) || grows_single(branch, 1, i));
        bool meets = is_open || (walk->mends && is_carried(branch, i));
        if (meets && (grows || types_differ(branches[0], branches[1]))) {
            if (!walk->mends) note_misfit(walk);
            for (int r = 0; r < 2 && walk->mends; r++)
                narrow_operand(walk, yields[r], i, yields[r]);
        }
        for (int r = 0; r < 2; r++) pass_element(yields[r]->operands[i], branch->results[i]);
    }
    if (!is_open) walk->constexpr_branches--;
}

/* ---- operations that want one type ---- */

static void narrow_operands(const WidthWalk *walk, Op *op, int count) {
    for (int i = 0; i < count; i++) narrow_operand(walk, op, i, op);
}

static void settle_pair(WidthWalk *walk, Op *op) {
    if (!types_differ(op->operands[0], op->operands[1])) return;
    if (walk->mends)
        narrow_operands(walk, op, 2);
    else
        note_misfit(walk);
}

/// The sum that a product is added to has the product's type.
static void settle_dot(WidthWalk *walk, Op *op) {
    settle_pair(walk, op);
    const Value *sum = op->operand_count > 2 ? op->operands[2] : NULL;
    if (!sum || value_is_none(sum) || !types_differ(op->operands[0], sum)) return;
    if (walk->mends)
        narrow_operands(walk, op, 3);
    else
        note_misfit(walk);
}

static Value *combined_item(const Op *op, int index) {
    const Op *tuple = op->operands[0]->op;
    return tuple && tuple->code == OP_TUPLE ? tuple->operands[index] : op->operands[0];
}

/// Walks a combine function; whether it gives what it is given.
static bool combine_fits(WidthWalk *walk, const Op *op) {
    Region *function = op->regions[0];
    int count = function->argument_count / 2;
    for (int i = 0; i < function->argument_count; i++)
        pass_element(combined_item(op, i % count), function->arguments[i]);
    walk_region(walk, function);
    const Op *yield = region_terminator(function);
    for (int i = 0; yield && i < yield->operand_count && i < count; i++)
        if (types_differ(function->arguments[i], yield->operands[i])) return false;
    return true;
}

static void settle_combined(WidthWalk *walk, Op *op) {
    if (op->region_count == 0 || op->regions[0]->argument_count == 0 || combine_fits(walk, op))
        return;
    if (!walk->mends) {
        note_misfit(walk);
        return;
    }
    const Op *tuple = op->operands[0]->op;
    if (!tuple || tuple->code != OP_TUPLE) return;  // one value has one type
    Builder b = {.function = walk->function, .region = op->parent, .before = op};
    Op *items = build_tuple(&b, tuple->operands, tuple->operand_count)->op;
    for (int i = 0; i < items->operand_count; i++)
        if (is_double(items->operands[i]))
            items->operands[i] = as_single(walk, items->operands[i], items);
    op->operands[0] = items->results[0];
    combine_fits(walk, op);
}

static void walk_op(WidthWalk *walk, Op *op) {
    switch (op->code) {
    case OP_FOR:
    case OP_STATIC_FOR:
    case OP_WHILE: walk_loop(walk, op); return;
    case OP_IF: walk_if(walk, op); return;
    case OP_DOT: settle_dot(walk, op); break;
    case OP_JOIN:
    case OP_INTERLEAVE:
    case OP_CAT: settle_pair(walk, op); break;
    case OP_REDUCE:
    case OP_ASSOCIATIVE_SCAN: settle_combined(walk, op); break;
    case OP_CAST:
        if (is_double(op->operands[0])) map_set_pointer(walk->needed, op, (void *)1);
        break;
    default: break;
    }
    if (op_rows[op->code].kind != KIND_STRUCTURAL) infer_op(walk->arena, op, NULL);
    for (int i = 0; i < op->result_count; i++) resolve(walk, op->results[i]);
}

static void walk_region(WidthWalk *walk, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        walk_op(walk, op);
    }
}

/// Walks a function; whether it compiles with these pointers.
static bool walk_function(Differentiation *state, Function *function, const bool *doubles,
                          bool mends, Map *needed) {
    WidthWalk walk = {state->arena, function, doubles, state->widths.double_count, mends,
                      true,         0,        needed,  map_new(state->arena)};
    TypeSaver saver = {.arena = state->arena};
    for (int i = 0; i < function->parameter_count; i++)
        save_type(&saver, function->parameters[i].value);
    region_walk(function->body, visit_save, &saver);
    for (int i = 0; i < saver.types.count; i++) {
        map_set_pointer(&walk.plain, saver.types.items[i].value, &saver.types.items[i].type);
        resolve(&walk, saver.types.items[i].value);
    }
    walk_region(&walk, function->body);
    for (int i = 0; i < saver.types.count; i++)
        saver.types.items[i].value->type = saver.types.items[i].type;
    return walk.fits;
}

/* ---- which pointers may be to float64 ---- */

static bool may_be_double(const Function *function, int parameter) {
    DType element = function->parameters[parameter].value->type.element;
    return element.code == DTYPE_OF_PARAMETER && element.parameter == parameter &&
           !dtype_is_integer(element);
}

/// Keeps a choice that the forward compiles with.
static void try_doubles(Differentiation *state, const bool *doubles) {
    Map needed = map_new(state->arena);
    if (walk_function(state, state->primal, doubles, false, &needed))
        LIST_PUSH(state->arena, &state->widths.doubles, doubles);
}

void widths_note(Differentiation *state) {
    enum { MOST_APART = 16 };
    const Function *function = state->primal;
    int count = state->widths.double_count = function->parameter_count, open = 0;
    bool *all = ARENA_ARRAY(state->arena, bool, count + 1);
    for (int i = 0; i < count; i++) open += all[i] = may_be_double(function, i);
    if (open == 0) return;
    try_doubles(state, all);
    for (int i = 0; i < count && open > 1 && open <= MOST_APART; i++) {
        if (!all[i]) continue;
        bool *alone = ARENA_ARRAY(state->arena, bool, count + 1);
        bool *others = ARENA_ARRAY(state->arena, bool, count + 1);
        for (int k = 0; k < count; k++) {
            alone[k] = k == i;
            others[k] = all[k] && k != i;
        }
        try_doubles(state, alone);
        if (open > 2) try_doubles(state, others);
    }
}

/* ---- the backward ---- */

typedef struct CastSearch {
    Function *function;
    const Map *needed;
} CastSearch;

/// Drops a cast of float32 to float32.
static bool visit_idle_cast(void *context, Op *op) {
    const CastSearch *search = context;
    if (op->code != OP_CAST || map_has_pointer(search->needed, op)) return true;
    Value *input = op->operands[0], *result = op->results[0];
    bool single = input->type.element.code == DTYPE_FLOAT32 && input->type.kind == TYPE_NUMBER &&
                  !input->type.is_constexpr && result->type.element.code == DTYPE_FLOAT32;
    if (!single || input->type.rank != result->type.rank) return true;
    if (result->name && !input->name && input->op) input->name = result->name;
    region_replace_uses(search->function->body, result, input);
    op_remove(op);
    return true;
}

void widths_settle(Differentiation *state) {
    Map needed = map_new(state->arena);
    for (int i = 0; i < state->widths.doubles.count; i++)
        walk_function(state, state->backward, state->widths.doubles.items[i], true, &needed);
    CastSearch search = {state->backward, &needed};
    region_walk(state->backward->body, visit_idle_cast, &search);
}

/* ---- what a kernel takes a pointer for ---- */

/// The pointers that all readers of a parameter cast it to; DTYPE_UNKNOWN where they do something else with it.
static DTypeCode cast_type(const OpList *readers) {
    DTypeCode found = DTYPE_UNKNOWN;
    for (LIST_EACH(int, i, *readers)) {
        const Op *op = readers->items[i];
        if (op->code != OP_CAST || op->results[0]->type.kind != TYPE_POINTER) return DTYPE_UNKNOWN;
        DTypeCode own = op->results[0]->type.element.code;
        bool is_other = found != DTYPE_UNKNOWN && own != found;
        if (is_other || !dtype_is_float(dtype_of(own))) return DTYPE_UNKNOWN;
        found = own;
    }
    return found;
}

void pointer_types_settle(Differentiation *state) {
    Function *primal = state->primal;
    Map readers = function_readers(state->arena, primal);
    for (int p = 0; p < primal->parameter_count; p++) {
        Value *pointer = primal->parameters[p].value;
        bool is_open = pointer->type.kind == TYPE_POINTER && pointer->type.rank == 0 &&
                       pointer->type.element.code == DTYPE_OF_PARAMETER;
        const OpList *list = value_readers(&readers, pointer);
        DTypeCode type = is_open ? cast_type(list) : DTYPE_UNKNOWN;
        if (type == DTYPE_UNKNOWN || !launches_pass_tensors(state->arena, primal, p)) continue;
        OpenPointer open = {pointer->type.element, dtype_of(type)};
        LIST_PUSH(state->arena, &state->widths.taken, open);
        pointer->type.element = dtype_of(type);
        for (LIST_EACH(int, i, *list)) {
            Op *cast = list->items[i];
            region_replace_uses(primal->body, cast->results[0], pointer);
            op_remove(cast);
        }
    }
}

void pointer_types_assert(Differentiation *state) {
    Function *function = state->backward;
    Builder b = {.function = function, .region = function->body, .before = function->body->first};
    for (LIST_EACH(int, i, state->widths.taken)) {
        const OpenPointer *open = &state->widths.taken.items[i];
        Value *asked =
            build_binary(&b, OP_EQ, build_dtype(&b, open->own), build_dtype(&b, open->taken));
        if (!asked->op) continue;
        b.before = asked->op->next;
        const char *message =
            arena_printf(function->arena, "this backward is for tensors of %s alone",
                         dtype_name(open->taken.code));
        Value *operands[] = {asked, build_string(&b, message)};
        op_append(&b, OP_STATIC_ASSERT, operands, 2, 0);
    }
}
