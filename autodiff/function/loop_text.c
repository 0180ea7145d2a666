// A launch whose loop has a tile of its own in; the Python that chooses it out.
#include "autodiff/function/loop_text.h"

#include <string.h>

#include "autodiff/emit/call_lines.h"

typedef LIST(const char *) LoopTexts;

/// The block that the choice is about: a free one, or one that is taken in parts.
static const LaunchBlock *chosen_block(const BackwardLaunch *launch) {
    const LaunchBlock *block = launch_block_with(launch, BLOCK_LOOP);
    if (!block) block = launch_block_with(launch, BLOCK_FIXED);
    return block ? block : launch_block_with(launch, BLOCK_PARTS);
}

/// All of the forward's numbers that the choice hangs on.
static LoopTexts numbers_of(Arena *arena, const BackwardLaunch *launch) {
    const LoopTile *loop = launch->loop;
    const LaunchBlock *block = chosen_block(launch);
    const char *const texts[] = {block->of,           loop->rows,       loop->products.fixed,
                                 loop->products.each, loop->kept.fixed, loop->kept.each,
                                 loop->loaded.fixed,  loop->loaded.each};
    LoopTexts all = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) LIST_PUSH(arena, &all, texts[i]);
    for (int i = 0; i < block->limit_count; i++) LIST_PUSH(arena, &all, block->limits[i]);
    return all;
}

/// A text with numbers of the forward's, of which a tuner chose some.
static const char *as_launched(Arena *arena, const LaunchPlan *plan, const TileNames *names,
                               const char *text) {
    Buffer out = buffer_new(arena);
    for (const char *at = text; names->tuned && *at;) {
        size_t size = 0;
        while (byte_is_word(at[size])) size++;
        int parameter = size ? parameter_find(plan->kernel, (Str){at, size}) : -1;
        if (parameter >= 0 && !plan_has(plan, parameter))
            buffer_printf(&out, "%s[\"%.*s\"]", names->tuned, (int)size, at);
        else
            buffer_printf(&out, "%.*s", (int)(size ? size : 1), at);
        at += size ? size : 1;
    }
    return names->tuned ? buffer_text(&out) : text;
}

/// Whether a tuner has chosen each number that the Function does not have.
static bool are_tuned(const LaunchPlan *plan, const char *text) {
    for (const char *at = text; *at;) {
        size_t size = 0;
        while (byte_is_word(at[size])) size++;
        int parameter = size ? parameter_find(plan->kernel, (Str){at, size}) : -1;
        if (parameter >= 0 && !plan_has(plan, parameter) &&
            plan->kernel->parameters[parameter].default_text.size)
            return false;
        at += size ? size : 1;
    }
    return true;
}

bool loop_tile_is_own(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                      TileNames *names) {
    const LoopTile *loop = launch->loop;
    const LaunchBlock *in_parts = launch->has_parts ? launch_block_with(launch, BLOCK_PARTS) : NULL;
    bool is_free = launch_block_with(launch, BLOCK_LOOP) != NULL,
         is_known = plan_has_all_names(plan, loop->tensors, loop->tensor_count);
    bool is_fixed = launch_block_with(launch, BLOCK_FIXED) && !launch->follows_tuner;
    if (!is_free && !in_parts && !is_fixed) return false;
    LoopTexts numbers = numbers_of(arena, launch);
    if (is_free && in_parts) LIST_PUSH(arena, &numbers, in_parts->of);
    for (LIST_EACH(int, i, numbers))
        is_known = is_known && (launch->follows_tuner ? are_tuned(plan, numbers.items[i])
                                                      : plan_has_names(plan, numbers.items[i]));
    if (!is_known) return false;
    *names = (TileNames){.grid = arena_printf(arena, "%s.grid", plan->ctx),
                         .tile = is_fixed ? "_" : plan_name(arena, plan, "tile"),
                         .warps = plan_name(arena, plan, "warps"),
                         .stages = plan_name(arena, plan, "stages")};
    if (launch->follows_tuner) names->tuned = plan_name(arena, plan, "tuned");
    if (is_free && in_parts) names->rows = plan_name(arena, plan, "rows");
    if (in_parts)
        names->parts =
            arena_printf(arena, "%s // %s", as_launched(arena, plan, names, in_parts->of),
                         is_free ? names->rows : names->tile);
    return true;
}

/// `(Q, K)`, also of one.
static const char *tuple_text(Arena *arena, const char *const *items, int count) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < count; i++) buffer_printf(&out, "%s%s", i ? ", " : "", items[i]);
    return arena_printf(arena, "(%s%s)", buffer_text(&out), count == 1 ? "," : "");
}

