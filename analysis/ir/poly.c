// Polynomials with 64-bit coefficients over SSA values, kept canonical: terms in order, none zero, atoms sorted by id.
// A coefficient that would overflow gives NULL, "not understood", which every operation passes on.
#include "analysis/ir/poly.h"

#include "analysis/ir/ir.h"

enum { POLY_MAX_TERMS = 256, POLY_MAX_ATOMS = 16 };

static int monomial_compare(const Monomial *a, const Monomial *b) {
    if (a->atom_count != b->atom_count) return a->atom_count > b->atom_count ? -1 : 1;
    for (int i = 0; i < a->atom_count; i++)
        if (a->atoms[i]->id != b->atoms[i]->id) return a->atoms[i]->id < b->atoms[i]->id ? -1 : 1;
    return 0;
}

/// A polynomial of `count` terms that the caller fills in, in order.
static Poly *poly_new(Arena *arena, int count, Monomial **terms) {
    Poly *poly = arena_alloc(arena, sizeof(Poly) + sizeof(Monomial) * (size_t)count);
    *terms = (Monomial *)(poly + 1);
    *poly = (Poly){.count = count, .terms = *terms};
    return poly;
}

static const Poly *poly_from_terms(Arena *arena, const Monomial *terms, int count) {
    Monomial *own;
    Poly *poly = poly_new(arena, count, &own);
    for (int i = 0; i < count; i++) own[i] = terms[i];
    return poly;
}

/// The same polynomial, which shares the terms: who takes one term of many holds its Poly on the stack.
static const Poly *poly_same(Arena *arena, const Poly *poly) {
    Poly *same = ARENA_NEW(arena, Poly);
    *same = *poly;
    return same;
}

static const Poly zero = {0};
static const Monomial one_term = {.coefficient = 1};
static const Poly one = {.count = 1, .terms = &one_term};

const Poly *poly_constant(Arena *arena, int64_t value) {
    if (value == 0) return &zero;
    if (value == 1) return &one;
    return poly_from_terms(arena, &(Monomial){.coefficient = value}, 1);
}

const Poly *poly_atom(Arena *arena, Value *value) {
    Value **atoms = ARENA_NEW(arena, Value *);
    atoms[0] = value;
    return poly_from_terms(arena, &(Monomial){.coefficient = 1, .atom_count = 1, .atoms = atoms},
                           1);
}

const Poly *poly_copy(Arena *arena, const Poly *poly) {
    if (!poly || poly == &zero || poly == &one) return poly;
    Monomial *terms;
    Poly *copy = poly_new(arena, poly->count, &terms);
    for (int i = 0; i < poly->count; i++) {
        const Monomial *term = &poly->terms[i];
        Value **atoms = ARENA_ARRAY(arena, Value *, term->atom_count);
        for (int k = 0; k < term->atom_count; k++) atoms[k] = term->atoms[k];
        terms[i] = (Monomial){term->coefficient, term->atom_count, atoms};
    }
    return copy;
}

/// a + scale * b, by merging the two sorted lists.
static const Poly *poly_add_scaled(Arena *arena, const Poly *a, const Poly *b, int64_t scale) {
    if (!a || !b || a->count + b->count > POLY_MAX_TERMS) return NULL;
    if (b->count == 0) return poly_same(arena, a);
    if (a->count == 0 && scale == 1) return poly_same(arena, b);
    Monomial *terms;
    Poly *sum = poly_new(arena, a->count + b->count, &terms);
    int count = 0;
    int i = 0;
    int j = 0;
    while (i < a->count || j < b->count) {
        int order = i == a->count   ? 1
                    : j == b->count ? -1
                                    : monomial_compare(&a->terms[i], &b->terms[j]);
        Monomial term = order <= 0 ? a->terms[i] : b->terms[j];
        if (order > 0) term.coefficient = 0;
        int64_t scaled = 0;
        if (order >= 0 && __builtin_mul_overflow(b->terms[j].coefficient, scale, &scaled))
            return NULL;
        if (__builtin_add_overflow(term.coefficient, scaled, &term.coefficient)) return NULL;
        i += order <= 0;
        j += order >= 0;
        if (term.coefficient != 0) terms[count++] = term;
    }
    sum->count = count;
    return sum;
}

const Poly *poly_add(Arena *arena, const Poly *a, const Poly *b) {
    return poly_add_scaled(arena, a, b, 1);
}

