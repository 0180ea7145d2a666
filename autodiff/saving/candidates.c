// What a value is good for is not decided here: the derivation is tried with it (saving.c).
#include "autodiff/saving/candidates.h"

#include <string.h>

#include "analysis/ir/walk.h"
#include "analysis/syntax/syntax_nodes.h"

enum { MOST_CANDIDATES = 8 };

typedef struct RowValueSearch {
    Arena *arena;
    const Snapshot *snapshot;
    const Kernel *kernel;
    RowValues found;
} RowValueSearch;

/// Whether a value at the top of the kernel is made of what a loop ends with.
static intptr_t is_of_loop(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || value->constant || (op_rows[op->code].effects & EFFECT_READS)) return false;
    if (op_is_loop(op->code)) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

static bool visit_tile(void *context, Op *op) {
    int *rank = context;
    if (op->code == OP_LOAD && op->results[0]->type.rank > *rank) *rank = op->results[0]->type.rank;
    return true;
}

/// The one place that says what is small: a value has fewer axes than the tiles that the kernel loads.
static bool is_small(const Function *function, const Value *value) {
    int rank = 0;
    region_walk(function->body, visit_tile, &rank);
    return value->type.rank <= 1 && value->type.rank < rank;
}

/// Lanes along an axis that the value may have: a constexpr parameter, or a number.
static bool lanes_of(RowValueSearch *search, const Value *value, int axis, Str *lanes) {
    *lanes = (Str){0};
    if (axis >= value->type.rank) return true;
    const Function *function = search->kernel->function;
    const Poly *size = value->type.dims[axis];
    int64_t number;
    if (size && poly_is_constant(size, &number)) {
        *lanes = str_from(arena_printf(search->arena, "%lld", (long long)number));
        return true;
    }
    for (int i = 0; size && i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        if (!parameter->is_constexpr ||
            !poly_equal(size, poly_atom(search->arena, parameter->value)))
            continue;
        *lanes = str_from(parameter->name);
        return true;
    }
    return false;
}

/// The statement of the kernel's body that holds the range; a null node where there is none.
static SyntaxNode statement_at(const RowValueSearch *search, Range range) {
    const FunctionDefinition *definition = search->kernel->definition;
    const Source *source = definition->module->source;
    Range body = node_range(source, definition->body);
    range = snapshot_range(search->snapshot, range);
    const SyntaxNode none = {0};
    if (range.source != source || range.start < body.start || range.end > body.end) return none;
    SyntaxNode node = node_at(definition->body, range.start, range.start + 1);
    while (!node_is_null(node) && !node_same(node_parent(node), definition->body))
        node = node_parent(node);
    return node;
}

/// Where the kernel's own text has the op: of a helper, where it is called.
static Range place_of(const Op *op) {
    const CallSite *call = op->call;
    while (call && call->outer) call = call->outer;
    return call ? call->range : op->range;
}

static void add(RowValueSearch *search, const Value *value, RowValue candidate) {
    candidate.value = value;
    candidate.statement = statement_at(search, place_of(value->op));
    bool is_known = lanes_of(search, value, 0, &candidate.lanes) &&
                    lanes_of(search, value, 1, &candidate.columns) &&
                    search->found.count < MOST_CANDIDATES;
    if (is_known && !node_is_null(candidate.statement))
        LIST_PUSH(search->arena, &search->found, candidate);
}

static bool is_row(const RowValueSearch *search, const Value *value) {
    bool is_single = value->type.kind == TYPE_NUMBER && !value->type.is_constexpr &&
                     value->type.element.code == DTYPE_FLOAT32;
    return is_single && value->name && str_is_name(str_from(value->name)) && !value->constant &&
           is_small(search->kernel->function, value);
}

static bool visit_base(void *context, Op *op) {
    bool *bases = context;
    bases[0] |= op->code == OP_EXP;
    bases[1] |= op->code == OP_EXP2;
    return true;
}

