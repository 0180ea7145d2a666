// The same comparison as that of `--check --grad`, without a proof.
#include "server/dumps/dump_edits.h"

#include "server/edits/edited.h"

const char *edits_text(Arena *arena, const Snapshot *snapshot, ImportResolver *resolver) {
    const Resolver *interface = import_resolver_interface(resolver);
    const char *name;
    Snapshot *origin = module_origin(arena, snapshot, interface, &name);
    FunctionEdits edits = function_edits(arena, snapshot, origin, interface);
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, i, edits))
        buffer_printf(&out, "%s:%d: %s\n", snapshot->source->path, range_line(edits.items[i].range),
                      edits.items[i].message);
    snapshot_release(origin);
    return buffer_text(&out);
}
