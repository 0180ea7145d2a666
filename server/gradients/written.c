#include "server/gradients/written.h"
#include "server/edits/edited.h"

#include <string.h>

#include "autodiff/module/module.h"
#include "codeactions/codeactions.h"
#include "server/edits/edited.h"
#include "server/edits/rederived.h"
#include "server/gradients/kernel_hash.h"
#include "server/system/files.h"
#include "server/text/resolve.h"

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/// Its name is NULL where there is no such file.
static Neighbour neighbour_read(Request *request, const char *path) {
    Arena *arena = request->arena;
    Neighbour neighbour = {.path = path, .version = VERSION_ON_DISK};
    const Overlay *overlay = request->server->overlay;
    Text *open = overlay_open_text(overlay, arena, path_real(arena, path), &neighbour.uri);
    if (open) {
        neighbour.text = str_from(str_dup(arena, open->analysed));
        neighbour.version = open->version;
        text_release(open);
    } else if (file_read(arena, path, &neighbour.text)) {
        return (Neighbour){0};
    } else {
        neighbour.uri = uri_of_path(arena, path);
    }
    neighbour.name = name_of(path);
    return neighbour;
}

Neighbour written_origin(Request *request) {
    const char *path = request->document->path, *own = name_of(path);
    Str name = backward_origin(request->text->analysed);
    if (!name.size || !*path || str_is(name, own) || memchr(name.data, '/', name.size))
        return (Neighbour){0};
    return neighbour_read(
        request, arena_printf(request->arena, "%.*s%.*s", (int)(own - path), path, STR_ARGS(name)));
}

Original original_open(Request *request) {
    Original original = {0};
    Str name = backward_origin(request->text->analysed);
    if (name.size) original.name = str_dup(request->arena, name);
    Neighbour file = written_origin(request);
    if (!file.name) return original;
    original.resolver = import_resolver_new(request->server->overlay);
    const SnapshotOptions options = {.resolver = import_resolver_interface(original.resolver),
                                     .skip_checks = true};
    original.snapshot = origin_as_written(
        request->arena, snapshot_build(file.path, file.text, &options), request->text->analysed);
    return original;
}

void original_close(Original *original) {
    snapshot_release(original->snapshot);
    import_resolver_free(original->resolver);
    *original = (Original){0};
}

const Kernel *original_kernel(const Original *original, const Kernel *kernel) {
    const Kernel *found = original->snapshot
                              ? snapshot_find_kernel(original->snapshot, kernel->definition->name)
                              : NULL;
    Arena *scratch = arena_new();
    bool is_same = found && kernels_read_the_same(scratch, found, kernel);
    arena_free(scratch);
    return is_same ? found : NULL;
}

Saving written_saving(Request *request, const Original *original, const Snapshot *snapshot,
                      const Kernel *kernel) {
    if (original_kernel(original, kernel)) return (Saving){.snapshot = original->snapshot};
    if (original->name || !request->configuration->saves_for_backward)
        return (Saving){.snapshot = snapshot};
    return saving_of(request->arena, snapshot, NULL, kernel);
}

Neighbour written_backward(Request *request, const Kernel *kernel) {
    const char *path = request->document->path;
    const char *kernels[] = {NULL, str_dup(request->arena, kernel->definition->name)};
    for (size_t i = 0; *path && i < sizeof kernels / sizeof *kernels; i++) {
        Neighbour found = neighbour_read(request, backward_path(request->arena, path, kernels[i]));
        if (found.name && str_is(backward_origin(found.text), name_of(path)) &&
            strstr(found.text.data, arena_printf(request->arena, "\ndef %s_backward", kernels[1])))
            return found;
    }
    return (Neighbour){0};
}

Twin written_twin(Request *request, const Snapshot *snapshot, const Kernel *kernel,
                  const Backward *backward) {
    Twin twin = {0};
    Neighbour module = written_backward(request, kernel);
    if (!module.name || !kernel_stands_in(snapshot, kernel, module.text) ||
        !strstr(module.text.data, backward->kernel_text))
        return twin;
    ImportResolver *imports = import_resolver_new(request->server->overlay);
    SnapshotOptions options = {.resolver = import_resolver_interface(imports)};
    Snapshot *written = snapshot_build(module.path, module.text, &options);
    const Kernel *copy = snapshot_find_kernel(written, kernel->definition->name);
    if (copy)
        twin = (Twin){module.uri, kernel_hash(written, copy), module.version,
                      range_line(snapshot_range(written, copy->definition->name_range))};
    snapshot_release(written);
    import_resolver_free(imports);
    return twin;
}
