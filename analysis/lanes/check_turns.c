// Loops in which programs take turns, `range(program, n, programs)`: the step counts the programs that the first turn numbers.
#include "analysis/build/value_poly.h"
#include "analysis/checks/check.h"

/// The only value of an operation among the atoms; NULL where there are none or several.
static Value *only_of(const Poly *poly, OpCode code) {
    Value *only = NULL;
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++) {
            Value *atom = poly->terms[t].atoms[a];
            if (!atom->op || atom->op->code != code) continue;
            if (only && only != atom) return NULL;
            only = atom;
        }
    return only;
}

static void check_turn(Check *check, const Op *loop) {
    const Poly *start = value_poly(check->arena, loop->operands[0]);
    const Poly *step = value_poly(check->arena, loop->operands[2]);
    Value *id = only_of(start, OP_PROGRAM_ID), *count = only_of(step, OP_NUM_PROGRAMS);
    const Poly *apart, *goes, *first, *rest;
    int64_t axis, counted;
    if (!id || !count || !value_is_int(id->op->operands[0], &axis) ||
        !value_is_int(count->op->operands[0], &counted) ||
        !poly_split(check->arena, start, id, &apart, &first) ||
        !poly_split(check->arena, step, count, &goes, &rest) || !poly_is_zero(rest))
        return;
    if (axis != counted) {
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_LOOP_STEP, loop,
            "programs along axis %lld take turns in this loop, and its step counts those along "
            "axis %lld",
            (long long)axis, (long long)counted);
        check_relate(check, said, count->op, "counted here");
        return;
    }
    // a step of several blocks may have a loop of its own for these
    bool is_shorter = !poly_equal(apart, goes) && poly_divide_exact(check->arena, apart, goes);
    if (!is_shorter) return;
    Diagnostic *said =
        check_report(check, DIAGNOSTIC_LOOP_STEP, loop,
                     "programs begin %s apart, and each goes on by %s for each program: elements "
                     "are taken more than once",
                     poly_print(check->arena, apart), poly_print(check->arena, goes));
    check_relate(check, said, count->op, "counted here");
}

void check_turns(Check *check) {
    if (!check->is_entry) return;
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->code == OP_FOR && !op->call && !check_is_optional(op)) check_turn(check, op);
    }
}
