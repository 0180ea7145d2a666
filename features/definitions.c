// Names to where they are defined; values to what decided their type; generated lines to the forward lines they come from.
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/emit/emitted.h"
#include "features/describe/describe.h"
#include "features/features.h"
#include "features/names/places.h"
#include "features/names/targets.h"

#include <string.h>

static void link_add(FileNames *names, Links *links, Range origin, Range target, Range selection) {
    Link link = {origin, target, selection};
    if (selection.source && !selection.source->is_library)
        LIST_PUSH(names->arena, &links->list, link);
}

static void link_function(FileNames *names, Links *links, const Name *name) {
    link_add(names, links, name->range, snapshot_range(names->snapshot, name->function->range),
             snapshot_range(names->snapshot, name->function->name_range));
}

static void link_parameter(FileNames *names, Links *links, const Name *name) {
    Range range =
        snapshot_range(names->snapshot, name->function->parameters[name->parameter].range);
    Range selection = {range.source, range.start, range.start + (uint32_t)name->text.size};
    link_add(names, links, name->range, range, selection);
}

static SyntaxNode statement_of(SyntaxNode node) {
    for (int i = 0; i < 64 && !node_is_null(node); i++) {
        switch (node_kind(node)) {
        case SYNTAX_ASSIGNMENT:
        case SYNTAX_AUGMENTED_ASSIGNMENT:
        case SYNTAX_NAMED_EXPRESSION:
        case SYNTAX_FOR_IN_CLAUSE: return node;
        case SYNTAX_FOR: return node_field(node, "left");
        case SYNTAX_BLOCK:
        case SYNTAX_FUNCTION: return (SyntaxNode){0};
        default: node = node_parent(node); break;
        }
    }
    return (SyntaxNode){0};
}

/// Where the variable got the value that it has here: assignments above in the text that may reach this place. The last one
/// at the same or an outer level decides; those in blocks between may, too.
static void link_local(FileNames *names, Links *links, const Name *name) {
    NamePlaces places = places_of(names, name);
    Range best = {0};
    Range first = {0};
    for (LIST_EACH(int, i, places.list)) {
        const NamePlace *place = &places.list.items[i];
        if (!place->is_write) continue;
        if (!first.source) first = place->range;
        // A name is assigned after its own right side is read.
        SyntaxNode node = node_at(names->root, place->range.start, place->range.end);
        SyntaxNode statement = statement_of(node);
        Range whole = range_of(names, node_is_null(statement) ? node : statement);
        if (whole.end <= name->range.start || place->range.start == name->range.start)
            best = place->range;
    }
    if (!best.source) best = first;
    if (!best.source) return;
    SyntaxNode node = node_at(names->root, best.start, best.end);
    SyntaxNode statement = statement_of(node);
    Range target = node_is_null(statement) ? best : range_of(names, statement);
    link_add(names, links, name->range, target, best);
}

static void link_global(FileNames *names, Links *links, const Name *name) {
    const ScopeEntry *entry = &name->entry;
    SyntaxNode assignment = node_parent(entry->node);
    if (node_kind(assignment) != SYNTAX_ASSIGNMENT) return;
    const Source *source = entry->module->source;
    link_add(names, links, name->range, node_range(source, assignment),
             node_range(source, node_field(assignment, "left")));
}

static void link_name(FileNames *names, Links *links, const Name *name) {
    switch (name->kind) {
    case NAME_LOCAL: link_local(names, links, name); break;
    case NAME_PARAMETER: link_parameter(names, links, name); break;
    case NAME_FUNCTION: link_function(names, links, name); break;
    case NAME_GLOBAL: link_global(names, links, name); break;
    default: break;
    }
}

// --- Forward and backward

/// The forward's name for a name of the backward: `dx` is the adjoint of `x`; recomputed values keep their names.
static Str forward_name(Str name, const Map *forward, int strip) {
    if (!strip) return map_has(forward, name) ? name : (Str){"", 0};
    if (name.size < 2 || name.data[0] != 'd') return (Str){"", 0};
    Str rest = {name.data + 1, name.size - 1};
    return map_has(forward, rest) ? rest : (Str){"", 0};
}

