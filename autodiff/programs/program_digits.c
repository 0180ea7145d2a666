// From stores to the digits of the program's id that they depend on, by walking back from addresses, conditions and values.
#include "autodiff/programs/program_digits.h"

#include "analysis/addresses/affine.h"
#include "autodiff/addresses/place.h"
#include "autodiff/programs/program_ranges.h"

typedef struct DigitSources {
    Arena *arena;
    const Map *stored;  // parameters that the kernel stores to
    int axis;
    Map seen;
    LIST(Value *) work;
    DigitUse use;
} DigitSources;

static void push(DigitSources *sources, Value *value) {
    if (!value || map_has_pointer(&sources->seen, value)) return;
    map_set_pointer(&sources->seen, value, (void *)1);
    LIST_PUSH(sources->arena, &sources->work, value);
}

/* ---- digits ---- */

static const Poly *size_of(Arena *arena, Value *value) {
    Affine form = affine_of(arena, value);
    return form.known && form.rank == 0 ? form.base : poly_atom(arena, value);
}

static bool is_loop(const Op *op) { return op->code == OP_FOR || op->code == OP_STATIC_FOR; }

/// What a `while` carries, `index` of it, starts at the id and grows by a step that is none of a text.
static bool counts_from_program(const Op *loop, int index, int axis) {
    const Region *body = loop->regions[1];
    const Value *next = region_terminator(body)->operands[index];
    int64_t step;
    if (!value_is_program_id(integer_without_casts(loop->operands[index]), axis)) return false;
    if (!next->op || next->op->code != OP_ADD) return false;
    for (int i = 0; i < 2; i++)
        if (next->op->operands[i] == body->arguments[index])
            return !value_is_int(next->op->operands[1 - i], &step);
    return false;
}

/// `range(pid, tiles, PROGRAMS)`: its variable is the number of a tile, and no two programs have the same.
static bool starts_at_program(const Op *op, int axis) {
    int64_t step;
    for (int i = 0; op->code == OP_WHILE && i < op->operand_count; i++)
        if (counts_from_program(op, i, axis)) return true;
    return is_loop(op) && value_is_program_id(integer_without_casts(op->operands[0]), axis) &&
           !value_is_int(op->operands[2], &step);
}

static bool is_number(Arena *arena, Value *value, int axis) {
    if (value_is_program_id(value, axis)) return true;
    const Op *loop = value->region ? value->region->parent : NULL;
    if (!loop) return false;
    if (loop->code == OP_WHILE)
        return counts_from_program(loop, value->index, axis) ||
               while_counts_in_range(arena, loop, value->index, axis);
    if (!is_loop(loop) || value->index > 0) return false;
    return starts_at_program(loop, axis) || program_range(arena, loop, axis) != RANGE_COMMON;
}

static bool is_same_number(const Value *a, const Value *b) {
    int64_t x, y;
    return a == b || (value_is_int(a, &x) && value_is_int(b, &y) && x == y);
}

static bool is_iteration(Value *value) {
    value = integer_without_casts(value);
    int64_t start, step;
    return value_is_loop_variable(value) &&
           value_is_int(value->region->parent->operands[0], &start) && start == 0 &&
           value_is_int(value->region->parent->operands[2], &step) && step == 1;
}

/// `factor` where `value` is `x * factor` for an x that `is_part` takes.
static Value *factor_of(Value *value, Value **x, bool (*is_part)(Value *)) {
    value = integer_without_casts(value);
    if (!value->op || value->op->code != OP_MUL) return NULL;
    for (int i = 0; i < 2; i++)
        if (is_part(value->op->operands[i])) {
            *x = integer_without_casts(value->op->operands[i]);
            return value->op->operands[1 - i];
        }
    return NULL;
}

static bool is_id(Value *value) { return value_is_program_id(integer_without_casts(value), -1); }

