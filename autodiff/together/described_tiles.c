// A kernel whose loop loads tiles through pointers in; one that loads them by descriptors where the launch may, out.
#include "autodiff/together/described_tiles.h"

#include "autodiff/products/tile_descriptors.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/together/launch_parameter.h"

enum { FEWEST_PRODUCTS = 2 };  // of one product the launch chooses all of the tiles

typedef struct DescribedSearch {
    const Differentiation *state;
    const BackwardLaunch *launch;
    OpList loads;
    DescribedTiles asked;
    DescribedLoads names;  // of what is asked
} DescribedSearch;

/// Whether the loop right around an operation has several products of its own.
static bool is_in_products(const Op *op) {
    const Op *loop = op->parent->parent;
    int products = 0;
    if (!loop || loop->code != OP_FOR) return false;
    for (const Op *each = loop->regions[0]->first; each; each = each->next)
        products += each->code == OP_DOT;
    return products >= FEWEST_PRODUCTS;
}

/// What the Function calls an argument; NULL where it is none that it has at hand.
static const char *argument_name(const Differentiation *state, const BackwardLaunch *launch,
                                 const Value *value) {
    for (int i = 0; i < launch->argument_count && i < state->backward->parameter_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (state->backward->parameters[i].value != value) continue;
        if (argument->use == ARGUMENT_SAME) return argument->of;
        return argument->use == ARGUMENT_UPSTREAM ? argument->name : NULL;
    }
    return NULL;
}

/// What the Function calls each of some arguments; NULL where it does not have one of them at hand.
static const char **names_of(const DescribedSearch *search, const ParameterValues *values) {
    const char **names = ARENA_ARRAY(search->state->arena, const char *, values->count + 1);
    for (LIST_EACH(int, i, *values)) {
        names[i] = argument_name(search->state, search->launch, values->items[i]);
        if (!names[i]) return NULL;
    }
    return names;
}

/// The products as the Function writes them.
static const char **products_of(const DescribedSearch *search, const DescribedTiles *asked) {
    Arena *arena = search->state->arena;
    const char **texts = ARENA_ARRAY(arena, const char *, asked->strides.count + 1);
    for (LIST_EACH(int, i, asked->strides)) {
        const ParameterValues *product = &asked->strides.items[i];
        const char **names = names_of(search, product);
        if (!names) return NULL;
        for (LIST_EACH(int, k, *product))
            texts[i] = k ? arena_printf(arena, "%s * %s", texts[i], names[k]) : names[k];
    }
    return texts;
}

static bool note_names(const DescribedSearch *search, const DescribedTiles *asked,
                       DescribedLoads *loads) {
    *loads = (DescribedLoads){.tensors = names_of(search, &asked->tensors),
                              .tensor_count = asked->tensors.count,
                              .strides = products_of(search, asked),
                              .stride_count = asked->strides.count,
                              .ones = names_of(search, &asked->ones),
                              .one_count = asked->ones.count,
                              .rows = names_of(search, &asked->rows),
                              .row_count = asked->rows.count};
    return loads->tensors && loads->strides && loads->ones && loads->rows;
}

static bool visit_load(void *context, Op *op) {
    DescribedSearch *search = context;
    if (op->code != OP_LOAD || !is_in_products(op)) return true;
    DescribedTiles asked = search->asked;
    DescribedLoads names;
    if (load_has_descriptor(search->state->arena, search->state->backward, op, &asked) &&
        note_names(search, &asked, &names)) {
        search->asked = asked;
        search->names = names;
        LIST_PUSH(search->state->arena, &search->loads, op);
    }
    return true;
}

void tiles_take_descriptors(Differentiation *state, BackwardLaunch *launch) {
    bool is_set = state->options && state->options->wrapper == WRAPPER_AUTOGRAD;
    if (!is_set || !launch->loop || !launch->loop->is_owned) return;
    DescribedSearch search = {.state = state, .launch = launch};
    region_walk(state->backward->body, visit_load, &search);
    if (!search.loads.count) return;
    launch->described = search.names;
    Value *flag =
        launch_add_parameter(state, launch, "DESCRIBED",
                             (BackwardArgument){.use = ARGUMENT_DESCRIBED, .is_constexpr = true});
    for (LIST_EACH(int, i, search.loads))
        load_by_descriptor(state->backward, search.loads.items[i], flag);
}
