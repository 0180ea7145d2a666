#include "analysis/cost/footprint.h"

#include <math.h>

#include "analysis/cost/counter.h"
#include "analysis/cost/footprint_walk.h"

/* ---- places ---- */

static void place_region(FootprintWalk *walk, const Region *region) {
    for (Op *op = region->first; op; op = op->next) {
        walk->start[op->id] = walk->places++;
        for (int i = 0; i < op->region_count; i++) place_region(walk, op->regions[i]);
        walk->end[op->id] = op->region_count ? walk->places++ : walk->start[op->id];
        LIST_PUSH(walk->arena, &walk->ops, op);
        if (op->region_count == 0) counter_take(&walk->counter, op);
    }
}

static void use(FootprintWalk *walk, const Value *value, const Op *op) {
    if (!value || value->id < 0 || value->id >= walk->function->value_count) return;
    int at = walk->start[op->id];
    for (const Op *around = op->parent->parent; around; around = around->parent->parent)
        if (op_is_loop(around->code) && !region_defines(around->regions[0], value) &&
            !(around->region_count > 1 && region_defines(around->regions[1], value)))
            at = walk->end[around->id];
    LaidTile *tile = &walk->tiles[value->id];
    if (at > tile->to) tile->to = at;
}

static void define(FootprintWalk *walk, const Value *value, int at) {
    LaidTile *tile = &walk->tiles[value->id];
    Type type = value->type;
    tile->from = tile->to = at;
    tile->rank = type.rank;
    tile->elements = 1;
    tile->bits = type.kind == TYPE_POINTER ? 64 : footprint_bits(walk, type.element);
    tile->is_address = type.kind == TYPE_POINTER;
    tile->is_tile = type.rank > 0 && (type.kind == TYPE_NUMBER || type.kind == TYPE_POINTER);
    if (type.rank > TYPE_MAX_RANK) walk->is_open = true;
    for (int i = 0; i < type.rank && i < TYPE_MAX_RANK; i++) {
        tile->shape[i] = 1;
        bool is_length = type.dims[i] && poly_is_constant(type.dims[i], &tile->shape[i]);
        walk->is_open |= tile->is_tile && !is_length;
        tile->elements *= tile->shape[i];
    }
}

/// What is in no registers: numbers all alike, and products that add by themselves.
static void set_aside(FootprintWalk *walk, const Op *op) {
    bool is_filled = op->code == OP_FULL || op->code == OP_BROADCAST_TO;
    if (is_filled && op->result_count) walk->tiles[op->results[0]->id].is_elsewhere = true;
    bool adds = op->code == OP_ADD && op->result_count == 1;
    for (int k = 0; adds && k < 2; k++)
        if (op->operands[k] && op->operands[k]->op && op->operands[k]->op->code == OP_DOT)
            walk->tiles[op->operands[k]->id].is_elsewhere = true;
}

static void define_all(FootprintWalk *walk) {
    for (int i = 0; i < walk->function->body->argument_count; i++)
        define(walk, walk->function->body->arguments[i], 0);
    for (LIST_EACH(int, i, walk->ops)) {
        const Op *op = walk->ops.items[i];
        for (int k = 0; k < op->result_count; k++) define(walk, op->results[k], walk->end[op->id]);
        for (int r = 0; r < op->region_count; r++)
            for (int k = 0; k < op->regions[r]->argument_count; k++)
                define(walk, op->regions[r]->arguments[k], walk->start[op->id]);
    }
    for (LIST_EACH(int, i, walk->ops)) {
        const Op *op = walk->ops.items[i];
        for (int k = 0; k < op->operand_count; k++) use(walk, op->operands[k], op);
        set_aside(walk, op);
    }
}

int footprint_bits(const FootprintWalk *walk, DType element) {
    enum { USUAL = 32 };
    if (element.code == DTYPE_OF_PARAMETER && element.parameter >= 0 &&
        element.parameter < walk->function->parameter_count)
        return walk->counter.launch->bits[element.parameter]
                   ? walk->counter.launch->bits[element.parameter]
                   : 8 * FOOTPRINT_OPEN_BYTES;
    return element.code > DTYPE_OF_PARAMETER ? dtype_bits(element.code) : USUAL;
}

const Value *footprint_operand(const Op *op, const char *name) {
    int index = op_parameter_index(op->code, str_from(name));
    return index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
}

/* ---- accesses ---- */

enum { ALIGNED = 16 };

/// The largest power of two, up to `ALIGNED`, that divides it.
static int64_t divisor_of_number(double number) {
    int64_t divisor = 1, whole = (int64_t)fabs(number);
    if (whole == 0) return ALIGNED;
    while (divisor < ALIGNED && whole % (2 * divisor) == 0) divisor *= 2;
    return divisor;
}

static int64_t divisor_of_atom(const FootprintWalk *walk, const Value *atom) {
    double number = counter_number(&walk->counter, atom);
    if (!isnan(number)) return divisor_of_number(number);
    if (atom->op || !atom->region) return 1;
    const Op *loop = atom->region->parent;
    if (!loop) return ALIGNED;  // a parameter
    double step = loop->operand_count > 2 ? counter_number(&walk->counter, loop->operands[2]) : NAN;
    return isnan(step) ? 1 : divisor_of_number(step);
}

