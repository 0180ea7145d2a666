// The largest tiles of a kernel in, their elements as Python over the forward's constexprs out, and the tensors that they are of.
#include "autodiff/plan/tile_size.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "autodiff/addresses/place.h"

typedef struct TileSizes {
    Arena *arena;
    LIST(const Poly *) sizes;
    bool has_dot;  // what the operands of products need is another matter
} TileSizes;

/// The elements of a tile, or NULL.
static const Poly *size_of(Arena *arena, const Type *type) {
    const Poly *size = type->rank ? poly_constant(arena, 1) : NULL;
    for (int d = 0; d < type->rank && size; d++)
        size = type->dims[d] ? poly_multiply(arena, size, type->dims[d]) : NULL;
    return size;
}

static bool visit_tile(void *context, Op *op) {
    TileSizes *tiles = context;
    tiles->has_dot = tiles->has_dot || op_is_product(op->code);
    for (int i = 0; i < op->result_count; i++) {
        const Poly *size = size_of(tiles->arena, &op->results[i]->type);
        if (!size) continue;
        bool is_known = false;
        for (LIST_EACH(int, k, tiles->sizes))
            is_known = is_known || poly_equal(tiles->sizes.items[k], size);
        if (!is_known) LIST_PUSH(tiles->arena, &tiles->sizes, size);
    }
    return true;
}

/// The size that no other exceeds, or NULL where that depends.
static const Poly *largest(const TileSizes *tiles) {
    for (LIST_EACH(int, i, tiles->sizes)) {
        bool is_most = true;
        for (LIST_EACH(int, k, tiles->sizes))
            is_most =
                is_most && sizes_are_nonnegative(tiles->arena,
                                                 poly_subtract(tiles->arena, tiles->sizes.items[i],
                                                               tiles->sizes.items[k]));
        if (is_most) return tiles->sizes.items[i];
    }
    return NULL;
}

/// The name that the launch knows a constexpr by, or NULL.
static const char *constexpr_name(const Function *backward, const BackwardLaunch *launch,
                                  const Value *atom) {
    for (int i = 0; i < launch->argument_count; i++)
        if (backward->parameters[i].value == atom && launch->arguments[i].use == ARGUMENT_SAME)
            return launch->arguments[i].of;
    return NULL;
}

/// The name of a constexpr, or of its quotient by a number: "D", "D // 2". NULL: the atom is another one.
static const char *factor_name(Arena *arena, const Function *backward, const BackwardLaunch *launch,
                               const Value *atom) {
    int64_t divisor;
    const Op *op = atom->op;
    if (!op) return constexpr_name(backward, launch, atom);
    if (op->code != OP_FLOORDIV || !value_is_int(op->operands[1], &divisor) || divisor < 2)
        return NULL;
    const char *name = constexpr_name(backward, launch, op->operands[0]);
    return name ? arena_printf(arena, "%s // %lld", name, (long long)divisor) : NULL;
}

/// Loads of tiles of one size, in the body of one loop or outside of loops.
typedef struct BodyLoads {
    const Op *loop;
    LIST(const char *) tensors;
} BodyLoads;

typedef struct LoadSearch {
    Arena *arena;
    const Function *backward;
    const BackwardLaunch *launch;
    const Poly *size;
    LIST(BodyLoads) bodies;
} LoadSearch;

static BodyLoads *body_around(LoadSearch *search, const Op *op) {
    const Op *loop = op->parent->parent;
    while (loop && !op_is_loop(loop->code)) loop = loop->parent->parent;
    for (LIST_EACH(int, i, search->bodies))
        if (search->bodies.items[i].loop == loop) return &search->bodies.items[i];
    LIST_PUSH(search->arena, &search->bodies, (BodyLoads){.loop = loop});
    return &search->bodies.items[search->bodies.count - 1];
}

static bool visit_load(void *context, Op *op) {
    LoadSearch *search = context;
    if (op->code != OP_LOAD) return true;
    const Poly *size = size_of(search->arena, &op->results[0]->type);
    const Value *parameter = access_of(search->arena, op).parameter;
    if (!parameter || !size || !poly_equal(size, search->size)) return true;
    for (int i = 0; i < search->launch->argument_count; i++) {
        const BackwardArgument *argument = &search->launch->arguments[i];
        bool is_named = argument->use == ARGUMENT_SAME || argument->use == ARGUMENT_UPSTREAM;
        if (search->backward->parameters[i].value != parameter || !is_named) continue;
        const char *name = argument->use == ARGUMENT_SAME ? argument->of : argument->name;
        LIST_PUSH(search->arena, &body_around(search, op)->tensors, name);
    }
    return true;
}

