// Views that a kernel reaches around (`x[1:]` and the row before): the Function gets the tensor that they are views of, and its
// gradient has all of the storage. Where indices from memory may lead out of a view, its gradient would lack what lies there: the buffers
// have room around views, and the Function looks there.
#include "autodiff/function/part_text.h"

#include <string.h>

#include "autodiff/emit/call_lines.h"
#include "autodiff/plan/needs.h"

static const char *name_at(const LaunchPlan *plan, int p) {
    return plan->backward->kernel->function->parameters[p].name;
}

const char *part_launch_text(Arena *arena, const LaunchPlan *plan, const char *parts) {
    Texts places = {0};
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (plan->is_part[p])
            LIST_PUSH(arena, &places,
                      arena_printf(arena, "%s=_place_of(%s)", name_at(plan, p), name_at(plan, p)));
    const char *prefix = arena_printf(arena, "%s = dict", parts);
    return arena_printf(arena, "        %s\n",
                        call_lines(arena, prefix, places.items, places.count, 8));
}

const char *part_forward_text(Arena *arena, const LaunchPlan *plan, const char *parts) {
    Buffer out = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (plan->is_part[p])
            buffer_printf(&out, "        %s = _part_of(%s, %s[\"%s\"])\n", name_at(plan, p),
                          name_at(plan, p), parts, name_at(plan, p));
    return buffer_text(&out);
}

/* ---- indices from memory ---- */

bool indexed_is(const LaunchPlan *plan, const char *name) {
    int p = parameter_find(plan->kernel, str_from(name));
    return p >= 0 && plan->is_indexed[p];
}

/// Whether a buffer of the backward is laid out like an output.
static bool is_like_output(const BackwardArgument *argument) {
    return argument->use == ARGUMENT_UPSTREAM || argument->use == ARGUMENT_RUNNING ||
           argument->use == ARGUMENT_KEPT;
}

/// Whether the backward has a tensor of what the forward only read.
static bool is_read_again(const LaunchPlan *plan, int p) {
    const char *name = plan_parameter(plan, p)->name;
    return plan->passed[p] && plan->is_indexed[p] &&
           !parameter_is_output(plan_parameter(plan, p)) &&
           launch_argument(plan->backward, ARGUMENT_SAME, name) &&
           launch_argument(plan->backward, ARGUMENT_GRADIENT, name);
}

static bool has_room(const LaunchPlan *plan, int p) {
    const Parameter *parameter = plan_parameter(plan, p);
    if (is_read_again(plan, p)) return true;
    if (!plan->passed[p] || !plan->is_indexed[p] || !parameter_is_output(parameter)) return false;
    for (int i = 0; i < plan->backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &plan->backward->whole.arguments[i];
        if (is_like_output(argument) && strcmp(argument->of, parameter->name) == 0) return true;
    }
    return false;
}

/// `ctx.rooms[i]` of a tensor; NULL: it has none.
static const char *room_at(Arena *arena, const LaunchPlan *plan, const char *ctx,
                           const char *output) {
    int of = parameter_find(plan->kernel, str_from(output)), index = 0;
    if (of < 0 || !has_room(plan, of)) return NULL;
    for (int p = 0; p < of; p++) index += has_room(plan, p);
    return arena_printf(arena, "%s.rooms[%d]", ctx, index);
}

static const char *room_of(Arena *arena, const LaunchPlan *plan, const char *output) {
    return room_at(arena, plan, plan->ctx, output);
}

const char *indexed_rooms_text(Arena *arena, const LaunchPlan *plan, const char *ctx, int indent) {
    Texts rooms = {0};
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (has_room(plan, p))
            LIST_PUSH(arena, &rooms,
                      arena_printf(arena, "_room_around(%s)", plan_parameter(plan, p)->name));
    const char *target = arena_printf(arena, "%s.rooms = ", ctx);
    if (!rooms.count) return "";
    if (rooms.count == 1)
        return arena_printf(arena, "%*s%s(%s,)\n", indent, "", target, rooms.items[0]);
    return arena_printf(arena, "%*s%s\n", indent, "",
                        tuple_lines(arena, target, rooms.items, rooms.count, indent));
}

const char *indexed_unpack_text(Arena *arena, const LaunchPlan *plan, const char *ctx, int indent) {
    Buffer out = buffer_new(arena);
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const char *name = plan_parameter(plan, p)->name;
        if (is_read_again(plan, p))
            buffer_printf(&out, "%*s%s = _in_room(%s, %s)\n", indent, "", name, name,
                          room_at(arena, plan, ctx, name));
    }
    return buffer_text(&out);
}

const char *indexed_around_text(Arena *arena, const LaunchPlan *plan, const char *output, int index,
                                const char *text, bool is_running) {
    const char *room = room_of(arena, plan, output);
    if (!room) return text;
    const char *needs = is_running ? arena_printf(arena, ", %s, %s.needs_input_grad",
                                                  need_text(arena, plan, output), plan->ctx)
                                   : "";
    return arena_printf(arena, "_around(%s, %s.strides[%d], %s%s)", text, plan->ctx, index, room,
                        needs);
}

static void check(Buffer *out, const char *name, const Texts *arguments) {
    Arena *arena = out->arena;
    buffer_printf(out, "        %s\n",
                  call_lines(arena, name, arguments->items, arguments->count, 8));
}

/// What came of a launch that stored to an output.
static void check_output(Arena *arena, Buffer *out, const LaunchPlan *plan,
                         const BackwardArgument *argument) {
    const char *room = room_of(arena, plan, argument->of);
    if (!room) return;
    const BackwardLaunch *whole = &plan->backward->whole;
    bool is_read = argument->use != ARGUMENT_UPSTREAM;
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, arena_printf(arena, "\"%s\"", argument->of));
    LIST_PUSH(arena, &arguments, room);
    LIST_PUSH(arena, &arguments, argument->name);
    if (is_read) {
        const BackwardArgument *upstream =
            launch_argument(plan->backward, ARGUMENT_UPSTREAM, argument->of);
        LIST_PUSH(arena, &arguments,
                  upstream ? upstream->name : arena_printf(arena, "_d%s", argument->of));
    }
    for (int i = 0; i < whole->argument_count; i++)
        if (whole->arguments[i].use == ARGUMENT_GRADIENT ||
            (whole->arguments[i].use == ARGUMENT_RUNNING && !is_read))
            LIST_PUSH(arena, &arguments, whole->arguments[i].name);
    check(out, is_read ? "_check_untouched" : "_check_stored", &arguments);
}

const char *indexed_check_text(Arena *arena, const LaunchPlan *plan) {
    const BackwardLaunch *whole = &plan->backward->whole;
    Buffer out = buffer_new(arena);
    for (int i = 0; i < whole->argument_count; i++) {
        const BackwardArgument *argument = &whole->arguments[i];
        if (is_like_output(argument)) check_output(arena, &out, plan, argument);
        if (argument->use != ARGUMENT_GRADIENT || argument->is_program_sum ||
            !indexed_is(plan, argument->of) || gradient_twin(arena, plan, argument))
            continue;
        Texts arguments = {0};
        LIST_PUSH(arena, &arguments, arena_printf(arena, "\"%s\"", argument->of));
        LIST_PUSH(arena, &arguments, argument->name);
        LIST_PUSH(arena, &arguments, need_text(arena, plan, argument->of));
        check(&out, "_check_within", &arguments);
    }
    return buffer_text(&out);
}
