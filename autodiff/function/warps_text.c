// The tile that a kernel streams in, the options of its launch out.
#include "autodiff/function/warps_text.h"

#include <ctype.h>
#include <string.h>

#include "autodiff/emit/call_lines.h"
#include "autodiff/function/loop_text.h"
#include "autodiff/function/stored_text.h"

enum {
    LEAST_TILE = 64,  // elements, up to which one warp is enough
    DEFAULT_TILE =
        4096,  // elements, up to which four warps are right: those that Triton takes unasked
    WIDE_TILE = 1024,      // elements of which a program moves 2,048 bytes at least
    DEFAULT_LOADS = 6144,  // the same of all tiles that are loaded at once, with four bytes each
};

/// A factor of the tile as a launch passes it: a number, else 0.
static long factor_of(const LaunchPlan *plan, const BoundLaunch *bound, Str factor) {
    int parameter = parameter_find(plan->kernel, factor);
    Str text = parameter < 0 ? factor : bound->arguments[parameter];
    if (parameter >= 0 && !text.size) text = plan->kernel->parameters[parameter].default_text;
    if (!text.size || text.size > 8) return 0;
    for (size_t i = 0; i < text.size; i++)
        if (!isdigit((unsigned char)text.data[i])) return 0;
    long number = 0;
    for (size_t i = 0; i < text.size; i++) number = 10 * number + (text.data[i] - '0');
    return number;
}

/// Elements of the tile as a launch passes it; 0: not numbers.
static long tile_elements(const LaunchPlan *plan, const BoundLaunch *bound,
                          const BackwardLaunch *launch) {
    const char *tile = launch->tile;
    long size = 1;
    for (const char *at = tile; *at && size;) {
        const char *end = strstr(at, " * ");
        size_t length = end ? (size_t)(end - at) : strlen(at);
        size *= factor_of(plan, bound, (Str){at, length});
        at += length + (end ? 3 : 0);
    }
    return size;
}

/// Tiles of which nothing has to be said of warps: four are right.
static bool takes_four_warps(long size, const BackwardLaunch *launch) {
    return size > LEAST_TILE && size <= DEFAULT_TILE &&
           size * launch->loaded_count <= DEFAULT_LOADS;
}

/// Tiles so large that a program has enough to do, whatever their type is.
static bool is_wide(long size, const BackwardLaunch *launch) {
    (void)launch;
    return size >= WIDE_TILE;
}

/// Whether all launches of the file pass numbers, and tiles of that kind.
static bool all_tiles_are(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                          bool of_kind(long size, const BackwardLaunch *launch)) {
    const Module *module = plan->kernel->module;
    bool any = false;
    for (LIST_EACH(int, i, module->launches)) {
        BoundLaunch bound;
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != plan->kernel) continue;
        if (!launch_bind(arena, module, site, &bound)) return false;
        long size = tile_elements(plan, &bound, launch);
        if (size < 1 || !of_kind(size, launch)) return false;
        any = true;
    }
    return any;
}

static bool names_are_passed(const LaunchPlan *plan, const char *tile) {
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        Str name = plan->kernel->parameters[p].name;
        for (const char *at = tile; (at = strstr(at, plan_parameter(plan, p)->name)); at++) {
            bool is_whole =
                (at == tile || at[-1] == ' ' || at[-1] == '(') && !byte_is_word(at[name.size]);
            if (is_whole && !plan_has(plan, p)) return false;
        }
    }
    return true;
}

bool launch_counts_warps(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch) {
    bool is_tuned = plan->kernel->is_autotuned || plan->kernel->has_heuristics;
    TileNames names;
    return launch->tile && !is_tuned && !plan->has_options &&
           !tiles_are_own(arena, plan, launch, &names) && names_are_passed(plan, launch->tile) &&
           !all_tiles_are(arena, plan, launch, takes_four_warps);
}

bool launch_counts_byte_warps(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch) {
    bool is_tuned = plan->kernel->is_autotuned || plan->kernel->has_heuristics;
    TileNames names;
    return launch->has_bytes && launch->tile && !launch->row.block && !is_tuned &&
           !tiles_are_own(arena, plan, launch, &names) && names_are_passed(plan, launch->tile);
}

