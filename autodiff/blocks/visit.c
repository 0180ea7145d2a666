// The statements of a kernel in; which dimensions they join, which origins these have, and what sums along them out.
#include "autodiff/blocks/origins.h"

#include "analysis/ir/walk.h"

/* ---- nodes ---- */

int node_root(Blocks *blocks, int node) {
    int *parents = blocks->parents.items;
    while (parents[node] != node) node = parents[node] = parents[parents[node]];
    return node;
}

int nodes_of(Blocks *blocks, const Value *value) {
    void *known = map_get_pointer(&blocks->nodes, value);
    if (known) return (int)(intptr_t)known - 1;
    int first = blocks->parents.count;
    for (int i = 0; i < value->type.rank; i++) {
        LIST_PUSH(blocks->arena, &blocks->parents, first + i);
        LIST_PUSH(blocks->arena, &blocks->labels, LABELS_NONE);
    }
    map_set_pointer(&blocks->nodes, value, (void *)(intptr_t)(first + 1));
    return first;
}

static const char several_origins[] = "lanes of one axis are at several places at once";

static void origins_stay(Blocks *blocks, int first, int second) {
    block_stays(blocks, blocks->origins.items[first].symbol, several_origins);
    block_stays(blocks, blocks->origins.items[second].symbol, several_origins);
}

static void label_node(Blocks *blocks, int node, int origin) {
    int *label = &blocks->labels.items[node_root(blocks, node)];
    if (*label >= 0 && origin >= 0 && *label != origin) origins_stay(blocks, *label, origin);
    if (*label < 0) *label = origin;
}

static void join_nodes(Blocks *blocks, int a, int b) {
    a = node_root(blocks, a);
    b = node_root(blocks, b);
    if (a == b) return;
    label_node(blocks, a, blocks->labels.items[b]);
    blocks->parents.items[b] = a;
}

static bool dim_is_one(const Poly *dim) {
    int64_t number;
    return dim && poly_is_constant(dim, &number) && number == 1;
}

/// Tiles whose dims have other names are taken to be of one size: so they have to stay.
static bool dims_meet(Blocks *blocks, const Value *a, int d, const Value *b, int k) {
    const Poly *first = a->type.dims[d], *second = b->type.dims[k];
    if (dim_is_one(first) || dim_is_one(second)) return false;
    if (poly_equal(first, second)) return true;
    type_stays(blocks, &a->type, "tiles of another name have to be of its size");
    type_stays(blocks, &b->type, "tiles of another name have to be of its size");
    return true;
}

/// Dim `d` of one value lies along dim `k` of another.
static void join_dims(Blocks *blocks, const Value *a, int d, const Value *b, int k) {
    if (!dims_meet(blocks, a, d, b, k)) return;
    join_nodes(blocks, nodes_of(blocks, a) + d, nodes_of(blocks, b) + k);
}

/* ---- uses ---- */

static Affine form_of(Blocks *blocks, Value *value) { return affine_by(blocks->former, value); }

/// What a statement does with a value whose axes are the last of `result`'s; NULL: it has no result to join.
static void use(Blocks *blocks, Value *value, const Value *result) {
    if (!value || value->constant) return;
    if (value->op && value->op->code == OP_TUPLE) {
        for (int i = 0; i < value->op->operand_count; i++)
            use(blocks, value->op->operands[i], NULL);
        return;
    }
    bool is_affine = value_is_affine(blocks, value);
    int labels[TYPE_MAX_RANK], shift = result ? result->type.rank - value->type.rank : 0;
    if (is_affine) {
        Affine form = form_of(blocks, value);
        if (form.known)
            form_use(blocks, &form, &value->type, labels, NULL);
        else
            type_stays(blocks, &value->type, "an address is not understood");
        if (!form.known) return;
    }
    for (int d = 0; result && shift >= 0 && d < value->type.rank; d++) {
        if (!is_affine)
            join_dims(blocks, value, d, result, d + shift);
        else if (dims_meet(blocks, value, d, result, d + shift) && labels[d] >= 0)
            label_node(blocks, nodes_of(blocks, result) + d + shift, labels[d]);
    }
}

