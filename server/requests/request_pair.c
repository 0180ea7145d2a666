// From a forward kernel to the kernels of its backward and back, in one file or in the two that tad-lsp made of one.
#include "server/requests/request_pair.h"

#include "autodiff/emit/emitted.h"
#include "server/gradients/written.h"
#include "server/queues/answer.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/session/client.h"
#include "server/text/resolve.h"

/// `asked`: the snapshot of the request's own text. `snapshot`: the one that has the kernel.
static void push_kernel(Request *request, const Snapshot *asked, const Snapshot *snapshot,
                        const Kernel *kernel, Json *list) {
    Range name = snapshot_range(snapshot, kernel->definition->name_range);
    json_push(list, location_json(request, asked, name));
}

static void push_backwards(Request *request, const Snapshot *asked, const Snapshot *snapshot,
                           const Kernel *forward, Json *list) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel_of_backward(snapshot, kernel) == forward)
            push_kernel(request, asked, snapshot, kernel, list);
    }
}

typedef void NeighbourVisit(Request *request, const Snapshot *asked, const Snapshot *snapshot,
                            const Kernel *kernel, Json *list);

/// Visits the kernel of that name in the other file, if it is there.
static void visit_neighbour(Request *request, const Snapshot *asked, const Neighbour *file,
                            Str name, NeighbourVisit *visit, Json *list) {
    if (!file->name) return;
    ImportResolver *imports = import_resolver_new(request->server->overlay);
    SnapshotOptions options = {.resolver = import_resolver_interface(imports), .skip_checks = true};
    Snapshot *snapshot = snapshot_build(file->path, file->text, &options);
    const Kernel *kernel = snapshot_find_kernel(snapshot, name);
    if (kernel) visit(request, asked, snapshot, kernel, list);
    snapshot_release(snapshot);
    import_resolver_free(imports);
}

Json *pair_backwards(Request *request, const Snapshot *snapshot, const Kernel *forward) {
    Json *list = json_array(request->arena);
    push_backwards(request, snapshot, snapshot, forward, list);
    if (list->count) return list;
    Neighbour module = written_backward(request, forward);
    visit_neighbour(request, snapshot, &module, forward->definition->name, push_backwards, list);
    return list;
}

Json *pair_forward(Request *request, const Snapshot *snapshot, const Kernel *forward) {
    Json *list = json_array(request->arena);
    Neighbour origin = written_origin(request);
    visit_neighbour(request, snapshot, &origin, forward->definition->name, push_kernel, list);
    if (!list->count) push_kernel(request, snapshot, snapshot, forward, list);
    return list;
}

Json *handle_implementation(Request *request) {
    uint32_t offset;
    const Snapshot *snapshot = request_snapshot_at(request, &offset);
    if (!snapshot) return NULL;
    const Kernel *kernel = snapshot_kernel_at(snapshot, offset);
    if (!kernel) return NULL;
    const Kernel *forward = kernel_of_backward(snapshot, kernel);
    return forward ? pair_forward(request, snapshot, forward)
                   : pair_backwards(request, snapshot, kernel);
}

void pair_show(Request *request, const Json *list) {
    if (!list || !list->count || !request->server->client.show_document) return;
    const Json *place = list->items[0];
    Json *params = json_object(request->arena);
    json_set_string(params, "uri", json_get_string(place, "uri", ""));
    json_set_bool(params, "takeFocus", true);
    json_set(params, "selection", json_copy(request->arena, json_get(place, "range")));
    client_request(request->server, "window/showDocument", params, NULL, NULL);
}
