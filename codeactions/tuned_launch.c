// The best values, where the one launch of the kernel says the present ones: in its arguments, or in the constants that these name.
#include <stdlib.h>
#include <string.h>

#include "analysis/module/module_launch.h"
#include "analysis/syntax/syntax_nodes.h"
#include "codeactions/fix.h"
#include "codeactions/tuned.h"

typedef struct LaunchEdit {
    Fix fix;
    const LaunchSite *site;
    const char *grid;  // its text, with what a name of the launcher stands for
    Buffer added;      // keywords that the launch does not have
    Buffer spread;     // the same as items of a dict
    bool is_derived;   // the launch of a derived kernel: whatever it passes is replaced
} LaunchEdit;

// --- names ------------------------------------------------------------------------------------------------------------

/// Where a name is bound within a node, and what to.
typedef struct LaunchBindings {
    const Source *source;
    Str name;
    int bound;         // how often, in any way
    SyntaxNode value;  // of the assignment that is the only one
    uint32_t end;      // of that assignment
} LaunchBindings;

static bool is_name(const LaunchBindings *bindings, SyntaxNode node) {
    return node_kind(node) == SYNTAX_IDENTIFIER &&
           str_equal(node_text(bindings->source, node), bindings->name);
}

/// Whether the identifier stands where something is bound to it, but for the left side of a plain assignment.
static bool binds_otherwise(const LaunchBindings *bindings, SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    if (node_binds_names(parent)) return true;
    switch (node_kind(parent)) {
    case SYNTAX_AUGMENTED_ASSIGNMENT:
    case SYNTAX_FOR:
        return node_range(bindings->source, node_field(parent, "left")).start ==
               node_range(bindings->source, node).start;
    case SYNTAX_PARAMETERS:
    case SYNTAX_PATTERN_LIST:
    case SYNTAX_TUPLE_PATTERN:
    case SYNTAX_LIST_PATTERN:
    case SYNTAX_TYPED_PARAMETER: return true;
    case SYNTAX_DEFAULT_PARAMETER:
    case SYNTAX_TYPED_DEFAULT_PARAMETER:
    case SYNTAX_FUNCTION:
    case SYNTAX_CLASS:
        return node_range(bindings->source, node_field(parent, "name")).start ==
               node_range(bindings->source, node).start;
    default: return strcmp(node_kind_name(parent), "named_expression") == 0;
    }
}

static bool find_binding(void *context, SyntaxNode node) {
    LaunchBindings *bindings = context;
    if (node_kind(node) == SYNTAX_ASSIGNMENT && is_name(bindings, node_field(node, "left"))) {
        bindings->bound++;
        bindings->value = node_field(node, "right");
        bindings->end = node_range(bindings->source, node).end;
    } else if (is_name(bindings, node) && binds_otherwise(bindings, node)) {
        bindings->bound++;
        bindings->value = (SyntaxNode){0};
    }
    return true;
}

static LaunchBindings bindings_in(const LaunchEdit *edit, SyntaxNode node, Str name) {
    LaunchBindings bindings = {.source = edit->fix.source, .name = name};
    syntax_walk(node, find_binding, &bindings);
    return bindings;
}

/// The function around the launch; null at module level.
static SyntaxNode launcher_of(const LaunchEdit *edit) {
    return node_above(edit->site->call, SYNTAX_FUNCTION);
}

/// Uses of a name within a node, but for those within functions that bind it themselves, and keywords.
typedef struct LaunchNameUses {
    const LaunchEdit *edit;
    LaunchBindings of;
    SyntaxNode without;  // a function that is left out, or null
    int count;
} LaunchNameUses;

static bool count_uses(void *context, SyntaxNode node) {
    LaunchNameUses *uses = context;
    const Source *source = uses->of.source;
    if (node_kind(node) == SYNTAX_FUNCTION) {
        bool is_left_out =
            !node_is_null(uses->without) &&
            node_range(source, node).start == node_range(source, uses->without).start;
        return !is_left_out && !bindings_in(uses->edit, node, uses->of.name).bound;
    }
    if (node_kind(node) == SYNTAX_KEYWORD_ARGUMENT) {
        SyntaxNode value = node_field(node, "value");
        syntax_walk(value, count_uses, uses);
        return false;
    }
    uses->count += is_name(&uses->of, node);
    return true;
}