static void use_all(Blocks *blocks, const Op *op, const Value *result) {
    for (int i = 0; i < op->operand_count; i++) use(blocks, op->operands[i], result);
}

static void stays(Blocks *blocks, const Op *op) {
    const char *name = op_rows[op->code].name, *why = "an operation works on whole tiles of it";
    if (name) why = arena_printf(blocks->arena, "`%s` works on whole tiles of it", name);
    use_all(blocks, op, NULL);
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]) type_stays(blocks, &op->operands[i]->type, why);
    for (int i = 0; i < op->result_count; i++) type_stays(blocks, &op->results[i]->type, why);
}

/* ---- comparisons and masks ---- */

/// a - b, axes from the right.
static bool difference_of(Blocks *blocks, Value *a, Value *b, Affine *form) {
    if (!value_is_affine(blocks, a) || !value_is_affine(blocks, b)) return false;
    Affine left = form_of(blocks, a), right = form_of(blocks, b);
    *form = left.rank >= right.rank ? left : right;
    form->base = poly_subtract(blocks->arena, left.base, right.base);
    for (int k = 1; k <= form->rank; k++) {
        const Poly *zero = poly_constant(blocks->arena, 0);
        form->lane[form->rank - k] =
            poly_subtract(blocks->arena, k <= left.rank ? left.lane[left.rank - k] : zero,
                          k <= right.rank ? right.lane[right.rank - k] : zero);
        if (!form->lane[form->rank - k]) return false;
    }
    return form->base != NULL;
}

/// Notes a comparison that holds for the elements of one origin below an end.
static void note_end(Blocks *blocks, const Op *op, const Affine *form, const int *labels,
                     const Poly *rest) {
    int axis = -1;
    int64_t number;
    for (int k = 0; k < form->rank; k++)
        if (labels[k] >= 0 && poly_is_constant(form->lane[k], &number) && number == 1 && axis < 0)
            axis = k;
        else if (!poly_is_zero(form->lane[k]))
            return;
    if (axis < 0) return;
    Arena *arena = blocks->arena;
    bool is_weak = op->code == OP_LE || op->code == OP_GE;
    MaskEnd *end = ARENA_NEW(arena, MaskEnd);
    *end = (MaskEnd){labels[axis], poly_subtract(arena, poly_constant(arena, is_weak), rest)};
    map_set_pointer(&blocks->ends, op->results[0], end);
}

static void visit_comparison(Blocks *blocks, const Op *op) {
    const Value *result = op->results[0];
    if (visit_middle(blocks, op)) return;
    bool is_upper = op->code == OP_LT || op->code == OP_LE;
    Affine form;
    Value *a = op->operands[is_upper ? 0 : 1], *b = op->operands[is_upper ? 1 : 0];
    if (!difference_of(blocks, a, b, &form)) {
        use_all(blocks, op, result);
        return;
    }
    for (int i = 0; i < 2; i++)
        for (int d = 1; d <= op->operands[i]->type.rank; d++)
            dims_meet(blocks, op->operands[i], op->operands[i]->type.rank - d, result,
                      result->type.rank - d);
    int labels[TYPE_MAX_RANK];
    const Poly *rest;
    form_use(blocks, &form, &result->type, labels, &rest);
    for (int k = 0; k < result->type.rank; k++)
        if (labels[k] >= 0) label_node(blocks, nodes_of(blocks, result) + k, labels[k]);
    if (op->code != OP_EQ && op->code != OP_NE) note_end(blocks, op, &form, labels, rest);
}

typedef struct EndSearch {
    const Blocks *blocks;
    int origin;
} EndSearch;

static intptr_t find_end(ValueWalk *walk, const Value *mask) {
    const EndSearch *search = walk->context;
    const MaskEnd *end = map_get_pointer(&search->blocks->ends, mask);
    if (end) return end->origin == search->origin ? (intptr_t)end->end : 0;
    if (!mask->op) return 0;
    Value *const *x = mask->op->operands;
    switch (mask->op->code) {
    case OP_AND:
    case OP_LOGICAL_AND: {
        intptr_t first = walk_ask(walk, x[0]);
        return first ? first : walk_ask(walk, x[1]);
    }
    case OP_CAST:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO: return walk_ask(walk, x[0]);
    default: return 0;
    }
}