static Texts tile_and_loads(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch) {
    Texts items = {0};
    LIST_PUSH(arena, &items, launch->tile);
    for (int i = 0; i < launch->loaded_count; i++)
        if (names_are_passed(plan, launch->loaded[i])) LIST_PUSH(arena, &items, launch->loaded[i]);
    return items;
}

const char *warps_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                       int indent) {
    bool has_bytes = launch_counts_byte_warps(arena, plan, launch);
    if (has_bytes ? plan->has_options : !launch_counts_warps(arena, plan, launch)) return NULL;
    Texts items = tile_and_loads(arena, plan, launch);
    const char *head = has_bytes ? "num_warps=_byte_warps" : "num_warps=_warps";
    return call_lines_before(arena, head, items.items, items.count, indent, 1);
}

const char *text_with_word(Arena *arena, const char *text, const char *word, const char *by) {
    Buffer out = buffer_new(arena);
    size_t size = strlen(word);
    for (const char *at = text; *at;) {
        bool is_word = strncmp(at, word, size) == 0 && (at == text || !byte_is_word(at[-1])) &&
                       !byte_is_word(at[size]);
        if (is_word)
            buffer_puts(&out, by);
        else
            buffer_putc(&out, *at);
        at += is_word ? size : 1;
    }
    return buffer_text(&out);
}

const char *stages_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const char *name, int indent) {
    if (!launch->tile || !launch->stage_count || !names_are_passed(plan, launch->tile)) return NULL;
    LIST(const char *) items = {0};
    TileNames names;
    bool is_own = (launch->flat_end || launch->together_iterates) &&
                  tiles_are_own(arena, plan, launch, &names);
    LIST_PUSH(arena, &items,
              !is_own ? launch->tile
              : launch->flat_end
                  ? text_with_word(arena, launch->tile, launch->flat_lanes, names.block)
                  : arena_printf(arena, "%s * %s", names.block, launch->tile));
    for (int i = 0; i < launch->stage_count; i++) LIST_PUSH(arena, &items, launch->stages[i]);
    return call_lines_before(arena, arena_printf(arena, "%s=_stages", name), items.items,
                             items.count, indent, 1);
}

const char *run_tile_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                          const BackwardArgument *argument) {
    TileNames names;
    if (!launch->flat_run || !launch->flat_lanes || !plan_has_names(plan, launch->flat_run))
        return NULL;
    const char *block = launch->flat_lanes;
    if (launch->flat_end && tiles_are_own(arena, plan, launch, &names))
        block = names.block;
    else if (!plan_has_names(plan, block) || !names_are_passed(plan, block))
        return NULL;
    const char *lanes = arena_printf(arena, "triton.next_power_of_2(max(%s, 1))", launch->flat_run);
    return argument->axis
               ? arena_printf(arena, "%s=min(%s, %s)", argument->name, block, lanes)
               : arena_printf(arena, "%s=max(%s // %s, 1)", argument->name, block, lanes);
}

/// Where each program has few threads, more of them hide the waiting for memory. Measured in docs/gpu.md.
static bool has_few_warps(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch) {
    bool is_tuned = plan->kernel->is_autotuned || plan->kernel->has_heuristics;
    return launch->tile && !launch->row.block && !is_tuned && !plan->has_options &&
           !launch_counts_warps(arena, plan, launch);
}

SlicesRule slices_rule(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                       const BackwardArgument *slices) {
    enum { MOST_OF_OWN = 65536 };
    bool is_tuned = plan->kernel->is_autotuned || plan->kernel->has_heuristics;
    if (slices->has_own && !slices->is_constexpr)
        return (SlicesRule){
            .most = is_tuned ? 0 : MOST_OF_OWN, .each = 1, .is_busy = slices->has_large};
    return (SlicesRule){.most = has_few_warps(arena, plan, launch) ? SLICES_MOST : 0};
}

const char *slices_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                        const BackwardArgument *slices) {
    long long most = slices_rule(arena, plan, launch, slices).most;
    return most ? arena_printf(arena, "%s=%lld", slices->name, most) : NULL;
}

/// The parameter for the number of sums that a gradient in parts has, or NULL.
static const BackwardArgument *slices_of(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_SLICES && !launch->arguments[i].is_constexpr)
            return &launch->arguments[i];
    return NULL;
}

