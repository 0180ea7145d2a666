// From a parameter to what its addresses depend on, in the concrete forward.
#include "gpu-runner/prove/certain.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/ir/walk.h"
#include "analysis/parameters/roles.h"

typedef struct Reliance {
    const Problem *problem;
    Arena *arena;
    Map seen;
    const char *parameter;
    bool of_any_launch;  // numbers are open, too
    const void *source;  // the tensor whose sizes decided so far, or NULL
    bool is_open;        // a place depends on memory, or on a caller's choice
} Reliance;

static void follow(Reliance *reliance, const Value *value);

static void take_source(Reliance *reliance, const void *source, bool has_sources) {
    bool is_other = source && reliance->source && source != reliance->source;
    if (has_sources || is_other) reliance->is_open = true;
    if (source) reliance->source = source;
}

static void follow_op(Reliance *reliance, const Op *op) {
    int effects = op_rows[op->code].effects;
    if (effects & (EFFECT_READS | EFFECT_ATOMIC | EFFECT_RANDOM)) reliance->is_open = true;
    for (int i = 0; i < op->operand_count; i++) follow(reliance, op->operands[i]);
    for (int r = 0; r < op->region_count; r++) {
        const Op *end = region_terminator(op->regions[r]);
        for (int i = 0; end && i < end->operand_count; i++) follow(reliance, end->operands[i]);
    }
}

static void follow(Reliance *reliance, const Value *value) {
    if (!value || reliance->is_open || map_has_pointer(&reliance->seen, value)) return;
    map_set_pointer(&reliance->seen, value, (void *)1);
    const PlanConfiguration *configuration = reliance->problem->configuration;
    if (value->op) {
        follow_op(reliance, value->op);
    } else if (value->region && value->region->parent) {
        follow_op(reliance, value->region->parent);
    } else if (value->index < configuration->argument_count) {
        const PlanArgument *argument = &configuration->arguments[value->index];
        bool is_number = argument->kind == ARGUMENT_INTEGER || argument->kind == ARGUMENT_FLOAT;
        if (argument->is_caller_choice || (reliance->of_any_launch && is_number))
            reliance->is_open = true;
        if (is_number && !reliance->of_any_launch)
            take_source(reliance, argument->source, argument->has_sources);
    }
}

/// The conditions and loops that an access is under. A loop's own condition does not decide about what it reads.
static void follow_surroundings(Reliance *reliance, const Op *op) {
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent) {
        const Op *outer = region->parent;
        int bounds = outer->code == OP_FOR || outer->code == OP_STATIC_FOR ? 3
                     : outer->code == OP_IF                                ? 1
                                                                           : 0;
        for (int i = 0; i < bounds && i < outer->operand_count; i++)
            follow(reliance, outer->operands[i]);
    }
}

static bool visit_access(void *context, Op *op) {
    Reliance *reliance = context;
    if (!op_is_access(op)) return true;
    Access access = access_of(reliance->arena, op);
    const PlanConfiguration *configuration = reliance->problem->configuration;
    int index = access.parameter ? access.parameter->index : -1;
    if (index >= configuration->argument_count) index = -1;
    Str wanted = str_from(reliance->parameter);
    if (index >= 0 && !str_equal(configuration->arguments[index].name, wanted)) return true;
    if (index < 0) reliance->is_open = true;  // it may be this buffer
    follow(reliance, op->operands[0]);
    follow(reliance, access.mask);
    follow_surroundings(reliance, op);
    return !reliance->is_open;
}

static bool places_are_sure(Reliance *reliance) {
    if (!reliance->parameter || reliance->is_open) return false;
    reliance->seen = map_new(reliance->arena);
    region_walk(reliance->problem->forward->body, visit_access, reliance);
    return !reliance->is_open;
}

bool places_are_launched(Arena *arena, const Problem *problem, const char *parameter,
                         bool is_sized) {
    const PlanConfiguration *configuration = problem->configuration;
    Reliance reliance = {.problem = problem, .arena = arena, .parameter = parameter};
    if (!configuration->is_passed) return false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        take_source(&reliance, configuration->grid_source[axis],
                    configuration->has_grid_sources[axis]);
    // a constexpr is a number in the kernel by now: it may be anywhere
    for (int i = 0; parameter && i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind == ARGUMENT_CONSTANT || (is_sized && str_is(argument->name, parameter)))
            take_source(&reliance, argument->source, argument->has_sources);
        bool is_chosen_number = argument->kind == ARGUMENT_CONSTANT &&
                                argument->constant->kind == CONSTANT_INT &&
                                argument->is_caller_choice;
        // it may have to fit one of the tensors
        if (is_chosen_number && !configuration->is_launch) return false;
    }
    return places_are_sure(&reliance);
}

