// Launches in a launcher's text, as operators see them: grids that are functions move inside, written arguments must be fresh.
#include "autodiff/launcher/operator_launch.h"

#include <string.h>

#include "analysis/module/module_launch.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/launcher/launcher_text.h"
#include "autodiff/plan/fresh_tensors.h"
#include "autodiff/plan/launch_plan.h"

static void refuse(OperatorPlan *plan, const char *why) {
    if (!plan->refusal) plan->refusal = why;
}

static const Parameter *parameter_at(const OperatorPlan *plan, int index) {
    return &plan->launch->backward->kernel->function->parameters[index];
}

static bool is_output(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_POINTER && parameter->is_stored;
}

static bool same_node(SyntaxNode a, SyntaxNode b) { return a.id == b.id; }

/// Text of the launcher on one line.
static const char *flat_text(Arena *arena, Str text) {
    Buffer out = buffer_new(arena);
    for (size_t i = 0; i < text.size; i++) {
        bool is_space = strchr(" \n\t\r", text.data[i]) != NULL;
        if (is_space && out.size && buffer_text(&out)[out.size - 1] == ' ') continue;
        buffer_putc(&out, is_space ? ' ' : text.data[i]);
    }
    return buffer_text(&out);
}

bool operator_grid_reads(const OperatorPlan *plan, const char *name) {
    size_t size = strlen(name);
    for (const char *at = plan->grid; at && (at = strstr(at, name)); at += size) {
        char before = at > plan->grid ? at[-1] : ' ';
        if (!byte_is_word(before) && before != '.' && before != '"' && !byte_is_word(at[size]))
            return true;
    }
    return false;
}

/* ---- names in a launcher ---- */

typedef struct OperatorNameSearch {
    const Module *module;
    Str name;
    SyntaxNode assigned;  // the right side of its assignment
    SyntaxNode function;  // or the nested function of that name
    int bindings;
} OperatorNameSearch;

static bool visit_binding(void *context, SyntaxNode node) {
    OperatorNameSearch *search = context;
    const Source *source = search->module->source;
    if (node_kind(node) == SYNTAX_FUNCTION &&
        str_equal(node_text(source, node_field(node, "name")), search->name)) {
        search->function = node;
        search->bindings++;
    }
    if (node_kind(node) != SYNTAX_ASSIGNMENT) return true;
    SyntaxNode left = node_field(node, "left");
    if (node_kind(left) == SYNTAX_IDENTIFIER) {
        if (!str_equal(node_text(source, left), search->name)) return true;
        search->assigned = node_field(node, "right");
        search->bindings++;
        return true;
    }
    for (uint32_t i = 0; i < node_child_count(left); i++)
        if (str_equal(node_text(source, node_child(left, i)), search->name)) search->bindings++;
    return true;
}

static OperatorNameSearch search_name(const Module *module, const FunctionDefinition *launcher,
                                      Str name) {
    OperatorNameSearch search = {.module = module, .name = name};
    if (launcher) syntax_walk(launcher->body, visit_binding, &search);
    return search;
}

static bool is_local(const Module *module, const FunctionDefinition *launcher, Str name) {
    for (int p = 0; launcher && p < launcher->parameter_count; p++)
        if (str_equal(launcher->parameters[p].name, name)) return true;
    return search_name(module, launcher, name).bindings > 0;
}

/* ---- the grid ---- */

typedef struct GridText {
    Arena *arena;
    const Module *module;
    const LaunchSite *site;
    const BoundLaunch *bound;
    OperatorPlan *plan;
    Str parameter;  // of the lambda
    Buffer out;
    uint32_t at;
    bool may_add;  // the first launch says which names the operator gets
} GridText;

/// Source text without line breaks, in double quotes.
static void add_source(GridText *grid, uint32_t end) {
    const char *text = grid->module->source->text.data;
    for (uint32_t i = grid->at; i < end; i++) {
        char c = text[i] == '\'' ? '"' : text[i];
        bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
        char last = grid->out.size ? buffer_text(&grid->out)[grid->out.size - 1] : ' ';
        if (is_space && (last == ' ' || last == '(' || last == '[')) continue;
        buffer_putc(&grid->out, is_space ? ' ' : c);
    }
    grid->at = end;
}

static const char *kernel_name_of(const GridText *grid, Str name) {
    const char *found = NULL;
    for (int p = 0; p < grid->plan->launch->kernel->parameter_count; p++) {
        if (!str_equal(grid->bound->arguments[p], name)) continue;
        const char *own = parameter_at(grid->plan, p)->name;
        if (!found || str_is(name, own)) found = own;
    }
    return found;
}

