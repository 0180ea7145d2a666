// An index that is bounded in one mask has the same bound wherever it goes into an address, on the axis that it has there.
#include "codeactions/mask_wanted.h"

/// Values that are looked at below one address or mask, and accesses of a kernel, each of which is held against all others.
/// Beyond: nothing is certain.
enum { MOST_STEPS = 400, MOST_ACCESSES = 300 };

/// An index in an address.
typedef struct IndexTerm {
    Placed form;
    const Op *carried;  // the loop that moves the pointer on, or NULL
} IndexTerm;

/// Another access, or the one that is asked about.
typedef struct Masked {
    Op *op;
    int rank;
    bool is_known;  // its address is a sum of `items`, what repeats and scalars
    MaskParts parts;
    LIST(IndexTerm) items;
} Masked;

typedef struct Wanting {
    Arena *arena;
    Former *former;
    LIST(Masked) accesses;
    Masked *now;  // the one whose address is walked
    int steps;
} Wanting;

/// Axes of a value that lies in a tile of `rank`: axis[k] of the tile holds axis k of the value.
typedef struct Placing {
    int axis[TYPE_MAX_RANK];
} Placing;

static Placing placing_whole(void) {
    Placing placing;
    for (int i = 0; i < TYPE_MAX_RANK; i++) placing.axis[i] = i;
    return placing;
}

/// Of an operand with fewer axes: new ones come in front.
static Placing placing_widened(const Placing *placing, int rank, int operand_rank) {
    Placing of_operand = *placing;
    for (int k = 0; k < operand_rank; k++) {
        int from = k + rank - operand_rank;
        of_operand.axis[k] = from >= 0 && from < TYPE_MAX_RANK ? placing->axis[from] : 0;
    }
    return of_operand;
}

/// Of the operand of an operation that only lays values out. False where it does more than add axes.
static bool placing_below(const Op *op, const Placing *placing, Placing *below) {
    int rank = op->results[0]->type.rank, operand_rank = op->operands[0]->type.rank;
    if (op->code == OP_EXPAND_DIMS) {
        int64_t axis;
        if (!op->operands[1] || !value_is_int(op->operands[1], &axis)) return false;
        if (axis < 0) axis += rank;
        *below = *placing;
        for (int k = 0; k < operand_rank; k++) below->axis[k] = placing->axis[k < axis ? k : k + 1];
        return true;
    }
    bool is_plain =
        op->code == OP_CAST || op->code == OP_BROADCAST_TO || op_rows[op->code].kind == KIND_HINT;
    if (is_plain) *below = placing_widened(placing, rank, operand_rank);
    return is_plain;
}

static bool place(Wanting *wanting, Value *value, const Placing *placing, Placed *placed) {
    Affine form = affine_by(wanting->former, value);
    if (!form.known || form.wrapped) return false;
    *placed = (Placed){.base = form.base};
    for (int k = 0; k < form.rank; k++) {
        if (poly_is_zero(form.lane[k])) continue;
        Placing widened = placing_widened(placing, value->type.rank, form.rank);
        int axis = widened.axis[k];
        placed->lane[axis] = form.lane[k];
        placed->extent[axis] = k < value->type.rank ? value->type.dims[k] : NULL;
    }
    return true;
}

static bool has_lanes(const Placed *placed) {
    for (int i = 0; i < TYPE_MAX_RANK; i++)
        if (placed->lane[i]) return true;
    return false;
}

/// The same numbers along their own axes; `in_place`: on the same axes of the tile.
static bool is_same_index(const Placed *a, const Placed *b, bool in_place) {
    if (!poly_equal(a->base, b->base)) return false;
    int i = 0, k = 0;
    for (;; i++, k++) {
        while (i < TYPE_MAX_RANK && !a->lane[i]) i++;
        while (k < TYPE_MAX_RANK && !b->lane[k]) k++;
        if (i == TYPE_MAX_RANK || k == TYPE_MAX_RANK) return i == k;
        if ((in_place && i != k) || !poly_equal(a->lane[i], b->lane[k]) ||
            !poly_equal(a->extent[i], b->extent[k]))
            return false;
    }
}