typedef struct LoopWriter {
    Arena *arena;
    const LaunchPlan *plan;
    const TileNames *names;
    const LaunchBlock *in_parts;  // whose rows are fewer, beside a free block; or NULL
    LoopTexts arguments;
} LoopWriter;

static const char *number_text(const LoopWriter *writer, const char *text) {
    const LaunchBlock *block = writer->in_parts;
    text = as_launched(writer->arena, writer->plan, writer->names, text);
    return block ? text_with_word(writer->arena, text, block->of, writer->names->rows) : text;
}

static void add_lanes(LoopWriter *writer, const char *keyword, LaneCount count) {
    LIST_PUSH(writer->arena, &writer->arguments,
              arena_printf(writer->arena, "%s=(%s, %s)", keyword, number_text(writer, count.fixed),
                           number_text(writer, count.each)));
}

/// What the size has to divide: of a part the block.
static void add_limits(LoopWriter *writer, const LaunchBlock *block) {
    LoopTexts limits = {0};
    if (block->role == BLOCK_PARTS)
        LIST_PUSH(writer->arena, &limits,
                  as_launched(writer->arena, writer->plan, writer->names, block->of));
    for (int i = 0; block->role == BLOCK_LOOP && i < block->limit_count; i++)
        LIST_PUSH(writer->arena, &limits,
                  as_launched(writer->arena, writer->plan, writer->names, block->limits[i]));
    if (limits.count)
        LIST_PUSH(writer->arena, &writer->arguments,
                  arena_printf(writer->arena, "divides=%s",
                               tuple_text(writer->arena, limits.items, limits.count)));
}

const char *loop_tile_statement(Arena *arena, const LaunchPlan *plan, const BackwardLaunch *launch,
                                const TileNames *names, int indent) {
    const LoopTile *loop = launch->loop;
    const LaunchBlock *fixed = launch_block_with(launch, BLOCK_FIXED),
                      *block = fixed ? fixed : launch_block_with(launch, BLOCK_LOOP),
                      *in_parts = launch->has_parts ? launch_block_with(launch, BLOCK_PARTS) : NULL;
    LoopWriter writer = {.arena = arena, .plan = plan, .names = names};
    Buffer out = buffer_new(arena);
    if (block && in_parts) writer.in_parts = in_parts;
    if (names->tuned)
        buffer_printf(&out, "%*s%s = _tuned(%s)\n", indent, "", names->tuned,
                      plan->backward->launches[0].kernel);
    if (fixed)
        buffer_printf(&out,
                      "%*s# its own warps and stages: elements, and more for each lane of %s\n",
                      indent, "", fixed->name);
    else if (block)
        buffer_printf(&out, "%*s# its own %s: elements, and more for each lane of it\n", indent, "",
                      block->name);
    else
        buffer_printf(&out, "%*s# %s in parts: elements, and more for each lane of one\n", indent,
                      "", in_parts->name);
    if (block && in_parts)
        buffer_printf(&out, "%*s%s = min(%s, %d)\n", indent, "", names->rows, in_parts->of,
                      ROWS_OF_A_PART);
    if (!block) block = in_parts;
    LIST_PUSH(arena, &writer.arguments, as_launched(arena, plan, names, block->of));
    LIST_PUSH(arena, &writer.arguments, tuple_text(arena, loop->tensors, loop->tensor_count));
    LIST_PUSH(arena, &writer.arguments,
              arena_printf(arena, "rows=%s", number_text(&writer, loop->rows)));
    add_lanes(&writer, "products", loop->products);
    add_lanes(&writer, "kept", loop->kept);
    add_lanes(&writer, "loaded", loop->loaded);
    add_limits(&writer, block);
    if (fixed) LIST_PUSH(arena, &writer.arguments, "fixed=True");
    if (loop->is_owned) LIST_PUSH(arena, &writer.arguments, "owned=True");
    if (launch->is_precise) LIST_PUSH(arena, &writer.arguments, "widest=2");
    if (names->tuned) {
        LIST_PUSH(arena, &writer.arguments,
                  arena_printf(arena, "num_warps=%s[\"num_warps\"]", names->tuned));
        LIST_PUSH(arena, &writer.arguments,
                  arena_printf(arena, "num_stages=%s[\"num_stages\"]", names->tuned));
    } else if (plan->has_options)
        LIST_PUSH(arena, &writer.arguments, arena_printf(arena, "**%s.options", plan->ctx));
    const char *head =
        arena_printf(arena, "%s, %s, %s = _loop_tile", names->tile, names->warps, names->stages);
    buffer_printf(&out, "%*s%s\n", indent, "",
                  call_lines(arena, head, writer.arguments.items, writer.arguments.count, indent));
    return buffer_text(&out);
}
