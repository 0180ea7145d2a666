// Fixes of loads and stores: masks, what masked lanes hold, loads that are not needed, wide offsets.
#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/syntax/syntax_nodes.h"
#include "codeactions/fix.h"
#include "codeactions/mask_wanted.h"

enum { LONGEST_FLOW = 12 };

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

/// An access of the snapshot's own text.
typedef struct OpAt {
    const Snapshot *snapshot;
    uint32_t start;
    Op *found;
} OpAt;

static SyntaxNode mask_of(const Fix *fix, SyntaxNode call, const Op *op) {
    return call_argument(fix, call, "mask", mask_position(op));
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

/// What becomes of lanes that hold 0.
typedef enum Lanes { LANES_FULL, LANES_ZERO, LANES_OTHER } Lanes;

typedef struct ZeroFlow {
    Map lanes;  // Value -> Lanes, those of zeros
    Arena *arena;
    bool has_grown, is_harmful;
} ZeroFlow;

static void flow_into(ZeroFlow *flow, const Value *value, Lanes lanes) {
    Lanes before = (Lanes)(uintptr_t)map_get_pointer(&flow->lanes, value);
    if (lanes <= before) return;
    map_set_pointer(&flow->lanes, value, (void *)(uintptr_t)lanes);
    flow->has_grown = true;
}

/// What is yielded is carried, and left behind.
static void flow_out(ZeroFlow *flow, const Op *yield, int operand, Lanes lanes) {
    const Op *outer = yield->parent->parent;
    if (!outer) return;
    if (operand < outer->result_count) flow_into(flow, outer->results[operand], lanes);
    int first = outer->code == OP_WHILE ? 0 : 1;
    for (int i = 0; i < outer->region_count && op_is_loop(outer->code); i++)
        if (operand + first < outer->regions[i]->argument_count)
            flow_into(flow, outer->regions[i]->arguments[operand + first], lanes);
}

static Lanes lanes_after(const Op *op, int operand, Lanes lanes) {
    OpZero zero = op_rows[op->code].zero;
    bool stays = (zero == ZERO_FIRST && operand == 0) || zero == ZERO_ANY || zero == ZERO_ALL ||
                 op->code == OP_CAST || op_has(op->code, TRAIT_LINEAR);
    return stays ? lanes : LANES_OTHER;
}

static bool visit_flow(void *context, Op *op) {
    ZeroFlow *flow = context;
    for (int i = 0; i < op->operand_count; i++) {
        Lanes lanes = op->operands[i]
                          ? (Lanes)(uintptr_t)map_get_pointer(&flow->lanes, op->operands[i])
                          : LANES_FULL;
        if (lanes == LANES_FULL) continue;
        bool has_lanes = op->operands[i]->type.rank > 0;
        bool is_chosen = op->code == OP_WHERE, is_memory = op_is_access(op);
        bool keeps_apart = op_rows[op->code].has_value || op->code == OP_CAST ||
                           op_has(op->code, TRAIT_LAYOUT) || op_is_comparison(op->code);
        bool adds_up = op->code == OP_DOT || op_has(op->code, TRAIT_LINEAR);
        if (op->code == OP_YIELD)
            flow_out(flow, op, i, lanes);
        else if (is_chosen || is_memory || !has_lanes || op->result_count == 0)
            continue;  // the author says what masked lanes hold, or nobody asks
        else if (!keeps_apart && (!adds_up || lanes != LANES_ZERO))
            flow->is_harmful = true;
        else if (keeps_apart)
            flow_into(flow, op->results[0], lanes_after(op, i, lanes));
    }
    return true;
}

/// Whether lanes that hold 0 change what is computed of the others: they go into something else than a sum, or into one as something
/// else than 0.
static bool zero_is_harmful(const Fix *fix, const Value *load) {
    enum { MOST_ROUNDS = 8 };  // a value that is carried goes round
    ZeroFlow flow = {.lanes = map_new(fix->arena), .arena = fix->arena};
    flow_into(&flow, load, LANES_ZERO);
    for (int i = 0; i < MOST_ROUNDS && flow.has_grown && !flow.is_harmful; i++) {
        flow.has_grown = false;
        region_walk(fix->kernel->function->body, visit_flow, &flow);
    }
    return flow.is_harmful;
}

/// What lanes that are not loaded read when somebody computes with them. NULL where nothing is certainly right.
static const char *neutral_of(const Fix *fix, const Op *load) {
    Neutral neutral = {.load = load->results[0]};
    bool is_float = dtype_is_float(load->results[0]->type.element);
    region_walk(fix->kernel->function->body, visit_reduction, &neutral);
    if (is_float && neutral.infinity && !neutral.is_disputed) return neutral.infinity;
    if (zero_is_harmful(fix, load->results[0])) return NULL;
    return is_float ? "0.0" : "0";
}

/// The mask that `op`, another access, is given, as it is written. NULL where it is not in this file.
static const char *mask_text(const Fix *fix, const Op *op) {
    Range range = fix_range_of(fix, op);
    SyntaxNode call = range.source ? fix_call(fix, range) : (SyntaxNode){0};
    SyntaxNode mask = node_is_null(call) ? call : mask_of(fix, call, op);
    return node_is_null(mask) ? NULL : fix_text(fix, mask);
}

/// "[:, None]" for a tile that lies along one axis of `rank`; "" where there is one axis.
static const char *axes_text(const Fix *fix, int rank, int axis) {
    Buffer out = buffer_new(fix->arena);
    for (int i = 0; i < rank && rank > 1; i++)
        buffer_puts(&out,
                    arena_printf(fix->arena, "%s%s", i ? ", " : "[", i == axis ? ":" : "None"));
    if (rank > 1) buffer_puts(&out, "]");
    return buffer_text(&out);
}

static int only_axis(const MaskPart *part) {
    int axis = -1;
    for (int i = 0; i < TYPE_MAX_RANK; i++)
        if (part->left.lane[i]) axis = axis < 0 ? i : TYPE_MAX_RANK;
    return axis;
}

/// `i < m` of `i[:, None] < m`, for an access along one axis alone. NULL where it has no such axes.
static const char *without_axes(const Fix *fix, SyntaxNode comparison, int own_rank) {
    const char *text = fix_text(fix, comparison);
    for (int axis = 0; axis < own_rank; axis++) {
        const char *axes = axes_text(fix, own_rank, axis), *found = strstr(text, axes);
        if (found)
            return arena_printf(fix->arena, "%.*s%s", (int)(found - text), text,
                                found + strlen(axes));
    }
    return NULL;
}

/// The comparison with its index on the axis that is wanted. NULL where its text cannot be had.
static const char *part_text(const Fix *fix, const MaskPart *part, int rank) {
    const Op *op = part->value->op;
    Range range = op ? fix_range_of(fix, op) : (Range){0};
    SyntaxNode comparison = range.source ? fix_node(fix, range) : (SyntaxNode){0};
    int axis = only_axis(part), own_rank = part->value->type.rank;
    if (node_is_null(comparison)) return NULL;
    if (own_rank == 1 && axis < rank) {
        // a name that only stands below the access is no name there
        bool is_above = range.start < fix->range.start;
        const char *axes = axes_text(fix, rank, axis), *name = is_above ? part->value->name : NULL;
        if (name || rank == 1)
            return arena_printf(fix->arena, "%s%s", name ? name : fix_text(fix, comparison), axes);
        SyntaxNode left = node_child(comparison, 0);
        Range whole = node_range(fix->source, comparison), index = node_range(fix->source, left);
        if (!node_is(left, SYNTAX_IDENTIFIER) || op->operands[0]->type.rank != 1)
            return arena_printf(fix->arena, "(%s)%s", fix_text(fix, comparison), axes);
        return arena_printf(fix->arena, "%s%s%.*s", fix_text(fix, left), axes,
                            (int)(whole.end - index.end), fix->source->text.data + index.end);
    }
    if (rank == 1 && own_rank > 1) return without_axes(fix, comparison, own_rank);
    if (own_rank != rank) return NULL;
    // It may stand with its index on another axis.
    const char *text = fix_text(fix, comparison), *wanted = axes_text(fix, rank, axis);
    for (int other = 0; other < rank && axis < rank; other++) {
        const char *found = strstr(text, axes_text(fix, rank, other));
        if (!found) continue;
        return arena_printf(fix->arena, "%.*s%s%s", (int)(found - text), text, wanted,
                            found + strlen(wanted));
    }
    return text;
}

/// Whether `&` may stand beside it as it is: no operator outside of brackets.
static bool is_primary(const char *text) {
    int depth = 0;
    for (; *text; text++) {
        depth += *text == '[' || *text == '(';
        depth -= *text == ']' || *text == ')';
        if (depth == 0 && strchr(" <>=!&|~+-*/%", *text)) return false;
    }
    return true;
}

/// The parts as one expression after `old`, which may be NULL.
static const char *parts_text(const Fix *fix, const char *old, const MaskParts *parts, int rank) {
    bool is_alone = !old && parts->list.count == 1;
    Buffer out = buffer_new(fix->arena);
    if (old) buffer_puts(&out, old);
    for (LIST_EACH(int, i, parts->list)) {
        const char *text = part_text(fix, &parts->list.items[i], rank);
        if (!text) return NULL;
        bool is_bare = is_alone || is_primary(text);
        buffer_puts(&out, arena_printf(fix->arena, "%s%s%s%s", out.size ? " & " : "",
                                       is_bare ? "" : "(", text, is_bare ? "" : ")"));
    }
    return buffer_text(&out);
}

static bool visit_kernel_access(void *context, Op *op) {
    OpAt *at = context;
    Range range = op_is_access(op) ? snapshot_range(at->snapshot, op->range) : (Range){0};
    if (range.source != at->snapshot->source || range.start != at->start) return true;
    at->found = op;
    return false;
}

/// Of the text with the edits: the access has just the mask that its address wants.
static bool mask_is_right(const Fix *fix, const Snapshot *after) {
    const Kernel *kernel = snapshot_find_kernel(after, fix->kernel->definition->name);
    OpAt at = {after, fix->range.start, NULL};
    if (kernel && kernel->function) region_walk(kernel->function->body, visit_kernel_access, &at);
    return at.found && mask_is_wanted(fix->arena, kernel->function, at.found, fix->kept_parts);
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
    MaskWanted wanted;
    if (!op || !op_is_access(op) || node_is_null(call) ||
        (op->code == OP_LOAD && !neutral_of(fix, op)))
        return;
    if (!mask_wanted(fix->arena, fix->kernel->function, op, &wanted)) return;
    SyntaxNode old = mask_of(fix, call, op);
    fix->holds = mask_is_right;
    fix->kept_parts = wanted.kept.list.count;
    for (int i = 0; i < wanted.same.count && fix->kept_parts == 0; i++) {
        const char *mask = mask_text(fix, wanted.same.items[i]);
        if (mask && try_mask(fix, call, op, mask)) return;
    }
    bool has_old = !node_is_null(old);
    const char *mask = parts_text(fix, has_old ? fix_operand(fix, old) : NULL,
                                  has_old ? &wanted.missing : &wanted.bounds, wanted.rank);
    if (mask) try_mask(fix, call, op, mask);
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

/// Whether the load is also told to lack its mask: what was forgotten is the mask then, and `other` goes with it.
static bool lacks_mask(const Fix *fix) {
    for (LIST_EACH(int, i, fix->snapshot->diagnostics.list)) {
        const Diagnostic *said = &fix->snapshot->diagnostics.list.items[i];
        if (said->id == DIAGNOSTIC_UNMASKED_LOAD && said->range.source == fix->range.source &&
            said->range.start == fix->range.start && said->range.end == fix->range.end)
            return true;
    }
    return false;
}

void apply_drop_other(Fix *fix) {
    SyntaxNode call = fix_call(fix, fix->range);
    if (lacks_mask(fix)) return;
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

/// Where a program id of 64 bits could mean something else, or not compile: random numbers, offsets of blocks, locks.
static bool visit_widens(void *context, Op *op) {
    (void)context;
    for (int i = 0; i < op->operand_count; i++) {
        const Value *value = op->operands[i];
        bool is_block = value && (value->type.kind == TYPE_BLOCK_POINTER ||
                                  value->type.kind == TYPE_DESCRIPTOR);
        if (is_block) return false;
    }
    bool is_block = op->code == OP_MAKE_BLOCK_POINTER || op->code == OP_MAKE_TENSOR_DESCRIPTOR;
    return !is_block && op->code != OP_ATOMIC_CAS && !(op_rows[op->code].effects & EFFECT_RANDOM);
}

static DTypeCode integer_of(const Value *value) {
    if (value->constant) return DTYPE_INT32;
    return value->type.kind == TYPE_NUMBER ? value->type.element.code : DTYPE_UNKNOWN;
}

static bool differs(const Value *a, const Value *b) {
    DTypeCode first = integer_of(a), second = integer_of(b);
    return first != second && (first == DTYPE_INT64 || second == DTYPE_INT64);
}

/// Whether what loops carry and branches leave has one type: Triton compiles nothing else.
static bool visit_carried(void *context, Op *op) {
    (void)context;
    const Op *last = op->region_count ? region_terminator(op->regions[op->region_count - 1]) : NULL;
    if (!last || (op->code != OP_IF && !op_is_loop(op->code))) return true;
    const Op *other = op->code == OP_IF ? region_terminator(op->regions[0]) : op;
    int first = op->code == OP_IF || op->code == OP_WHILE ? 0 : 3;  // behind the bounds
    for (int i = 0; other && i < last->operand_count && i + first < other->operand_count; i++)
        if (differs(last->operands[i], other->operands[i + first])) return false;
    return true;
}

static bool carries_one_type(const Fix *fix, const Snapshot *after) {
    const Kernel *kernel = snapshot_find_kernel(after, fix->kernel->definition->name);
    return kernel && kernel->function && region_walk(kernel->function->body, visit_carried, NULL);
}

static void widen_program_id(Fix *fix, SyntaxNode call, const char *language) {
    if (!fix->kernel->understood || !region_walk(fix->kernel->function->body, visit_widens, NULL))
        return;
    fix->holds = carries_one_type;
    fix_replace_node(fix, call, "%s.to(%s.int64)", fix_text(fix, call), language);
    fix_title(fix, "Compute in 64 bits: `%s.to(%s.int64)`", fix_text(fix, call), language);
}

void apply_widen_offset(Fix *fix) {
    SyntaxNode product = fix_node(fix, fix->range);
    const char *language = fix_language(fix);
    Op *op = fix_op(fix, fix->range, OP_MUL);
    if (language && node_is(product, SYNTAX_CALL) && fix_op(fix, fix->range, OP_PROGRAM_ID)) {
        widen_program_id(fix, product, language);
        return;
    }
    if (!node_is(product, SYNTAX_BINARY) || !op || !language) return;
    // The side that is a plain parameter is the size; the other depends on the program id.
    const Value *left = op->operands[0];
    bool left_is_size = left && !left->op && left->region && !left->region->parent;
    SyntaxNode side = node_field(product, left_is_size ? "right" : "left");
    fix_replace_node(fix, side, "%s.to(%s.int64)", fix_operand(fix, side), language);
    fix_title(fix, "Compute in 64 bits: `%s.to(%s.int64)`", fix_operand(fix, side), language);
}
