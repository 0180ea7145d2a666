// An address as digits: program ids, iterations and lanes, each from 0, and what Python calls their extents.
#include "autodiff/extents/stored_digits.h"

#include <string.h>

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "autodiff/extents/program_splits.h"
#include "autodiff/tape/tape_size.h"

/* ---- text ---- */

static bool byte_is_name(char c) { return byte_is_word(c) || c == '.'; }

/// Whether a forward's caller passes it by this name: no tuner, and no descriptor.
static bool name_is_given(const StoredSearch *coverage, const char *name, size_t size) {
    const Function *forward = coverage->function;
    const FunctionDefinition *kernel = forward->definition;
    bool is_tuned = !coverage->is_launched && (kernel->is_autotuned || kernel->has_heuristics);
    for (int p = 0; p < forward->parameter_count; p++) {
        const Parameter *parameter = &forward->parameters[p];
        if (strlen(parameter->name) == size && strncmp(parameter->name, name, size) == 0)
            return p < kernel->parameter_count &&
                   !(is_tuned && parameter->value->type.is_constexpr);
    }
    return true;
}

/// Whether the launcher knows every name of the text.
static bool names_are_passed(const StoredSearch *coverage, const char *text) {
    for (const char *at = text; *at;) {
        size_t size = 0;
        while (byte_is_name(at[size])) size++;
        if (!coverage->launch && !name_is_given(coverage, at, size)) return false;
        for (int i = 0; size && coverage->launch && i < coverage->launch->argument_count; i++) {
            const BackwardArgument *argument = &coverage->launch->arguments[i];
            bool is_it = strlen(argument->name) == size && strncmp(argument->name, at, size) == 0;
            bool is_size = argument->use == ARGUMENT_SHAPE || argument->use == ARGUMENT_STRIDE;
            if (is_it && !(is_size && coverage->says_sizes) &&
                (argument->use != ARGUMENT_SAME || strcmp(argument->name, argument->of) != 0))
                return false;
        }
        at += size ? size : 1;
    }
    return true;
}

/// Choices and minima within one another that a person would read in a launcher. Beyond: not known at the launch.
enum { MOST_CHOICES = 4 };

static const char *text_at(const StoredSearch *coverage, const Poly *poly, int depth);

static const char *number_text(const StoredSearch *coverage, Value *number, int depth) {
    return text_at(coverage, with_programs(coverage, value_poly(coverage->arena, number)), depth);
}

/// What a flag of the launch chooses, or the smaller one, of what programs there are, too.
static const char *choice_text(const StoredSearch *coverage, const Value *atom, int depth) {
    const Op *op = atom->op;
    if (!op || depth == MOST_CHOICES) return NULL;
    if (op->code == OP_MINIMUM) {
        const char *a = number_text(coverage, op->operands[0], depth + 1),
                   *b = number_text(coverage, op->operands[1], depth + 1);
        return a && b ? arena_printf(coverage->arena, "min(%s, %s)", a, b) : NULL;
    }
    if (op->code != OP_IF) return NULL;
    const char *branches[2], *flag = number_text(coverage, op->operands[0], depth + 1);
    for (int r = 0; r < 2; r++) {
        Value *end = region_terminator(op->regions[r])->operands[atom->index];
        branches[r] = number_text(coverage, end, depth + 1);
        if (!branches[r]) return NULL;
    }
    if (!flag) return NULL;
    return arena_printf(coverage->arena, "%s if %s else %s", branches[0], flag, branches[1]);
}

static const char *atom_text(const StoredSearch *coverage, const Value *atom, int depth) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (atom == coverage->extents[axis])
            return coverage->is_tuned ? NULL : arena_printf(coverage->arena, "grid.%d", axis);
    const char *text = host_text(coverage->arena, coverage->function, atom, false);
    if (!text)
        text = choice_text(coverage, atom, depth);
    else if (!names_are_passed(coverage, text))
        return NULL;
    bool is_call = text && atom->op && atom->op->code == OP_MINIMUM;
    bool is_one_term =
        !text || is_call || !strpbrk(text, " ") || (strchr(text, '(') && atom->op->code != OP_IF);
    return is_one_term ? text : arena_printf(coverage->arena, "(%s)", text);
}