const Poly *mask_end_of(const Blocks *blocks, const Value *mask, int origin) {
    const EndSearch search = {blocks, origin};
    return mask ? (const Poly *)walk_from(mask, find_end, 0, &search) : NULL;
}

/* ---- memory ---- */

static void note_mask(Blocks *blocks, int index, const Value *mask) {
    Origin *origin = &blocks->origins.items[index];
    const Poly *end = mask_end_of(blocks, mask, index);
    if (!end || (origin->mask_end && !poly_equal(end, origin->mask_end)))
        origin->is_unmasked = true;
    if (end) origin->mask_end = end;
}

/// A load, a store, an addition: `tile` has its lanes.
static void visit_access(Blocks *blocks, Op *op, const Value *tile) {
    Access access = access_by(blocks->former, op);
    Value *pointer = op->operands[0];
    int labels[TYPE_MAX_RANK];
    if (!access.offset.known) {
        stays(blocks, op);
        return;
    }
    form_use(blocks, &access.offset, &pointer->type, labels, NULL);
    for (int i = 1; i < op->operand_count; i++) use(blocks, op->operands[i], tile);
    for (int k = 0; k < pointer->type.rank && k < access.offset.rank; k++) {
        if (labels[k] < 0) continue;
        if (tile->type.rank == pointer->type.rank && dims_meet(blocks, pointer, k, tile, k))
            label_node(blocks, nodes_of(blocks, tile) + k, labels[k]);
        else
            block_stays(blocks, blocks->origins.items[labels[k]].symbol, several_origins);
        note_mask(blocks, labels[k], access.mask);
    }
}

/* ---- sums ---- */

static void note_reduction(Blocks *blocks, Op *op, const Value *value, int dim) {
    bool is_other;
    Value *symbol = block_dim(blocks, value->type.dims[dim], &is_other);
    if (is_other) type_stays(blocks, &value->type, "a tile has another multiple of it");
    if (symbol)
        LIST_PUSH(blocks->arena, &blocks->reductions,
                  ((Reduction){op, nodes_of(blocks, value) + dim, symbol}));
}

static void visit_dot(Blocks *blocks, Op *op) {
    Value *a = op->operands[0], *b = op->operands[1], *sum = op->operands[2],
          *result = op->results[0];
    int rank = result->type.rank;
    if (rank < 2 || a->type.rank != rank || b->type.rank != rank || value_is_affine(blocks, a) ||
        value_is_affine(blocks, b)) {
        stays(blocks, op);
        return;
    }
    for (int d = 0; d < rank - 2; d++) {
        join_dims(blocks, a, d, result, d);
        join_dims(blocks, b, d, result, d);
    }
    join_dims(blocks, a, rank - 2, result, rank - 2);
    join_dims(blocks, b, rank - 1, result, rank - 1);
    join_dims(blocks, a, rank - 1, b, rank - 2);
    use(blocks, sum, result);
    note_reduction(blocks, op, a, rank - 1);
}

static void visit_sum(Blocks *blocks, Op *op) {
    Value *tile = op->operands[0], *result = op->results[0];
    Value *along = op->operands[1];
    int64_t axis = 0;  // without one all of a tile is summed
    bool is_all = tile->type.rank == 1 && (!along || value_is_none(along));
    bool is_plain =
        (is_all || (along && value_is_int(along, &axis))) && !value_is_affine(blocks, tile);
    if (!is_plain || result->type.rank != tile->type.rank - 1) {
        stays(blocks, op);
        return;
    }
    if (axis < 0) axis += tile->type.rank;
    for (int d = 0; d < tile->type.rank; d++)
        if (d != axis) join_dims(blocks, tile, d, result, d - (d > axis));
    note_reduction(blocks, op, tile, (int)axis);
}

/* ---- shapes ---- */

