// Which constexprs decide whether a tensor holds integers or floats.
#include "analysis/parameters/element_kinds.h"

#include "analysis/ir/type.h"
#include "analysis/parameters/pointees.h"

/// Whether the kernel's text alone says that the parameter points to integers, by how they are used.
static bool is_taken_for_integers(const Function *function, int parameter) {
    if (parameter < 0 || parameter >= function->parameter_count) return false;
    Type type = function->parameters[parameter].value->type;
    return type.kind == TYPE_POINTER && type.element.code == DTYPE_OF_PARAMETER &&
           type.element.parameter_class == CLASS_SIGNED;
}

typedef struct LoadCount {
    const Function *function;
    int *loads;  // by parameter
} LoadCount;

static bool visit_load(void *context, Op *op) {
    LoadCount *count = context;
    int parameter = op->code == OP_LOAD ? pointee_parameter(op->operands[0]) : -1;
    if (is_taken_for_integers(count->function, parameter)) count->loads[parameter]++;
    return true;
}

static int *loads_in(Arena *arena, const Function *function, const Region *region) {
    LoadCount count = {function, ARENA_ARRAY(arena, int, function->parameter_count + 1)};
    region_walk(region, visit_load, &count);
    return count.loads;
}

/// The value of the one constexpr in the condition under which that comes out as `holds`.
static bool value_for(const Function *function, const Value *condition, bool holds,
                      KindChoice *choice) {
    const Op *op = condition ? condition->op : NULL;
    while (op && op->code == OP_LOGICAL_NOT) {
        holds = !holds;
        condition = op->operands[0];
        op = condition ? condition->op : NULL;
    }
    const Value *asked = op && op->operand_count == 2 ? op->operands[0] : condition;
    if (!asked || asked->op || asked->region != function->body || asked->constant) return false;
    choice->parameter = asked->index;
    if (!function->parameters[asked->index].is_constexpr) return false;
    if (!op) {
        choice->value = constant_of_bool(holds);
        return true;
    }
    const Value *than = op->operands[1];
    bool is_equal = (op->code == OP_EQ && holds) || (op->code == OP_NE && !holds);
    if (is_equal && than && than->constant) {
        choice->value = *than->constant;
        return true;
    }
    int64_t number;
    if (!value_is_int(than, &number)) return false;
    // the number at the edge, on the side that was asked for
    switch (op->code) {
    case OP_GT: number += holds; break;
    case OP_GE: number -= !holds; break;
    case OP_LT: number -= holds; break;
    case OP_LE: number += !holds; break;
    default: return false;
    }
    choice->value = constant_of_int(number);
    return true;
}

typedef struct ChoiceSearch {
    Arena *arena;
    const Function *function;
    const int *loads;
    KindChoices found;
} ChoiceSearch;

static bool is_listed(const KindChoices *choices, const KindChoice *choice) {
    for (LIST_EACH(int, i, *choices)) {
        const KindChoice *listed = &choices->items[i];
        bool is_known = false;
        if (listed->parameter == choice->parameter &&
            constant_equal(&listed->value, &choice->value, &is_known) && is_known)
            return true;
    }
    return false;
}

/// Whether a tensor is loaded in this region and elsewhere.
static bool divides_loads(const ChoiceSearch *search, const Region *side) {
    const int *loads = loads_in(search->arena, search->function, side);
    for (int i = 0; i < search->function->parameter_count; i++)
        if (loads[i] && loads[i] < search->loads[i]) return true;
    return false;
}

static bool visit_branch(void *context, Op *op) {
    ChoiceSearch *search = context;
    if (op->code != OP_IF || op->region_count < 2) return true;
    if (!divides_loads(search, op->regions[0]) && !divides_loads(search, op->regions[1]))
        return true;
    for (int side = 0; side < 2; side++) {
        KindChoice choice;
        if (value_for(search->function, op->operands[0], side == 0, &choice) &&
            !is_listed(&search->found, &choice))
            LIST_PUSH(search->arena, &search->found, choice);
    }
    return true;
}

KindChoices kind_choices(Arena *arena, const Function *function) {
    ChoiceSearch search = {.arena = arena, .function = function};
    search.loads = loads_in(arena, function, function->body);
    bool any = false;
    for (int i = 0; i < function->parameter_count; i++) any = any || search.loads[i] > 1;
    if (any) region_walk(function->body, visit_branch, &search);
    return search.found;
}

/// Whether what is loaded there meets floats, or is stored among them: what the kernel makes an index of, or nothing, does not.
static bool is_taken_for_floats(const Function *function, int parameter) {
    Arena *scratch = arena_new_scratch();
    Function *copy =
        (Function *)(uintptr_t)function;  // what the search notes there is there already
    Roles roles = roles_find(scratch, copy);
    Pointees pointees = pointees_find(scratch, copy, &roles);
    bool meets = pointees.loaded[parameter] & (ROLE_FLOAT | ROLE_REAL | ROLE_KEPT);
    arena_free(scratch);
    return meets;
}

bool kind_is_float_in(const Function *function, int parameter, const Function *bound) {
    if (!is_taken_for_integers(function, parameter) || parameter >= bound->parameter_count)
        return false;
    const Parameter *own = &bound->parameters[parameter];
    return own->is_loaded && own->value->type.kind == TYPE_POINTER &&
           dtype_is_float(own->value->type.element) && is_taken_for_floats(bound, parameter);
}