/// Whether a sum of an id and another, or a loop's variable, is each whole number once: `pid + iteration * PROGRAMS` with a step
/// that is none of a text, `pid * ITERATIONS + iteration`, `pid + other * num_programs`.
static bool is_numbering(const Op *sum) {
    for (int i = 0; i < 2; i++) {
        Value *low = sum->operands[i], *high = NULL;
        if (!is_id(low) && !is_iteration(low)) continue;
        Value *iterations = factor_of(sum->operands[1 - i], &high, is_iteration);
        int64_t number;
        if (iterations && is_id(low)) return !value_is_int(iterations, &number);
        Value *step = factor_of(sum->operands[1 - i], &high, is_id);
        if (!step) continue;
        low = integer_without_casts(low);
        step = integer_without_casts(step);
        if (is_iteration(low) && step == integer_without_casts(low->region->parent->operands[1]))
            return true;
        bool counts = step->op && step->op->code == OP_NUM_PROGRAMS;
        if (counts && is_id(low) && is_same_number(step->op->operands[0], low->op->operands[0]))
            return true;
    }
    return false;
}

/// Whether a sum has the id of the axis in it, times whatever.
static bool has_id(Value *value, int axis, int depth) {
    value = integer_without_casts(value);
    if (value_is_program_id(value, axis)) return true;
    const Op *op = value->op;
    if (depth > 4 || !op || (op->code != OP_ADD && op->code != OP_MUL)) return false;
    return has_id(op->operands[0], axis, depth + 1) || has_id(op->operands[1], axis, depth + 1);
}

/// The divisor where `value` is `x // divisor * divisor` for this x.
static Value *rounded_down_by(Value *value, Value *x) {
    if (!value->op || value->op->code != OP_MUL) return NULL;
    for (int i = 0; i < 2; i++) {
        Value *quotient = integer_without_casts(value->op->operands[i]);
        Value *factor = value->op->operands[1 - i];
        if (quotient->op && quotient->op->code == OP_FLOORDIV &&
            integer_without_casts(quotient->op->operands[0]) == x &&
            is_same_number(quotient->op->operands[1], factor))
            return factor;
    }
    return NULL;
}

/// `x - x % divisor` as x, what is left out of it.
static Value *rounded_down(Value *value, Value **divisor) {
    const Op *op = value->op;
    if (!op || op->code != OP_SUB) return NULL;
    Value *x = integer_without_casts(op->operands[0]);
    const Value *rest = integer_without_casts(op->operands[1]);
    if (!rest->op || rest->op->code != OP_MOD || integer_without_casts(rest->op->operands[0]) != x)
        return NULL;
    *divisor = rest->op->operands[1];
    return x;
}

typedef struct Division {
    Value *dividend;  // NULL: it is none
    Value *divisor;   // NULL: the number
    int64_t number;
    bool is_quotient;
} Division;

static Division bits_of(const Op *op) {
    int64_t number;
    if (op->code == OP_SHR && value_is_int(op->operands[1], &number) && number >= 0 && number < 31)
        return (Division){
            .dividend = op->operands[0], .number = (int64_t)1 << number, .is_quotient = true};
    for (int i = 0; i < 2 && op->code == OP_AND; i++)
        if (value_is_int(op->operands[i], &number) && number > 0 && (number & (number + 1)) == 0)
            return (Division){.dividend = op->operands[1 - i], .number = number + 1};
    return (Division){0};
}

/// Quotients and remainders, however they are written.
static Division division_of(Value *value) {
    const Op *op = value->op;
    if (!op || value->type.rank > 0 || op->operand_count < 2) return (Division){0};
    Division division = {.dividend = op->operands[0], .divisor = op->operands[1]};
    Value *divisor = NULL, *below = NULL;
    switch (op->code) {
    case OP_MOD: return division;
    case OP_FLOORDIV:
        below = rounded_down(integer_without_casts(op->operands[0]), &divisor);
        if (below && is_same_number(divisor, op->operands[1])) division.dividend = below;
        division.is_quotient = true;
        return division;
    case OP_SUB:
        division.divisor = rounded_down_by(op->operands[1], integer_without_casts(op->operands[0]));
        below = rounded_down(integer_without_casts(op->operands[1]), &divisor);
        if (below && below == integer_without_casts(op->operands[0])) division.divisor = divisor;
        return division.divisor ? division : (Division){0};
    default: return bits_of(op);
    }
}

/// Divisors are products of whole numbers above 0; NULL is above all.
static bool divides(Arena *arena, const Poly *a, const Poly *b) {
    return !b || (a && poly_divide_exact(arena, b, a));
}

/// `x % 2 % 4` has no more of x than `x % 2`.
static bool is_too_large(Arena *arena, const Poly *size, const Poly *whole) {
    int64_t excess;
    return whole && poly_is_constant(poly_subtract(arena, size, whole), &excess) && excess > 0;
}