/// The number that the name stands for, where nothing but this launch and its launcher use it; null with a reason otherwise.
static SyntaxNode constant_of(LaunchEdit *edit, SyntaxNode identifier, const char **reason) {
    Fix *fix = &edit->fix;
    Str name = node_text(fix->source, identifier);
    SyntaxNode launcher = launcher_of(edit), nothing = {0};
    LaunchBindings found = {0};
    bool is_local = false;
    if (!node_is_null(launcher)) found = bindings_in(edit, launcher, name);
    is_local = found.bound > 0;
    if (!is_local) {
        LaunchNameUses uses = {.edit = edit, .without = launcher};
        found = bindings_in(edit, fix_root(fix), name);
        uses.of = found;
        syntax_walk(fix_root(fix), count_uses, &uses);
        bool is_top =
            !node_is_null(found.value) && node_is_null(node_above(found.value, SYNTAX_FUNCTION));
        if (is_top && uses.count > 1) {
            *reason = arena_printf(fix->arena, "`%.*s` is used elsewhere, too", STR_ARGS(name));
            return nothing;
        }
    }
    for (LIST_EACH(int, i, fix->snapshot->module->launches)) {
        const LaunchSite *other = &fix->snapshot->module->launches.items[i];
        LaunchNameUses uses = {.edit = edit, .of = found};
        if (!is_local || other == edit->site || other->launcher != edit->site->launcher) continue;
        syntax_walk(other->call, count_uses, &uses);
        if (!uses.count) continue;
        *reason = arena_printf(fix->arena, "another launch uses `%.*s`, too", STR_ARGS(name));
        return nothing;
    }
    if (found.bound == 1 && node_is(found.value, SYNTAX_INTEGER)) return found.value;
    *reason = arena_printf(fix->arena, "`%.*s` is not bound to one number", STR_ARGS(name));
    return nothing;
}

// --- the launch -------------------------------------------------------------------------------------------------------

/// The text of the grid, and of what it is bound to where it is a name.
static const char *grid_text(LaunchEdit *edit) {
    Fix *fix = &edit->fix;
    const char *text = launch_grid_text(fix->arena, fix->snapshot->module, edit->site);
    SyntaxNode launcher = launcher_of(edit);
    if (!node_is(edit->site->grid, SYNTAX_IDENTIFIER) || node_is_null(launcher)) return text;
    LaunchBindings found = bindings_in(edit, launcher, node_text(fix->source, edit->site->grid));
    return found.bound == 1 && !node_is_null(found.value) ? fix_text(fix, found.value) : text;
}

static bool grid_says(const LaunchEdit *edit, const char *word) {
    Arena *arena = edit->fix.arena;
    return strstr(edit->grid, arena_printf(arena, "\"%s\"", word)) ||
           strstr(edit->grid, arena_printf(arena, "'%s'", word));
}

static bool grid_has_name(const LaunchEdit *edit, Str name) {
    size_t size = name.size;
    const char *word = str_dup(edit->fix.arena, name);
    for (const char *at = edit->grid; (at = strstr(at, word)); at += size) {
        bool starts = at == edit->grid || !strchr("_.\"'", at[-1]);
        if (starts && !strchr("_\"'", at[size] ? at[size] : ' ')) return true;
    }
    return false;
}

/// One number of a configuration.
typedef struct Number {
    const char *name;
    int position;  // among the kernel's parameters; -1: it is none
    int best, now;
    bool is_in_grid;
} Number;