/// `dx_2` is another adjoint of `x`: the name without its number.
static Str unnumbered(Str name) {
    size_t size = name.size;
    while (size > 0 && name.data[size - 1] >= '0' && name.data[size - 1] <= '9') size--;
    bool has_number = size < name.size && size > 1 && name.data[size - 1] == '_';
    return has_number ? (Str){name.data, size - 1} : name;
}

/// The variable that the statement around `node` assigns.
static SyntaxNode assigned_at(SyntaxNode node) {
    for (int i = 0; i < 64 && !node_is_null(node); i++) {
        SyntaxKind kind = node_kind(node);
        if (kind == SYNTAX_ASSIGNMENT || kind == SYNTAX_AUGMENTED_ASSIGNMENT)
            return node_field(node, "left");
        if (kind == SYNTAX_BLOCK || kind == SYNTAX_FUNCTION) break;
        node = node_parent(node);
    }
    return (SyntaxNode){0};
}

static void link_assignments(FileNames *names, Links *links, Range origin, SyntaxNode function,
                             Str wanted) {
    Targets targets = targets_of(names, function);
    for (LIST_EACH(int, i, targets.list)) {
        SyntaxNode node = targets.list.items[i].node;
        if (!str_equal(text_of(names, node), wanted)) continue;
        SyntaxNode statement = statement_of(node);
        Range selection = range_of(names, node);
        link_add(names, links, origin,
                 node_is_null(statement) ? selection : range_of(names, statement), selection);
    }
    if (links->list.count) return;
    const FunctionDefinition *definition = definition_of_node(names, function);
    for (int i = 0; definition && i < definition->parameter_count; i++) {
        if (!str_equal(definition->parameters[i].name, wanted)) continue;
        Range range = snapshot_range(names->snapshot, definition->parameters[i].range);
        link_add(names, links, origin, range,
                 (Range){range.source, range.start, range.start + (uint32_t)wanted.size});
    }
}

/// From a line of a backward to the lines of its forward that assign what the line differentiates or computes anew.
static void link_forward(FileNames *names, Links *links, const Kernel *backward, uint32_t offset) {
    const Kernel *forward = kernel_of_backward(names->snapshot, backward);
    if (!forward) return;
    SyntaxNode function = node_of_kernel(names, forward);
    if (node_is_null(function)) return;
    const Map *bound = names_bound(names, function);
    SyntaxNode asked = identifier_at(names, offset);
    if (str_equal(text_of(names, asked), backward->definition->name)) {
        link_add(names, links, range_of(names, asked), range_of(names, function),
                 range_of(names, node_field(function, "name")));
        return;
    }
    SyntaxNode assigned = assigned_at(node_at(names->root, offset, offset));
    SyntaxNode candidates[] = {asked, assigned};
    for (int strip = 0; strip < 2; strip++)
        for (int i = 0; i < 2 && !links->list.count; i++) {
            if (node_kind(candidates[i]) != SYNTAX_IDENTIFIER) continue;
            Str written = text_of(names, candidates[i]);
            Str name = forward_name(written, bound, strip);
            if (!name.size) name = forward_name(unnumbered(written), bound, strip);
            if (name.size)
                link_assignments(names, links, range_of(names, candidates[i]), function, name);
        }
}

/// From a name of a forward to the places of one kernel of its backward that hold its adjoint, or compute it anew.
static void link_kernel(FileNames *names, Links *links, const Kernel *backward, const Name *name) {
    if (name->kind == NAME_FUNCTION && name->is_write) {
        Range range = snapshot_range(names->snapshot, backward->definition->range);
        link_add(names, links, name->range, range,
                 snapshot_range(names->snapshot, backward->definition->name_range));
        return;
    }
    if (name->kind != NAME_LOCAL && name->kind != NAME_PARAMETER) return;
    SyntaxNode function = node_of_kernel(names, backward);
    if (node_is_null(function)) return;
    const char *adjoint = arena_printf(names->arena, "d%.*s", STR_ARGS(name->text));
    Links found = {0};
    link_assignments(names, &found, name->range, function, str_from(adjoint));
    if (!found.list.count) link_assignments(names, &found, name->range, function, name->text);
    for (LIST_EACH(int, i, found.list)) LIST_PUSH(names->arena, &links->list, found.list.items[i]);
}

