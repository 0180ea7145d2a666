// One walk over the symbolic IR for what operations demand of constexprs; then a search for values that give it to them.
#include "gpu-runner/configure/relations.h"

#include <stdlib.h>

#include "analysis/ir/walk.h"
#include "gpu-runner/configure/facts.h"
#include "gpu-runner/configure/spec.h"

typedef enum RelationKind {
    RELATION_EQUAL,      // left == right
    RELATION_BROADCAST,  // ... or one of them is 1
    RELATION_POWER,      // left is a power of two
    RELATION_DIVIDES,    // `divisor` goes into `number` without rest, and `number` is not 0
    RELATION_HOLDS,      // `number` is true
} RelationKind;

/// An `if` around: the relation counts where the condition is so.
typedef struct RelationGuard {
    const Value *condition;
    bool truth;
    const struct RelationGuard *outer;
} RelationGuard;

typedef struct Relation {
    RelationKind kind;
    const Poly *left, *right;
    const Value *number, *divisor;
    const RelationGuard *guard;
    ParameterSet parameters;
} Relation;

struct Relations {
    Arena *arena;
    const Function *function;
    LIST(Relation) list;
};

/// The search mends what it knows of: of further relations a configuration may break one, which its run says and which discards it.
enum { MOST_RELATIONS = 600, NUMBER_STEPS = 2000, MOST_STEPS = 24 };

// --- Numbers of constexpr expressions

static bool parameter_number(const Function *function, const PlanConfiguration *configuration,
                             const Value *value, int64_t *number) {
    if (!value->region || value->region != function->body) return false;
    const PlanArgument *argument = &configuration->arguments[value->index];
    if (argument->kind == ARGUMENT_INTEGER) {
        *number = argument->integer;
        return true;
    }
    bool known = argument->kind == ARGUMENT_CONSTANT && (argument->constant->kind == CONSTANT_INT ||
                                                         argument->constant->kind == CONSTANT_BOOL);
    if (known) *number = argument->constant->integer;
    return known;
}

static bool number_of(const Function *function, const PlanConfiguration *configuration,
                      const Value *value, int *steps, int64_t *number);

static bool number_of_two(OpCode code, int64_t a, int64_t b, int64_t *number) {
    bool divides = code == OP_FLOORDIV || code == OP_MOD;
    if (divides && b <= 0) return false;
    switch (code) {
    case OP_ADD: return !__builtin_add_overflow(a, b, number);
    case OP_SUB: return !__builtin_sub_overflow(a, b, number);
    case OP_MUL: return !__builtin_mul_overflow(a, b, number);
    case OP_FLOORDIV: *number = a / b - (a % b < 0); return true;
    case OP_MOD: *number = a % b + (a % b < 0 ? b : 0); return true;
    case OP_MINIMUM: *number = a < b ? a : b; return true;
    case OP_MAXIMUM: *number = a > b ? a : b; return true;
    case OP_EQ: *number = a == b; return true;
    case OP_NE: *number = a != b; return true;
    case OP_LT: *number = a < b; return true;
    case OP_LE: *number = a <= b; return true;
    case OP_GT: *number = a > b; return true;
    case OP_GE: *number = a >= b; return true;
    case OP_AND: *number = a & b; return true;
    case OP_LOGICAL_AND: *number = a && b; return true;
    case OP_LOGICAL_OR: *number = a || b; return true;
    default: return false;
    }
}

