// A loop in; out how many of its iterations may be in flight, as a parameter, and what each of them loads.
#include "autodiff/schedule/stages.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/ir/walk.h"
#include "autodiff/tape/tape.h"

static const char stages_keyword[] = "num_stages";

typedef struct LoopTraffic {
    Arena *arena;
    LIST(const Value *) loaded, stored;  // parameters
    int tiles;                           // loads of more than one element
    bool is_bound;  // its iterations have to run as they stand: something else is done in them
} LoopTraffic;

static bool visit_traffic(void *context, Op *op) {
    LoopTraffic *traffic = context;
    int effects = op_rows[op->code].effects;
    traffic->is_bound |=
        op_is_loop(op->code) || op_is_product(op->code) || (effects & EFFECT_ORDERED);
    if (!op_is_access(op)) return true;
    const Value *parameter = access_of(traffic->arena, op).parameter;
    traffic->is_bound |= parameter == NULL;
    if (op->code == OP_LOAD) {
        LIST_PUSH(traffic->arena, &traffic->loaded, parameter);
        traffic->tiles += op->results[0]->type.rank > 0;
    } else {
        LIST_PUSH(traffic->arena, &traffic->stored, parameter);
    }
    return true;
}

static LoopTraffic traffic_of(Arena *arena, const Op *loop) {
    LoopTraffic traffic = {.arena = arena};
    region_walk(loop->regions[0], visit_traffic, &traffic);
    for (LIST_EACH(int, i, traffic.loaded))
        for (LIST_EACH(int, k, traffic.stored))
            traffic.is_bound |= traffic.loaded.items[i] == traffic.stored.items[k];
    return traffic;
}

static void add_parameter(Differentiation *state) {
    Type whole = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32), .is_constexpr = true};
    Value *stages = state->parts.stages = backward_add_parameter(state, "STAGES", whole);
    Parameter *parameter = &state->backward->parameters[stages->index];
    parameter->is_constexpr = true;
    parameter->default_text = STR("1");
}

void stages_add(Differentiation *state, Op *loop) {
    LoopTraffic traffic = traffic_of(state->arena, loop);
    if (traffic.is_bound || traffic.tiles == 0) return;
    if (!state->parts.stages) add_parameter(state);
    loop->keywords = ARENA_NEW(state->arena, Keyword);
    loop->keywords[0] = (Keyword){stages_keyword, state->parts.stages};
    loop->keyword_count = 1;
}

typedef struct RowLoops {
    Arena *arena;
    LIST(Op *) loops;
} RowLoops;

static bool visit_row_loop(void *context, Op *op) {
    RowLoops *rows = context;
    int64_t first;
    bool is_whole = op->code == OP_FOR && value_is_int(op->operands[0], &first);
    if (is_whole && op->keyword_count == 0) LIST_PUSH(rows->arena, &rows->loops, op);
    return true;
}

void stages_add_to_rows(Differentiation *state) {
    RowLoops rows = {.arena = state->arena};
    region_walk(state->backward->body, visit_row_loop, &rows);
    for (LIST_EACH(int, i, rows.loops)) stages_add(state, rows.loops.items[i]);
}

/* ---- what a launch says ---- */

typedef struct StagesSearch {
    Function *backward;
    BackwardLaunch *launch;
    LIST(const char *) tensors;
    int loop_first;  // the first one of the loop that is looked at
    bool is_said;    // each tensor of the loop has a name where the launch stands
    Map readers;
} StagesSearch;

/// Whether of what is loaded nobody asks more than whether it is 0, or it is known to be narrow: the launch looks at its type.
static bool is_flag(const StagesSearch *search, const Op *load) {
    const Value *value = load->results[0];
    const DType element = value->type.element;
    if (element.code != DTYPE_UNKNOWN && element.code != DTYPE_OF_PARAMETER)
        return dtype_bits(element.code) <= 8;
    const OpList *readers = value_readers(&search->readers, value);
    for (LIST_EACH(int, i, *readers)) {
        const Op *op = readers->items[i];
        bool is_asked = op->code == OP_NE || op->code == OP_EQ ||
                        (op->code == OP_WHERE && op->operands[0] == value) ||
                        (op->result_count == 1 && op->results[0]->type.element.code == DTYPE_INT1);
        if (!is_asked) return false;
    }
    return true;
}

static int argument_of(const StagesSearch *search, const Value *value) {
    for (int i = 0; i < search->launch->argument_count; i++)
        if (search->backward->parameters[i].value == value) return i;
    return -1;
}

static bool visit_load(void *context, Op *op) {
    StagesSearch *search = context;
    if (op->code != OP_LOAD || op->results[0]->type.rank == 0) return true;
    int index = argument_of(search, access_of(search->backward->arena, op).parameter);
    const BackwardArgument *argument = index < 0 ? NULL : &search->launch->arguments[index];
    bool is_input = argument && argument->use == ARGUMENT_SAME;
    search->is_said &= is_input || (argument && argument->use == ARGUMENT_UPSTREAM);
    search->launch->has_bytes |= is_flag(search, op);
    if (!search->is_said) return false;
    const char *name = is_input ? argument->of : argument->name;
    bool is_known = false;  // another loop loads it as well
    for (int i = 0; i < search->loop_first; i++)
        is_known = is_known || strcmp(search->tensors.items[i], name) == 0;
    if (!is_known) LIST_PUSH(search->backward->arena, &search->tensors, name);
    return true;
}

static bool visit_loop(void *context, Op *op) {
    StagesSearch *search = context;
    for (int i = 0; i < op->keyword_count; i++) {
        int index = argument_of(search, op->keywords[i].value);
        if (index < 0 || search->launch->arguments[index].use != ARGUMENT_STAGES) continue;
        search->loop_first = search->tensors.count;
        region_walk(op->regions[0], visit_load, search);
    }
    return true;
}

void stages_describe(Function *backward, BackwardLaunch *launch) {
    StagesSearch search = {.backward = backward,
                           .launch = launch,
                           .is_said = true,
                           .readers = function_readers(backward->arena, backward)};
    region_walk(backward->body, visit_loop, &search);
    launch->has_bytes &= search.is_said;
    if (!search.is_said) return;
    launch->stages = search.tensors.items;
    launch->stage_count = search.tensors.count;
}