static void visit_expand_dims(Blocks *blocks, const Op *op) {
    const Value *tile = op->operands[0], *result = op->results[0];
    int64_t axis;
    if (!op->operands[1] || !value_is_int(op->operands[1], &axis) ||
        result->type.rank != tile->type.rank + 1) {
        stays(blocks, op);
        return;
    }
    if (axis < 0) axis += result->type.rank;
    for (int d = 0; d < tile->type.rank; d++) join_dims(blocks, tile, d, result, d + (d >= axis));
}

static void visit_transposed(Blocks *blocks, const Op *op) {
    const Value *tile = op->operands[0], *result = op->results[0];
    bool is_plain = op->operand_count < 2 || (op->operand_count == 2 && !op->operands[1]);
    if (tile->type.rank != 2 || !is_plain) {
        stays(blocks, op);
        return;
    }
    for (int d = 0; d < 2; d++) join_dims(blocks, tile, d, result, 1 - d);
}

/* ---- regions ---- */

static void visit_branch(Blocks *blocks, const Op *op) {
    use(blocks, op->operands[0], NULL);
    for (int i = 0; i < op->result_count; i++)
        for (int r = 0; r < op->region_count; r++)
            use(blocks, region_terminator(op->regions[r])->operands[i], op->results[i]);
}

static void visit_for(Blocks *blocks, const Op *op) {
    int index = origin_of_loop(blocks, op);
    const Region *body = op->regions[0];
    for (int i = 0; i < 3; i++) {
        const Origin *origin = index < 0 ? NULL : &blocks->origins.items[index];
        bool is_read = origin && (i == 2 || (i == 0 && origin->kind == ORIGIN_OWNERS) ||
                                  (i == 1 && (origin->counts_blocks)));
        if (!is_read) use(blocks, op->operands[i], NULL);
    }
    if (index >= 0 && blocks->origins.items[index].end)
        poly_use(blocks, blocks->origins.items[index].end);
    for (int i = 0; i < op->result_count; i++) {
        Value *argument = body->arguments[1 + i];
        use(blocks, op->operands[3 + i], argument);
        use(blocks, region_terminator(body)->operands[i], argument);
        use(blocks, argument, op->results[i]);
    }
}

/// Affine numbers are asked about where they are used.
static bool is_arithmetic(Blocks *blocks, const Op *op) {
    OpCode code = op->code;
    bool is_sum = code == OP_ADD || code == OP_SUB || code == OP_NEG,
         is_number = code == OP_MUL || code == OP_CAST || code == OP_ARANGE,
         has_axes = code == OP_EXPAND_DIMS || code == OP_BROADCAST_TO || code == OP_TRANS;
    if (!is_sum && !is_number && !has_axes) return false;
    Value *result = op->results[0];
    if (!value_is_affine(blocks, result)) return false;
    Affine form = form_of(blocks, result);
    bool is_narrow = result->type.kind == TYPE_NUMBER && dtype_bits(result->type.element.code) < 32;
    bool is_atom = !result->type.rank && form.base->count == 1 &&
                   form.base->terms[0].atom_count == 1 && form.base->terms[0].atoms[0]->op &&
                   form.base->terms[0].atoms[0]->op->code == op->code;
    return form.known && !is_narrow && !is_atom;
}

static bool is_elementwise(const Op *op) {
    const OpRow *row = &op_rows[op->code];
    bool is_shaped = row->shape == SHAPE_SAME || row->shape == SHAPE_BROADCAST;
    bool is_by_lane = op->code == OP_FLOORDIV || op->code == OP_CAST || op->code == OP_WHERE;
    return is_shaped && op->result_count == 1 && !row->effects &&
           (row->has_value || is_by_lane || (row->traits & (TRAIT_LOGICAL | TRAIT_INTEGERS)));
}