bool places_are_the_programs(Arena *arena, const Problem *problem, const char *parameter) {
    Reliance reliance = {
        .problem = problem, .arena = arena, .parameter = parameter, .of_any_launch = true};
    return places_are_sure(&reliance);
}

typedef struct ContentSearch {
    const Problem *problem;
    Arena *arena;
    int line;
    bool by_branches;  // what an access stands in counts, too
    bool any, all;     // accesses of the line; whether made-up integers decide each
} ContentSearch;

static bool is_made_up(Content content) {
    return content.kind == CONTENT_SMALL || content.kind == CONTENT_MONOTONE ||
           content.kind == CONTENT_DISTINCT || content.kind == CONTENT_PARTS;
}

/// A load of whole numbers that nobody but the configuration put there.
static intptr_t reads_made_up(ValueWalk *walk, const Value *value) {
    const ContentSearch *search = walk->context;
    if (!value) return false;
    Op *op = value->op ? value->op : value->region ? value->region->parent : NULL;
    if (!op) return false;
    if (op->code == OP_LOAD && value_is_of_integers(value)) {
        const PlanConfiguration *configuration = search->problem->configuration;
        Access access = access_of(search->arena, op);
        int index = access.parameter ? access.parameter->index : -1;
        if (index >= 0 && index < configuration->argument_count &&
            is_made_up(configuration->arguments[index].content))
            return true;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && walk_ask(walk, op->operands[i])) return true;
    for (int r = 0; r < op->region_count; r++) {
        const Op *end = region_terminator(op->regions[r]);
        for (int i = 0; end && i < end->operand_count; i++)
            if (walk_ask(walk, end->operands[i])) return true;
    }
    return false;
}

static bool is_read_made_up(const ContentSearch *search, const Value *value) {
    return value && walk_from(value, reads_made_up, false, search);
}

/// Whether a branch or a loop around the access asks for them.
static bool is_under_made_up(const ContentSearch *search, const Op *op) {
    for (op = op->parent->parent; op && search->by_branches; op = op->parent->parent)
        for (int i = 0; i < op->operand_count && (i == 0 || op->code != OP_IF); i++)
            if (is_read_made_up(search, op->operands[i])) return true;
    return false;
}

static bool visit_place(void *context, Op *op) {
    ContentSearch *search = context;
    if (!op_is_access(op) || !op->range.source || range_line(op->range) != search->line)
        return true;
    search->any = true;
    Access access = access_of(search->arena, op);
    search->all =
        search->all && (is_read_made_up(search, op->operands[0]) ||
                        is_read_made_up(search, access.mask) || is_under_made_up(search, op));
    return true;
}

bool places_are_made_up(Arena *arena, const Problem *problem, const Findings *findings,
                        FindingKind kind) {
    int count = 0;
    for (LIST_EACH(int, i, *findings)) {
        ContentSearch search = {.problem = problem,
                                .arena = arena,
                                .line = findings->items[i].line,
                                .by_branches = kind == FINDING_RACE,
                                .all = true};
        if (findings->items[i].kind != kind) continue;
        region_walk(problem->forward->body, visit_place, &search);
        if (!search.any || !search.all) return false;
        count++;
    }
    return count > 0;
}

typedef struct UnmaskedSearch {
    int line;
    bool is_found;
} UnmaskedSearch;

static bool visit_whole(void *context, Op *op) {
    UnmaskedSearch *search = context;
    bool is_there = op_is_access(op) && op->range.source && range_line(op->range) == search->line;
    int mask = is_there ? op_parameter_index(op->code, STR("mask")) : -1;
    if (is_there && (mask < 0 || mask >= op->operand_count || !op->operands[mask]))
        search->is_found = true;
    return !search->is_found;
}

bool counts_on_whole_blocks(const Function *forward, const Findings *findings) {
    int count = 0;
    for (LIST_EACH(int, i, *findings)) {
        UnmaskedSearch search = {findings->items[i].line, false};
        if (findings->items[i].kind != FINDING_OUT_OF_BOUNDS) continue;
        region_walk(forward->body, visit_whole, &search);
        if (!search.is_found) return false;
        count++;
    }
    return count > 0;
}