/// What `**{**options, "num_warps": 8}` has for a name; null otherwise.
static SyntaxNode spread_item(const LaunchEdit *edit, const char *name) {
    SyntaxNode *arguments, nothing = {0};
    const Source *source = edit->fix.source;
    const char *key = arena_printf(edit->fix.arena, "\"%s\"", name);
    int count =
        node_children(edit->fix.arena, node_field(edit->site->call, "arguments"), &arguments);
    for (int i = 0; i < count; i++) {
        SyntaxNode *items;
        bool is_dict =
            node_child_count(arguments[i]) && str_starts(node_text(source, arguments[i]), "**{");
        if (!is_dict) continue;
        SyntaxNode dict = node_child(arguments[i], node_child_count(arguments[i]) - 1);
        int item_count = node_children(edit->fix.arena, dict, &items);
        for (int k = 0; k < item_count; k++)
            if (str_is(node_text(source, node_field(items[k], "key")), key))
                return node_field(items[k], "value");
    }
    return nothing;
}

/// The number of the launch becomes the best one. A reason where that cannot be.
static const char *put_number(LaunchEdit *edit, const Number *number) {
    const char *name = number->name;
    Fix *fix = &edit->fix;
    const char *reason = NULL;
    SyntaxNode node = call_argument(fix, edit->site->call, name, number->position), place = node;
    if (node_is_null(node) && edit->is_derived) node = place = spread_item(edit, name);
    bool is_name_of_it = node_is(node, SYNTAX_IDENTIFIER) && !edit->is_derived;
    if (is_name_of_it) place = constant_of(edit, node, &reason);
    if (reason) return reason;
    bool follows = grid_says(edit, name) ||
                   (is_name_of_it && grid_has_name(edit, node_text(fix->source, node)));
    if (number->is_in_grid && !follows)
        return arena_printf(fix->arena, "the grid of the launch does not follow `%s`", name);
    if (node_is_null(node)) {
        if (number->best == number->now) return NULL;
        buffer_printf(&edit->added, "%s%s=%d", edit->added.size ? ", " : "", name, number->best);
        buffer_printf(&edit->spread, ", \"%s\": %d", name, number->best);
        return NULL;
    }
    if (edit->is_derived) {
        if (number->best != number->now) fix_replace_node(fix, place, "%d", number->best);
        return NULL;
    }
    if (!node_is(place, SYNTAX_INTEGER))
        return arena_printf(fix->arena, "the launch passes `%s` for `%s`", fix_text(fix, node),
                            name);
    if (!str_is(node_text(fix->source, place), arena_printf(fix->arena, "%d", number->best)))
        fix_replace_node(fix, place, "%d", number->best);
    return NULL;
}

static bool spreads(const LaunchEdit *edit) {
    SyntaxNode *arguments;
    int count =
        node_children(edit->fix.arena, node_field(edit->site->call, "arguments"), &arguments);
    for (int i = 0; i < count; i++)
        if (str_starts(node_text(edit->fix.source, arguments[i]), "*")) return true;
    return false;
}

/// `**options` of a derived kernel's launch becomes `**{**options, "num_warps": 8}`; false where there is not one alone.
static bool put_spread(LaunchEdit *edit) {
    SyntaxNode *arguments, found = {0};
    int count =
        node_children(edit->fix.arena, node_field(edit->site->call, "arguments"), &arguments);
    int spread = 0;
    for (int i = 0; i < count && edit->is_derived; i++) {
        if (!str_starts(node_text(edit->fix.source, arguments[i]), "*")) continue;
        found = arguments[i];
        spread++;
    }
    if (spread != 1 || !str_starts(node_text(edit->fix.source, found), "**")) return false;
    uint32_t end = node_range(edit->fix.source, found).end - 1;
    if (edit->fix.source->text.data[end] == '}')
        fix_replace(&edit->fix, end, end, "%s", buffer_text(&edit->spread));
    else
        fix_replace_node(&edit->fix, found, "**{%s%s}", fix_text(&edit->fix, found),
                         buffer_text(&edit->spread));
    return true;
}

static int position_of(const Kernel *kernel, const char *name) {
    for (int p = 0; p < kernel->function->parameter_count; p++)
        if (strcmp(kernel->function->parameters[p].name, name) == 0) return p;
    return -1;
}