const char *slices_name(Arena *arena, const LaunchPlan *plan, int number) {
    int first = 0;
    while (!slices_of(&plan->backward->launches[first])) first++;
    return plan_name(arena, plan,
                     number == first ? "slices" : arena_printf(arena, "slices_%d", number));
}

/// The axes of the grid that a product of them names; all where it is not known.
static const char *axes_text(Arena *arena, const char *programs) {
    if (!programs) return "(0, 1, 2)";
    Buffer out = buffer_new(arena);
    int count = 0;
    for (const char *at = programs; (at = strstr(at, "grid.")); at++)
        buffer_printf(&out, "%s%c", count++ ? ", " : "", at[sizeof "grid." - 1]);
    return arena_printf(arena, "(%s%s)", buffer_text(&out), count == 1 ? "," : "");
}

/// The turns of owners in a block of their own.
static const char *own_turns(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                             const char *turns) {
    TileNames names;
    if (!launch->flat_end || !tiles_are_own(arena, plan, launch, &names)) return NULL;
    turns = text_with_word(arena, turns, launch->flat_lanes, names.block);
    return text_with_word(arena, turns, "grid.0", arena_printf(arena, "%s[0]", names.grid));
}

const char *slices_statements(Arena *arena, const LaunchPlan *plan) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < plan->backward->launch_count; i++) {
        const BackwardLaunch *launch = &plan->backward->launches[i];
        const BackwardArgument *slices = slices_of(launch);
        if (!slices) continue;
        LIST(const char *) items = {0};
        const char *own = slices->turns ? own_turns(arena, plan, launch, slices->turns) : NULL;
        const char *turns = own             ? own
                            : slices->turns ? grid_text_of(arena, plan, slices->turns)
                                            : NULL;
        if (own) buffer_puts(&out, tiles_statement(arena, plan, launch, 8));
        const char *name = slices_name(arena, plan, i);
        if (turns) {
            LIST_PUSH(arena, &items, turns);
            const char *call = call_lines(arena, arena_printf(arena, "%s = _flat_slices", name),
                                          items.items, items.count, 8);
            buffer_printf(&out, "        %s\n", call);
            continue;
        }
        LIST_PUSH(arena, &items, arena_printf(arena, "%s.grid", plan->ctx));
        LIST_PUSH(arena, &items, axes_text(arena, slices->programs));
        for (int k = 0; k < launch->argument_count; k++)
            if (launch->arguments[k].is_parts) LIST_PUSH(arena, &items, launch->arguments[k].of);
        SlicesRule rule = slices_rule(arena, plan, launch, slices);
        const char *most =
            rule.each && slices->most ? grid_text_alone(arena, plan, slices->most) : NULL;
        if (rule.most)
            LIST_PUSH(arena, &items,
                      most ? arena_printf(arena, "most=%s", most)
                           : arena_printf(arena, "most=%lld", (long long)rule.most));
        if (rule.each)
            LIST_PUSH(arena, &items, arena_printf(arena, "each=%lld", (long long)rule.each));
        if (rule.is_busy) LIST_PUSH(arena, &items, "busy=True");
        const char *head = arena_printf(arena, "%s = _slices", name);
        buffer_printf(&out, "        %s\n", call_lines(arena, head, items.items, items.count, 8));
    }
    return buffer_text(&out);
}

/* ---- tiles of products ---- */

static bool stream_is_own(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                          TileNames *names) {
    const LaunchBlock *block = launch_block_with(launch, BLOCK_STREAM);
    if (!plan_has_names(plan, block->of) || !plan_has_names(plan, block->extent) ||
        !plan_has_names(plan, launch->stream) ||
        !plan_has_all_names(plan, block->tensors, block->tensor_count))
        return false;
    *names = (TileNames){.grid = arena_printf(arena, "%s.grid", plan->ctx),
                         .block = plan_name(arena, plan, "block"),
                         .warps = plan_name(arena, plan, "warps")};
    return true;
}

/// What is chosen in front of all launches has a name for each launch that has it.
static const char *flat_name(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                             const char *name) {
    int before = 0;
    for (const BackwardLaunch *other = plan->backward->launches; other < launch; other++)
        before += launch->flat_end && other->flat_end;
    if (before) name = arena_printf(arena, "%s_%d", name, before);
    return plan_name(arena, plan, name);
}