static bool is_same_part(const MaskPart *a, const MaskPart *b, bool in_place) {
    if (a->value == b->value && in_place && a->code == OP_COUNT) return true;
    return a->code != OP_COUNT && a->code == b->code &&
           is_same_index(&a->left, &b->left, in_place) &&
           is_same_index(&a->right, &b->right, in_place);
}

static bool has_part(const MaskParts *parts, const MaskPart *part) {
    for (LIST_EACH(int, i, parts->list))
        if (is_same_part(&parts->list.items[i], part, true)) return true;
    return false;
}

static bool has_all_parts(const MaskParts *all, const MaskParts *some) {
    for (LIST_EACH(int, i, some->list))
        if (!has_part(all, &some->list.items[i])) return false;
    return true;
}

static void add_part(Arena *arena, MaskParts *parts, const MaskPart *part) {
    if (!has_part(parts, part)) LIST_PUSH(arena, &parts->list, *part);
}

/* ---- masks ---- */

static OpCode turned(OpCode code) {
    switch (code) {
    case OP_LT: return OP_GT;
    case OP_LE: return OP_GE;
    case OP_GT: return OP_LT;
    case OP_GE: return OP_LE;
    default: return code;
    }
}

static MaskPart part_of(Wanting *wanting, Value *value, const Placing *placing) {
    MaskPart part = {.code = OP_COUNT, .value = value};
    const Op *op = value->op;
    if (!op || !op_is_comparison(op->code)) return part;
    Placing left = placing_widened(placing, value->type.rank, op->operands[0]->type.rank);
    Placing right = placing_widened(placing, value->type.rank, op->operands[1]->type.rank);
    if (!place(wanting, op->operands[0], &left, &part.left) ||
        !place(wanting, op->operands[1], &right, &part.right))
        return part;
    part.code = op->code;
    if (!has_lanes(&part.left)) {
        Placed swapped = part.left;
        part.left = part.right;
        part.right = swapped;
        part.code = turned(part.code);
    }
    part.is_bound = has_lanes(&part.left) && !has_lanes(&part.right);
    return part;
}

/// False where the mask is larger than anybody reads.
static bool collect_parts(Wanting *wanting, Value *value, const Placing *placing,
                          MaskParts *parts) {
    bool holds;
    Placing below;
    if (++wanting->steps > MOST_STEPS) return false;
    if (value_is_bool(value, &holds) && holds) return true;
    const Op *op = value->op;
    if (op && op_has(op->code, TRAIT_BOTH)) {
        for (int i = 0; i < 2; i++) {
            below = placing_widened(placing, value->type.rank, op->operands[i]->type.rank);
            if (!collect_parts(wanting, op->operands[i], &below, parts)) return false;
        }
        return true;
    }
    if (op && op->operand_count && op->operands[0] && placing_below(op, placing, &below))
        return collect_parts(wanting, op->operands[0], &below, parts);
    MaskPart part = part_of(wanting, value, placing);
    add_part(wanting->arena, parts, &part);
    return true;
}

/* ---- addresses ---- */

static bool is_bounded(const Wanting *wanting, const Placed *form) {
    for (LIST_EACH(int, i, wanting->accesses)) {
        const MaskParts *parts = &wanting->accesses.items[i].parts;
        for (LIST_EACH(int, k, parts->list)) {
            const MaskPart *part = &parts->list.items[k];
            if (part->is_bound && is_same_index(&part->left, form, false)) return true;
        }
    }
    return false;
}

static bool is_extent(const Placed *form, const Value *atom) {
    for (int i = 0; i < TYPE_MAX_RANK; i++)
        if (form->extent[i] && poly_mentions(form->extent[i], atom)) return true;
    return false;
}