/// What a flag chooses, by itself: without parentheses around it.
static const char *text_of_choice(const StoredSearch *coverage, const Poly *poly, int depth) {
    bool is_atom = poly->count == 1 && poly->terms[0].atom_count == 1 &&
                   poly_equal(poly, poly_atom(coverage->arena, poly->terms[0].atoms[0]));
    const Value *atom = is_atom ? poly->terms[0].atoms[0] : NULL;
    bool is_choice = atom && atom->op && atom->op->code == OP_IF;
    return is_choice ? choice_text(coverage, atom, depth) : NULL;
}

static const char *text_at(const StoredSearch *coverage, const Poly *poly, int depth) {
    Buffer out = buffer_new(coverage->arena);
    if (!poly) return NULL;
    if (poly->count == 0) return "0";
    for (int t = 0; t < poly->count; t++) {
        const Monomial *term = &poly->terms[t];
        long long size = (long long)term->coefficient;
        if (t) buffer_puts(&out, size < 0 ? " - " : " + ");
        if (!t && size < 0) buffer_putc(&out, '-');
        if (size < 0) size = -size;
        bool is_said = size != 1 || term->atom_count == 0;
        if (is_said) buffer_printf(&out, "%lld", size);
        for (int i = 0; i < term->atom_count; i++) {
            const char *text = atom_text(coverage, term->atoms[i], depth);
            if (!text) return NULL;
            buffer_printf(&out, "%s%s", is_said || i ? " * " : "", text);
        }
    }
    return buffer_text(&out);
}

const char *poly_text(const StoredSearch *coverage, const Poly *poly) {
    if (!poly) return NULL;
    const char *choice = text_of_choice(coverage, poly, 0);
    return choice ? choice : text_at(coverage, poly, 0);
}

const char *factor_text(const StoredSearch *coverage, const Poly *poly) {
    const char *text = poly ? text_at(coverage, poly, 0) : NULL;
    return text && poly->count > 1 ? arena_printf(coverage->arena, "(%s)", text) : text;
}

/* ---- digits ---- */

bool poly_is_one(const Poly *poly) {
    int64_t number;
    return poly && poly_is_constant(poly, &number) && number == 1;
}

/// What stands for an atom in terms of digits; NULL where it stands for itself.
static const Poly *stand_in_for(const StoredSearch *coverage, Value *atom) {
    int64_t axis;
    OpCode code = atom->op ? atom->op->code : OP_COUNT;
    if (code != OP_PROGRAM_ID && code != OP_NUM_PROGRAMS) return split_of_atom(coverage, atom);
    if (!value_is_int(atom->op->operands[0], &axis) || axis < 0 || axis >= PROGRAM_AXES)
        return NULL;
    return poly_atom(coverage->arena,
                     code == OP_PROGRAM_ID ? coverage->programs[axis] : coverage->extents[axis]);
}

const Poly *with_programs(const StoredSearch *coverage, const Poly *poly) {
    for (bool found = true; found && poly;) {
        found = false;
        for (int t = 0; !found && t < poly->count; t++)
            for (int i = 0; !found && i < poly->terms[t].atom_count; i++) {
                Value *atom = poly->terms[t].atoms[i];
                const Poly *by = stand_in_for(coverage, atom);
                found = by != NULL;
                if (found) poly = poly_substitute(coverage->arena, poly, atom, by);
            }
    }
    return poly;
}

/* ---- sums in parts ---- */

/// How many programs share a sum: no more than `most`.
static bool is_slices(const StoredSearch *coverage, const Value *value) {
    const Op *op = value ? value->op : NULL;
    return coverage->most && op && op->code == OP_MINIMUM &&
           (op->operands[0] == coverage->most || op->operands[1] == coverage->most);
}