static bool elements_are_own(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                             TileNames *names) {
    const LaunchBlock *block = launch_block_with(launch, BLOCK_ELEMENTS);
    if (!plan_has_names(plan, block->of) || !plan_has_names(plan, block->extent) ||
        !plan_has_names(plan, launch->elements) ||
        (!launch->flat_end && all_tiles_are(arena, plan, launch, is_wide)) ||
        !plan_has_all_names(plan, block->tensors, block->tensor_count))
        return false;
    *names = (TileNames){.grid = flat_name(arena, plan, launch, "grid"),
                         .block = flat_name(arena, plan, launch, "block"),
                         .warps = flat_name(arena, plan, launch, "warps")};
    return true;
}

/// Where a program of the forward may have so little to do that several are one.
static bool together_is_own(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                            TileNames *names) {
    if (!launch->tile || !plan_has_names(plan, launch->tile) ||
        (launch->together_least ? !plan_has_names(plan, launch->together_least)
                                : all_tiles_are(arena, plan, launch, is_wide)) ||
        !plan_has_all_names(plan, launch->loaded, launch->loaded_count))
        return false;
    *names =
        (TileNames){.grid = launch->together_iterates ? arena_printf(arena, "%s.grid", plan->ctx)
                                                      : plan_name(arena, plan, "grid"),
                    .block = plan_name(arena, plan, "together"),
                    .warps = plan_name(arena, plan, "warps")};
    return true;
}

bool tiles_are_own(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                   TileNames *names) {
    bool is_tuned = plan->kernel->is_autotuned || plan->kernel->has_heuristics;
    if (is_tuned && !launch->follows_tuner) return false;
    if (launch->loop) return loop_tile_is_own(arena, plan, launch, names);
    if (launch->stream) return stream_is_own(arena, plan, launch, names);
    if (launch->elements) return elements_are_own(arena, plan, launch, names);
    if (launch->has_together) return together_is_own(arena, plan, launch, names);
    if (!launch->has_tiles) return false;
    for (BlockRole role = BLOCK_ROWS; role <= BLOCK_TERMS; role++) {
        const LaunchBlock *block = launch_block_with(launch, role);
        if (!plan_has_names(plan, block->of) || !plan_has_names(plan, block->extent)) return false;
        for (int i = 0; i < block->tensor_count; i++)
            if (!plan_has_names(plan, block->tensors[i])) return false;
    }
    *names = (TileNames){
        .grid = plan_name(arena, plan, "grid"),
        .rows = plan_name(arena, plan, "rows"),
        .columns = plan_name(arena, plan, "columns"),
        .terms = plan_name(arena, plan, "terms"),
        .warps = plan_name(arena, plan, "warps"),
        .stages = plan_name(arena, plan, "stages"),
    };
    return true;
}

bool turns_are_own(const LaunchPlan *plan, const BackwardLaunch *launch) {
    bool is_tuned = plan->kernel->is_autotuned || plan->kernel->has_heuristics;
    return launch->turns_end && !is_tuned && !launch->has_tiles &&
           !plan->backward->single_axes[0] && plan_has_names(plan, launch->turns_end) &&
           plan_has_names(plan, launch->turns_step);
}

/// Axes of a grid as Python has them: `(0, 2)`.
static const char *sliced_axes(Arena *arena, const BackwardLaunch *launch) {
    const char *axes = NULL;
    bool is_one = true;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!launch->sliced[axis]) continue;
        is_one = !axes;
        axes = axes ? arena_printf(arena, "%s, %d", axes, axis) : arena_printf(arena, "%d", axis);
    }
    return arena_printf(arena, is_one ? "(%s,)" : "(%s)", axes);
}

/// The function that makes another grid of `grid`, with what it takes; NULL: the grid stays.
static const char *grid_call(Arena *arena, const LaunchPlan *plan, int number, const char *grid,
                             Texts *items) {
    const BackwardLaunch *launch = &plan->backward->launches[number];
    LIST_PUSH(arena, items, grid);
    if (launch->is_sliced) {
        LIST_PUSH(arena, items, sliced_axes(arena, launch));
        LIST_PUSH(arena, items, slices_name(arena, plan, number));
        return "_sliced";
    }
    if (!turns_are_own(plan, launch)) return NULL;
    LIST_PUSH(arena, items, launch->turns_end);
    if (strcmp(launch->turns_step, "1") != 0) LIST_PUSH(arena, items, launch->turns_step);
    return "_all_turns";
}