/// The tensors that one body loads most tiles of that size of: these are in registers together.
static void describe_loads(Arena *arena, const Function *backward, const Poly *size,
                           BackwardLaunch *launch) {
    LoadSearch search = {.arena = arena, .backward = backward, .launch = launch, .size = size};
    region_walk(backward->body, visit_load, &search);
    for (LIST_EACH(int, i, search.bodies)) {
        const BodyLoads *body = &search.bodies.items[i];
        if (body->tensors.count <= launch->loaded_count) continue;
        launch->loaded = body->tensors.items;
        launch->loaded_count = body->tensors.count;
    }
}

/// Whether a product is the elements of a tile of runs: the launch chooses as many as the forward's block has.
static bool is_run_tile(const Function *backward, const BackwardLaunch *launch,
                        const Monomial *product) {
    int count = 0;
    for (int i = 0; i < launch->argument_count; i++)
        for (int k = 0; k < product->atom_count; k++)
            count += launch->arguments[i].use == ARGUMENT_RUN_TILE &&
                     backward->parameters[i].value == product->atoms[k];
    return count == 2 && product->atom_count == 2 && product->coefficient == 1;
}

void tile_size_read_apart(Arena *arena, BackwardLaunch *launch) {
    enum { AS_MANY = 16 };
    if (launch->tile) launch->tile = arena_printf(arena, "%d * %s", AS_MANY, launch->tile);
}

typedef struct AddSearch {
    Arena *arena;
    const Poly *size;
    int count;
    bool has_other;  // loops, and lanes that meet: what they wait for is not the additions alone
} AddSearch;

/// Whether lanes go on by equal steps, as far as that is known.
static bool goes_by_steps(Arena *arena, Op *op) {
    const Access access = access_of(arena, op);
    return access.offset.known && !access.offset.wrapped;
}

static bool visit_add(void *context, Op *op) {
    AddSearch *search = context;
    search->has_other |=
        op_is_loop(op->code) || op_parameter_index(op->code, STR("keep_dims")) >= 0;
    const Poly *size =
        op->code == OP_ATOMIC_ADD ? size_of(search->arena, &op->operands[0]->type) : NULL;
    search->count += size && poly_equal(size, search->size) && !goes_by_steps(search->arena, op);
    return true;
}

/// How many times as large the tile counts as it is, for what its lanes add here and there, in a kernel that does nothing else at length.
static int times_for_adds(Arena *arena, const Function *backward, const Poly *size) {
    enum { FEW_ADDS = 3, TIMES = 8 };
    AddSearch search = {.arena = arena, .size = size};
    region_walk(backward->body, visit_add, &search);
    return search.count == 0 || search.has_other ? 1 : search.count <= FEW_ADDS ? TIMES : 2 * TIMES;
}

void tile_size_describe(Arena *arena, const Function *backward, BackwardLaunch *launch) {
    TileSizes tiles = {.arena = arena};
    region_walk(backward->body, visit_tile, &tiles);
    const Poly *size = tiles.has_dot ? NULL : largest(&tiles);
    if (!size || size->count != 1 || size->terms[0].atom_count == 0) return;
    const Monomial *product = &size->terms[0];
    Buffer out = buffer_new(arena);
    if (product->coefficient != 1) buffer_printf(&out, "%lld", (long long)product->coefficient);
    bool is_alone = product->atom_count == 1 && !out.size;
    bool is_of_runs = launch->flat_lanes && is_run_tile(backward, launch, product);
    for (int i = 0; i < product->atom_count && !is_of_runs; i++) {
        const char *name = factor_name(arena, backward, launch, product->atoms[i]);
        if (!name) return;
        bool is_quotient = !is_alone && strchr(name, '/');
        buffer_printf(&out, is_quotient ? "%s(%s)" : "%s%s", out.size ? " * " : "", name);
    }
    launch->tile = is_of_runs ? launch->flat_lanes : buffer_text(&out);
    int times = times_for_adds(arena, backward, size);
    if (times > 1) launch->tile = arena_printf(arena, "%d * %s", times, launch->tile);
    describe_loads(arena, backward, size, launch);
}