static bool number_of_op(const Function *function, const PlanConfiguration *configuration,
                         const Op *op, int *steps, int64_t *number) {
    int64_t a, b;
    if (op->code == OP_PYTHON_CALL) {
        if (!str_is(op->operands[0]->constant->string, "triton.next_power_of_2") ||
            !number_of(function, configuration, op->operands[1], steps, &a))
            return false;
        for (*number = 1; *number < a && *number < INT32_MAX;) *number *= 2;
        return true;
    }
    if (op->code == OP_IS_NONE) {
        const Value *asked = op->operands[0];
        if (!asked->region || asked->region != function->body) return false;
        const PlanArgument *argument = &configuration->arguments[asked->index];
        *number = argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_NONE;
        return true;
    }
    if (!op->operand_count || !op->operands[0] ||
        !number_of(function, configuration, op->operands[0], steps, &a))
        return false;
    if (op->code == OP_CAST || op->code == OP_LOGICAL_NOT || op->code == OP_NEG) {
        *number = op->code == OP_CAST ? a : !a;
        return op->code != OP_NEG || !__builtin_sub_overflow(0, a, number);
    }
    return op->operand_count == 2 && op->operands[1] &&
           number_of(function, configuration, op->operands[1], steps, &b) &&
           number_of_two(op->code, a, b, number);
}

static bool number_of(const Function *function, const PlanConfiguration *configuration,
                      const Value *value, int *steps, int64_t *number) {
    if (++*steps > NUMBER_STEPS) return false;
    if (value_is_int(value, number)) return true;
    if (value->op) return number_of_op(function, configuration, value->op, steps, number);
    return parameter_number(function, configuration, value, number);
}

static bool number_of_poly(const Function *function, const PlanConfiguration *configuration,
                           const Poly *poly, int64_t *number) {
    *number = 0;
    for (int i = 0; i < poly->count; i++) {
        int64_t product = poly->terms[i].coefficient, factor;
        for (int k = 0; k < poly->terms[i].atom_count; k++)
            if (!number_of(function, configuration, poly->terms[i].atoms[k], &(int){0}, &factor) ||
                __builtin_mul_overflow(product, factor, &product))
                return false;
        if (__builtin_add_overflow(*number, product, number)) return false;
    }
    return true;
}

// --- What there is

typedef struct ParameterSearch {
    const Function *function;
    ParameterSet *found;
} ParameterSearch;

static intptr_t add_parameters(ValueWalk *walk, const Value *value) {
    const ParameterSearch *search = walk->context;
    if (!value) return 0;
    if (value->region && value->region == search->function->body)
        set_add(search->found, value->index);
    for (int i = 0; value->op && i < value->op->operand_count; i++)
        walk_ask(walk, value->op->operands[i]);
    return 0;
}

static void parameters_in(const Relations *relations, const Value *value, ParameterSet *set) {
    const ParameterSearch search = {relations->function, set};
    walk_from(value, add_parameters, 0, &search);
}

static void parameters_in_poly(const Relations *relations, const Poly *poly, ParameterSet *set) {
    for (int i = 0; poly && i < poly->count; i++)
        for (int k = 0; k < poly->terms[i].atom_count; k++)
            parameters_in(relations, poly->terms[i].atoms[k], set);
}

static void relation_add(Relations *relations, Relation relation) {
    int64_t number;
    if (relations->list.count == MOST_RELATIONS) return;
    if (relation.left && relation.right && poly_equal(relation.left, relation.right)) return;
    bool is_one = relation.kind == RELATION_BROADCAST &&
                  ((poly_is_constant(relation.left, &number) && number == 1) ||
                   (poly_is_constant(relation.right, &number) && number == 1));
    if (is_one) return;
    parameters_in_poly(relations, relation.left, &relation.parameters);
    parameters_in_poly(relations, relation.right, &relation.parameters);
    parameters_in(relations, relation.number, &relation.parameters);
    parameters_in(relations, relation.divisor, &relation.parameters);
    if (set_is_empty(relation.parameters)) return;
    LIST_PUSH(relations->arena, &relations->list, relation);
}

/// Tiles that meet lane by lane, aligned at their last dimensions.
static void add_meeting(Relations *relations, const RelationGuard *guard, const Value *a,
                        const Value *b, RelationKind kind) {
    if (!a || !b) return;
    for (int i = 1; i <= a->type.rank && i <= b->type.rank; i++) {
        const Poly *left = a->type.dims[a->type.rank - i], *right = b->type.dims[b->type.rank - i];
        if (left && right)
            relation_add(relations,
                         (Relation){.kind = kind, .left = left, .right = right, .guard = guard});
    }
}