/// Whether adding `start` to an index leaves it the index of a row: a product with a size of the data. A number, a block's length or
/// its multiple makes another index of it.
static bool starts_row(const Poly *start, const Placed *index) {
    for (int t = 0; t < start->count; t++) {
        bool has_size = false;
        for (int a = 0; a < start->terms[t].atom_count; a++) {
            const Value *atom = start->terms[t].atoms[a];
            bool is_parameter = !atom->op && atom->region && !atom->region->parent;
            has_size |= is_parameter && !is_extent(index, atom);
        }
        if (!has_size || start->terms[t].atom_count < 2) return false;
    }
    return true;
}

static bool walk_address(Wanting *wanting, Value *value, const Placing *placing, const Op *carried);

/// Both sides of a sum. Where one is a scalar it may shift the index of the other.
static bool walk_sum(Wanting *wanting, const Op *op, const Placing *placing, const Op *carried) {
    int rank = op->results[0]->type.rank;
    for (int i = 0; i < 2; i++) {
        Value *value = op->operands[i], *other = op->operands[1 - i];
        Placing below = placing_widened(placing, rank, value->type.rank);
        Placing beside = placing_widened(placing, rank, other->type.rank);
        Value *root = NULL;
        Affine start = other->type.kind == TYPE_POINTER
                           ? pointer_affine_of(wanting->arena, other, &root)
                           : affine_by(wanting->former, other);
        Placed form = {0}, shift = {0};
        bool is_number = value->type.kind == TYPE_NUMBER && place(wanting, value, &below, &form);
        bool is_tile = is_number ? has_lanes(&form) : value->type.rank > 0;
        bool is_shift = other->type.kind == TYPE_NUMBER && place(wanting, other, &beside, &shift)
                            ? !has_lanes(&shift)
                            : other->type.rank == 0;
        if (is_tile && is_shift && !(start.known && starts_row(start.base, &form))) return false;
        if (!walk_address(wanting, value, &below, carried)) return false;
    }
    return true;
}

static bool walk_argument(Wanting *wanting, const Value *value, const Placing *placing) {
    const Op *loop = value->region ? value->region->parent : NULL;
    bool counted = loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR);
    if (!counted || value->index == 0 || value->index + 2 >= loop->operand_count) return false;
    return walk_address(wanting, loop->operands[value->index + 2], placing, loop);
}

/// The bounded indices that an address is a sum of. False where something else with lanes is in it.
static bool walk_address(Wanting *wanting, Value *value, const Placing *placing,
                         const Op *carried) {
    Placing below;
    Placed form;
    if (++wanting->steps > MOST_STEPS || !value) return false;
    bool is_number = value->type.kind == TYPE_NUMBER;
    if (value->type.rank == 0) return true;
    if (is_number && place(wanting, value, placing, &form)) {
        if (!has_lanes(&form)) return true;
        if (is_bounded(wanting, &form)) {
            LIST_PUSH(wanting->arena, &wanting->now->items, (IndexTerm){form, carried});
            return true;
        }
    }
    const Op *op = value->op;
    if (!op) return walk_argument(wanting, value, placing);
    if (op->operand_count && op->operands[0] && placing_below(op, placing, &below))
        return walk_address(wanting, op->operands[0], &below, carried);
    switch (op->code) {
    case OP_ADD: return walk_sum(wanting, op, placing, carried);
    case OP_MUL:
        for (int i = 0; i < 2; i++) {
            below = placing_widened(placing, value->type.rank, op->operands[i]->type.rank);
            if (!walk_address(wanting, op->operands[i], &below, carried)) return false;
        }
        return true;
    case OP_LOAD: return walk_address(wanting, op->operands[0], placing, carried);
    case OP_MOD: return true;  // bounded by itself
    case OP_ARANGE:
        if (!place(wanting, value, placing, &form)) return false;
        LIST_PUSH(wanting->arena, &wanting->now->items, (IndexTerm){form, carried});
        return true;
    default: return false;
    }
}

/// Whether no two axes have the same numbers: which of them is bounded would not be known.
static bool items_differ(const Masked *masked) {
    for (LIST_EACH(int, i, masked->items))
        for (int k = 0; k < i; k++)
            if (is_same_index(&masked->items.items[i].form, &masked->items.items[k].form, false) &&
                !is_same_index(&masked->items.items[i].form, &masked->items.items[k].form, true))
                return false;
    return true;
}

