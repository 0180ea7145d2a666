// Whether a Python server is there, by the setting; whether Triton is, by the folders that packages are installed in.
#include "server/queues/beside.h"

#include <string.h>

#include "server/settings/import_roots.h"
#include "server/system/files.h"

enum { MOST_PARENTS = 64 };

bool request_is_beside(const Request *request) {
    return request->configuration && strcmp(request->configuration->beside_python, "on") == 0;
}

static bool have_triton(Arena *arena, Names roots) {
    for (int i = 0; i < roots.count; i++)
        if (file_exists(path_join(arena, roots.items[i], "triton/language/__init__.py")))
            return true;
    return false;
}

bool request_is_beside_triton(const Request *request) {
    if (!request_is_beside(request)) return false;
    Arena *arena = request->arena;
    if (have_triton(arena, import_roots_of_process(arena))) return true;
    const char *folder = request->document ? path_folder(arena, request->document->path) : "";
    for (int i = 0; i < MOST_PARENTS && *folder; i++) {
        if (have_triton(arena, import_roots_beside(arena, folder))) return true;
        const char *parent = path_folder(arena, folder);
        if (strcmp(parent, folder) == 0) break;
        folder = parent;
    }
    return false;
}
