// Which programs of a launch write which gradient: the forward's own schedule turned round, and the derived one.
#include "server/gradients/schedule_json.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/kept.h"
#include "autodiff/state/saved_parameters.h"
#include "base/escape.h"
#include "features/features.h"
#include "server/report/cost_json.h"

/// Of the programs along one axis of the grid.
typedef struct Use {
    bool is_used;    // the kernel reads this program id
    bool is_shared;  // programs along it meet in one element
} Use;

typedef struct Loads {
    Arena *arena;
    const FunctionAxes *axes;
    const char *input;
    Use uses[PROGRAM_AXES];
} Loads;

/// A gradient is written where its input is read.
static bool visit_load(void *context, Op *op) {
    Loads *loads = context;
    if (!op_is_access(op)) return true;
    Access access = access_of(loads->arena, op);
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    bool is_input = access.parameter && access.parameter->name &&
                    strcmp(access.parameter->name, loads->input) == 0;
    int count = access_axes(loads->arena, loads->axes, &access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count && i < ACCESS_MOST_AXES; i++) {
        if (!axes[i].is_program || axes[i].program_axis >= PROGRAM_AXES) continue;
        Use *use = &loads->uses[axes[i].program_axis];
        use->is_used = true;
        if (is_input && dependence[i] != AXIS_OWNED) use->is_shared = true;
    }
    return true;
}

static Json *writes_json(Arena *arena, const Use *uses, bool is_before, const Gradient *gradient) {
    Json *json = json_object(arena), *own = json_array(arena), *shared = json_array(arena);
    bool collides = false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        bool is_shared = uses[axis].is_shared && (is_before || gradient->is_atomic);
        collides = collides || is_shared;
        if (uses[axis].is_used) json_push(is_shared ? shared : own, json_number(arena, axis));
    }
    json_set(json, "own", own);
    json_set(json, "shared", shared);
    json_set_bool(json, "atomic", is_before ? collides : gradient->is_atomic);
    const char *why = gradient->is_parts ? "each of a few programs stores a sum of its own, and "
                                           "the Function adds these up"
                                         : gradient->why;
    // what would make atomics is no reason for stores
    if (!is_before && why && (gradient->is_atomic || gradient->is_parts))
        json_set_string(json, "why", why);
    return json;
}

/// What a launcher gives for each axis: `(cdiv(m, BM), cdiv(n, BN))` has two.
static Json *axes_json(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                       const Use *uses) {
    const char *extents[PROGRAM_AXES] = {0};
    const Module *module = snapshot->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel->definition || node_is_null(site->grid)) continue;
        bool is_tuple = strcmp(node_kind_name(site->grid), "tuple") == 0;
        int count = is_tuple ? (int)node_child_count(site->grid) : 0;
        for (int axis = 0; axis < count && axis < PROGRAM_AXES; axis++)
            extents[axis] =
                str_dup(arena, node_text(module->source, node_child(site->grid, (uint32_t)axis)));
        break;
    }
    Json *list = json_array(arena);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!uses[axis].is_used && !extents[axis]) continue;
        Json *json = json_object(arena);
        json_set_number(json, "axis", axis);
        if (extents[axis]) json_set_string(json, "extent", extents[axis]);
        json_push(list, json);
    }
    return list;
}

static void set_told(Arena *arena, Json *json, const char *key, const char *text) {
    if (text) json_set_string(json, key, lines_visible(arena, text));
}

/// What the forward stores for its backward.
static Json *saved_json(Arena *arena, const ScheduleReport *report) {
    Json *list = json_array(arena);
    for (LIST_EACH(int, i, report->saved)) {
        const SavedValue *saved = report->saved.items[i];
        Json *json = json_object(arena);
        set_told(arena, json, "value", saved->value);
        set_told(arena, json, "parameter", saved->parameter);
        json_set_string(json, "size", saved_size_text(saved));
        json_push(list, json);
    }
    return list;
}

/// The kernels of the backward: what a program of each costs, and who owns what.
static Json *kernels_json(Arena *arena, const ScheduleReport *report) {
    Json *kernels = json_array(arena);
    for (LIST_EACH(int, i, report->kernels)) {
        const ScheduleKernel *kernel = &report->kernels.items[i];
        Json *json = json_object(arena), *work = json_array(arena), *gradients = json_array(arena);
        for (LIST_EACH(int, k, kernel->work)) {
            Json *item = json_object(arena);
            set_told(arena, item, "name", kernel->work.items[k].name);
            set_told(arena, item, "text", kernel->work.items[k].text);
            set_told(arena, item, "share", kernel->work.items[k].share);
            json_push(work, item);
        }
        Json *block_texts = json_array(arena);
        for (LIST_EACH(int, k, kernel->blocks))
            json_push(block_texts, json_string(arena, kernel->blocks.items[k]));
        for (LIST_EACH(int, k, kernel->gradients)) {
            const ScheduleGradient *gradient = &kernel->gradients.items[k];
            Json *item = json_object(arena);
            set_told(arena, item, "name", gradient->name);
            set_told(arena, item, "of", gradient->of);
            set_told(arena, item, "owner", gradient->owner);
            set_told(arena, item, "why", gradient->why);
            set_told(arena, item, "collisions", gradient->collisions);
            set_told(arena, item, "same", gradient->same);
            set_told(arena, item, "picked", gradient->picked);
            json_push(gradients, item);
        }
        json_set_string(json, "name", kernel->name);
        json_set(json, "work", work);
        if (kernel->blocks.count) json_set(json, "blocks", block_texts);
        json_set(json, "gradients", gradients);
        json_push(kernels, json);
    }
    return kernels;
}

Json *schedule_json(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                    const char *card) {
    const Backward *backward = backward_kept(arena, snapshot, kernel, WRAPPER_AUTOGRAD, NULL);
    Json *json = json_object(arena), *gradients = json_array(arena);
    FunctionAxes axes = function_axes(arena, kernel->function);
    Loads all = {.arena = arena, .axes = &axes, .input = ""};
    region_walk(kernel->function->body, visit_load, &all);
    for (int i = 0; backward->status == BACKWARD_DERIVED && i < backward->gradient_count; i++) {
        const Gradient *gradient = &backward->gradients[i];
        Loads loads = {.arena = arena, .axes = &axes, .input = gradient->input};
        region_walk(kernel->function->body, visit_load, &loads);
        Json *item = json_object(arena);
        json_set_string(item, "input", gradient->input);
        json_set(item, "before", writes_json(arena, loads.uses, true, gradient));
        json_set(item, "after", writes_json(arena, loads.uses, false, gradient));
        json_push(gradients, item);
    }
    json_set_string(json, "kernel", kernel->function->name);
    json_set(json, "axes", axes_json(arena, snapshot, kernel, all.uses));
    json_set(json, "gradients", gradients);
    ScheduleReport report = schedule_report(arena, snapshot, kernel, card);
    json_set(json, "saved", saved_json(arena, &report));
    json_set(json, "kernels", kernels_json(arena, &report));
    json_set(json, "cost", cost_points_json(arena, snapshot, kernel, &report, card));
    if (backward->status != BACKWARD_DERIVED)
        json_set_string(
            json, "reason",
            lines_visible(arena, backward->reason ? backward->reason : "no reason given"));
    return json;
}
