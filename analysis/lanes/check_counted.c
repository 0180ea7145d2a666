// What masked lanes come to: from the `other` of a load to a sum along the masked axis that counts them.
#include <math.h>

#include "analysis/addresses/affine.h"
#include "analysis/checks/check.h"

enum {
    MOST_FOLLOWED = 200,
    MOST_OTHER = 64,  // what is larger stands for an infinity
};

typedef enum LaneKind {
    LANE_NUMBER,  // `number`
    LANE_HUGE,    // an infinity, or what stands for one
    LANE_OPEN,    // a value that nothing makes 0
} LaneKind;

/// A value whose masked lanes are known.
typedef struct Lane {
    const Value *value;
    LaneKind kind;
    double number;
    const Op *lost;  // LANE_OPEN: where 0 was lost
    bool is_grown;   // it went through an exponential
} Lane;

typedef struct LaneSearch {
    Check *check;
    const Access *access;
    unsigned axes;  // of the tile, one along which the mask differs
    LIST(Lane) lanes;
    Map known;  // Value -> its place + 1
} LaneSearch;

/* ---- masks ---- */

static unsigned axes_of_comparison(Check *check, const Op *op, int rank) {
    unsigned axes = 0;
    for (int side = 0; side < 2; side++) {
        Affine form = affine_by(check->former, op->operands[side]);
        if (!form.known) return 0;
        for (int k = 0; k < form.rank; k++)
            if (!poly_is_zero(form.lane[k])) axes |= 1u << (rank - form.rank + k);
    }
    return axes;
}

/// The axes along which an `and` of comparisons differs; 0 where it is something else.
static unsigned axes_of_mask(Check *check, Value *mask, int rank, int depth) {
    enum { DEEPEST = 8 };
    const Value *value = check_strip(mask);
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST || mask->type.rank > rank) return 0;
    bool is_spread = op->result_count != 1 || op->results[0]->type.rank != mask->type.rank;
    if (is_spread) return 0;
    if (op_is_ordering(op->code)) return axes_of_comparison(check, op, rank);
    if (!op_has(op->code, TRAIT_BOTH)) return 0;
    unsigned left = axes_of_mask(check, op->operands[0], rank, depth + 1);
    unsigned right = axes_of_mask(check, op->operands[1], rank, depth + 1);
    return left && right ? left | right : 0;
}

/* ---- lanes ---- */

static const Lane *lane_of(const LaneSearch *search, const Value *value) {
    uintptr_t at = (uintptr_t)map_get_pointer(&search->known, value);
    return at ? &search->lanes.items[at - 1] : NULL;
}

static void add_lane(LaneSearch *search, Lane lane) {
    if (!lane.value || lane_of(search, lane.value) || search->lanes.count == MOST_FOLLOWED) return;
    LIST_PUSH(search->check->arena, &search->lanes, lane);
    map_set_pointer(&search->known, lane.value, (void *)(uintptr_t)search->lanes.count);
}

/// A statistic of the row: the same along the masked axes, and no constant.
static bool is_statistic(const LaneSearch *search, const Value *value, int rank) {
    if (!value || value->constant || value->type.kind != TYPE_NUMBER ||
        !dtype_is_float(value->type.element))
        return false;
    for (int i = 1; i <= value->type.rank && i <= rank; i++) {
        const Poly *dim = value->type.dims[value->type.rank - i];
        int64_t number;
        bool is_one = dim && poly_is_constant(dim, &number) && number == 1;
        if (!is_one && (search->axes >> (rank - i) & 1)) return false;
    }
    return true;
}

static bool number_of(const Value *value, double *number) {
    return value && value_is_number(value, number);
}