/// A state that ends as the greater of what it was and something else.
static bool is_maximum(const Op *loop, int index) {
    const Op *yield = region_terminator(loop->regions[0]);
    const Op *next = yield ? yield->operands[index]->op : NULL;
    return next && next->code == OP_MAXIMUM;
}

/// `m + log(l)` for each pair of such states.
static void add_log_sums(RowValueSearch *search, const Op *loop) {
    bool bases[2] = {false, false};
    region_walk(loop->regions[0], visit_base, bases);
    if (bases[0] == bases[1]) return;
    for (int m = 0; m < loop->result_count; m++) {
        const Value *maximum = loop->results[m];
        if (!is_row(search, maximum) || !is_maximum(loop, m)) continue;
        for (int l = 0; l < loop->result_count; l++) {
            const Value *sum = loop->results[l];
            bool is_sum = l != m && is_row(search, sum) && sum->type.rank == maximum->type.rank &&
                          !is_maximum(loop, l);
            if (!is_sum) continue;
            const char *text = arena_printf(search->arena, "%s + tl.%s(%s)", maximum->name,
                                            bases[1] ? "log2" : "log", sum->name);
            add(search, maximum,
                (RowValue){
                    .name = "log_sum", .expression = text, .loop = loop, .is_log_sum = true});
        }
    }
}

// --- What was drawn

static intptr_t is_drawn(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || value->constant || op->region_count) return false;
    if (op_rows[op->code].effects & EFFECT_RANDOM) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

/// Whether random numbers decided it, one for each lane.
static bool is_choice(const RowValueSearch *search, const Value *value) {
    return value->type.kind == TYPE_NUMBER && value->type.rank >= 1 && value->type.rank <= 2 &&
           !value->constant && value->type.element.code == DTYPE_INT1 &&
           walk_from(value, is_drawn, false, NULL) &&
           place_of(value->op).source == search->kernel->definition->module->source;
}

static const char *parameter_name(const RowValueSearch *search, const Value *value) {
    const Function *function = search->kernel->function;
    for (int i = 0; i < function->parameter_count; i++)
        if (function->parameters[i].value == value) return function->parameters[i].name;
    return NULL;
}

/// A value that a helper computes, by what the kernel's own text names; NULL where that does not do. What is written is derived like any
/// other text: a name that is another value by then spares the backward nothing, and is not stored.
static const char *written(const RowValueSearch *search, const Value *value, int depth) {
    enum { DEEPEST = 6 };
    Arena *arena = search->arena;
    int64_t number;
    if (value_is_int(value, &number)) return arena_printf(arena, "%lld", (long long)number);
    const Op *op = value->op;
    if (!op) return parameter_name(search, value);
    if (value->constant || depth == DEEPEST || op->region_count) return NULL;
    bool has_name = value->name && str_is_name(str_from(value->name)) && !op->call;
    if (has_name && !node_is_null(statement_at(search, op->range))) return value->name;
    const OpRow *row = &op_rows[op->code];
    bool is_call = (row->effects & EFFECT_RANDOM) && row->name;
    if (!is_call && (!row->symbol || op->operand_count != 2)) return NULL;
    Buffer out = buffer_new(arena);
    if (is_call) buffer_printf(&out, "tl.%s(", row->name);
    for (int i = 0; i < op->operand_count && op->operands[i]; i++) {
        const char *text = written(search, op->operands[i], depth + 1);
        if (!text) return NULL;
        bool is_word = is_call || str_is_name(str_from(text)) || str_ends(str_from(text), ")");
        buffer_puts(&out, i == 0 ? "" : is_call ? ", " : arena_printf(arena, " %s ", row->symbol));
        buffer_printf(&out, is_word ? "%s" : "(%s)", text);
    }
    if (is_call) buffer_putc(&out, ')');
    return buffer_text(&out);
}

