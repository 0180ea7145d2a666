// Fixes of shapes that do not broadcast: the axis that a row or a column lacks, or has on the wrong side.
#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "codeactions/fix.h"

enum { MOST_NEW_AXES = 12 };  // each is analysed; more than a few that fit say nothing

static const char *const new_axes[] = {"[:, None]", "[None, :]"};

/// One way to give a tile another axis: what takes the place of `node`.
typedef struct NewAxis {
    SyntaxNode node;
    const char *text;
} NewAxis;

typedef struct NewAxes {
    Fix *fix;
    LIST(NewAxis) list;
} NewAxes;

static void add(NewAxes *all, SyntaxNode node, const char *text) {
    NewAxis axis = {node, text};
    if (all->list.count < MOST_NEW_AXES) LIST_PUSH(all->fix->arena, &all->list, axis);
}

static SyntaxNode bare(SyntaxNode node) {
    while (node_is(node, SYNTAX_PARENTHESIZED)) node = node_child(node, 0);
    return node;
}

/// `x[:, None]` is turned to `x[None, :]`, and the other way round.
static void turn(NewAxes *all, SyntaxNode node) {
    Str text = node_text(all->fix->source, node);
    for (int i = 0; i < 2; i++) {
        if (!str_ends(text, new_axes[i])) continue;
        Str tile = {text.data, text.size - strlen(new_axes[i])};
        add(all, node, arena_printf(all->fix->arena, "%.*s%s", STR_ARGS(tile), new_axes[1 - i]));
    }
}

/// Whether the op has an operand with one axis that is written so.
static bool has_row(const Fix *fix, const Op *op, SyntaxNode node) {
    Str text = node_text(fix->source, node);
    Range range = node_range(fix->source, node);
    for (int i = 0; op && i < op->operand_count; i++) {
        const Value *value = op->operands[i];
        if (!value || value->type.rank != 1) continue;
        Range own = snapshot_range(fix->snapshot, value->range);
        bool is_here =
            own.source == range.source && own.start == range.start && own.end == range.end;
        if (is_here || (value->name && str_is(text, value->name))) return true;
    }
    return false;
}

/// What of `node`, an operand of `op`, lacks an axis or has it on the wrong side.
static void gather(NewAxes *all, const Op *op, SyntaxNode node, int depth) {
    enum { DEEPEST = 12 };
    node = bare(node);
    if (node_is_null(node) || depth == DEEPEST) return;
    if (node_is(node, SYNTAX_SUBSCRIPT)) turn(all, node);
    if (node_is(node, SYNTAX_BINARY) || node_is(node, SYNTAX_COMPARISON)) {
        const Op *own = fix_op(all->fix, node_range(all->fix->source, node), OP_COUNT);
        for (uint32_t i = 0; i < node_child_count(node); i++)
            gather(all, own, node_child(node, i), depth + 1);
    } else if (has_row(all->fix, op, node)) {
        for (int i = 0; i < 2; i++)
            add(all, node,
                arena_printf(all->fix->arena, "%s%s", fix_operand(all->fix, node), new_axes[i]));
    }
}

static void gather_all(NewAxes *all, SyntaxNode node) {
    const Op *op = fix_op(all->fix, all->fix->range, OP_COUNT);
    if (node_is(node, SYNTAX_AUGMENTED_ASSIGNMENT)) {
        gather(all, op, node_field(node, "right"), 0);
    } else if (node_is(node, SYNTAX_CALL)) {
        SyntaxNode *arguments;
        int count = node_children(all->fix->arena, node_field(node, "arguments"), &arguments);
        for (int i = 0; i < count; i++) {
            bool is_keyword = node_is(arguments[i], SYNTAX_KEYWORD_ARGUMENT);
            gather(all, op, is_keyword ? node_field(arguments[i], "value") : arguments[i], 0);
        }
    } else {
        gather(all, op, node, 0);
    }
}

static int count_shapes(const Snapshot *snapshot) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list)) {
        DiagnosticId id = snapshot->diagnostics.list.items[i].id;
        count += id == DIAGNOSTIC_SHAPE_MISMATCH || id == DIAGNOSTIC_INSTANCE_SHAPE ||
                 id == DIAGNOSTIC_LAUNCH_SHAPE || id == DIAGNOSTIC_DOT_SHAPE;
    }
    return count;
}

/// Not that it moves on to the next operation.
static bool fits_better(const Fix *fix, const Snapshot *after) {
    int worse = 0;
    for (LIST_EACH(int, i, after->diagnostics.list))
        worse += after->diagnostics.list.items[i].severity <= SEVERITY_WARNING;
    for (LIST_EACH(int, i, fix->snapshot->diagnostics.list))
        worse -= fix->snapshot->diagnostics.list.items[i].severity <= SEVERITY_WARNING;
    return count_shapes(after) < count_shapes(fix->snapshot) && worse <= 0;
}

void apply_axis(Fix *fix) {
    NewAxes all = {.fix = fix};
    int chosen = -1, fitting = 0;
    SyntaxNode node = fix_node(fix, fix->range);
    if (node_is_null(node)) return;
    gather_all(&all, node);
    fix->holds = fits_better;
    fix->tries_launches = true;
    for (int i = 0; i < all.list.count && !fix->is_untried; i++) {
        fix_clear(fix);
        fix_replace_node(fix, all.list.items[i].node, "%s", all.list.items[i].text);
        if (!fix_holds(fix)) continue;
        if (!fix->is_untried || chosen < 0) chosen = i;
        fitting++;
    }
    fix_clear(fix);
    // where two fit, only the author knows
    if (chosen < 0 || (fitting > 1 && !fix->is_untried)) return;
    fix_replace_node(fix, all.list.items[chosen].node, "%s", all.list.items[chosen].text);
    fix_title(fix, "Write `%s`", all.list.items[chosen].text);
}