static bool names_program(const StoredSearch *coverage, Value *value) {
    const Poly *poly = with_programs(coverage, value_poly(coverage->arena, value));
    for (int t = 0; poly && t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            for (int axis = 0; axis < PROGRAM_AXES; axis++)
                if (poly->terms[t].atoms[i] == coverage->programs[axis]) return true;
    return false;
}

/// One slice by itself, as if a single program had each of its owners: groups of such programs share them out among themselves.
static const Poly *of_one_slice(const StoredSearch *coverage, const Poly *poly) {
    Arena *arena = coverage->arena;
    for (bool found = coverage->most; found && poly;) {
        found = false;
        for (int t = 0; !found && t < poly->count; t++)
            for (int i = 0; !found && i < poly->terms[t].atom_count; i++) {
                Value *atom = poly->terms[t].atoms[i];
                const Op *op = atom->op;
                bool is_stride = atom == coverage->stride;
                found = is_stride ||
                        (op && op->code == OP_FLOORDIV && is_slices(coverage, op->operands[1]));
                if (!found) continue;
                bool is_number = is_stride || names_program(coverage, op->operands[0]);
                poly = poly_substitute(arena, poly, atom, poly_constant(arena, is_number ? 0 : 1));
            }
    }
    return poly;
}

bool asks_for_slice(const StoredSearch *coverage, const Op *branch) {
    const Op *asks = branch->operands[0]->op;
    if (!coverage->most || !asks || asks->code != OP_LT) return false;
    const Value *most = asks->operands[1];
    return is_slices(coverage, most) || (most->op && most->op->code == OP_FLOORDIV &&
                                         is_slices(coverage, most->op->operands[1]));
}

StoredDigit *add_digit(StoredSearch *coverage) {
    return coverage->count < STORED_MOST_DIGITS ? &coverage->digits[coverage->count++] : NULL;
}

bool add_programs(StoredSearch *coverage) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        add_split_digits(
            coverage, (StoredDigit){.atom = coverage->programs[axis],
                                    .extent = poly_atom(coverage->arena, coverage->extents[axis])});
    return coverage->count < STORED_MOST_DIGITS;
}

/// Where there is no program, there is no element.
static bool cut_off_no_programs(StoredSearch *coverage, int axis) {
    if (coverage->cut_count == STORED_MOST_CUTS) return false;
    MaskCut *any = &coverage->cuts[coverage->cut_count++];
    for (int i = 0; i < STORED_MOST_DIGITS; i++)
        any->weights[i] = poly_constant(coverage->arena, 0);
    any->bound = poly_atom(coverage->arena, coverage->extents[axis]);
    return true;
}

static bool value_is_poly(const StoredSearch *coverage, Value *value, const Poly *poly) {
    return poly_equal(with_programs(coverage, value_poly(coverage->arena, value)), poly);
}

/// Whether `number` counts the programs along some axes of the grid, all of them up to `count`: `pid_0 + pid_1 * programs_0`.
static bool counts_programs(const StoredSearch *coverage, const Poly *number, const Poly *count) {
    Arena *arena = coverage->arena;
    const Poly *so_far = poly_constant(arena, 1);
    for (int done = 0; done < PROGRAM_AXES && !poly_is_zero(number); done++) {
        const Poly *weight, *rest = NULL;
        int axis = 0;
        for (; axis < PROGRAM_AXES; axis++)
            if (poly_split(arena, number, coverage->programs[axis], &weight, &rest) &&
                poly_equal(weight, so_far))
                break;
        if (axis == PROGRAM_AXES) return false;
        so_far = poly_multiply(arena, so_far, poly_atom(arena, coverage->extents[axis]));
        number = rest;
    }
    return poly_is_zero(number) && poly_equal(so_far, count);
}