static int64_t divisor_of(const FootprintWalk *walk, const Poly *poly) {
    int64_t divisor = ALIGNED;
    for (int i = 0; i < poly->count; i++) {
        int64_t of_term = divisor_of_number((double)poly->terms[i].coefficient);
        for (int k = 0; k < poly->terms[i].atom_count && of_term < ALIGNED; k++)
            of_term *= divisor_of_atom(walk, poly->terms[i].atoms[k]);
        if (of_term < divisor) divisor = of_term;
    }
    return divisor;
}

/// The axis along which neighbours are one element apart, or -1.
static int unit_axis(FootprintWalk *walk, const Affine *offset, const Type *shape) {
    int open = -1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        const Poly *lane = i < offset->rank ? offset->lane[i] : NULL;
        int64_t length;
        if (!lane || poly_is_zero(lane)) continue;
        if (shape->dims[i] && poly_is_constant(shape->dims[i], &length) && length == 1) continue;
        double stride = counter_poly(&walk->counter, lane);
        if (stride == 1) return i;
        if (isnan(stride) && open < 0 && lane->count == 1 && lane->terms[0].atom_count == 1)
            open = i;
    }
    return open;
}

AccessReach footprint_reach(FootprintWalk *walk, Op *op) {
    enum { WIDEST = 128 };
    Type shape = work_access_shape(walk->arena, op);
    AccessReach reach = {
        .run = 1, .fastest = shape.rank ? shape.rank - 1 : 0, .rank = shape.rank, .elements = 1};
    reach.bits = footprint_bits(walk, shape.element);
    for (int i = 0; i < shape.rank && i < TYPE_MAX_RANK; i++) {
        reach.shape[i] = 1;
        if (!shape.dims[i] || !poly_is_constant(shape.dims[i], &reach.shape[i]))
            walk->is_open = true;
        reach.elements *= reach.shape[i];
    }
    if (shape.rank == 0 || shape.rank > TYPE_MAX_RANK) return reach;
    int64_t widest = reach.bits ? WIDEST / reach.bits : 1;
    reach.is_block = op->operands[0]->type.kind != TYPE_POINTER;
    Access access = access_by(walk->former, op);
    int axis = reach.is_block        ? shape.rank - 1
               : access.offset.known ? unit_axis(walk, &access.offset, &shape)
                                     : -1;
    if (axis >= 0) {
        int64_t divisor = reach.is_block ? ALIGNED : divisor_of(walk, access.offset.base);
        for (int i = 0; !reach.is_block && i < access.offset.rank; i++)
            if (i != axis && access.offset.lane[i] && !poly_is_zero(access.offset.lane[i])) {
                int64_t other = divisor_of(walk, access.offset.lane[i]);
                if (other < divisor) divisor = other;
            }
        reach.fastest = axis;
        reach.run = divisor < widest ? divisor : widest;
        if (reach.run > reach.shape[axis]) reach.run = reach.shape[axis];
    }
    reach.width = reach.run * reach.bits;
    int64_t share = reach.elements / (WARP_LANES * walk->options.warps);
    reach.is_spread = share >= 1;
    if (reach.run > share) reach.run = share ? share : 1;
    reach.layout =
        layout_blocked(reach.shape, reach.rank, reach.fastest, reach.run, walk->options.warps);
    return reach;
}

/* ---- what is in shared memory ---- */

void footprint_buffer(FootprintWalk *walk, int64_t bytes, int from, int to) {
    if (bytes <= 0) return;
    SharedBuffer buffer = {bytes, from, to};
    LIST_PUSH(walk->arena, &walk->buffers, buffer);
}

static int64_t peak_of(const FootprintWalk *walk) {
    int64_t peak = 0;
    for (LIST_EACH(int, i, walk->buffers)) {
        int at = walk->buffers.items[i].from;
        int64_t sum = 0;
        for (LIST_EACH(int, k, walk->buffers)) {
            const SharedBuffer *other = &walk->buffers.items[k];
            if (other->from <= at && at <= other->to) sum += other->bytes;
        }
        if (sum > peak) peak = sum;
    }
    return peak;
}

/* ---- registers ---- */

/// Words of 32 bits that a thread holds of a tile, or of a scalar.
static double words_of(const FootprintWalk *walk, const LaidTile *tile) {
    enum { WORD = 32 };
    double threads = (double)WARP_LANES * walk->options.warps;
    if (!tile->is_tile) return tile->bits > WORD ? 2 : 1;
    double held = tile->layout.is_known ? (double)layout_elements(&tile->layout)
                                        : fmax(1, (double)tile->elements / threads);
    return held * tile->bits / WORD;
}