/// `value` as a digit of a program's number, however often that was divided. The divisors are among its sources.
static bool digit_of(DigitSources *sources, Value *value, Digit *digit, Value **number) {
    Arena *arena = sources->arena;
    value = integer_without_casts(value);
    bool is_sum = value->op && value->op->code == OP_ADD && value->type.rank == 0;
    if (is_number(arena, value, sources->axis) || (is_sum && has_id(value, sources->axis, 0))) {
        *digit = (Digit){.low = poly_constant(arena, 1)};
        *number = value;
        return true;
    }
    Division division = division_of(value);
    if (!division.dividend || !digit_of(sources, division.dividend, digit, number)) return false;
    push(sources, division.divisor);
    const Poly *size =
        division.divisor ? size_of(arena, division.divisor) : poly_constant(arena, division.number);
    size = poly_multiply(arena, digit->low, size);
    if (!size || is_too_large(arena, size, digit->high)) return false;
    if (digit->high && !divides(arena, size, digit->high)) {
        if (digit->base) sources->use.is_open = true;
        digit->base = digit->high;
    }
    if (digit->high) LIST_PUSH(arena, &sources->use.cuts, (Digit){size, digit->high, NULL});
    if (division.is_quotient)
        digit->low = size;
    else
        digit->high = size;
    return true;
}

static bool is_one_number(const Value *a, const Value *b) {
    return a == b || (value_is_program_id(a, -1) && value_is_program_id(b, -1));
}

static void use_digit(DigitSources *sources, Digit digit, Value *number) {
    DigitUse *use = &sources->use;
    if (use->number && !is_one_number(use->number, number)) use->whole = true;
    use->number = number;
    use->is_sum = number->op && number->op->code == OP_ADD;
    LIST_PUSH(sources->arena, &use->digits, digit);
}

/* ---- walking back ---- */

static void push_ends(DigitSources *sources, const Op *op, int index) {
    for (int r = 0; r < op->region_count; r++) {
        const Op *end = region_terminator(op->regions[r]);
        for (int i = 0; end && i < end->operand_count; i++)
            if (index < 0 || i == index) push(sources, end->operands[i]);
    }
}

static void push_all(DigitSources *sources, const Op *op) {
    for (int i = 0; i < op->operand_count; i++) push(sources, op->operands[i]);
    push_ends(sources, op, -1);
}

/// What a loop carries, `index` of them: where it starts, what an iteration makes of it, and how many iterations there are.
static void push_carried(DigitSources *sources, const Op *loop, int index) {
    for (int i = 0; i < 3; i++) push(sources, loop->operands[i]);
    push(sources, loop->operands[3 + index]);
    push_ends(sources, loop, index);
}

static void push_argument(DigitSources *sources, const Value *argument) {
    const Op *owner = argument->region ? argument->region->parent : NULL;
    if (!owner) return;
    if (!is_loop(owner)) {
        push_all(sources, owner);
    } else if (argument->index > 0) {
        push_carried(sources, owner, argument->index - 1);
    } else {
        LIST_PUSH(sources->arena, &sources->use.parts, argument);
        push(sources, owner->operands[0]);
        push(sources, owner->operands[2]);
    }
}

/// What other programs may have changed, or what is another number each time.
static bool tells_programs_apart(const DigitSources *sources, const Op *op) {
    int effects = op_rows[op->code].effects;
    if (op->code == OP_UNKNOWN || (effects & (EFFECT_ATOMIC | EFFECT_ORDERED))) return true;
    if (!(effects & EFFECT_READS)) return effects & EFFECT_WRITES;
    const Value *root = pointer_root(op->operands[0]);
    return !root || map_has_pointer(sources->stored, root);
}

static void visit_source(DigitSources *sources, Value *value) {
    Digit digit;
    Value *number, *divisor, *x = rounded_down(value, &divisor);
    if (digit_of(sources, x ? x : value, &digit, &number)) {
        if (x) {  // says what the quotient says
            push(sources, divisor);
            digit.low = poly_multiply(sources->arena, digit.low, size_of(sources->arena, divisor));
        }
        use_digit(sources, digit, number);
        return;
    }
    const Op *op = value->op;
    if (!op) {
        push_argument(sources, value);
        return;
    }
    if (value_is_program_id(value, -1)) LIST_PUSH(sources->arena, &sources->use.parts, value);
    if (tells_programs_apart(sources, op)) sources->use.whole = true;
    if (op->code == OP_IF) {
        push(sources, op->operands[0]);
        push_ends(sources, op, value->index);
    } else if (is_loop(op)) {
        push_carried(sources, op, value->index);
    } else {
        push_all(sources, op);
    }
}

