// "Generate backward": derived here and now, into a module of its own beside the file or below the kernel; and the
// comment that says what the gradient check runs a kernel with.
#include "codeactions/generate_backward.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "autodiff/kept.h"
#include "autodiff/module/hoist.h"
#include "autodiff/module/module.h"
#include "autodiff/saving/saving.h"
#include "codeactions/fix.h"

static const BackwardOptions options = {.wrapper = WRAPPER_AUTOGRAD};

/// `saving`: what the file's forwards store for the backward; or NULL.
static Backward *derive(Fix *fix, const Saving *saving, const Kernel *kernel) {
    const BackwardOptions untuned = {.wrapper = options.wrapper, .is_untuned = true};
    const Kernel *own = saving ? saving_kernel(saving, kernel) : kernel;
    if (fix->choices.is_untuned)
        return backward_derive(fix->arena, own->snapshot, own, &untuned, NULL);
    return backward_kept(fix->arena, own->snapshot, own, options.wrapper, NULL);
}

/// The file with forwards that store what the backwards of these kernels are to load.
static Saving saving_wished(Fix *fix, const SavingWish *wish) {
    const BackwardOptions chosen = {.wrapper = options.wrapper,
                                    .is_untuned = fix->choices.is_untuned};
    if (fix->choices.saves_nothing) return (Saving){.snapshot = fix->snapshot};
    return saving_open(fix->arena, fix->snapshot, &chosen, wish);
}

/// The kernel's backward; NULL and a refusal where the rules refuse.
static Backward *derive_asked(Fix *fix) {
    if (!fix->kernel || !fix->kernel->function || !kernel_is_forward(fix->kernel)) {
        fix_refuse(fix, "there is no forward kernel here");
        return NULL;
    }
    Backward *backward = derive(fix, NULL, fix->kernel);
    if (backward->status == BACKWARD_DERIVED) return backward;
    fix_refuse(fix, "no backward for `%s`: %s", fix->kernel->function->name, backward->reason);
    return NULL;
}

bool kernels_share_launcher(const Snapshot *snapshot, const Kernel *a, const Kernel *b) {
    const Module *module = snapshot->module;
    for (LIST_EACH(int, i, module->launches))
        for (LIST_EACH(int, k, module->launches)) {
            const LaunchSite *one = &module->launches.items[i], *two = &module->launches.items[k];
            if (one->kernel == a->definition && two->kernel == b->definition && one->launcher &&
                one->launcher == two->launcher)
                return true;
        }
    return false;
}

const char *file_refusal(const Source *source) {
    return *source->path ? NULL : "this text is in no file yet: save it first";
}

const char *below_refusal(const Kernel *kernel) {
    return kernel_is_nested(kernel->definition)
               ? "the kernel is inside a function or a class: generate its backward in a new file"
               : NULL;
}

const char *backward_path(Arena *arena, const char *path, const char *kernel) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int folder = (int)(name - path), size = (int)strlen(name);
    if (str_ends(str_from(name), ".py")) size -= 3;
    return kernel ? arena_printf(arena, "%.*s%s_backward.py", folder, path, kernel)
                  : arena_printf(arena, "%.*s_backward.py", folder + size, path);
}