const char *launched_grid_text(Arena *arena, const LaunchPlan *plan, int number, const char *grid) {
    Texts items = {0};
    const char *call = grid_call(arena, plan, number, grid, &items);
    if (!call) return grid;
    Buffer out = buffer_new(arena);
    for (int i = 0; i < items.count; i++)
        buffer_printf(&out, "%s%s", i ? ", " : "", items.items[i]);
    return arena_printf(arena, "%s(%s)", call, buffer_text(&out));
}

const char *launched_grid_statement(Arena *arena, const LaunchPlan *plan, int number,
                                    const char *name, const char *grid, int indent) {
    Texts items = {0};
    const char *call = grid_call(arena, plan, number, grid, &items);
    return call_lines(arena, arena_printf(arena, "%s = %s", name, call), items.items, items.count,
                      indent);
}

/// `rows=(BLOCK_K, None, K, (a_ptr,))`: the forward's size, the axis of the grid, how many there are, and the tensors.
static const char *role_text(Arena *arena, const BackwardLaunch *launch, BlockRole role,
                             const char *keyword) {
    const LaunchBlock *block = launch_block_with(launch, role);
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "%s=(%s, ", keyword, block->of);
    if (block->axis < 0)
        buffer_puts(&out, "None");
    else
        buffer_printf(&out, "%d", block->axis);
    buffer_printf(&out, ", %s", block->extent);
    for (int i = 0; i < block->tensor_count; i++) buffer_printf(&out, ", %s", block->tensors[i]);
    buffer_putc(&out, ')');
    return buffer_text(&out);
}

static const char *stream_statement(Arena *arena, const LaunchPlan *plan,
                                    const BackwardLaunch *launch, const TileNames *names,
                                    int indent) {
    const LaunchBlock *block = launch_block_with(launch, BLOCK_STREAM);
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, block->of);
    LIST_PUSH(arena, &arguments, block->extent);
    for (int i = 0; i < block->tensor_count; i++) LIST_PUSH(arena, &arguments, block->tensors[i]);
    if (strcmp(launch->stream, "1") != 0)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "lanes=%s", launch->stream));
    if (launch->stream_sums >= MANY_SUMS)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "sums=%d", launch->stream_sums));
    if (plan->has_options)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "**%s.options", plan->ctx));
    const char *head = arena_printf(arena, "%s, %s = _row_block", names->block, names->warps);
    return arena_printf(arena, "%*s# its own %s: as much of a row as registers hold\n%*s%s\n",
                        indent, "", block->name, indent, "",
                        call_lines(arena, head, arguments.items, arguments.count, indent));
}

static const char *elements_statement(Arena *arena, const LaunchPlan *plan,
                                      const BackwardLaunch *launch, const TileNames *names,
                                      int indent) {
    const LaunchBlock *block = launch_block_with(launch, BLOCK_ELEMENTS);
    Texts arguments = {0};
    const char *grid = arena_printf(arena, "%s.grid", plan->ctx);
    if (launch->has_flat_turns)
        grid = arena_printf(arena, "_all_turns(%s, %s, %s)", grid, block->extent, block->of);
    LIST_PUSH(arena, &arguments, grid);
    LIST_PUSH(arena, &arguments, arena_printf(arena, "%d", block->axis));
    LIST_PUSH(arena, &arguments, block->of);
    LIST_PUSH(arena, &arguments, block->extent);
    for (int i = 0; i < block->tensor_count; i++) LIST_PUSH(arena, &arguments, block->tensors[i]);
    if (strcmp(launch->elements, "1") != 0)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "lanes=%s", launch->elements));
    if (launch->flat_end) LIST_PUSH(arena, &arguments, arena_printf(arena, "least=%d", FLAT_LEAST));
    if (plan->has_options)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "**%s.options", plan->ctx));
    const char *head =
        arena_printf(arena, "%s, %s, %s = _wide_block", names->grid, names->block, names->warps);
    return arena_printf(arena, "%*s# its own %s, where the forward's is small\n%*s%s\n", indent, "",
                        block->name, indent, "",
                        call_lines(arena, head, arguments.items, arguments.count, indent));
}