const Poly *poly_subtract(Arena *arena, const Poly *a, const Poly *b) {
    return poly_add_scaled(arena, a, b, -1);
}

static bool monomial_multiply(Arena *arena, const Monomial *a, const Monomial *b,
                              Monomial *product) {
    int count = a->atom_count + b->atom_count;
    if (count > POLY_MAX_ATOMS) return false;
    if (__builtin_mul_overflow(a->coefficient, b->coefficient, &product->coefficient)) return false;
    product->atom_count = count;
    product->atoms = a->atom_count ? a->atoms : b->atoms;
    if (!a->atom_count || !b->atom_count) return true;
    Value **atoms = ARENA_ARRAY(arena, Value *, count);
    int i = 0;
    int j = 0;
    for (int k = 0; k < count; k++) {
        bool from_a =
            j == b->atom_count || (i < a->atom_count && a->atoms[i]->id <= b->atoms[j]->id);
        atoms[k] = from_a ? a->atoms[i++] : b->atoms[j++];
    }
    product->atoms = atoms;
    return true;
}

/// A term that is not 0 times a polynomial. The order of terms is one of monomials: it stays when all are multiplied by the same.
static const Poly *poly_multiply_term(Arena *arena, const Poly *poly, const Monomial *factor) {
    Monomial *terms;
    Poly *product = poly_new(arena, poly->count, &terms);
    for (int i = 0; i < poly->count; i++)
        if (!monomial_multiply(arena, &poly->terms[i], factor, &terms[i])) return NULL;
    return product;
}

static bool poly_is_one(const Poly *poly) {
    return poly->count == 1 && !poly->terms[0].atom_count && poly->terms[0].coefficient == 1;
}

const Poly *poly_multiply(Arena *arena, const Poly *a, const Poly *b) {
    if (!a || !b) return NULL;
    if (poly_is_one(b) || a->count == 0) return poly_same(arena, a);
    if (poly_is_one(a) || b->count == 0) return poly_same(arena, b);
    const Poly *sum = &zero;
    for (int i = 0; sum && i < b->count; i++)
        sum = poly_add(arena, sum, poly_multiply_term(arena, a, &b->terms[i]));
    return sum;
}

/// a / b for single terms: false where b's atoms or coefficient do not divide a's.
static bool monomial_divide(Arena *arena, const Monomial *a, const Monomial *b,
                            Monomial *quotient) {
    if (b->coefficient == 0 || (b->coefficient == -1 && a->coefficient == INT64_MIN)) return false;
    if (a->coefficient % b->coefficient != 0) return false;
    quotient->coefficient = a->coefficient / b->coefficient;
    Value **atoms = ARENA_ARRAY(arena, Value *, a->atom_count);
    int count = 0;
    int j = 0;
    for (int i = 0; i < a->atom_count; i++) {
        if (j < b->atom_count && b->atoms[j] == a->atoms[i])
            j++;
        else
            atoms[count++] = a->atoms[i];
    }
    if (j < b->atom_count) return false;
    quotient->atom_count = count;
    quotient->atoms = atoms;
    return true;
}

const Poly *poly_divide_exact(Arena *arena, const Poly *a, const Poly *b) {
    if (!a || !b || b->count == 0) return NULL;
    const Poly *quotient = poly_constant(arena, 0);
    const Poly *rest = a;
    for (int step = 0; rest && rest->count > 0; step++) {
        Monomial term = {0};
        if (step > POLY_MAX_TERMS || !monomial_divide(arena, &rest->terms[0], &b->terms[0], &term))
            return NULL;
        quotient = poly_add(arena, quotient, poly_from_terms(arena, &term, 1));
        rest = poly_subtract(arena, rest, poly_multiply_term(arena, b, &term));
    }
    return rest ? quotient : NULL;
}

bool poly_is_constant(const Poly *poly, int64_t *value) {
    if (!poly || poly->count > 1 || (poly->count == 1 && poly->terms[0].atom_count > 0))
        return false;
    if (value) *value = poly->count ? poly->terms[0].coefficient : 0;
    return true;
}

bool poly_is_zero(const Poly *poly) { return poly && poly->count == 0; }

bool poly_equal(const Poly *a, const Poly *b) {
    if (!a || !b || a->count != b->count) return false;
    for (int i = 0; i < a->count; i++) {
        if (a->terms[i].coefficient != b->terms[i].coefficient) return false;
        if (a->terms[i].atom_count != b->terms[i].atom_count) return false;
        for (int k = 0; k < a->terms[i].atom_count; k++)
            if (a->terms[i].atoms[k] != b->terms[i].atoms[k]) return false;
    }
    return true;
}

