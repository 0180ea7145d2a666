// The same path as `--backward` takes, so that an unedited module of this version is the same text.
#include "server/edits/rederived.h"

#include <string.h>

#include "autodiff/module/module.h"
#include "autodiff/saving/saving.h"
#include "autodiff/saving/saving_read.h"

WrapperKind wrapper_of(Str module) {
    if (str_contains(module, STR("triton_op"))) return WRAPPER_TRITON_OP;
    return str_contains(module, STR("(torch.autograd.Function)")) ? WRAPPER_AUTOGRAD : WRAPPER_NONE;
}

bool is_untuned(Str module) { return str_contains(module, STR(".tuned = _tuned(")); }

typedef LIST(const char *) InputNames;

static bool has_input(const InputNames *inputs, const char *name) {
    for (LIST_EACH(int, i, *inputs))
        if (strcmp(inputs->items[i], name) == 0) return true;
    return false;
}

/// The inputs that the Functions say they are differentiable in: `--wrt` may have left others out.
static InputNames inputs_named(Arena *arena, Str module) {
    static const char sentence[] = "differentiable in ";
    InputNames inputs = {0};
    const char *text = str_dup(arena, module);
    for (const char *at = text; (at = strstr(at, sentence));) {
        at += sizeof sentence - 1;
        const char *end = at + strcspn(at, ".\"");
        while (at < end && (at = memchr(at, '`', (size_t)(end - at)))) {
            size_t size = strcspn(at + 1, "`");
            if (at + 1 + size >= end) break;
            const char *name = str_dup(arena, (Str){at + 1, size});
            if (!has_input(&inputs, name)) LIST_PUSH(arena, &inputs, name);
            at += size + 2;
        }
        at = end;
    }
    return inputs;
}

static bool is_named(const CarriedNames *names, Str name) {
    for (LIST_EACH(int, i, *names))
        if (str_equal(names->items[i], name)) return true;
    return false;
}

Snapshot *origin_as_written(Arena *arena, Snapshot *origin, Str module) {
    const SavedValues saved = module_saved(arena, module);
    return origin && saved.count ? saving_as(arena, origin, &saved) : origin;
}

Snapshot *forward_carried(Arena *arena, const char *path, const char *text, Str module,
                          const Resolver *resolver) {
    const SnapshotOptions options = {.resolver = resolver, .skip_checks = true};
    Snapshot *carried = snapshot_build(path, str_from(text), &options);
    const SavedValues saved = module_saved(arena, module);
    if (!saved.count) return carried;
    Snapshot *plain = saving_plain(arena, carried, &saved);
    snapshot_release(carried);
    return saving_as(arena, plain, &saved);
}

const char *module_rederived(Arena *arena, const Snapshot *forward, const Snapshot *written,
                             const CarriedNames *kernels, bool by_inputs) {
    Str text = written->source->text;
    InputNames inputs = {0};
    if (by_inputs) inputs = inputs_named(arena, text);
    const BackwardOptions options = {.wrapper = wrapper_of(text),
                                     .is_untuned = is_untuned(text),
                                     .wrt = inputs.items,
                                     .wrt_count = inputs.count};
    Diagnostics ignored = {.arena = arena};
    LIST(Backward *) all = {0};
    for (LIST_EACH(int, i, forward->kernels)) {
        const Kernel *kernel = &forward->kernels.items[i];
        bool is_wanted = kernel->function && kernel_is_forward(kernel) &&
                         is_named(kernels, kernel->definition->name);
        if (!is_wanted) continue;
        Backward *backward = backward_derive(arena, forward, kernel, &options, &ignored);
        if (backward->status != BACKWARD_DERIVED) return NULL;
        LIST_PUSH(arena, &all, backward);
    }
    if (!all.count) return NULL;
    return backward_module(arena, forward, all.items, all.count, &options, &ignored);
}

bool modules_name_the_same(Arena *arena, Str one, Str two) {
    InputNames own = inputs_named(arena, one), other = inputs_named(arena, two);
    bool is_same = own.count == other.count;
    for (int i = 0; i < own.count && is_same; i++) is_same = has_input(&other, own.items[i]);
    return is_same;
}