static bool visit_access(void *context, Op *op) {
    Wanting *wanting = context;
    if (!op_is_access(op) || op->operands[0]->type.kind != TYPE_POINTER) return true;
    if (wanting->accesses.count > MOST_ACCESSES) return false;
    Access access = access_by(wanting->former, op);
    Masked masked = {.op = op, .rank = op->operands[0]->type.rank, .is_known = true};
    if (access.mask && !value_is_none(access.mask)) {
        Placing whole = placing_whole();
        Placing placing = placing_widened(&whole, masked.rank, access.mask->type.rank);
        wanting->steps = 0;
        masked.is_known = collect_parts(wanting, access.mask, &placing, &masked.parts);
    }
    LIST_PUSH(wanting->arena, &wanting->accesses, masked);
    return true;
}

/* ---- what follows ---- */

/// Whether an index of `masked` is the same as `item`, moved on by the same loop; `*part` in its mask bounds it.
static bool bounds_item(const Masked *masked, const MaskPart *part, const IndexTerm *item) {
    if (!part->is_bound || !is_same_index(&part->left, &item->form, false)) return false;
    for (LIST_EACH(int, i, masked->items)) {
        const IndexTerm *own = &masked->items.items[i];
        if (own->carried == item->carried && is_same_index(&own->form, &part->left, true))
            return true;
    }
    return false;
}

/// The part on the axes of the item.
static MaskPart part_moved(const MaskPart *part, const IndexTerm *item) {
    MaskPart moved = *part;
    moved.left = item->form;
    return moved;
}

static bool has_item(const Masked *masked, const IndexTerm *item) {
    for (LIST_EACH(int, i, masked->items))
        if (is_same_index(&masked->items.items[i].form, &item->form, false)) return true;
    return false;
}

/// The bounds of one item by all masks that bound it. False where two differ, or where no other mask tells that it needs none.
static bool bounds_of_item(const Wanting *wanting, const Masked *target, const IndexTerm *item,
                           MaskParts *bounds) {
    bool is_first = true, is_elsewhere = false;
    for (LIST_EACH(int, i, wanting->accesses)) {
        const Masked *masked = &wanting->accesses.items[i];
        MaskParts own = {0};
        if (masked == target || masked->parts.list.count == 0) continue;
        is_elsewhere |= has_item(masked, item);
        for (LIST_EACH(int, k, masked->parts.list)) {
            const MaskPart *part = &masked->parts.list.items[k];
            bool is_about = part->is_bound && is_same_index(&part->left, &item->form, false);
            if (!is_about) continue;
            if (!masked->is_known || !bounds_item(masked, part, item)) return false;
            MaskPart moved = part_moved(part, item);
            add_part(wanting->arena, &own, &moved);
        }
        if (own.list.count == 0) continue;
        if (is_first)
            *bounds = own;
        else if (!has_all_parts(bounds, &own) || !has_all_parts(&own, bounds))
            return false;
        is_first = false;
    }
    return is_elsewhere;
}

static bool has_same_items(const Masked *a, const Masked *b) {
    if (a->rank != b->rank || a->items.count != b->items.count) return false;
    for (LIST_EACH(int, i, a->items)) {
        bool found = false;
        for (LIST_EACH(int, k, b->items))
            found |= a->items.items[i].carried == b->items.items[k].carried &&
                     is_same_index(&a->items.items[i].form, &b->items.items[k].form, true);
        if (!found) return false;
    }
    return true;
}

static bool shares_item(const Masked *a, const Masked *b) {
    for (LIST_EACH(int, i, a->items))
        if (has_item(b, &a->items.items[i])) return true;
    return false;
}

/// Whether the mask has more in it than bounds of the access's own indices.
static bool has_more(const Masked *masked) {
    for (LIST_EACH(int, i, masked->parts.list)) {
        const MaskPart *part = &masked->parts.list.items[i];
        bool is_own = false;
        for (LIST_EACH(int, k, masked->items))
            is_own |=
                part->is_bound && is_same_index(&part->left, &masked->items.items[k].form, true);
        if (!is_own) return true;
    }
    return false;
}