/// Where each iteration of a loop over programs has little to do.
static const char *iterations_statement(Arena *arena, const LaunchPlan *plan,
                                        const BackwardLaunch *launch, const TileNames *names,
                                        int indent) {
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments,
              slices_name(arena, plan, (int)(launch - plan->backward->launches)));
    LIST_PUSH(arena, &arguments, grid_text_of(arena, plan, slices_of(launch)->programs));
    LIST_PUSH(arena, &arguments, launch->tile);
    for (int i = 0; i < launch->loaded_count; i++) LIST_PUSH(arena, &arguments, launch->loaded[i]);
    if (plan->has_options)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "**%s.options", plan->ctx));
    const char *head = arena_printf(arena, "%s, %s = _at_once", names->block, names->warps);
    return arena_printf(arena, "%*s# rows at once, where one is short\n%*s%s\n", indent, "", indent,
                        "", call_lines(arena, head, arguments.items, arguments.count, indent));
}

static const char *together_statement(Arena *arena, const LaunchPlan *plan,
                                      const BackwardLaunch *launch, const TileNames *names,
                                      int indent) {
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, arena_printf(arena, "%s.grid", plan->ctx));
    LIST_PUSH(arena, &arguments, arena_printf(arena, "%d", launch->together_axis));
    LIST_PUSH(arena, &arguments, launch->tile);
    for (int i = 0; i < launch->loaded_count; i++) LIST_PUSH(arena, &arguments, launch->loaded[i]);
    if (launch->together_least)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "least=%s", launch->together_least));
    if (plan->has_options)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "**%s.options", plan->ctx));
    const char *head =
        arena_printf(arena, "%s, %s, %s = _together", names->grid, names->block, names->warps);
    const char *why = launch->together_least ? "where they store elements side by side"
                                             : "where each has little to do";
    return arena_printf(arena, "%*s# several programs as one, %s\n%*s%s\n", indent, "", why, indent,
                        "", call_lines(arena, head, arguments.items, arguments.count, indent));
}

const char *programs_text(Arena *arena, const BackwardArgument *argument, const char *grid) {
    return argument->axis
               ? arena_printf(arena, "%s=(*%s, 1, 1)[%d]", argument->name, grid, argument->axis)
               : arena_printf(arena, "%s=%s[0]", argument->name, grid);
}

const char *tiles_statement(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                            int indent) {
    TileNames names;
    if (!tiles_are_own(arena, plan, launch, &names)) return "";
    if (launch->loop) return loop_tile_statement(arena, plan, launch, &names, indent);
    if (launch->stream) return stream_statement(arena, plan, launch, &names, indent);
    if (launch->elements) return elements_statement(arena, plan, launch, &names, indent);
    if (launch->together_iterates) return iterations_statement(arena, plan, launch, &names, indent);
    if (launch->has_together) return together_statement(arena, plan, launch, &names, indent);
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, arena_printf(arena, "%s.grid", plan->ctx));
    LIST_PUSH(arena, &arguments, role_text(arena, launch, BLOCK_ROWS, "rows"));
    LIST_PUSH(arena, &arguments, role_text(arena, launch, BLOCK_COLUMNS, "columns"));
    LIST_PUSH(arena, &arguments, role_text(arena, launch, BLOCK_TERMS, "terms"));
    if (launch->is_precise) LIST_PUSH(arena, &arguments, "widest=2");
    if (plan->has_options)
        LIST_PUSH(arena, &arguments, arena_printf(arena, "**%s.options", plan->ctx));
    const char *head =
        arena_printf(arena, "%s, %s, %s, %s, %s, %s = _product_tiles", names.grid, names.rows,
                     names.columns, names.terms, names.warps, names.stages);
    return arena_printf(
        arena, "%*s# own tiles: %s x %s sums a program, %s terms at a time\n%*s%s\n", indent, "",
        launch_block_with(launch, BLOCK_ROWS)->name, launch_block_with(launch, BLOCK_COLUMNS)->name,
        launch_block_with(launch, BLOCK_TERMS)->name, indent, "",
        call_lines(arena, head, arguments.items, arguments.count, indent));
}

const char *tile_size_text(const BackwardLaunch *launch, const TileNames *names, const char *name) {
    const char *const sizes[] = {
        [BLOCK_ROWS] = names->rows,    [BLOCK_COLUMNS] = names->columns,
        [BLOCK_TERMS] = names->terms,  [BLOCK_LOOP] = names->tile,
        [BLOCK_STREAM] = names->block, [BLOCK_ELEMENTS] = names->block,
    };
    for (int i = 0; i < launch->block_count; i++)
        if (launch->blocks[i].role != BLOCK_OTHER && strcmp(launch->blocks[i].name, name) == 0)
            return sizes[launch->blocks[i].role];
    return NULL;
}