/// The branch `if pid < step:` around a loop, of programs of which there are at least `step`, `count` of them; or NULL.
static const Op *find_deal(const StoredSearch *coverage, const Op *loop, const Poly *pid,
                           const Poly *count) {
    const Op *least = loop->operands[2]->op;
    if (!least || least->code != OP_MINIMUM) return NULL;
    if (!value_is_poly(coverage, least->operands[0], count) &&
        !value_is_poly(coverage, least->operands[1], count))
        return NULL;
    for (const Op *op = loop; op->parent->parent; op = op->parent->parent) {
        const Op *around = op->parent->parent;
        const Op *asks = around->code == OP_IF ? around->operands[0]->op : NULL;
        if (asks && asks->code == OP_LT && op->parent == around->regions[0] &&
            asks->operands[1] == loop->operands[2] &&
            value_is_poly(coverage, asks->operands[0], pid))
            return around;
    }
    return NULL;
}

/// The programs that such a number counts have their elements by the loop that deals it out.
static void note_dealt(StoredSearch *coverage, const Poly *number) {
    const Poly *weight, *rest;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        coverage->takes_turns[axis] |=
            poly_split(coverage->arena, number, coverage->programs[axis], &weight, &rest) &&
            !poly_is_zero(weight);
}

/// A loop whose numbers are dealt to the first programs: `range(pid, end, step)` below `if pid < step:`, where there are that many. Its
/// variable is each number in one of them.
static bool add_dealt_loop(StoredSearch *coverage, StoredDigit *digit, const Op *loop,
                           const Poly *low, const Poly *high) {
    Arena *arena = coverage->arena;
    int axis = 0;
    while (axis < PROGRAM_AXES && !poly_equal(low, poly_atom(arena, coverage->programs[axis])))
        axis++;
    bool is_along =
        axis <
        PROGRAM_AXES;  // one axis, of whose programs there may be others than the loop has numbers
    if (coverage->deal || (!is_along && !counts_programs(coverage, low, high))) return false;
    const Poly *count = is_along ? poly_atom(arena, coverage->extents[axis]) : high;
    coverage->deal = find_deal(coverage, loop, low, count);
    if (!coverage->deal) return false;
    note_dealt(coverage, low);
    digit->scale = poly_constant(arena, 1);
    digit->origin = poly_constant(arena, 0);
    digit->extent = digit->end = high;
    digit->count = poly_text(coverage, high);
    return digit->count && (poly_equal(high, count) || cut_off_no_programs(coverage, axis));
}

bool loop_deals_programs(const StoredSearch *coverage, const Op *loop) {
    if (loop->code != OP_FOR) return false;
    const Poly *low = with_programs(coverage, value_poly(coverage->arena, loop->operands[0])),
               *high = with_programs(coverage, value_poly(coverage->arena, loop->operands[1]));
    return counts_programs(coverage, low, high) && find_deal(coverage, loop, low, high);
}

/// A loop in which programs take turns: `range(pid * A, end, tl.num_programs(0) * A)`. Its variable is `A * digit` in some program.
static bool add_shared_loop(StoredSearch *coverage, StoredDigit *digit, const Poly *low,
                            const Poly *high, const Poly *step) {
    Arena *arena = coverage->arena;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const Poly *scale, *rest, *stride, *more;
        if (!poly_split(arena, low, coverage->programs[axis], &scale, &rest) ||
            !poly_split(arena, step, coverage->extents[axis], &stride, &more))
            continue;
        if (poly_is_zero(scale) || !poly_is_zero(rest) || !poly_is_zero(more) ||
            !poly_equal(scale, stride))
            continue;
        digit->scale = scale;
        digit->origin = poly_constant(arena, 0);
        digit->end = high;
        digit->extent = poly_is_one(scale) ? high : poly_divide_exact(arena, high, scale);
        const char *end = poly_text(coverage, high), *by = poly_text(coverage, scale);
        if (!end || !by) return false;
        digit->count = arena_printf(arena, "triton.cdiv(%s, %s)", end, by);
        coverage->takes_turns[axis] = true;
        return cut_off_no_programs(coverage, axis);
    }
    return false;
}