static int monomial_power(const Monomial *term, const Value *atom) {
    int power = 0;
    for (int i = 0; i < term->atom_count; i++) power += term->atoms[i] == atom;
    return power;
}

bool poly_mentions(const Poly *poly, const Value *atom) {
    for (int i = 0; poly && i < poly->count; i++)
        if (monomial_power(&poly->terms[i], atom) > 0) return true;
    return false;
}

bool poly_split(Arena *arena, const Poly *poly, Value *atom, const Poly **quotient,
                const Poly **rest) {
    if (!poly) return false;
    int with_count = 0;
    for (int i = 0; i < poly->count; i++) {
        int power = monomial_power(&poly->terms[i], atom);
        if (power > 1) return false;
        with_count += power;
    }
    *quotient = &zero;
    *rest = poly_same(arena, poly);
    if (!with_count) return true;
    // what is left of both keeps its order
    Monomial *with, *without;
    *quotient = poly_new(arena, with_count, &with);
    *rest = poly_new(arena, poly->count - with_count, &without);
    const Monomial divisor = {.coefficient = 1, .atom_count = 1, .atoms = &atom};
    for (int i = 0; i < poly->count; i++) {
        if (!monomial_power(&poly->terms[i], atom))
            *without++ = poly->terms[i];
        else if (!monomial_divide(arena, &poly->terms[i], &divisor, with++))
            return false;
    }
    return true;
}

const Poly *poly_substitute(Arena *arena, const Poly *poly, Value *atom, const Poly *by) {
    if (!poly || !poly_mentions(poly, atom)) return poly;
    const Poly *sum = poly_constant(arena, 0);
    for (int i = 0; i < poly->count; i++) {
        const Poly *product = poly_constant(arena, poly->terms[i].coefficient);
        for (int k = 0; k < poly->terms[i].atom_count; k++) {
            Value *factor = poly->terms[i].atoms[k];
            product = poly_multiply(arena, product, factor == atom ? by : poly_atom(arena, factor));
        }
        sum = poly_add(arena, sum, product);
    }
    return sum;
}

static void print_atom(Buffer *buffer, const Value *atom, bool is_alone, int depth) {
    int64_t integer;
    const Op *op = atom->op;
    bool is_binary = op && op->operand_count == 2 && op->operands[0] && op->operands[1];
    if (value_is_int(atom, &integer)) {
        buffer_printf(buffer, "%lld", (long long)integer);
    } else if (atom->name) {
        buffer_puts(buffer, atom->name);
    } else if (is_binary && op_rows[op->code].symbol && depth < 8) {
        if (!is_alone) buffer_putc(buffer, '(');
        print_atom(buffer, op->operands[0], false, depth + 1);
        buffer_printf(buffer, " %s ", op_rows[op->code].symbol);
        print_atom(buffer, op->operands[1], false, depth + 1);
        if (!is_alone) buffer_putc(buffer, ')');
    } else {
        buffer_printf(buffer, "v%d", atom->id);
    }
}

static void print_term(Buffer *buffer, const Monomial *term, bool is_first, bool is_alone) {
    bool negative = term->coefficient < 0;
    uint64_t magnitude =
        negative ? (uint64_t)0 - (uint64_t)term->coefficient : (uint64_t)term->coefficient;
    if (is_first)
        buffer_puts(buffer, negative ? "-" : "");
    else
        buffer_puts(buffer, negative ? " - " : " + ");
    bool shows_number = magnitude != 1 || term->atom_count == 0;
    if (shows_number) buffer_printf(buffer, "%llu", (unsigned long long)magnitude);
    for (int i = 0; i < term->atom_count; i++) {
        if (i > 0 || shows_number) buffer_puts(buffer, " * ");
        print_atom(buffer, term->atoms[i], is_alone && !shows_number && term->atom_count == 1, 0);
    }
}

const char *poly_print(Arena *arena, const Poly *poly) {
    if (!poly) return "?";
    if (poly->count == 0) return "0";
    Buffer buffer = buffer_new(arena);
    for (int i = 0; i < poly->count; i++)
        print_term(&buffer, &poly->terms[i], i == 0, poly->count == 1);
    return buffer_text(&buffer);
}
