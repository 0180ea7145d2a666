// From what launches pass to whether they reach up to a bound.
#include "autodiff/atomics/covers.h"

#include <string.h>

#include "analysis/launches/launch_least.h"

/// Whether two numbers of a launcher are made alike of the same inputs.
static bool is_same_number(const HostValue *a, const HostValue *b) {
    if (!a || !b || a->kind != b->kind) return false;
    if (a == b) return a->kind != HOST_UNKNOWN;
    switch (a->kind) {
    case HOST_SIZE: return a->input == b->input && a->axis == b->axis;
    case HOST_INPUT: return a->input == b->input;
    case HOST_CONSTANT:
        return a->constant.kind == CONSTANT_INT && b->constant.kind == CONSTANT_INT &&
               a->constant.integer == b->constant.integer;
    case HOST_OPERATION:
        if (a->operation != b->operation || a->count != b->count) return false;
        for (int i = 0; i < a->count; i++)
            if (!is_same_number(a->items[i], b->items[i])) return false;
        return true;
    default: return false;
    }
}

/// The parameter of the forward whose value the backward has, or -1.
static int parameter_of(const Differentiation *state, const Value *value) {
    for (int i = 0; i < state->backward->parameter_count; i++) {
        if (state->backward->parameters[i].value != value) continue;
        for (int k = 0; k < state->primal->parameter_count; k++)
            if (strcmp(state->primal->parameters[k].name, state->backward->parameters[i].name) == 0)
                return k;
    }
    return -1;
}

/// The one parameter that the number is, or -1.
static int parameter_alone(const Differentiation *state, const Poly *number) {
    bool is_atom =
        number->count == 1 && number->terms[0].atom_count == 1 && number->terms[0].coefficient == 1;
    return is_atom ? parameter_of(state, number->terms[0].atoms[0]) : -1;
}

static const HostValue *passed(const HostLaunch *launch, int index) {
    bool is_known = index >= 0 && index < launch->argument_count;
    return is_known ? launch->arguments[index].value : NULL;
}

static bool is_operation(const HostValue *value, HostOperation operation) {
    return value && value->kind == HOST_OPERATION && value->operation == operation;
}

/// What a launch has for a number of the kernel's: an argument, or the number itself.
typedef struct PassedNumber {
    const HostValue *value;
    int64_t number;
    bool is_number;
} PassedNumber;

static PassedNumber number_passed(const Differentiation *state, const HostLaunch *launch,
                                  const Poly *number) {
    PassedNumber found = {0};
    found.is_number = poly_is_constant(number, &found.number);
    if (!found.is_number) found.value = passed(launch, parameter_alone(state, number));
    return found;
}

static bool is_number_passed(const HostValue *value, const PassedNumber *number) {
    if (!value) return false;
    if (!number->is_number) return is_same_number(value, number->value);
    return value->kind == HOST_CONSTANT && value->constant.kind == CONSTANT_INT &&
           value->constant.integer == number->number;
}

static bool launch_covers(const Differentiation *state, const HostLaunch *launch,
                          const Coordinate *coordinate, const Poly *bound) {
    const PassedNumber end = number_passed(state, launch, bound);
    const HostValue *grid = NULL;
    if (coordinate->program)
        grid = coordinate->axis < launch->grid_rank ? launch->grid[coordinate->axis] : NULL;
    if (!coordinate->size) return is_number_passed(grid, &end);
    const PassedNumber size = number_passed(state, launch, coordinate->size);
    if (coordinate->program)
        return is_operation(grid, HOST_OP_CDIV) && is_number_passed(grid->items[0], &end) &&
               is_number_passed(grid->items[1], &size);
    return is_operation(size.value, HOST_OP_NEXT_POWER_OF_2) &&
           is_number_passed(size.value->items[0], &end);
}

bool launches_cover(const Differentiation *state, const Coordinate *coordinate, const Poly *bound) {
    if (!state->primal->definition) return false;
    HostLaunches launches =
        host_launches_by_flags(state->arena, state->primal->definition, state->primal);
    for (LIST_EACH(int, i, launches))
        if (!launch_covers(state, launches.items[i], coordinate, bound)) return false;
    return launches.count > 0;
}