static bool is_same_term(const Value *a, const Value *b) {
    return a == b || (value_is_program_id(a, -1) && value_is_program_id(b, -1) &&
                      is_same_number(a->op->operands[0], b->op->operands[0]));
}

static bool has_term(Value *value, const Value *term, int depth) {
    value = integer_without_casts(value);
    if (is_same_term(value, term)) return true;
    const Op *op = value->op;
    if (depth > 4 || !op || (op->code != OP_ADD && op->code != OP_MUL)) return false;
    return has_term(op->operands[0], term, depth + 1) || has_term(op->operands[1], term, depth + 1);
}

/// Whether `other` depends on the iteration of a loop, or on another id, besides the number that `use` makes of it and of the id.
static bool tells_parts(const DigitUse *use, const DigitUse *other) {
    if (!use->is_sum) return false;
    for (int i = 0; i < other->parts.count; i++)
        if (has_term(use->number, other->parts.items[i], 0)) return true;
    return false;
}

static bool holds(Arena *arena, const Digits *digits, Digit part);
static bool are_entangled(Arena *arena, const Digits *digits, const Digits *others);

static DigitUse walk(DigitSources *sources) {
    while (sources->work.count && !sources->use.whole)
        visit_source(sources, sources->work.items[--sources->work.count]);
    Digit all = {.low = poly_constant(sources->arena, 1)};
    if (are_entangled(sources->arena, &sources->use.digits, &sources->use.digits))
        sources->use.is_open = true;
    else if (holds(sources->arena, &sources->use.digits, all))
        sources->use.whole = true;
    return sources->use;
}

static DigitSources sources_new(Arena *arena, const Map *stored, int axis) {
    return (DigitSources){.arena = arena, .stored = stored, .axis = axis, .seen = map_new(arena)};
}

static bool is_whole_number(const DigitSources *sources, Value *value) {
    value = integer_without_casts(value);
    if (value->type.rank > 0) return false;
    if (is_number(sources->arena, value, sources->axis)) return true;
    bool is_sum = value->op && value->op->code == OP_ADD;
    return is_sum && has_id(value, sources->axis, 0) && is_numbering(value->op);
}

/// The bound where a comparison that holds, or does not, says that a program's number is below it. If it is, that of the
/// first program with the same digits is, too, so such a condition tells no programs apart.
static Value *bound_of_number(const DigitSources *sources, const Op *comparison, bool holds) {
    int number;
    switch (comparison->code) {
    case OP_LT:
    case OP_LE: number = !holds; break;
    case OP_GT:
    case OP_GE: number = holds; break;
    default: return NULL;
    }
    bool is_bounded = is_whole_number(sources, comparison->operands[number]);
    return is_bounded ? comparison->operands[1 - number] : NULL;
}

/// What decides which programs store, and what of it says by itself which one.
typedef struct Conditions {
    DigitSources *place;  // a number or a digit is equal to something: as good as an address
    DigitSources others;
    Map asked[2];  // conditions that do not hold, and those that do: each once
} Conditions;

static bool is_conjunction(OpCode code, bool holds) {
    if (holds) return op_has(code, TRAIT_BOTH);
    return code == OP_OR || code == OP_LOGICAL_OR;
}

static void push_condition(Conditions *conditions, Value *condition, bool holds) {
    const Op *op = condition ? condition->op : NULL;
    OpCode code = op ? op->code : OP_UNKNOWN;
    Value *bound = op ? bound_of_number(conditions->place, op, holds) : NULL;
    if (condition && map_has_pointer(&conditions->asked[holds], condition)) return;
    if (condition) map_set_pointer(&conditions->asked[holds], condition, conditions);
    if (code == OP_LOGICAL_NOT) {
        push_condition(conditions, op->operands[0], !holds);
    } else if (is_conjunction(code, holds)) {
        push_condition(conditions, op->operands[0], holds);
        push_condition(conditions, op->operands[1], holds);
    } else {
        bool is_equal = code == (holds ? OP_EQ : OP_NE);
        push(is_equal ? conditions->place : &conditions->others, bound ? bound : condition);
    }
}