static void link_backward(FileNames *names, Links *links, const Kernel *forward, const Name *name) {
    const Snapshot *snapshot = names->snapshot;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel_of_backward(snapshot, kernel) == forward)
            link_kernel(names, links, kernel, name);
    }
}

static bool is_at_declaration(const Links *links, Range origin) {
    return links->list.count == 1 && links->list.items[0].selection.source == origin.source &&
           links->list.items[0].selection.start == origin.start;
}

Links definition_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    Links links = {0};
    if (offset > snapshot->source->text.size) return links;
    SyntaxNode identifier = identifier_at(&names, offset);
    Name name =
        node_is_null(identifier) ? name_in_text(&names, offset) : name_resolve(&names, identifier);
    link_name(&names, &links, &name);
    links.is_ours_alone = node_is_null(identifier);
    // Asked where a generated name is assigned, there is more to show than the place itself.
    const Kernel *kernel = kernel_around(&names, node_at(names.root, offset, offset));
    bool asks_forward = links.list.count == 0 || is_at_declaration(&links, name.range);
    if (kernel && asks_forward && kernel_of_backward(snapshot, kernel)) {
        Links forward = {0};
        link_forward(&names, &forward, kernel, offset);
        forward.is_ours_alone = true;
        if (forward.list.count) return forward;
    }
    return links;
}

Links declaration_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    Links links = {0};
    if (offset > snapshot->source->text.size) return links;
    SyntaxNode identifier = identifier_at(&names, offset);
    Name name = name_resolve(&names, identifier);
    if (name.kernel) link_backward(&names, &links, name.kernel, &name);
    links.is_ours_alone = true;
    return links.list.count ? links : definition_at(arena, snapshot, offset);
}

// --- Types

/// Through what keeps the element type to what decided it.
static const Value *type_source(const Value *value) {
    for (int i = 0; i < 64 && value->op; i++) {
        const Op *op = value->op;
        const Value *next = NULL;
        for (int k = 0; k < op->operand_count && !next; k++) {
            const Value *operand = op->operands[k];
            bool is_same = operand && operand->type.kind == value->type.kind &&
                           dtype_equal(operand->type.element, value->type.element) &&
                           !operand->type.is_constexpr;
            if (is_same && operand->op && operand->op->code != OP_CONSTANT) next = operand;
            if (is_same && operand->region) next = operand;
        }
        bool decides = op->code == OP_CAST || op->code == OP_BITCAST || op->code == OP_DOT ||
                       (op_rows[op->code].effects & EFFECT_READS) || op->code == OP_IF ||
                       op_is_loop(op->code);
        if (decides || !next) return value;
        value = next;
    }
    return value;
}

static Range place_of_value(const Snapshot *snapshot, const Value *value) {
    const Region *region = value->region;
    if (region && !region->parent) return snapshot_range(snapshot, value->range);
    return snapshot_range(snapshot, value->op ? value->op->range : value->range);
}

Links type_definition_at(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    FileNames names = names_of(arena, snapshot);
    Links links = {0};
    SyntaxNode identifier = identifier_at(&names, offset);
    if (node_is_null(identifier)) return links;
    Name name = name_resolve(&names, identifier);
    const Value *value = value_of_node(&names, name.kernel, identifier);
    if (!value && name.kind == NAME_PARAMETER) {
        link_parameter(&names, &links, &name);
        return links;
    }
    if (!value) return links;
    Range range = place_of_value(snapshot, type_source(value));
    if (range.source && range.end > range.start) link_add(&names, &links, name.range, range, range);
    return links;
}