static bool visit(void *context, Op *op) {
    Blocks *blocks = context;
    bool is_number = !map_has_pointer(&blocks->read, op) || op->code == OP_TILE_INDEX;
    if (is_number) return true;  // of tiles, and asked about where it is read
    for (int i = 0; i < op->result_count; i++) {
        bool is_other = false;
        const Type *type = &op->results[i]->type;
        for (int d = 0; d < type->rank && !is_other; d++)
            block_dim(blocks, type->dims[d], &is_other);
        if (is_other) type_stays(blocks, type, "a tile has another multiple of it");
    }
    if (op->result_count == 1 && op->results[0]->constant) return true;
    if (op->result_count == 1 && is_arithmetic(blocks, op)) return true;
    Value *rounded;  // asked about where it is used
    if (op->result_count == 1 && rounded_up(blocks, op->results[0], &rounded)) return true;
    if (op_rows[op->code].traits & TRAIT_COMPARES) {
        visit_comparison(blocks, op);
        return true;
    }
    switch (op->code) {
    case OP_CONSTANT:
    case OP_TUPLE:
    case OP_YIELD: return true;  // asked about where they are read
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS:
    case OP_ARANGE: return true;  // so are numbers of programs and lanes
    case OP_IS_NONE:
    case OP_DTYPE_OF:
    case OP_ELEMENT_TYPE_OF: return true;  // of a tensor, whatever its blocks
    case OP_DEBUG_BARRIER: return true;
    case OP_STATIC_ASSERT:
        if (visit_assertion(blocks, op)) return true;
        break;
    case OP_FULL: use(blocks, op->operands[1], op->results[0]); return true;
    case OP_LOAD: visit_access(blocks, op, op->results[0]); return true;
    case OP_STORE:
    case OP_ATOMIC_ADD: visit_access(blocks, op, op->operands[1]); return true;
    case OP_DOT: visit_dot(blocks, op); return true;
    case OP_SUM: visit_sum(blocks, op); return true;
    case OP_EXPAND_DIMS: visit_expand_dims(blocks, op); return true;
    case OP_TRANS: visit_transposed(blocks, op); return true;
    case OP_BROADCAST_TO: use(blocks, op->operands[0], op->results[0]); return true;
    case OP_IF: visit_branch(blocks, op); return true;
    case OP_FOR: visit_for(blocks, op); return true;
    default: break;
    }
    if (visit_quotient(blocks, op)) return true;
    bool is_hint = op_rows[op->code].kind == KIND_HINT && op->result_count == 1;
    if (is_hint && value_is_affine(blocks, op->results[0])) return true;  // asked about where read
    if (is_hint)
        use(blocks, op->operands[0], op->results[0]);
    else if (is_elementwise(op))
        use_all(blocks, op, op->results[0]);
    else
        stays(blocks, op);
    return true;
}

/* ---- what is read ---- */

typedef struct ReadSearch {
    Blocks *blocks;
    LIST(Op *) ops;
} ReadSearch;

static bool visit_op(void *context, Op *op) {
    ReadSearch *search = context;
    LIST_PUSH(search->blocks->arena, &search->ops, op);
    return true;
}

static bool is_counted(const Blocks *blocks, const Value *value) {
    for (int axis = PROGRAM_AXES; axis < BLOCK_AXES; axis++)
        if (blocks->counts[axis] == value) return true;
    return false;
}

/// All but what is there to number tiles alone: these numbers are an OP_TILE_INDEX, and a count.
static void find_read(Blocks *blocks) {
    ReadSearch search = {.blocks = blocks};
    region_walk(blocks->function->body, visit_op, &search);
    for (int i = search.ops.count - 1; i >= 0; i--) {
        Op *op = search.ops.items[i];
        bool is_root = !op->result_count || op->region_count || op_rows[op->code].effects;
        if (is_root) map_set_pointer(&blocks->read, op, blocks);
        bool is_leaf = op->code == OP_TILE_INDEX || visit_assertion(blocks, op);
        if (!map_has_pointer(&blocks->read, op) || is_leaf) continue;
        for (int k = 0; k < op->operand_count; k++) {
            const Value *operand = op->operands[k];
            if (operand && operand->op && !is_counted(blocks, operand))
                map_set_pointer(&blocks->read, operand->op, blocks);
        }
    }
}

void statements_visit(Blocks *blocks) {
    find_read(blocks);
    region_walk(blocks->function->body, visit, blocks);
}
