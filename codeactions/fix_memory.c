// Fixes of loads and stores: masks, what masked lanes hold, loads that are not needed, wide offsets.
#include "analysis/addresses/affine.h"
#include "analysis/syntax/syntax_nodes.h"
#include "codeactions/fix.h"

enum { LONGEST_FLOW = 12 };
enum { MOST_CANDIDATES = 6 };  // each is tried by an analysis; the first ones of the kernel

/// Where `mask` is written when it is positional: behind pointer, and for a store behind the value.
static int mask_position(const Op *op) {
    int count = 0;
    const OpRow *row = &op_rows[op->code];
    for (const char *at = row->parameters; at && *at; at++) {
        if (str_starts(str_from(at), "mask")) return count;
        count += *at == ',';
    }
    return -1;
}

static SyntaxNode mask_of(const Fix *fix, SyntaxNode call, const Op *op) {
    return call_argument(fix, call, "mask", mask_position(op));
}

typedef struct Candidates {
    const Fix *fix;
    const Op *target;
    const char *items[MOST_CANDIDATES];
    int count;
} Candidates;

static void candidate_add(Candidates *candidates, const char *text) {
    for (int i = 0; i < candidates->count; i++)
        if (str_is(str_from(candidates->items[i]), text)) return;
    if (candidates->count < MOST_CANDIDATES) candidates->items[candidates->count++] = text;
}

static bool visit_masked(void *context, Op *op) {
    Candidates *candidates = context;
    const Fix *fix = candidates->fix;
    Range range = op_is_access(op) ? fix_range_of(fix, op) : (Range){0};
    if (!range.source || op == candidates->target) return true;
    SyntaxNode call = fix_call(fix, range);
    SyntaxNode mask = node_is_null(call) ? call : mask_of(fix, call, op);
    if (!node_is_null(mask)) candidate_add(candidates, fix_text(fix, mask));
    return true;
}

static bool is_positive_constant(const Value *value) {
    double number;
    return value && value_is_number(value, &number) && number > 0;
}

/// From a reduction's operand back to the load, through what keeps minus infinity (or plus) as it is. NULL where anything else lies between.
static const Value *kept_infinity(const Value *value, bool *through_exponential) {
    for (int i = 0; i < LONGEST_FLOW && value && value->op; i++) {
        const Op *op = value->op;
        switch (op->code) {
        case OP_LOAD: return value;
        case OP_CAST:
        case OP_ADD:
        case OP_SUB: value = op->operands[0]; break;
        case OP_MUL:
            if (!is_positive_constant(op->operands[1])) return NULL;
            value = op->operands[0];
            break;
        case OP_EXP:
        case OP_EXP2:
            *through_exponential = true;
            value = op->operands[0];
            break;
        default: return NULL;
        }
    }
    return NULL;
}

/// What lanes that are not loaded hold so that a reduction leaves them out; NULL where 0 does, or nothing is known.
static const char *infinity_for(const Op *use, bool exponential) {
    switch (use->code) {
    case OP_MAX:
    case OP_ARGMAX: return "-float(\"inf\")";
    case OP_MIN:
    case OP_ARGMIN: return exponential ? NULL : "float(\"inf\")";
    case OP_SUM: return exponential ? "-float(\"inf\")" : NULL;
    default: return NULL;
    }
}

/// The reductions that a load's value reaches.
typedef struct Neutral {
    const Value *load;
    const char *infinity;
    bool is_disputed;  // they want different values
    bool is_used;
} Neutral;

static bool visit_reduction(void *context, Op *op) {
    Neutral *neutral = context;
    bool is_reduction = op->code == OP_MAX || op->code == OP_MIN || op->code == OP_SUM ||
                        op->code == OP_ARGMAX || op->code == OP_ARGMIN;
    bool exponential = false;
    if (!is_reduction || kept_infinity(op->operands[0], &exponential) != neutral->load) return true;
    const char *infinity = infinity_for(op, exponential);
    bool is_same = infinity ? neutral->infinity && strcmp(infinity, neutral->infinity) == 0
                            : !neutral->infinity;
    neutral->is_disputed |= neutral->is_used && !is_same;
    neutral->is_used = true;
    neutral->infinity = infinity;
    return true;
}