/// Adds what a number and a statistic give; false where the operation is not followed.
static bool with_statistic(const Op *use, const Lane *lane, bool is_left, Lane *next) {
    if (lane->kind == LANE_HUGE) {
        *next = *lane;
        return use->code == OP_ADD || use->code == OP_SUB;
    }
    next->lost = use;
    next->kind = LANE_OPEN;
    switch (use->code) {
    case OP_ADD:
    case OP_SUB: return true;
    case OP_MUL:
    case OP_DIV:
        if (use->code == OP_DIV && !is_left) return false;
        *next = *lane;
        return lane->kind == LANE_OPEN || lane->number == 0;
    default: return false;
    }
}

static bool with_number(const Op *use, const Lane *lane, bool is_left, double other, Lane *next) {
    *next = *lane;
    if (lane->kind != LANE_NUMBER)
        return use->code == OP_ADD || use->code == OP_SUB ||
               ((use->code == OP_MUL || (use->code == OP_DIV && is_left)) && other != 0);
    double a = is_left ? lane->number : other, b = is_left ? other : lane->number;
    switch (use->code) {
    case OP_ADD: next->number = a + b; break;
    case OP_SUB: next->number = a - b; break;
    case OP_MUL: next->number = a * b; break;
    case OP_DIV: next->number = a / b; break;
    default: return false;
    }
    return isfinite(next->number);
}

static bool with_lane(const Op *use, const Lane *left, const Lane *right, Lane *next) {
    bool both = left->kind == LANE_NUMBER && right->kind == LANE_NUMBER;
    if (both) return with_number(use, left, true, right->number, next);
    if (left->kind == LANE_HUGE || right->kind == LANE_HUGE) return false;
    *next = left->kind == LANE_OPEN ? *left : *right;
    if (use->code != OP_MUL) return false;
    bool has_zero = (left->kind == LANE_NUMBER && left->number == 0) ||
                    (right->kind == LANE_NUMBER && right->number == 0);
    if (has_zero) *next = (Lane){.kind = LANE_NUMBER};
    // a value times itself is 0 only where it is
    return has_zero || left->value == right->value;
}

static bool through_one(const Op *use, const Lane *lane, Lane *next) {
    *next = *lane;
    if (check_is_stripped(use)) return use->results[0]->type.rank == lane->value->type.rank;
    if (use->code == OP_EXP || use->code == OP_EXP2) {
        if (lane->kind == LANE_HUGE) return false;
        next->is_grown = true;
        if (lane->kind == LANE_NUMBER) next->number = exp(lane->number);
        return lane->kind == LANE_OPEN;
    }
    if (use->code == OP_NEG || use->code == OP_ABS) {
        next->number = use->code == OP_NEG ? -lane->number : fabs(lane->number);
        return true;
    }
    return false;
}

static void follow(LaneSearch *search, const Op *use, const Lane *lane) {
    Lane next = {0};
    const Value *left = use->operands[0], *right = use->operand_count > 1 ? use->operands[1] : NULL;
    bool is_binary = use->operand_count == 2 && op_rows[use->code].shape == SHAPE_BROADCAST;
    bool fits = false;
    double number;
    if (!is_binary) {
        fits = use->result_count == 1 && left == lane->value && through_one(use, lane, &next);
    } else if (right) {
        bool is_left = left == lane->value;
        const Value *other = is_left ? right : left;
        const Lane *beside = lane_of(search, other);
        if (beside)
            fits = with_lane(use, is_left ? lane : beside, is_left ? beside : lane, &next);
        else if (number_of(other, &number))
            fits = with_number(use, lane, is_left, number, &next);
        else if (is_statistic(search, other, search->access->op->results[0]->type.rank))
            fits = with_statistic(use, lane, is_left, &next);
    }
    if (!fits || use->results[0]->type.rank != lane->value->type.rank) return;
    next.value = use->results[0];
    add_lane(search, next);
}

/* ---- sums ---- */

static bool sums_axis(const LaneSearch *search, const Op *op) {
    int rank = search->access->op->results[0]->type.rank;
    if (op->code != OP_SUM || op->operands[0]->type.rank != rank) return false;
    Value *axis_value = check_operand(op, "axis");
    int64_t axis;
    if (!axis_value) return true;
    if (!value_is_int(axis_value, &axis)) return false;
    return search->axes >> (axis < 0 ? axis + rank : axis) & 1;
}