static const Poly *elements_of(const Relations *relations, Type type) {
    const Poly *product = poly_constant(relations->arena, 1);
    for (int i = 0; i < type.rank; i++) {
        if (!type.dims[i]) return NULL;
        product = poly_multiply(relations->arena, product, type.dims[i]);
    }
    return product;
}

static void add_dot(Relations *relations, const RelationGuard *guard, const Op *op) {
    const Value *a = op->operands[0], *b = op->operand_count > 1 ? op->operands[1] : NULL;
    if (!a || !b || a->type.rank < 2 || b->type.rank < 2) return;
    const Poly *left = a->type.dims[a->type.rank - 1], *right = b->type.dims[b->type.rank - 2];
    if (left && right)
        relation_add(
            relations,
            (Relation){.kind = RELATION_EQUAL, .left = left, .right = right, .guard = guard});
    int acc = op_parameter_index(OP_DOT, STR("acc"));
    if (acc >= 0 && acc < op->operand_count)
        add_meeting(relations, guard, op->operands[acc], op->results[0], RELATION_EQUAL);
}

static void walk_op(Relations *relations, const RelationGuard *guard, const Op *op) {
    bool is_memory =
        op->code == OP_LOAD || op->code == OP_STORE || (op_rows[op->code].effects & EFFECT_ATOMIC);
    if (op_rows[op->code].shape == SHAPE_BROADCAST || is_memory)
        for (int i = 1; i < op->operand_count; i++)
            for (int k = 0; k < i; k++)
                add_meeting(relations, guard, op->operands[k], op->operands[i], RELATION_BROADCAST);
    switch (op->code) {
    case OP_DOT: add_dot(relations, guard, op); break;
    case OP_RESHAPE:
    case OP_VIEW: {
        const Poly *from = elements_of(relations, op->operands[0]->type),
                   *to = elements_of(relations, op->results[0]->type);
        if (from && to)
            relation_add(
                relations,
                (Relation){.kind = RELATION_EQUAL, .left = from, .right = to, .guard = guard});
        break;
    }
    case OP_ARANGE:
    case OP_MAKE_BLOCK_POINTER:
        for (int i = 0; i < op->results[0]->type.rank; i++)
            if (op->results[0]->type.dims[i])
                relation_add(relations, (Relation){.kind = RELATION_POWER,
                                                   .left = op->results[0]->type.dims[i],
                                                   .guard = guard});
        break;
    case OP_FLOORDIV:
        if (op->operands[0]->type.is_constexpr && op->operands[1]->type.is_constexpr &&
            !op->operands[0]->op)  // a rounded quotient divides a sum
            relation_add(relations, (Relation){.kind = RELATION_DIVIDES,
                                               .number = op->operands[0],
                                               .divisor = op->operands[1],
                                               .guard = guard});
        break;
    case OP_STATIC_ASSERT:
        relation_add(relations,
                     (Relation){.kind = RELATION_HOLDS, .number = op->operands[0], .guard = guard});
        break;
    default: break;
    }
}

static void walk_region(Relations *relations, const RelationGuard *guard, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) {
        walk_op(relations, guard, op);
        bool counted = op->code == OP_FOR || op->code == OP_STATIC_FOR;
        for (int i = 0; i < op->region_count; i++) {
            const RelationGuard *inner = guard;
            if (op->code == OP_IF) {
                RelationGuard *branch = ARENA_NEW(relations->arena, RelationGuard);
                *branch = (RelationGuard){op->operands[0], i == 0, guard};
                inner = branch;
            }
            walk_region(relations, inner, op->regions[i]);
            // What a loop carries keeps its shape.
            const Op *yield = counted ? region_terminator(op->regions[i]) : NULL;
            for (int k = 0; yield && k < yield->operand_count && k + 3 < op->operand_count; k++)
                add_meeting(relations, inner, op->operands[k + 3], yield->operands[k],
                            RELATION_EQUAL);
        }
    }
}