/// Of what is alive at once, at the most. Addresses and scalars are mostly computed where they are used.
static double words_at_once(FootprintWalk *walk) {
    static const double weight_of_address = 0.2, weight_of_scalar = 0.2;
    double *changes = ARENA_ARRAY(walk->arena, double, walk->places + 1), most = 0, now = 0;
    for (int i = 0; i < walk->function->value_count; i++) {
        const LaidTile *tile = &walk->tiles[i];
        if (!tile->bits || tile->to <= tile->from || tile->is_elsewhere) continue;
        double weight = !tile->is_tile     ? weight_of_scalar
                        : tile->is_address ? weight_of_address
                                           : 1;
        changes[tile->from] += weight * words_of(walk, tile);
        changes[tile->to] -= weight * words_of(walk, tile);
    }
    for (int i = 0; i < walk->places; i++) {
        now += changes[i];
        most = fmax(most, now);
    }
    return most;
}

static bool has_product(const FootprintWalk *walk) {
    for (LIST_EACH(int, i, walk->ops))
        if (op_has(walk->ops.items[i]->code, TRAIT_PRODUCT)) return true;
    return false;
}

/// Words that a thread loads in one run through the kernel's text.
static double words_loaded(const FootprintWalk *walk) {
    double sum = 0;
    for (LIST_EACH(int, i, walk->ops)) {
        const Op *op = walk->ops.items[i];
        if (op->code != OP_LOAD && op->code != OP_DESCRIPTOR_LOAD) continue;
        const LaidTile *tile = &walk->tiles[op->results[0]->id];
        if (tile->bits) sum += words_of(walk, tile);
    }
    return sum;
}

/// Words of the largest factor in float32, divided among the threads.
static double words_of_wide_factor(const FootprintWalk *walk) {
    enum { WORD = 32 };
    double most = 0, threads = (double)WARP_LANES * walk->options.warps;
    for (LIST_EACH(int, i, walk->ops)) {
        const Op *op = walk->ops.items[i];
        for (int k = 0; op->code == OP_DOT && k < 2; k++) {
            const LaidTile *tile = &walk->tiles[op->operands[k]->id];
            if (tile->bits >= WORD)
                most = fmax(most, (double)tile->elements * tile->bits / WORD / threads);
        }
    }
    return most;
}

/// A fit to tests/triton/footprint.json. Arithmetic without products is done element by element, so that less is alive at once; what is
/// loaded stays a while as it was in memory. On 9.0 a factor in float32 goes through registers on its way to where products read it.
static double registers_wanted(FootprintWalk *walk) {
    enum { BASE = 16 };
    static const double of_products = 1.1, of_elements = 0.5, of_loads = 0.05, of_wide = 0.7;
    bool is_newest = walk->options.capability >= FOOTPRINT_MOST_CAPABILITY;
    double alive = words_at_once(walk);
    if (has_product(walk))
        return BASE + of_products * alive + (is_newest ? of_wide * words_of_wide_factor(walk) : 0);
    return BASE + of_elements * alive + of_loads * words_loaded(walk) + is_newest;
}

/* ---- all together ---- */

static FootprintWalk walk_new(Arena *arena, const Function *function, const CountedLaunch *launch,
                              FootprintOptions options) {
    int values = function->value_count;
    FootprintWalk walk = {.arena = arena,
                          .function = function,
                          .options = options,
                          .former = former_new(arena),
                          .tiles = ARENA_ARRAY(arena, LaidTile, values + 1),
                          .start = ARENA_ARRAY(arena, int, function->op_count + 1),
                          .end = ARENA_ARRAY(arena, int, function->op_count + 1)};
    walk.counter = (Counter){.arena = arena,
                             .function = function,
                             .launch = launch,
                             .former = walk.former,
                             .program = {-1, -1, -1},
                             .value_count = values,
                             .numbers = ARENA_ARRAY(arena, double, values + 1)};
    for (int i = 0; i < values; i++) walk.counter.numbers[i] = NAN;
    for (int i = 0; i < function->parameter_count; i++)
        counter_set(&walk.counter, function->parameters[i].value, launch->numbers[i]);
    return walk;
}

Footprint footprint_of(Arena *arena, const Function *function, const CountedLaunch *launch,
                       FootprintOptions options) {
    enum { MOST = 255, ALL = 65536 };
    bool is_covered = options.capability >= FOOTPRINT_LEAST_CAPABILITY &&
                      options.capability <= FOOTPRINT_MOST_CAPABILITY;
    if (!is_covered || options.warps < 1 || options.stages < 1) return (Footprint){0};
    FootprintWalk walk = walk_new(arena, function, launch, options);
    place_region(&walk, function->body);
    define_all(&walk);
    if (!walk.is_open) footprint_layouts(&walk);
    if (!walk.is_open) footprint_products(&walk);
    if (walk.is_open) return (Footprint){0};
    double wanted = registers_wanted(&walk);
    double most = fmin(MOST, (double)ALL / (WARP_LANES * options.warps));
    return (Footprint){.is_known = true,
                       .shared = peak_of(&walk),
                       .registers = (int)fmin(wanted, most),
                       .is_capped = wanted > most};
}