/// What decides whether, and how often, the region of a loop or a branch around a store runs.
static void push_control(Conditions *conditions, const Region *region) {
    DigitSources *place = conditions->place;
    const Op *op = region->parent;
    // a loop over the numbers of tiles runs each of them once, wherever it starts
    bool starts = starts_at_program(op, place->axis);
    bool is_range = program_range(place->arena, op, place->axis) != RANGE_COMMON;
    if (op->code == OP_IF) {
        push_condition(conditions, op->operands[0], region == op->regions[0]);
    } else if (is_loop(op)) {
        for (int i = is_range ? 2 : starts; i < 3; i++) push(&conditions->others, op->operands[i]);
    } else if (!starts && !is_range) {
        push_all(place, op);
    }
}

/// Programs with ranges of their own: the number is the one that is in no two ranges, if that is known.
static void note_ranges(DigitUse *use, Arena *arena, const Op *store, int axis) {
    for (const Op *op = store->parent->parent; op; op = op->parent->parent) {
        ProgramRange range = program_range(arena, op, axis);
        if (range == RANGE_COMMON || starts_at_program(op, axis)) continue;
        Value *variable = is_loop(op) ? op->regions[0]->arguments[0] : NULL;
        if (!use->number) use->number = variable;
        use->is_open = use->is_open || range == RANGE_OPEN || use->number != variable;
    }
}

DigitUse digits_of_place(Arena *arena, const Map *stored, const Op *store, int axis) {
    DigitSources sources = sources_new(arena, stored, axis);
    Conditions conditions = {
        &sources, sources_new(arena, stored, axis), {map_new(arena), map_new(arena)}};
    push(&sources, store->operands[0]);
    push_condition(&conditions, access_mask(store), true);
    for (const Region *region = store->parent; region->parent; region = region->parent->parent)
        push_control(&conditions, region);
    DigitUse use = walk(&sources), others = walk(&conditions.others);
    note_ranges(&use, arena, store, axis);
    use.is_open = use.is_open || !digits_determine(arena, &use, &others);
    return use;
}

/// Where a store happens, what its condition is made of is the same in all programs.
static void know_condition(DigitSources *sources, Value *condition, bool holds) {
    if (!condition || map_has_pointer(&sources->seen, condition)) return;
    map_set_pointer(&sources->seen, condition, sources);
    const Op *op = condition->op;
    if (!op || !is_conjunction(op->code, holds)) return;
    know_condition(sources, op->operands[0], holds);
    know_condition(sources, op->operands[1], holds);
}

DigitUse digits_of_value(Arena *arena, const Map *stored, const Op *store, int axis) {
    DigitSources sources = sources_new(arena, stored, axis);
    know_condition(&sources, access_mask(store), true);
    for (const Region *region = store->parent; region->parent; region = region->parent->parent)
        if (region->parent->code == OP_IF)
            know_condition(&sources, region->parent->operands[0],
                           region == region->parent->regions[0]);
    push(&sources, store->operands[1]);
    return walk(&sources);
}

/* ---- which digits are known from others ---- */

/// Whether `digits`, one after the other, tell the number between the ends of `part`.
static bool holds(Arena *arena, const Digits *digits, Digit part) {
    const Poly *known = part.low;
    for (int iteration = 0; iteration <= digits->count; iteration++) {
        if (!known) return true;
        if (part.high && divides(arena, part.high, known)) return true;
        const Poly *from = known;
        for (int i = 0; i < digits->count && from == known; i++) {
            const Digit *digit = &digits->items[i];
            bool reaches = poly_equal(from, digit->low) ||
                           (divides(arena, digit->low, from) && divides(arena, from, digit->high) &&
                            !poly_equal(from, digit->high));
            if (reaches) known = digit->high;
        }
        if (known == from) return false;
    }
    return false;
}