/// What lanes that are not loaded read when somebody computes with them.
static const char *neutral_of(const Fix *fix, const Op *load) {
    if (!dtype_is_float(load->results[0]->type.element)) return "0";
    Neutral neutral = {.load = load->results[0]};
    region_walk(fix->kernel->function->body, visit_reduction, &neutral);
    return neutral.infinity && !neutral.is_disputed ? neutral.infinity : "0.0";
}

static bool try_mask(Fix *fix, SyntaxNode call, const Op *op, const char *mask) {
    SyntaxNode old = mask_of(fix, call, op);
    if (!node_is_null(old)) {
        fix_replace_node(fix, old, "%s", mask);
    } else {
        bool is_load = op->code == OP_LOAD;
        bool has_other = !node_is_null(call_argument(fix, call, "other", -1));
        const char *other = is_load && !has_other ? neutral_of(fix, op) : NULL;
        if (other) mask = arena_printf(fix->arena, "%s, other=%s", mask, other);
        call_add_keyword(fix, call, "mask", mask);
    }
    fix_title(fix, "%s `mask=%s`", node_is_null(old) ? "Add" : "Change the mask to", mask);
    if (fix_holds(fix)) return true;
    fix_clear(fix);
    return false;
}

void apply_mask(Fix *fix) {
    Op *op = fix_op(fix, fix->range, OP_COUNT);
    SyntaxNode call = fix_call(fix, fix->range);
    if (!op || node_is_null(call)) return;
    Candidates candidates = {.fix = fix, .target = op};
    const Related *bounded = fix->diagnostic->related;
    SyntaxNode old = mask_of(fix, call, op);
    bool is_bounded_here = fix->diagnostic->related_count && bounded->range.source == fix->source;
    SyntaxNode comparison = is_bounded_here ? fix_node(fix, bounded->range) : (SyntaxNode){0};
    // What another access is masked with has the right shape; the bare comparison may have fewer axes.
    region_walk(fix->kernel->function->body, visit_masked, &candidates);
    if (!node_is_null(comparison) && node_is_null(old))
        candidate_add(&candidates, fix_text(fix, comparison));
    if (!node_is_null(comparison) && !node_is_null(old))
        candidate_add(&candidates, arena_printf(fix->arena, "%s & (%s)", fix_operand(fix, old),
                                                fix_text(fix, comparison)));
    for (int i = 0; i < candidates.count; i++)
        if (try_mask(fix, call, op, candidates.items[i])) return;
}

void apply_other(Fix *fix) {
    SyntaxNode call = fix_call(fix, fix->range);
    Op *load = fix_op(fix, fix->range, OP_LOAD);
    if (node_is_null(call) || !load || !fix->diagnostic->related_count) return;
    Op *use = fix_op(fix, fix->diagnostic->related[0].range, OP_COUNT);
    if (!use || !dtype_is_float(load->results[0]->type.element)) return;
    bool exponential = false;
    const Value *origin = kept_infinity(use->operands[0], &exponential);
    if (origin != load->results[0]) return;
    const char *value = infinity_for(use, exponential);
    if (!value) return;
    call_add_keyword(fix, call, "other", value);
    fix_title(fix, "Add `other=%s`", value);
}

void apply_drop_other(Fix *fix) {
    SyntaxNode call = fix_call(fix, fix->range);
    SyntaxNode other = node_is_null(call) ? call : call_argument(fix, call, "other", 2);
    if (!node_is_null(other)) call_remove_argument(fix, other);
}

static bool is_only_mask(const Fix *fix, const Value *value, int depth);

typedef struct MaskSearch {
    const Fix *fix;
    const Value *value;
    int depth;
} MaskSearch;

static bool visit_mask_use(void *context, Op *op) {
    const MaskSearch *search = context;
    bool goes_on = op->code == OP_AND || op->code == OP_BROADCAST_TO;
    int mask = op_parameter_index(op->code, STR("mask"));
    for (int i = 0; i < op->operand_count; i++) {
        if (op->operands[i] != search->value || i == mask) continue;
        if (!goes_on || !is_only_mask(search->fix, op->results[0], search->depth + 1)) return false;
    }
    return true;
}