static void add_free_name(GridText *grid, SyntaxNode node, Str name) {
    SyntaxKind around = node_kind(node_parent(node));
    if (around == SYNTAX_ATTRIBUTE || around == SYNTAX_SUBSCRIPT) {
        refuse(grid->plan,
               arena_printf(grid->arena, "its grid is computed from `%.*s`, which it does not get",
                            STR_ARGS(name)));
        return;
    }
    for (int i = 0; i < grid->plan->free.count; i++)
        if (str_is(name, grid->plan->free.items[i])) return;
    if (grid->may_add)
        LIST_PUSH(grid->arena, &grid->plan->free, str_dup(grid->arena, name));
    else
        refuse(grid->plan, "its launches have different grids");
}

static bool visit_grid_name(void *context, SyntaxNode node) {
    GridText *grid = context;
    if (node_kind(node) != SYNTAX_IDENTIFIER) return true;
    const Source *source = grid->module->source;
    SyntaxNode parent = node_parent(node);
    bool is_member =
        node_kind(parent) == SYNTAX_ATTRIBUTE && !same_node(node_field(parent, "object"), node);
    bool is_keyword =
        node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT && same_node(node_field(parent, "name"), node);
    Str name = node_text(source, node);
    if (is_member || is_keyword || str_equal(name, grid->parameter) ||
        !is_local(grid->module, grid->site->launcher, name))
        return true;
    Range range = node_range(source, node);
    const char *own = kernel_name_of(grid, name);
    if (!own) {
        add_free_name(grid, node, name);
        return true;
    }
    add_source(grid, range.start);
    buffer_puts(&grid->out, own);
    grid->at = range.end;
    return true;
}

/// `(a, b, )` as `(a, b)`; one item keeps its comma.
static const char *without_last_comma(Arena *arena, const char *text) {
    size_t size = strlen(text), end = size;
    if (!size || text[size - 1] != ')') return text;
    end--;
    while (end && text[end - 1] == ' ') end--;
    if (!end || text[end - 1] != ',') return arena_printf(arena, "%.*s)", (int)end, text);
    int depth = 0, commas = 0;
    for (size_t i = end; i-- > 0;) {
        depth += (text[i] == ')' || text[i] == ']') - (text[i] == '(' || text[i] == '[');
        if (depth < 0) break;
        commas += depth == 0 && text[i] == ',';
    }
    return arena_printf(arena, "%.*s)", (int)(commas > 1 ? end - 1 : end), text);
}

/// `lambda meta: (...)` over the kernel's parameters, for a lambda or a function of one `return`; NULL for other grids.
static const char *grid_function(GridText *grid) {
    const Source *source = grid->module->source;
    SyntaxNode node = grid->site->grid;
    if (node_kind(node) == SYNTAX_IDENTIFIER) {
        OperatorNameSearch found =
            search_name(grid->module, grid->site->launcher, node_text(source, node));
        if (found.bindings != 1) return NULL;
        node = node_is_null(found.function) ? found.assigned : found.function;
    }
    if (node_is_null(node)) return NULL;
    SyntaxNode body = node_field(node, "body");
    if (node_kind(node) == SYNTAX_FUNCTION) {
        if (node_child_count(body) != 1 || node_kind(node_child(body, 0)) != SYNTAX_RETURN) {
            refuse(grid->plan, "its grid is a function of several statements");
            return NULL;
        }
        body = node_child(node_child(body, 0), 0);
    } else if (node_kind(node) != SYNTAX_LAMBDA) {
        return NULL;
    }
    SyntaxNode parameters = node_field(node, "parameters");
    if (node_child_count(parameters) != 1) {
        refuse(grid->plan, "its grid function takes something else than the launch's arguments");
        return NULL;
    }
    grid->parameter = node_text(source, node_child(parameters, 0));
    buffer_printf(&grid->out, "lambda %.*s: ", STR_ARGS(grid->parameter));
    Range range = node_range(source, body);
    grid->at = range.start;
    syntax_walk(body, visit_grid_name, grid);
    add_source(grid, range.end);
    return without_last_comma(grid->arena, buffer_text(&grid->out));
}

static void plan_grid(Arena *arena, const Module *module, const LaunchSite *site,
                      const BoundLaunch *bound, OperatorPlan *plan, bool is_first) {
    GridText grid = {.arena = arena,
                     .module = module,
                     .site = site,
                     .bound = bound,
                     .plan = plan,
                     .out = buffer_new(arena),
                     .may_add = is_first};
    const char *text = grid_function(&grid);
    if (is_first) {
        plan->grid = text;
        return;
    }
    bool same = text && plan->grid ? strcmp(text, plan->grid) == 0 : text == plan->grid;
    if (!same) refuse(plan, "its launches have different grids");
}