/// By its name; where it has none, as the text computes it, in one line.
static void add_choice(RowValueSearch *search, const Value *value) {
    const char *text = value->name;
    if (value->op->call) {
        text = written(search, value, 0);
        if (!text) return;
    } else if (!text || !str_is_name(str_from(text))) {
        Str slice = source_slice(snapshot_range(search->snapshot, value->op->range));
        if (!slice.size || memchr(slice.data, '\n', slice.size)) return;
        text = str_dup(search->arena, slice);
    }
    const char *name = text == value->name ? text : "drawn";
    add(search, value, (RowValue){.name = name, .expression = text, .is_choice = true});
}

// --- What another value stands for

typedef struct RowValueUses {
    const Value *value, *other;
    bool are_behind;  // all of them are made into the other one
    bool are_any;
} RowValueUses;

static intptr_t is_made_of(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || value->constant || op->region_count) return false;
    const Value *looked_for = walk->context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == looked_for || walk_ask(walk, op->operands[i])) return true;
    return false;
}

static bool visit_use(void *context, Op *op) {
    RowValueUses *uses = context;
    bool is_used = false;
    for (int i = 0; i < op->operand_count; i++) is_used |= op->operands[i] == uses->value;
    if (!is_used) return true;
    uses->are_any = true;
    bool is_other = op->result_count == 1 && op->results[0] == uses->other;
    bool leads = op->result_count == 1 && !op->region_count &&
                 walk_from(uses->other, is_made_of, false, op->results[0]);
    uses->are_behind &= is_other || leads;
    return uses->are_behind;
}

/// Whether the value only serves to make another of the candidates: then that one is the one to store.
static bool is_covered(const RowValueSearch *search, const RowValue *candidate) {
    if (candidate->is_log_sum) return false;
    for (LIST_EACH(int, i, search->found)) {
        const RowValue *other = &search->found.items[i];
        if (other->value == candidate->value || other->is_log_sum ||
            other->is_choice != candidate->is_choice ||
            !str_equal(other->lanes, candidate->lanes) ||
            !str_equal(other->columns, candidate->columns))
            continue;
        RowValueUses uses = {candidate->value, other->value, true, false};
        region_walk(search->kernel->function->body, visit_use, &uses);
        if (uses.are_any && uses.are_behind) return true;
    }
    return false;
}

/// The candidates among what a region computes itself.
static void add_region(RowValueSearch *search, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) {
        bool is_loop = op->code == OP_FOR || op->code == OP_STATIC_FOR;
        if (is_loop) add_log_sums(search, op);
        for (int i = 0; i < op->result_count; i++) {
            const Value *value = op->results[i];
            if (is_row(search, value) && walk_from(value, is_of_loop, false, NULL))
                add(search, value,
                    (RowValue){.name = value->name,
                               .expression = value->name,
                               .loop = is_loop ? op : NULL});
            else if (is_choice(search, value))
                add_choice(search, value);
        }
    }
}

/// What follows an early return: the other side of the branch that a region ends with. NULL: it ends with none.
static const Region *rest_of(const RowValueSearch *search, const Region *region) {
    const Op *end = region_terminator(region), *branch = end ? end->previous : region->last;
    if (!branch || branch->code != OP_IF || branch->result_count || branch->region_count != 2)
        return NULL;
    const SyntaxNode own = statement_at(search, place_of(branch));
    for (int r = 0; r < 2; r++) {
        const Region *side = branch->regions[r];
        const Op *op = side->first;
        while (op && (op->result_count != 1 || node_is_null(statement_at(search, place_of(op)))))
            op = op->next;
        if (op && !node_same(statement_at(search, place_of(op)), own)) return side;
    }
    return NULL;
}

RowValues saving_candidates(Arena *arena, const Snapshot *snapshot, const Kernel *kernel) {
    RowValueSearch search = {.arena = arena, .snapshot = snapshot, .kernel = kernel};
    const Region *region = kernel->function->body;
    for (; region; region = rest_of(&search, region)) add_region(&search, region);
    for (LIST_EACH(int, i, search.found))
        search.found.items[i].is_covered = is_covered(&search, &search.found.items[i]);
    return search.found;
}