/// Whether loads and stores alone use it, as their mask: they broadcast it.
static bool is_only_mask(const Fix *fix, const Value *value, int depth) {
    enum { DEEPEST = 16 };
    MaskSearch search = {fix, value, depth};
    return depth < DEEPEST && region_walk(fix->kernel->function->body, visit_mask_use, &search);
}

/// Whether `kept` may stand for `both`, which it may be smaller than.
static bool mask_may_shrink(const Fix *fix, SyntaxNode both, SyntaxNode kept) {
    if (!fix->kernel) return false;
    Range wide = node_range(fix->source, both), narrow = node_range(fix->source, kept);
    const Value *whole = snapshot_value_at(fix->snapshot, fix->kernel, wide);
    const Value *part = snapshot_value_at(fix->snapshot, fix->kernel, narrow);
    if (!whole || !part || whole->type.rank != part->type.rank) return false;
    bool is_same = true;
    for (int i = 0; i < whole->type.rank; i++)
        is_same = is_same && poly_equal(whole->type.dims[i], part->type.dims[i]);
    return is_same || is_only_mask(fix, whole, 0);
}

void apply_drop_bound(Fix *fix) {
    SyntaxNode comparison = fix_node(fix, fix->range);
    if (node_is_null(comparison)) return;
    SyntaxNode whole = comparison, parent = node_parent(comparison);
    while (node_is(parent, SYNTAX_PARENTHESIZED)) {
        whole = parent;
        parent = node_parent(parent);
    }
    if (node_is(parent, SYNTAX_BINARY)) {
        SyntaxNode left = node_field(parent, "left"), right = node_field(parent, "right");
        if (!str_is(node_text(fix->source, node_field(parent, "operator")), "&")) return;
        SyntaxNode kept = node_same(left, whole) ? right : left;
        if (!mask_may_shrink(fix, parent, kept)) return;
        SyntaxNode outer = node_parent(parent);
        bool stands_alone = node_is(outer, SYNTAX_ASSIGNMENT) ||
                            node_is(outer, SYNTAX_KEYWORD_ARGUMENT) ||
                            node_is(outer, SYNTAX_PARENTHESIZED);
        if (stands_alone && node_is(kept, SYNTAX_PARENTHESIZED)) kept = node_child(kept, 0);
        fix_replace_node(fix, parent, "%s", fix_text(fix, kept));
        return;
    }
    bool is_mask = node_is(parent, SYNTAX_KEYWORD_ARGUMENT) &&
                   str_is(node_text(fix->source, node_field(parent, "name")), "mask");
    if (!is_mask) return;
    SyntaxNode call = node_above(parent, SYNTAX_CALL);
    SyntaxNode other = call_argument(fix, call, "other", -1);
    call_remove_argument(fix, whole);
    if (!node_is_null(other)) call_remove_argument(fix, other);
}