/// `num_ctas=1` is what a launch without it has, and torch.compile refuses to hear of it.
static bool option_is_needless(const BoundLaunch *bound, int option) {
    return str_is(bound->option_names.items[option], "num_ctas") &&
           str_is(str_trim(bound->options.items[option]), "1");
}

static void plan_options(Arena *arena, const BoundLaunch *bound, OperatorPlan *plan,
                         bool is_first) {
    static const char *const known[] = {"num_warps", "num_stages"};
    int taken = 0;
    bool same = true;
    for (LIST_EACH(int, i, bound->option_names)) {
        if (option_is_needless(bound, i)) continue;
        Str name = bound->option_names.items[i];
        bool is_known = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            is_known = is_known || str_is(name, known[k]);
        if (!is_known)
            refuse(plan, arena_printf(arena, "wrap_triton does not take `%.*s`", STR_ARGS(name)));
        if (is_first) LIST_PUSH(arena, &plan->options, name);
        same = same && taken < plan->options.count && str_equal(name, plan->options.items[taken]);
        taken++;
    }
    if (!same || taken != plan->options.count) refuse(plan, "its launches have different options");
}

/* ---- one launch ---- */

void operator_plan_launch(Arena *arena, const Module *module, const LaunchSite *site,
                          OperatorPlan *plan, bool is_first) {
    BoundLaunch bound;
    if (!launch_bind(arena, module, site, &bound) || !site->launcher ||
        launch_lacks(plan->launch, &bound))
        return;
    const char *other = launch_wrapper_refusal(arena, module, site);
    if (other) refuse(plan, other);
    plan_options(arena, &bound, plan, is_first);
    plan_grid(arena, module, site, &bound, plan, is_first);
    for (int p = 0; p < site->kernel->parameter_count; p++) {
        const Parameter *parameter = parameter_at(plan, p);
        if (!is_output(parameter) || !plan->launch->passed[p]) continue;
        bool is_read = parameter->is_loaded;
        if (is_read || !str_is_name(bound.arguments[p]) ||
            !launch_owns_empty(module, site, bound.arguments[p]))
            plan->is_filled[p] = true;
    }
}

/* ---- the launcher ---- */

/// NULL, or why the launch cannot be an operator's call.
static const char *refuse_launch(Arena *arena, const Module *module, const BoundLaunch *bound,
                                 const OperatorPlan *plan) {
    const LaunchSite *site = bound->site;
    for (int p = 0; p < site->kernel->parameter_count; p++) {
        if (!plan->launch->passed[p] || !is_output(parameter_at(plan, p))) continue;
        Str text = bound->arguments[p];
        if (!str_is_name(text) || !launch_owns(module, site, text))
            return arena_printf(
                arena,
                "`%.*s` writes to `%.*s`, which is not a tensor of its own that only it knows",
                STR_ARGS(site->kernel->name), STR_ARGS(text));
        for (int q = 0; q < site->kernel->parameter_count; q++)
            if (q != p && str_equal(bound->arguments[q], text))
                return arena_printf(arena, "`%.*s` gets `%.*s` twice, and writes to it",
                                    STR_ARGS(site->kernel->name), STR_ARGS(text));
    }
    return NULL;
}

static Str argument_text(const OperatorPlan *plan, const BoundLaunch *bound, int p) {
    if (bound->arguments[p].size) return bound->arguments[p];
    Str given = plan->launch->kernel->parameters[p].default_text;
    return given.size ? given : STR("None");
}

static void add_call(Arena *arena, Buffer *out, const Module *module, const OperatorPlan *plan,
                     const BoundLaunch *bound, int column) {
    Buffer call = buffer_new(arena), targets = buffer_new(arena);
    const char *separator = "(";
    if (!plan->grid) {
        buffer_printf(&call, "(%s", launch_grid_text(arena, module, bound->site));
        separator = ", ";
    }
    for (int i = 0; i < plan->free.count; i++, separator = ", ")
        buffer_printf(&call, "%s%s", separator, plan->free.items[i]);
    for (int p = 0; p < plan->launch->kernel->parameter_count; p++) {
        if (!plan->launch->passed[p]) continue;
        Str text = argument_text(plan, bound, p);
        if (p == bound->spread_first) text = bound->spread;
        if (p <= bound->spread_first || p > bound->spread_last) {
            buffer_printf(&call, "%s%s", separator, flat_text(arena, text));
            separator = ", ";
        }
        if (is_output(parameter_at(plan, p)))
            buffer_printf(&targets, "%s%.*s", targets.size ? ", " : "", STR_ARGS(text));
    }
    for (LIST_EACH(int, i, bound->options))
        if (!option_is_needless(bound, i))
            buffer_printf(&call, ", %.*s", STR_ARGS(bound->options.items[i]));
    buffer_putc(&call, ')');
    Buffer lines = buffer_new(arena);
    layout_statement(&lines, column,
                     arena_printf(arena, "%s = %s", buffer_text(&targets), plan->name),
                     buffer_text(&call), "");
    // The text before the launch has its indentation, and the line goes on after it.
    buffer_add(out, buffer_text(&lines) + column, lines.size - (size_t)column - 1);
}