/// Whether some of `others` have a part of a remainder in them that some of `digits` are of: `x // B` beside `x % A % B`, of
/// which B may be no divisor of A, nor below it.
static bool are_entangled(Arena *arena, const Digits *digits, const Digits *others) {
    for (LIST_EACH(int, i, *digits)) {
        const Poly *base = digits->items[i].base;
        for (int k = 0; base && k < others->count; k++) {
            const Digit *other = &others->items[k];
            bool is_all = poly_equal(other->low, poly_constant(arena, 1)) &&
                          divides(arena, base, other->high);
            bool is_of_it = other->base && poly_equal(other->base, base);
            if (!is_of_it && !is_all && !divides(arena, base, other->low)) return true;
        }
    }
    return false;
}

bool digits_determine(Arena *arena, const DigitUse *place, const DigitUse *value) {
    if (value->whole || place->is_open) return false;
    if (place->is_sum && !is_numbering(place->number->op)) return false;
    if (are_entangled(arena, &place->digits, &value->digits) ||
        are_entangled(arena, &value->digits, &place->digits) ||
        are_entangled(arena, &value->digits, &value->digits))
        return false;
    if (tells_parts(place, place) || tells_parts(place, value) || tells_parts(value, value))
        return false;
    if (place->number && value->number && !is_one_number(place->number, value->number))
        return false;
    for (int i = 0; i < value->digits.count; i++)
        if (!holds(arena, &place->digits, value->digits.items[i])) return false;
    return true;
}

typedef LIST(const Poly *) Ends;

static bool is_below(Arena *arena, const DigitUse *use, const Poly *a, const Poly *b) {
    for (int i = 0; i < use->cuts.count; i++)
        if (poly_equal(use->cuts.items[i].low, a) && poly_equal(use->cuts.items[i].high, b))
            return true;
    return divides(arena, a, b);
}

/// Puts an end between those that are below it and those that are above.
static bool add_end(Arena *arena, const DigitUse *use, Ends *ends, const Poly *end) {
    int at = 0;
    while (at < ends->count && is_below(arena, use, ends->items[at], end)) at++;
    if (at > 0 && poly_equal(ends->items[at - 1], end)) return true;
    if (at < ends->count && !is_below(arena, use, end, ends->items[at])) return false;
    LIST_PUSH(arena, ends, end);
    for (int i = ends->count - 1; i > at; i--) ends->items[i] = ends->items[i - 1];
    ends->items[at] = end;
    return true;
}

/// `x % A % B`, where B may be above A: what lies above A is missing by itself.
static bool is_cut_off(Arena *arena, const DigitUse *use, const Poly *end) {
    for (int i = 0; i < use->cuts.count; i++) {
        const Digit *cut = &use->cuts.items[i];
        if (poly_equal(cut->high, end) && !divides(arena, cut->low, cut->high)) return true;
    }
    return false;
}

/// The remainder that a part is of where its end need be no divisor of the number: `x % A % B`.
static const Poly *base_of_part(Arena *arena, const DigitUse *use, const Digit *part) {
    for (LIST_EACH(int, i, use->cuts)) {
        const Digit *cut = &use->cuts.items[i];
        if (part->high && divides(arena, part->high, cut->low) &&
            !divides(arena, cut->low, cut->high))
            return cut->high;
    }
    return NULL;
}

bool digits_missing(Arena *arena, const DigitUse *use, Digits *missing) {
    Ends ends = {0};
    bool known = add_end(arena, use, &ends, poly_constant(arena, 1));
    for (int i = 0; i < use->digits.count && known; i++) {
        const Digit *digit = &use->digits.items[i];
        known = add_end(arena, use, &ends, digit->low) &&
                (!digit->high || add_end(arena, use, &ends, digit->high));
    }
    for (int i = 0; i < use->cuts.count && known; i++)
        known = add_end(arena, use, &ends, use->cuts.items[i].high);
    for (int i = 0; i < ends.count && known; i++) {
        Digit part = {ends.items[i], i + 1 < ends.count ? ends.items[i + 1] : NULL, NULL};
        Digit *last = missing->count ? &missing->items[missing->count - 1] : NULL;
        if (holds(arena, &use->digits, part)) continue;
        if (last && last->high == part.low && !is_cut_off(arena, use, part.low))
            last->high = part.high;
        else
            LIST_PUSH(arena, missing, part);
    }
    for (LIST_EACH(int, i, *missing))
        missing->items[i].base = base_of_part(arena, use, &missing->items[i]);
    return known;
}