const Relations *relations_of(Arena *arena, const Function *function) {
    Relations *relations = ARENA_NEW(arena, Relations);
    relations->arena = arena;
    relations->function = function;
    walk_region(relations, NULL, function->body);
    return relations;
}

// --- Whether they hold

static bool is_power(int64_t number) { return number > 0 && (number & (number - 1)) == 0; }

/// How far a value is from another: in powers of two.
static int distance(int64_t from, int64_t to) {
    int steps = 0;
    if (from < 1) from = 1;
    if (to < 1) to = 1;
    for (; from < to; from *= 2) steps++;
    for (; to < from; to *= 2) steps++;
    return steps;
}

enum { BROKEN = 8 };

/// 0 where it holds; what is not known is taken to be well. Sizes that are nearer to each other cost less.
static int relation_cost(const Relations *relations, const Relation *relation,
                         const PlanConfiguration *configuration) {
    const Function *function = relations->function;
    int64_t a = 0, b = 0;
    for (const RelationGuard *guard = relation->guard; guard; guard = guard->outer)
        if (number_of(function, configuration, guard->condition, &(int){0}, &a) &&
            (a != 0) != guard->truth)
            return 0;
    if (relation->left && !number_of_poly(function, configuration, relation->left, &a)) return 0;
    if (relation->right && !number_of_poly(function, configuration, relation->right, &b)) return 0;
    if (relation->number && !number_of(function, configuration, relation->number, &(int){0}, &a))
        return 0;
    if (relation->divisor && !number_of(function, configuration, relation->divisor, &(int){0}, &b))
        return 0;
    switch (relation->kind) {
    case RELATION_EQUAL: return a == b ? 0 : BROKEN + distance(a, b);
    case RELATION_BROADCAST: return a == b || a == 1 || b == 1 ? 0 : BROKEN + distance(a, b);
    case RELATION_POWER: return is_power(a) ? 0 : BROKEN;
    case RELATION_DIVIDES: return b > 0 && a >= b && a % b == 0 ? 0 : BROKEN + distance(a, b);
    case RELATION_HOLDS: return a != 0 ? 0 : BROKEN;
    }
    return 0;
}

static int whole_cost(const Relations *relations, const PlanConfiguration *configuration) {
    int cost = 0;
    for (LIST_EACH(int, i, relations->list))
        cost += relation_cost(relations, &relations->list.items[i], configuration);
    return cost;
}

// --- The search

/// The one change that mends most. False where none mends anything.
static bool mend(Arena *arena, const Relations *relations, const Relation *broken,
                 const PlanConfiguration *fixed, PlanConfiguration *configuration,
                 int broken_before) {
    static const int64_t values[] = {16, 32, 8, 64, 4, 2, 1, 128, 256};
    int best = broken_before, best_index = -1, best_distance = 0;
    int64_t best_value = 0;
    for (int i = 0; i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        const Constant *former = argument->constant;
        bool may_change = set_has(broken->parameters, i) &&
                          fixed->arguments[i].kind == ARGUMENT_OPEN &&
                          argument->kind == ARGUMENT_CONSTANT && former->kind == CONSTANT_INT;
        for (size_t k = 0; may_change && k < sizeof values / sizeof *values; k++) {
            argument->constant = constant_int(arena, values[k]);
            int count = whole_cost(relations, configuration);
            int away = distance(former->integer, values[k]);
            if (count > best || (count == best && (best_index < 0 || away >= best_distance)))
                continue;
            best = count;
            best_index = i;
            best_value = values[k];
            best_distance = away;
        }
        argument->constant = former;
    }
    if (best_index < 0) return false;
    configuration->arguments[best_index].constant = constant_int(arena, best_value);
    return true;
}

bool relations_repair(Arena *arena, const Relations *relations, const PlanConfiguration *fixed,
                      PlanConfiguration *configuration) {
    bool changed = false;
    for (int step = 0; step < MOST_STEPS; step++) {
        int count = whole_cost(relations, configuration);
        // One that cannot be mended must not hide the others.
        bool mended = false;
        for (LIST_EACH(int, i, relations->list)) {
            const Relation *relation = &relations->list.items[i];
            if (mended || !relation_cost(relations, relation, configuration)) continue;
            mended = mend(arena, relations, relation, fixed, configuration, count);
        }
        if (!mended) break;
        changed = true;
    }
    return changed;
}