void apply_backward_file(Fix *fix) {
    Backward *asked = derive_asked(fix);
    const char *refusal = file_refusal(fix->source);
    if (asked && refusal) fix_refuse(fix, "%s", refusal);
    if (!asked || refusal) return;
    LIST(const Kernel *) kernels = {0};
    LIST_PUSH(fix->arena, &kernels, fix->kernel);
    bool is_whole_file = true;
    for (LIST_EACH(int, i, fix->snapshot->kernels)) {
        const Kernel *kernel = &fix->snapshot->kernels.items[i];
        if (kernel == fix->kernel || !kernel->function || !kernel_is_forward(kernel)) continue;
        if (kernels_share_launcher(fix->snapshot, fix->kernel, kernel))
            LIST_PUSH(fix->arena, &kernels, kernel);
        else
            is_whole_file = false;
    }
    const SavingWish wish = {kernels.items, kernels.count};
    Saving saving = saving_wished(fix, &wish);
    LIST(Backward *) all = {0};
    for (LIST_EACH(int, i, kernels))
        LIST_PUSH(fix->arena, &all, derive(fix, &saving, kernels.items[i]));
    Diagnostics ignored = {.arena = fix->arena};
    NewFile file = {
        backward_path(fix->arena, fix->source->path,
                      is_whole_file ? NULL : fix->kernel->function->name),
        backward_module(fix->arena, saving.snapshot, all.items, all.count, &options, &ignored)};
    saving_close(&saving);
    LIST_PUSH(fix->arena, &fix->edit->files, file);
    fix->edit->description = arena_printf(
        fix->arena, "A module with the backward of `%s`, derived by rules and not yet proved",
        fix->kernel->function->name);
    fix->edit->needs_confirmation = true;
}

void apply_backward_here(Fix *fix) {
    Backward *backward = derive_asked(fix);
    const char *refusal = backward ? below_refusal(fix->kernel) : NULL;
    if (refusal) fix_refuse(fix, "%s", refusal);
    if (!backward || refusal) return;
    BackwardEdit *edits;
    int count = backward_in_place(fix->arena, fix->snapshot, backward, &edits);
    for (int i = 0; i < count; i++)
        fix_replace(fix, edits[i].range.start, edits[i].range.end, "%s", edits[i].text);
    fix->edit->description = arena_printf(
        fix->arena,
        "The backward of `%s`, derived by rules and not yet proved; its launchers become differentiable",
        fix->kernel->function->name);
    fix->edit->needs_confirmation = true;
}

/// Notes what comparisons and the bounds of loops read.
static bool visit_bounds(void *context, Op *op) {
    Map *bounds = context;
    bool compares = op_is_comparison(op->code);
    bool loops = op->code == OP_FOR || op->code == OP_STATIC_FOR;
    for (int i = 0; i < op->operand_count && (compares || (loops && i < 3)); i++)
        map_set_pointer(bounds, op->operands[i], bounds);
    return true;
}

/// Sizes that masks and loops compare with: no multiple of a block, so that the masks are tried.
void apply_launch_comment(Fix *fix) {
    enum { FIRST_SIZE = 37, SIZE_STEP = 16, BLOCK = 16 };
    if (!fix->kernel || !fix->kernel->function) return;
    const Function *function = fix->kernel->function;
    Buffer out = buffer_new(fix->arena);
    Map bounds = map_new(fix->arena);
    region_walk(function->body, visit_bounds, &bounds);
    int size = FIRST_SIZE;
    for (int i = 0; i < function->parameter_count; i++) {
        const Parameter *parameter = &function->parameters[i];
        bool number = parameter->value->type.kind == TYPE_NUMBER &&
                      !dtype_is_float(parameter->value->type.element);
        if (parameter->is_constexpr && !parameter->default_value)
            buffer_printf(&out, "%s%s=%d", out.size ? ", " : "", parameter->name, BLOCK);
        else if (!parameter->is_constexpr && number && map_has_pointer(&bounds, parameter->value)) {
            buffer_printf(&out, "%s%s=%d", out.size ? ", " : "", parameter->name, size);
            size += SIZE_STEP;
        }
    }
    if (!out.size) {
        fix_refuse(fix, "`%s` has no size to choose", function->name);
        return;
    }
    uint32_t at = snapshot_range(fix->snapshot, fix->kernel->definition->range).start;
    const char *text = fix->source->text.data;
    uint32_t line = at;
    while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '\t')) line--;
    fix_replace(fix, line, line, "%.*s# tad: %s\n", (int)(at - line), text + line,
                buffer_text(&out));
}