/// By place in the text, as edits are applied.
static void sort_edits(ActionEdit *edit) {
    for (int i = 1; i < edit->edits.count; i++)
        for (int k = i;
             k && edit->edits.items[k].range.start < edit->edits.items[k - 1].range.start; k--) {
            TextEdit former = edit->edits.items[k];
            edit->edits.items[k] = edit->edits.items[k - 1];
            edit->edits.items[k - 1] = former;
        }
}

static const char *put_numbers(LaunchEdit *edit, const TunedConfiguration *best,
                               const TunedConfiguration *now, const bool *in_grid) {
    enum { OPTIONS = 2 };
    int count = best->count + (best->stages ? OPTIONS : 1);
    const char *reason = NULL;
    for (int i = 0; i < count && !reason; i++) {
        bool is_warps = i == best->count;
        Number number = {.name = is_warps ? "num_warps" : "num_stages",
                         .position = -1,
                         .best = is_warps ? best->warps : best->stages,
                         .now = is_warps ? now->warps : now->stages};
        if (i < best->count)
            number = (Number){best->names[i], position_of(edit->fix.kernel, best->names[i]),
                              best->values[i], now->values[i], in_grid && in_grid[i]};
        reason = put_number(edit, &number);
        if (number.best == number.now)
            reason = NULL;  // it is as the line says, wherever that is said
    }
    if (reason || !edit->added.size) return reason;
    if (put_spread(edit)) return NULL;
    if (spreads(edit)) return "the launch spreads arguments";
    const char *added = buffer_text(&edit->added), *equals = strrchr(added, '=');
    call_add_keyword(&edit->fix, edit->site->call,
                     arena_strndup(edit->fix.arena, added, (size_t)(equals - added)), equals + 1);
    return NULL;
}

/// How many launches of the kernel the file has; the last one is taken.
static int find_launch(LaunchEdit *edit) {
    const Module *module = edit->fix.snapshot->module;
    int count = 0;
    for (LIST_EACH(int, i, module->launches)) {
        if (module->launches.items[i].kernel != edit->fix.kernel->definition) continue;
        if (module->launches.items[i].chosen.count) continue;  // others are launched there, too
        edit->site = &module->launches.items[i];
        count++;
    }
    return count;
}

int tuned_launch_number(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                        const char *name) {
    enum { DIGITS = 6 };
    LaunchEdit launch = {
        .fix = {
            .arena = arena, .snapshot = snapshot, .source = snapshot->source, .kernel = kernel}};
    if (find_launch(&launch) != 1) return 0;
    SyntaxNode node =
        call_argument(&launch.fix, launch.site->call, name, position_of(kernel, name));
    if (node_is_null(node)) node = spread_item(&launch, name);
    if (node_is_null(node) || !node_is(node, SYNTAX_INTEGER)) return 0;
    const char *text = fix_text(&launch.fix, node);
    return strlen(text) <= DIGITS ? (int)strtol(text, NULL, 10) : 0;
}

ActionEdit tuned_launch_edit(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                             const TunedConfiguration *best, const TunedConfiguration *now,
                             const bool *in_grid) {
    ActionEdit edit = {0};
    LaunchEdit launch = {.fix = {.arena = arena,
                                 .snapshot = snapshot,
                                 .source = snapshot->source,
                                 .kernel = kernel,
                                 .edit = &edit},
                         .added = buffer_new(arena),
                         .spread = buffer_new(arena),
                         .is_derived = !in_grid};
    int count = find_launch(&launch);
    const char *reason = count == 0  ? "no launch of this file passes them"
                         : count > 1 ? "several launches of this file pass them"
                                     : NULL;
    if (!reason) {
        launch.grid = grid_text(&launch);
        reason = put_numbers(&launch, best, now, in_grid);
    }
    if (reason) {
        edit = (ActionEdit){.refusal = reason};
        return edit;
    }
    sort_edits(&edit);
    edit.label = "Write the best configuration into the launch";
    return edit;
}