/// The result of a loop that adds these terms up, beginning with zeros.
static const Value *summed_up(Check *check, const Op *use) {
    const Op *end = use, *loop = use->parent->parent;
    if (use->code != OP_ADD || !loop || loop->code != OP_FOR) return NULL;
    const Op *yield = region_terminator(loop->regions[0]);
    Carried *carried = NULL;
    for (int i = 0; yield && i < yield->operand_count; i++) {
        if (yield->operands[i] != end->results[0]) continue;
        double start;
        carried = loop_classify(check->arena, loop);
        bool is_sum = carried[i].class == CARRIED_SUM && carried[i].link_count == 1;
        const Value *first = loop->operands[3 + i];
        bool from_zero = value_is_number(first, &start) && start == 0;
        if (first->op && first->op->code == OP_FULL) {
            const Value *fill = check_operand(first->op, "value");
            from_zero = fill && value_is_number(fill, &start) && start == 0;
        }
        return is_sum && from_zero ? loop->results[i] : NULL;
    }
    return NULL;
}

static void tell(LaneSearch *search, const Lane *lane, const Op *sum) {
    Check *check = search->check;
    Diagnostic *said;
    if (lane->kind == LANE_HUGE)
        said = check_report(check, DIAGNOSTIC_MASKED_LANES_COUNTED, sum,
                            "masked lanes read %g, and this sum counts them: take them out with "
                            "`tl.where`",
                            lane->number);
    else if (lane->is_grown)
        said = check_report(check, DIAGNOSTIC_MASKED_LANES_COUNTED, search->access->op,
                            "masked lanes read `other`, whose exponential a sum counts: give "
                            "`other=-float(\"inf\")`");
    else
        said = check_report(check, DIAGNOSTIC_MASKED_LANES_COUNTED, lane->lost,
                            "masked lanes are no longer 0 here, and a sum counts them: take them "
                            "out with `tl.where`");
    check_relate(check, said, lane->kind == LANE_HUGE ? search->access->op : sum,
                 lane->kind == LANE_HUGE ? "loaded here" : "counted here");
}

static void trace(LaneSearch *search) {
    for (int i = 0; i < search->lanes.count; i++) {
        const Uses *uses = check_uses(search->check, search->lanes.items[i].value);
        for (LIST_EACH(int, u, uses->list)) {
            const Lane lane = search->lanes.items[i];  // the list may move
            const Op *use = uses->list.items[u];
            if (lane.kind != LANE_NUMBER && sums_axis(search, use)) {
                tell(search, &lane, use);
                return;
            }
            const Value *total = lane.kind != LANE_NUMBER ? summed_up(search->check, use) : NULL;
            if (total) {
                Lane next = lane;
                next.value = total;
                add_lane(search, next);
            } else {
                follow(search, use, &lane);
            }
        }
    }
}

void check_counted_lanes(Check *check) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        double other;
        if (access->op->code != OP_LOAD || !access->mask || access->mask->constant ||
            access->op->operands[0]->type.kind != TYPE_POINTER ||
            access->op->results[0]->type.rank == 0 ||
            !number_of(check_operand(access->op, "other"), &other))
            continue;
        int rank = access->op->results[0]->type.rank;
        unsigned axes = axes_of_mask(check, access->mask, rank, 0);
        // what is summed along one axis counts what is masked along it, whatever the mask is along others
        for (int axis = 0; axis < rank; axis++) {
            if (!(axes >> axis & 1)) continue;
            LaneSearch search = {.check = check,
                                 .access = access,
                                 .axes = 1u << axis,
                                 .known = map_new(check->arena)};
            add_lane(&search, (Lane){.value = access->op->results[0],
                                     .kind = fabs(other) > MOST_OTHER ? LANE_HUGE : LANE_NUMBER,
                                     .number = other});
            trace(&search);
        }
    }
}
