// The largest tile of a kernel in, its elements as Python over the forward's constexprs out.
#include "autodiff/plan/tile_size.h"

#include <string.h>

#include "analysis/addresses/affine_axes.h"
#include "autodiff/addresses/place.h"

typedef struct TileSizes {
    Arena *arena;
    LIST(const Poly *) sizes;
    bool has_dot;  // what the operands of products need is another matter
} TileSizes;

static bool visit_tile(void *context, Op *op) {
    TileSizes *tiles = context;
    tiles->has_dot = tiles->has_dot || op_is_product(op->code);
    for (int i = 0; i < op->result_count; i++) {
        const Type *type = &op->results[i]->type;
        const Poly *size = poly_constant(tiles->arena, 1);
        for (int d = 0; d < type->rank && size; d++)
            size = type->dims[d] ? poly_multiply(tiles->arena, size, type->dims[d]) : NULL;
        if (type->rank == 0 || !size) continue;
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

void tile_size_describe(Arena *arena, const Function *backward, BackwardLaunch *launch) {
    TileSizes tiles = {.arena = arena};
    region_walk(backward->body, visit_tile, &tiles);
    const Poly *size = tiles.has_dot ? NULL : largest(&tiles);
    if (!size || size->count != 1 || size->terms[0].atom_count == 0) return;
    const Monomial *product = &size->terms[0];
    Buffer out = buffer_new(arena);
    if (product->coefficient != 1) buffer_printf(&out, "%lld", (long long)product->coefficient);
    for (int i = 0; i < product->atom_count; i++) {
        const char *name = constexpr_name(backward, launch, product->atoms[i]);
        if (!name) return;
        buffer_printf(&out, "%s%s", out.size ? " * " : "", name);
    }
    launch->tile = buffer_text(&out);
}