/// Masks of accesses to the same places decide, where there are any; else no mask of a shared index may have more in it.
static bool others_agree(const Wanting *wanting, const Masked *target, MaskWanted *wanted) {
    const MaskParts *bounds = &wanted->bounds, *rich = NULL;
    bool has_plain = false, is_tainted = false;
    for (LIST_EACH(int, i, wanting->accesses)) {
        const Masked *masked = &wanting->accesses.items[i];
        const MaskParts *parts = &masked->parts;
        if (masked == target || parts->list.count == 0 || !shares_item(masked, target)) continue;
        if (!masked->is_known || !has_same_items(masked, target)) {
            is_tainted |= !masked->is_known || has_more(masked);
        } else if (has_all_parts(parts, bounds)) {
            bool is_plain = has_all_parts(bounds, parts);
            bool differs = rich && (!has_all_parts(rich, parts) || !has_all_parts(parts, rich));
            if (!is_plain && differs) return false;
            has_plain |= is_plain;
            if (!is_plain) rich = parts;
        } else if (!has_all_parts(bounds, parts)) {
            return false;
        }
    }
    if (rich) wanted->bounds = *rich;
    return rich ? !has_plain : has_plain || !is_tainted;
}

static void note_same(const Wanting *wanting, const Masked *target, MaskWanted *wanted) {
    for (LIST_EACH(int, i, wanting->accesses)) {
        const Masked *masked = &wanting->accesses.items[i];
        if (masked != target && masked->rank == target->rank &&
            masked->parts.list.count == wanted->bounds.list.count &&
            has_all_parts(&masked->parts, &wanted->bounds))
            LIST_PUSH(wanting->arena, &wanted->same, masked->op);
    }
}

bool mask_wanted(Arena *arena, const Function *function, Op *access, MaskWanted *wanted) {
    *wanted = (MaskWanted){0};
    Wanting wanting = {.arena = arena, .former = former_new(arena)};
    Masked *target = NULL;
    region_walk(function->body, visit_access, &wanting);
    if (wanting.accesses.count > MOST_ACCESSES) return false;
    for (LIST_EACH(int, i, wanting.accesses)) {
        Placing whole = placing_whole();
        wanting.now = &wanting.accesses.items[i];
        wanting.steps = 0;
        bool is_sum = walk_address(&wanting, wanting.now->op->operands[0], &whole, NULL);
        wanting.now->is_known &= is_sum && items_differ(wanting.now);
        if (wanting.now->op == access) target = wanting.now;
    }
    if (!target || !target->is_known) return false;
    wanted->rank = target->rank;
    for (LIST_EACH(int, i, target->items)) {
        MaskParts bounds = {0};
        if (!bounds_of_item(&wanting, target, &target->items.items[i], &bounds)) return false;
        for (LIST_EACH(int, k, bounds.list))
            add_part(arena, &wanted->bounds, &bounds.list.items[k]);
    }
    if (wanted->bounds.list.count == 0 || !others_agree(&wanting, target, wanted)) return false;
    for (LIST_EACH(int, i, target->parts.list)) {
        const MaskPart *part = &target->parts.list.items[i];
        if (has_part(&wanted->bounds, part)) continue;
        if (part->is_bound) return false;  // it is bounded differently here: which is right?
        add_part(arena, &wanted->kept, part);
    }
    for (LIST_EACH(int, i, wanted->bounds.list)) {
        const MaskPart *part = &wanted->bounds.list.items[i];
        if (!has_part(&target->parts, part)) add_part(arena, &wanted->missing, part);
    }
    note_same(&wanting, target, wanted);
    return true;
}

bool mask_is_wanted(Arena *arena, const Function *function, Op *access, int kept) {
    MaskWanted wanted;
    return mask_wanted(arena, function, access, &wanted) && wanted.missing.list.count == 0 &&
           wanted.kept.list.count == kept;
}
