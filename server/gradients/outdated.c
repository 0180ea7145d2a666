// Whether a kernel that changed beside the module with its backward, or in it, has another backward by that.
#include "server/gradients/outdated.h"

#include <string.h>

#include "autodiff/emit/emitted.h"
#include "autodiff/kept.h"
#include "server/gradients/kernel_hash.h"
#include "server/text/resolve.h"

static bool is_written_here(const Snapshot *snapshot, const Kernel *kernel) {
    for (LIST_EACH(int, i, snapshot->kernels))
        if (kernel_of_backward(snapshot, &snapshot->kernels.items[i]) == kernel) return true;
    return false;
}

Neighbour outdated_neighbour(Request *request, const Snapshot *snapshot, const Kernel *kernel) {
    return is_written_here(snapshot, kernel) ? written_origin(request)
                                             : written_backward(request, kernel);
}

uint64_t outdated_hash(const Snapshot *snapshot, const Kernel *kernel, const Neighbour *other) {
    return kernel_hash(snapshot, kernel) ^ map_hash(other->text);
}

/// The derived kernels without numbers of lines; NULL where the rules refuse.
static const char *derived_text(Arena *arena, const Snapshot *snapshot, const Kernel *kernel) {
    const Backward *backward = backward_kept(arena, snapshot, kernel, WRAPPER_AUTOGRAD, NULL);
    if (backward->status != BACKWARD_DERIVED) return NULL;
    Buffer out = buffer_new(arena);
    for (int i = 0; i < kernel->function->parameter_count; i++)
        buffer_printf(&out, "%s ", kernel->function->parameters[i].name);
    buffer_puts(&out, backward->helper_text);
    for (const char *at = backward->kernel_text; *at; at++) {
        buffer_putc(&out, *at);
        if (strncmp(at, "line ", 5) == 0) at += 5 + strspn(at + 5, "0123456789") - 1;
    }
    return buffer_text(&out);
}

bool outdated_is_same(Request *request, const Snapshot *snapshot, const Kernel *kernel,
                      const Neighbour *other) {
    ImportResolver *imports = import_resolver_new(request->server->overlay);
    SnapshotOptions options = {.resolver = import_resolver_interface(imports), .skip_checks = true};
    Snapshot *twins = snapshot_build(other->path, other->text, &options);
    const Kernel *twin = snapshot_find_kernel(twins, kernel->definition->name);
    const char *own = derived_text(request->arena, snapshot, kernel);
    const char *their = own && twin && twin->function && kernel_is_forward(twin)
                            ? derived_text(request->arena, twins, twin)
                            : NULL;
    bool is_same = their && strcmp(own, their) == 0;
    snapshot_release(twins);
    import_resolver_free(imports);
    return is_same;
}