/// A loop that counts down to 0, `range(first, -1, -step)` of whole steps: its numbers are those of one that counts up.
static bool add_falling_loop(const StoredSearch *coverage, StoredDigit *digit,
                             const Poly *const *bounds) {
    Arena *arena = coverage->arena;
    const Poly *step = poly_subtract(arena, poly_constant(arena, 0), bounds[2]);
    int64_t stop;
    bool ends_below = poly_is_constant(bounds[1], &stop) && stop == -1;
    if (!poly_is_nonnegative(arena, step) || poly_is_nonnegative(arena, bounds[2]) ||
        !(ends_below || poly_equal(bounds[1], bounds[2])))
        return false;
    const Poly *last = poly_is_one(step) ? bounds[0] : poly_divide_exact(arena, bounds[0], step);
    if (!last) return false;
    digit->scale = step;
    digit->origin = poly_constant(arena, 0);
    digit->end = poly_add(arena, bounds[0], step);
    digit->extent = poly_add(arena, last, poly_constant(arena, 1));
    digit->count = poly_text(coverage, digit->extent);
    return digit->count != NULL;
}

static bool describe_loop(StoredSearch *coverage, StoredDigit *digit, Op *loop) {
    Arena *arena = coverage->arena;
    const Poly *bounds[3];
    for (int i = 0; i < 3; i++)
        bounds[i] =
            with_programs(coverage, of_one_slice(coverage, value_poly(arena, loop->operands[i])));
    *digit = (StoredDigit){
        .atom = loop->regions[0]->arguments[0], .scale = bounds[2], .origin = bounds[0]};
    const char *texts[3];
    for (int i = 0; i < 3; i++) texts[i] = poly_text(coverage, bounds[i]);
    if (!texts[0])
        return add_dealt_loop(coverage, digit, loop, bounds[0], bounds[1]) ||
               add_shared_loop(coverage, digit, bounds[0], bounds[1], bounds[2]);
    if (add_falling_loop(coverage, digit, bounds)) return true;
    // A step that a tuner chooses has no text; what an address comes to at most needs none.
    if (!texts[1] || !(texts[2] || coverage->is_most)) return false;
    int64_t step;
    if (poly_is_constant(bounds[2], &step) && step < 1) return false;
    const Poly *length = poly_subtract(arena, bounds[1], bounds[0]);
    if (poly_is_zero(bounds[0])) digit->end = bounds[1];
    digit->extent = poly_is_one(bounds[2]) ? length : poly_divide_exact(arena, length, bounds[2]);
    if (texts[2])
        digit->count =
            arena_printf(arena, "triton.cdiv(%s, %s)", poly_text(coverage, length), texts[2]);
    return true;
}

bool add_loop(StoredSearch *coverage, Op *loop) {
    StoredDigit *digit = add_digit(coverage);
    if (!digit) return false;
    int cuts = coverage->cut_count;
    const Op *deal = coverage->deal;
    if (coverage->has_one_iteration) {
        *digit = (StoredDigit){.atom = loop->regions[0]->arguments[0],
                               .extent = poly_constant(coverage->arena, 1)};
        return true;
    }
    if (describe_loop(coverage, digit, loop)) {
        if (coverage->deal == deal || !digit_is_split(coverage, digit->atom)) return true;
        StoredDigit whole = *digit;  // numbers of all programs, which the address has the digits of
        coverage->count--;
        add_split_digits(coverage, (StoredDigit){.atom = whole.atom, .extent = whole.extent});
        return coverage->count < STORED_MOST_DIGITS;
    }
    coverage->cut_count = cuts;
    *digit = (StoredDigit){.atom = loop->regions[0]->arguments[0]};  // as often as it likes
    return coverage->is_most;
}

/* ---- whatever else moves ---- */

static intptr_t is_of_memory(ValueWalk *walk, const Value *value) {
    const Op *op = value->op;
    if (!op) return false;
    if (op->code == OP_LOAD || op->code == OP_ATOMIC_ADD) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && walk_ask(walk, op->operands[i])) return true;
    return false;
}

