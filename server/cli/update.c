// A module of ours that a hand has edited, and the file that it was derived from, which has changed: both in one text.
#include "server/cli/update.h"

#include "analysis/snapshot.h"
#include "autodiff/module/carried.h"
#include "autodiff/module/module.h"
#include "autodiff/saving/saving.h"
#include "codeactions/codeactions.h"
#include "server/edits/rederived.h"

static bool is_named(const CarriedNames *names, const Kernel *kernel) {
    for (LIST_EACH(int, i, *names))
        if (str_equal(names->items[i], kernel->definition->name)) return true;
    return false;
}

static bool is_wanted(const Snapshot *snapshot, const CarriedNames *names, const Kernel *kernel) {
    if (!kernel->function || !kernel_is_forward(kernel)) return false;
    if (is_named(names, kernel)) return true;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *other = &snapshot->kernels.items[i];
        if (is_named(names, other) && kernels_share_launcher(snapshot, kernel, other)) return true;
    }
    return false;
}

/// The module with the backwards of the kernels of these names. Where the rules refuse one: NULL and why.
static const char *derive_module(Arena *arena, const Snapshot *snapshot, const CarriedNames *names,
                                 const BackwardOptions *options, Error *refusal) {
    Diagnostics ignored = {.arena = arena};
    LIST(Backward *) all = {0};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!is_wanted(snapshot, names, kernel)) continue;
        Backward *backward = backward_derive(arena, snapshot, kernel, options, &ignored);
        if (backward->status == BACKWARD_DERIVED)
            LIST_PUSH(arena, &all, backward);
        else if (!*refusal && is_named(names, kernel))
            *refusal = arena_printf(arena, "no backward for `%s`: %s", kernel->function->name,
                                    backward->reason);
    }
    if (!all.count && !*refusal) *refusal = "none of the module's kernels is in the file";
    if (*refusal) return NULL;
    return backward_module(arena, snapshot, all.items, all.count, options, &ignored);
}

/// Without what a proof said at the top of an earlier text.
static Str without_verdicts(Str text) {
    while (str_starts(text, "# WARNING: the ") || str_starts(text, "# NOT PROVED: ")) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) + 1 : text.size;
        text = (Str){text.data + size, text.size - size};
    }
    return text;
}

static Snapshot *read_text(const char *path, const char *text, const Resolver *resolver) {
    const SnapshotOptions options = {.resolver = resolver, .skip_checks = true};
    return snapshot_build(path, str_from(text), &options);
}

const char *module_anew(Arena *arena, const Snapshot *origin, const char *path, Str ours,
                        const Resolver *resolver, const BackwardOptions *options, Error *refusal) {
    Snapshot *module = read_text(path, str_dup(arena, ours), resolver);
    CarriedFile carried = module_carried(arena, module);
    const char *text = NULL;
    Saving saving = {.snapshot = origin};
    if (module_saved(arena, ours).count) saving = saving_open(arena, origin, options, NULL);
    if (carried.kernels.count)
        text = derive_module(arena, saving.snapshot, &carried.kernels, options, refusal);
    else
        *refusal = carried.refusal;
    saving_close(&saving);
    snapshot_release(module);
    return text;
}

ModuleUpdate module_merge(Arena *arena, const char *path, Str ours, const char *origin,
                          const char *theirs, const Resolver *resolver,
                          const BackwardOptions *options) {
    ModuleUpdate update = {0};
    ours = without_verdicts(ours);
    Snapshot *own = read_text(path, str_dup(arena, ours), resolver), *file = NULL, *base = NULL;
    CarriedFile carried = module_carried(arena, own);
    update.refusal = carried.refusal;
    if (!update.refusal && options->wrapper == WRAPPER_TRITON_OP)
        update.refusal = "launchers with operators are not read back";
    const char *text = NULL;
    if (!update.refusal) {
        file = forward_carried(arena, origin, carried.text, ours, resolver);
        text = derive_module(arena, file, &carried.kernels, options, &update.refusal);
    }
    if (!update.refusal) {
        base = read_text(path, text, resolver);
        Snapshot *anew = read_text(path, theirs, resolver);
        text = carried_base(arena, base, own, anew);
        snapshot_release(anew);
        const char *slash = strrchr(origin, '/'), *edited = strrchr(path, '/');
        update.merge =
            merge_lines(arena, str_from(text), ours, edited ? edited + 1 : path, str_from(theirs),
                        arena_printf(arena, "derived from %s", slash ? slash + 1 : origin));
    }
    snapshot_release(base);
    snapshot_release(file);
    snapshot_release(own);
    return update;
}