static const OperatorPlan *plan_of(const OperatorPlan *plans, int count,
                                   const FunctionDefinition *kernel) {
    for (int i = 0; i < count; i++)
        if (plans[i].launch->kernel == kernel && !plans[i].launch->is_apart) return &plans[i];
    return NULL;
}

typedef struct GridUse {
    const Module *module;
    Str name;
    bool elsewhere;
} GridUse;

static bool visit_grid_use(void *context, SyntaxNode node) {
    GridUse *use = context;
    const Source *source = use->module->source;
    if (node_kind(node) != SYNTAX_IDENTIFIER || !str_equal(node_text(source, node), use->name))
        return true;
    SyntaxNode parent = node_parent(node);
    bool is_target =
        node_kind(parent) == SYNTAX_ASSIGNMENT && same_node(node_field(parent, "left"), node);
    bool is_grid = false;
    for (LIST_EACH(int, i, use->module->launches))
        if (same_node(use->module->launches.items[i].grid, node)) is_grid = true;
    if (!is_target && !is_grid) use->elsewhere = true;
    return true;
}

/// The line `grid = lambda meta: ...` that nobody needs any more; an empty range where there is none.
static Range unused_grid(const Module *module, const LaunchSite *site, const OperatorPlan *plan) {
    Range none = {0};
    if (!plan->grid || node_kind(site->grid) != SYNTAX_IDENTIFIER) return none;
    GridUse use = {.module = module, .name = node_text(module->source, site->grid)};
    syntax_walk(site->launcher->body, visit_grid_use, &use);
    SyntaxNode assigned = search_name(module, site->launcher, use.name).assigned;
    if (use.elsewhere || node_is_null(assigned)) return none;
    SyntaxNode statement = node_parent(node_parent(assigned));
    SyntaxNode block = node_parent(statement);
    if (node_child_count(block) < 2) return none;
    Range range = node_range(module->source, statement);
    const char *text = module->source->text.data;
    uint32_t start = range.start;
    while (start > 0 && text[start - 1] == ' ') start--;
    if (text[range.end] != '\n') return none;
    range.start = start;
    range.end++;
    return range;
}

const char *operator_launcher_text(Arena *arena, const Module *module, Range body,
                                   const OperatorPlan *plans, int plan_count, const char **why) {
    Buffer out = buffer_new(arena);
    uint32_t at = body.start;
    for (const LaunchSite *site; (site = launch_after(module, body, at)) != NULL;) {
        const OperatorPlan *plan = plan_of(plans, plan_count, site->kernel);
        const char *name = str_dup(arena, site->kernel->name);
        *why = arena_printf(arena, "it also launches `%s`, which has no generated backward", name);
        if (!plan) return NULL;
        *why = "it launches under torch.no_grad";
        if (launch_is_without_gradients(module, site, body.start)) return NULL;
        *why = "which kernel it launches is known only where it runs: operators have one each";
        if (launch_is_choice(module, site)) return NULL;
        if ((*why = launch_bare_refusal(arena, site)) != NULL) return NULL;
        *why = arena_printf(arena, "`%s` cannot be an operator: %s", name,
                            plan->refusal ? plan->refusal : "");
        if (plan->refusal) return NULL;
        BoundLaunch bound;
        Range call = launch_place(module, site);
        *why = "its launch passes **arguments or is part of an expression";
        if (!launch_bind(arena, module, site, &bound) || !call.source || call.start < at)
            return NULL;
        const char *lacks = launch_lacks(plan->launch, &bound);
        *why = lacks ? arena_printf(arena, "its launch passes no `%s`", lacks)
                     : refuse_launch(arena, module, &bound, plan);
        if (*why) return NULL;
        int line, column;
        source_position(module->source, call.start, &line, &column);
        Range grid = unused_grid(module, site, plan);
        bool is_dropped = grid.end > grid.start && grid.start >= at && grid.end <= call.start;
        if (is_dropped) {
            buffer_add(&out, module->source->text.data + at, grid.start - at);
            at = grid.end;
        }
        buffer_add(&out, module->source->text.data + at, call.start - at);
        add_call(arena, &out, module, plan, &bound, column);
        at = call.end;
    }
    buffer_add(&out, module->source->text.data + at, body.end - at);
    return buffer_text(&out);
}