// --- Lists of integers in memory: what each says is told by what the kernel does with it

/// What a kernel makes an address of: a list that only counts something else is none of parts.
static bool is_address(const ParameterFacts *facts) {
    return facts->is_store_index || !set_is_empty(facts->indexes);
}

static bool is_list(const ParameterFacts *facts, const PlanArgument *argument) {
    return argument->kind == ARGUMENT_POINTER && !dtype_code_is_float(argument->dtype) &&
           dtype_bits(argument->dtype) > 8 && facts->is_loaded && !facts->is_stored &&
           !facts->is_atomic && !argument->has_known_content &&
           argument->content.kind != CONTENT_VALUES &&
           (facts->is_offset_list || is_address(facts) || facts->from_list);
}

/// Whether what is loaded says where in another list to look.
static bool leads_to_list(const ParameterFacts *facts, int list,
                          const PlanConfiguration *configuration) {
    for (int i = 0; i < configuration->argument_count; i++)
        if (i != list && set_has(facts[list].indexes, i) &&
            is_list(&facts[i], &configuration->arguments[i]))
            return true;
    return false;
}

static PartList list_of(const ParameterFacts *facts, int list,
                        const PlanConfiguration *configuration) {
    const ParameterFacts *one = &facts[list];
    if (one->is_paired) return PART_BOUNDS;
    if (one->from_list) return PART_ENDS;
    if (leads_to_list(facts, list, configuration)) return PART_ROWS;
    bool is_subtracted = false;
    for (int i = 0; i < configuration->argument_count; i++)
        is_subtracted = is_subtracted || facts[i].from_list == list + 1;
    bool is_length = one->bounds_alone && (is_subtracted || !is_address(one));
    return is_length ? PART_LENGTHS : PART_STARTS;
}

bool part_lists_set(const ParameterFacts *facts, PlanConfiguration *configuration) {
    int count = 0;
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (!is_list(&facts[i], argument)) continue;
        if (argument->content.kind == CONTENT_PARTS) return false;
        count++;
    }
    if (count < 2) return false;
    for (int i = 0; i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        if (is_list(&facts[i], argument))
            argument->content =
                (Content){.kind = CONTENT_PARTS, .part = list_of(facts, i, configuration)};
    }
    return true;
}

/// The number of elements of a row that follow each other, which a mask ends by the same size, or of rows that a loop walks; 0: it is
/// none. Where rows lie apart by strides of their own, `is_strided`, their ends alone say how long they are.
static int64_t row_length(const ParameterFacts *facts, const PlanArgument *argument,
                          bool is_strided) {
    bool is_end = facts->is_masked || facts->is_bound;
    if (!is_end || facts->is_stride == is_strided || facts->is_block) return 0;
    if (argument->kind == ARGUMENT_INTEGER) return argument->integer;
    bool is_number =
        argument->kind == ARGUMENT_CONSTANT && argument->constant->kind == CONSTANT_INT;
    return is_number ? argument->constant->integer : 0;
}

void lengths_fit(const ParameterFacts *facts, PlanConfiguration *configuration) {
    int64_t shortest = 0;
    for (int strided = 0; strided < 2 && !shortest; strided++)
        for (int i = 0; i < configuration->argument_count; i++) {
            int64_t length = row_length(&facts[i], &configuration->arguments[i], strided);
            if (length > 0 && (!shortest || length < shortest)) shortest = length;
        }
    for (int i = 0; i < configuration->argument_count && shortest; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        bool is_length = facts[i].is_length && is_list(&facts[i], argument) &&
                         argument->content.kind == CONTENT_SMALL;
        if (is_length && argument->content.high > (double)shortest + 1)
            argument->content.high = (double)shortest + 1;
    }
}