const char *options_text(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                         int indent) {
    TileNames names;
    if (launch->row.block)
        return arena_printf(arena, "**{**%s.options, \"num_warps\": %s}", plan->ctx,
                            plan_name(arena, plan, "warps"));
    if (launch_counts_byte_warps(arena, plan, launch)) {
        Texts items = tile_and_loads(arena, plan, launch);
        LIST_PUSH(arena, &items, arena_printf(arena, "**%s.options", plan->ctx));
        return arena_printf(arena, "**{**%s.options, \"num_warps\": %s}", plan->ctx,
                            call_lines(arena, "_byte_warps", items.items, items.count, indent));
    }
    if (!tiles_are_own(arena, plan, launch, &names))
        return arena_printf(arena, "**%s.options", plan->ctx);
    const char *stages =
        names.stages ? arena_printf(arena, ", \"num_stages\": %s", names.stages) : "";
    return arena_printf(arena, "**{**%s.options, \"num_warps\": %s%s}", plan->ctx, names.warps,
                        stages);
}

/* ---- rows that a block holds ---- */

LaunchPlan whole_rows_plan(const LaunchPlan *plan) {
    LaunchPlan own = *plan;
    own.backward = plan->backward->whole_rows;
    return own;
}

const BackwardLaunch *whole_rows_launch(const LaunchPlan *own) {
    return &own->backward->launches[0];
}

const char *whole_rows_warps(Arena *arena, const LaunchPlan *own) {
    return plan_name(arena, own, "warps");
}

bool rows_are_own(const LaunchPlan *plan) {
    if (!plan->backward->whole_rows) return false;
    const LaunchPlan own = whole_rows_plan(plan);
    const BackwardLaunch *launch = whole_rows_launch(&own);
    int block = parameter_find(plan->kernel, str_from(launch->row.block));
    return block >= 0 && plan->passed[block] && plan_has_names(plan, launch->row.length);
}

Texts whole_rows_leading(Arena *arena, const LaunchPlan *own) {
    Texts leading = {0};
    LIST_PUSH(arena, &leading, whole_rows_launch(own)->row.block);
    LIST_PUSH(arena, &leading, whole_rows_warps(arena, own));
    return leading;
}

int whole_rows_sums(const BackwardLaunch *launch) {
    int sums = launch->row.sums;
    for (int i = 0; i < launch->argument_count; i++)
        sums += launch->arguments[i].use == ARGUMENT_GRADIENT && launch->arguments[i].is_parts;
    return sums;
}

const char *whole_rows_dispatch(Arena *arena, const LaunchPlan *plan, const Texts *parameters) {
    if (!rows_are_own(plan)) return "";
    const LaunchPlan own = whole_rows_plan(plan);
    const BackwardLaunch *launch = whole_rows_launch(&own);
    const char *block = plan_name(arena, plan, "block"), *warps = whole_rows_warps(arena, &own);
    Texts sizes = {0}, call = {0};
    LIST_PUSH(arena, &sizes, launch->row.length);
    for (int i = 0; i < launch->loaded_count; i++)
        if (names_are_passed(plan, launch->loaded[i])) LIST_PUSH(arena, &sizes, launch->loaded[i]);
    LIST_PUSH(arena, &sizes, arena_printf(arena, "sums=%d", whole_rows_sums(launch)));
    LIST_PUSH(arena, &call, plan->ctx);
    LIST_PUSH(arena, &call, block);
    LIST_PUSH(arena, &call, warps);
    for (int i = 1; i < parameters->count; i++) LIST_PUSH(arena, &call, parameters->items[i]);
    const char *head = arena_printf(arena, "%s, %s = _whole_row", block, warps),
               *method = arena_printf(arena, "return %s." WHOLE_ROWS_METHOD, plan->class_name);
    return arena_printf(arena, "        %s\n        if %s:\n            %s\n",
                        call_lines(arena, head, sizes.items, sizes.count, 8), block,
                        call_lines(arena, method, call.items, call.count, 12));
}