/// The whole lines of a statement; the range where a statement shares its line with another is the statement's own.
static Range lines_of(const Fix *fix, SyntaxNode statement) {
    Range range = node_range(fix->source, statement);
    const char *text = fix->source->text.data;
    uint32_t size = (uint32_t)fix->source->text.size, start = range.start, end = range.end;
    while (start > 0 && (text[start - 1] == ' ' || text[start - 1] == '\t')) start--;
    while (end < size && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r')) end++;
    if ((start > 0 && text[start - 1] != '\n') || (end < size && text[end] != '\n')) return range;
    return (Range){range.source, start, end < size ? end + 1 : end};
}

static SyntaxNode statement_of(SyntaxNode node) {
    while (!node_is_null(node) && !node_is(node, SYNTAX_EXPRESSION_STATEMENT))
        node = node_parent(node);
    return node;
}

/// The assignment `name = <node>`, with nothing else on either side. Null where it is none.
static SyntaxNode assignment_of(SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    if (!node_is(parent, SYNTAX_ASSIGNMENT) || !node_same(node_field(parent, "right"), node))
        return (SyntaxNode){0};
    bool simple = node_is(node_field(parent, "left"), SYNTAX_IDENTIFIER) &&
                  node_is(node_parent(parent), SYNTAX_EXPRESSION_STATEMENT);
    return simple ? parent : (SyntaxNode){0};
}

void apply_remove_load(Fix *fix) {
    SyntaxNode call = fix_node(fix, fix->range);
    SyntaxNode statement = statement_of(call);
    bool alone = !node_is_null(call) && !node_is_null(statement) &&
                 (!node_is_null(assignment_of(call)) ||
                  node_is(node_parent(call), SYNTAX_EXPRESSION_STATEMENT));
    if (!alone) return;
    if (node_child_count(node_parent(statement)) < 2) {
        fix_replace_node(fix, statement, "pass");
        return;
    }
    Range lines = lines_of(fix, statement);
    fix_replace(fix, lines.start, lines.end, "%s", "");
}

typedef struct AssignedName {
    const Fix *fix;
    Str name;
    uint32_t start, end;
    bool found;
} AssignedName;

static bool visit_assigned(void *context, SyntaxNode node) {
    AssignedName *assigned = context;
    if (!node_is(node, SYNTAX_IDENTIFIER)) return true;
    Range range = node_range(assigned->fix->source, node);
    if (range.start < assigned->start || range.start >= assigned->end) return true;
    if (!str_equal(node_text(assigned->fix->source, node), assigned->name)) return true;
    SyntaxNode parent = node_parent(node);
    while (node_is(parent, SYNTAX_PATTERN_LIST) || node_is(parent, SYNTAX_TUPLE_PATTERN))
        parent = node_parent(parent);
    SyntaxNode left = node_field(parent, "left");
    assigned->found |=
        !node_is_null(left) && node_range(assigned->fix->source, left).end >= range.end;
    return true;
}

void apply_reuse_load(Fix *fix) {
    if (!fix->diagnostic->related_count) return;
    Range before = fix->diagnostic->related[0].range;
    SyntaxNode earlier = fix_node(fix, before), later = fix_node(fix, fix->range);
    if (before.source != fix->source || node_is_null(earlier) || node_is_null(later)) return;
    SyntaxNode assignment = assignment_of(earlier);
    if (node_is_null(assignment)) return;
    Str name = node_text(fix->source, node_field(assignment, "left"));
    AssignedName assigned = {fix, name, before.end, fix->range.start, false};
    syntax_walk(node_above(earlier, SYNTAX_FUNCTION), visit_assigned, &assigned);
    // In a loop the name may be assigned below and come round.
    bool in_loop = !node_is_null(node_above(later, SYNTAX_FOR)) ||
                   !node_is_null(node_above(later, SYNTAX_WHILE));
    if (in_loop) {
        assigned.start = fix->range.end;
        assigned.end = (uint32_t)fix->source->text.size;
        syntax_walk(node_above(earlier, SYNTAX_FUNCTION), visit_assigned, &assigned);
    }
    if (assigned.found) return;
    fix_replace_node(fix, later, "%.*s", STR_ARGS(name));
    fix_title(fix, "Use `%.*s`, which was loaded before", STR_ARGS(name));
}

void apply_widen_offset(Fix *fix) {
    SyntaxNode product = fix_node(fix, fix->range);
    const char *language = fix_language(fix);
    Op *op = fix_op(fix, fix->range, OP_MUL);
    if (!node_is(product, SYNTAX_BINARY) || !op || !language) return;
    // The side that is a plain parameter is the size; the other depends on the program id.
    const Value *left = op->operands[0];
    bool left_is_size = left && !left->op && left->region && !left->region->parent;
    SyntaxNode side = node_field(product, left_is_size ? "right" : "left");
    fix_replace_node(fix, side, "%s.to(%s.int64)", fix_operand(fix, side), language);
    fix_title(fix, "Compute in 64 bits: `%s.to(%s.int64)`", fix_operand(fix, side), language);
}