/// How many values a quotient or a remainder of the id along some axis has; its extent is NULL where nobody knows.
static StoredDigit digit_of_mover(StoredSearch *coverage, Value *atom) {
    Arena *arena = coverage->arena;
    StoredDigit digit = {.atom = atom};
    const Op *op = atom->op;
    bool is_divided = op && (op->code == OP_MOD || op->code == OP_FLOORDIV);
    const Poly *by =
        is_divided ? with_programs(coverage, value_poly(arena, op->operands[1])) : NULL;
    if (by && poly_text(coverage, by) && op->code == OP_MOD) digit.extent = by;
    if (op && op->code == OP_TILE_INDEX && op->operands[3])
        digit.extent = with_programs(coverage, value_poly(arena, op->operands[3]));
    for (int axis = 0; by && op->code == OP_FLOORDIV && axis < PROGRAM_AXES; axis++) {
        if (!value_is_poly(coverage, op->operands[0], poly_atom(arena, coverage->programs[axis])))
            continue;
        const Poly *all = poly_atom(arena, coverage->extents[axis]);
        const char *programs = poly_text(coverage, all), *parts = poly_text(coverage, by);
        // of a tensor of no elements there are no blocks, and no programs to share them out
        bool may_be_zero = !op->operands[1]->type.is_constexpr;
        if (programs && parts)
            digit.count = arena_printf(arena, "triton.cdiv(%s, %s%s%s)", programs,
                                       may_be_zero ? "max(" : "", parts, may_be_zero ? ", 1)" : "");
    }
    // Where rows begin is read from memory: what is relative to it is asked about.
    if (!digit.extent && !digit.count && walk_from(atom, is_of_memory, false, NULL))
        digit.extent = poly_constant(arena, 1);
    return digit;
}

static intptr_t is_made_of_ids(ValueWalk *walk, const Value *value) {
    const Op *op = value->op;
    if (!op) return value->region == ((const Function *)walk->context)->body;
    if (op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS || op->code == OP_CONSTANT)
        return true;
    if (op->region_count || !op_is_pure(op) || op->code == OP_LOAD) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !walk_ask(walk, op->operands[i])) return false;
    return true;
}

bool digit_is_of_programs(const StoredSearch *coverage, const StoredDigit *digit) {
    const Value *atom = digit->atom;
    if (!atom || digit->scale) return false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (atom == coverage->programs[axis]) return true;
    for (int i = 0; i < coverage->split_count; i++)
        if (atom == coverage->splits[i].above || atom == coverage->splits[i].below) return true;
    return atom->op && walk_from(atom, is_made_of_ids, false, coverage->function);
}

static bool is_digit(const StoredSearch *coverage, const Value *atom) {
    for (int i = 0; i < coverage->count; i++)
        if (coverage->digits[i].atom == atom) return true;
    return false;
}

bool add_movers(StoredSearch *coverage, const Poly *base) {
    base = with_programs(coverage, base);
    if (!base) return false;
    for (int t = 0; t < base->count; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++) {
            Value *atom = base->terms[t].atoms[i];
            bool is_fixed = poly_is_fixed(coverage->arena, poly_atom(coverage->arena, atom));
            if (is_fixed || is_digit(coverage, atom)) continue;
            StoredDigit digit = digit_of_mover(coverage, atom), *added = add_digit(coverage);
            if (!added) return false;
            *added = digit;
        }
    return true;
}

bool split_digits(const StoredSearch *coverage, const Poly *poly, const Poly **weights,
                  const Poly **rest) {
    Arena *arena = coverage->arena;
    poly = with_programs(coverage, of_one_slice(coverage, poly));
    for (int i = coverage->count - 1; i >= 0; i--) {
        const StoredDigit *digit = &coverage->digits[i];
        weights[i] = poly_constant(arena, 0);
        if (!digit->atom) continue;
        const Poly *weight, *others;
        if (!poly_split(arena, poly, digit->atom, &weight, &others)) return false;
        if (digit->scale) {
            others = poly_add(arena, others, poly_multiply(arena, weight, digit->origin));
            weight = poly_multiply(arena, weight, digit->scale);
        }
        weights[i] = weight;
        poly = others;
    }
    *rest = poly;
    for (int i = 0; i < coverage->count; i++)
        if (!coverage->is_most && !poly_text(coverage, weights[i])) return false;
    return coverage->is_most || poly_text(coverage, poly);
}