static bool launch_passes_product(const Differentiation *state, const HostLaunch *launch,
                                  const Poly *whole, const Poly *a, const Poly *b) {
    const PassedNumber product = number_passed(state, launch, whole),
                       factors[] = {number_passed(state, launch, a),
                                    number_passed(state, launch, b)};
    if (!is_operation(product.value, HOST_OP_MULTIPLY)) return false;
    for (int i = 0; i < 2; i++)
        if (is_number_passed(product.value->items[0], &factors[i]) &&
            is_number_passed(product.value->items[1], &factors[1 - i]))
            return true;
    return false;
}

bool launches_pass_product(const Differentiation *state, const Poly *whole, const Poly *a,
                           const Poly *b) {
    if (!state->primal->definition) return false;
    HostLaunches launches =
        host_launches_by_flags(state->arena, state->primal->definition, state->primal);
    for (LIST_EACH(int, i, launches))
        if (!launch_passes_product(state, launches.items[i], whole, a, b)) return false;
    return launches.count > 0;
}

enum { MOST_FACTORS = 12 };  // that host code multiplies for a size. Beyond: nothing is said of it

typedef struct PassedFactors {
    const HostValue *items[MOST_FACTORS];
    int count;
} PassedFactors;

static bool add_factors(PassedFactors *factors, const HostValue *value) {
    if (!value) return false;
    if (is_operation(value, HOST_OP_MULTIPLY))
        return add_factors(factors, value->items[0]) && add_factors(factors, value->items[1]);
    if (factors->count == MOST_FACTORS) return false;
    factors->items[factors->count++] = value;
    return true;
}

static bool take_factor(PassedFactors *factors, const HostValue *wanted) {
    for (int i = 0; i < factors->count; i++) {
        if (!is_same_number(factors->items[i], wanted)) continue;
        factors->items[i] = factors->items[--factors->count];
        return true;
    }
    return false;
}

static bool launch_passes_multiple(const Differentiation *state, const HostLaunch *launch,
                                   const Poly *whole, const Poly *part) {
    PassedFactors all = {0}, wanted = {0};
    if (part->count != 1 || part->terms[0].coefficient != 1 ||
        !add_factors(&all, passed(launch, parameter_alone(state, whole))))
        return false;
    for (int i = 0; i < part->terms[0].atom_count; i++)
        if (!add_factors(&wanted, passed(launch, parameter_of(state, part->terms[0].atoms[i]))))
            return false;
    for (int i = 0; i < wanted.count; i++)
        if (!take_factor(&all, wanted.items[i])) return false;
    return true;
}

bool launches_pass_multiple(const Differentiation *state, const Poly *whole, const Poly *part) {
    if (!state->primal->definition) return false;
    HostLaunches launches =
        host_launches_by_flags(state->arena, state->primal->definition, state->primal);
    for (LIST_EACH(int, i, launches))
        if (!launch_passes_multiple(state, launches.items[i], whole, part)) return false;
    return launches.count > 0;
}

enum { MOST_OF_FEW = 32 };

static bool is_few(const PassedNumber *number) {
    if (number->is_number) return number->number <= MOST_OF_FEW;
    if (!number->value) return false;
    if (number->value->kind == HOST_CONSTANT && number->value->constant.kind == CONSTANT_INT)
        return number->value->constant.integer <= MOST_OF_FEW;
    return number->value->kind == HOST_INPUT;
}

bool launches_pass_few(const Differentiation *state, const Poly *number) {
    int64_t known;
    if (poly_is_constant(number, &known)) return known <= MOST_OF_FEW;
    if (!state->primal->definition) return false;
    HostLaunches launches =
        host_launches_by_flags(state->arena, state->primal->definition, state->primal);
    for (LIST_EACH(int, i, launches)) {
        const PassedNumber passes = number_passed(state, launches.items[i], number);
        if (!is_few(&passes)) return false;
    }
    return launches.count > 0;
}

bool launches_pass_positive(const Differentiation *state, const Value *atom) {
    int index = parameter_of(state, atom);
    if (index < 0 || !state->primal->definition) return false;
    int64_t least = launches_least(state->arena, state->primal, index);
    return least != LAUNCH_LEAST_UNKNOWN && least >= 1;
}
