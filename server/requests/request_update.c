// "Generate backward" where there is one already: what a hand has edited in the module stays.
#include "server/requests/request_update.h"

#include "autodiff/module/module.h"
#include "server/cli/update.h"
#include "server/edits/rederived.h"
#include "server/gradients/written.h"
#include "server/text/resolve.h"

static const char *counted(Arena *arena, int count, const char *noun) {
    return arena_printf(arena, "%d %s%s", count, noun, count == 1 ? "" : "s");
}

static const char *words_of(Arena *arena, const char *name, const LineMerge *merge) {
    if (merge->conflicts)
        return arena_printf(
            arena,
            "%s: %s edited by hand where the backward changed. Both texts stand between "
            "`<<<<<<<` and `>>>>>>>`, the first at line %d: choose one.",
            name, counted(arena, merge->conflicts, merge->conflicts == 1 ? "place was" : "place"),
            merge->first_conflict);
    if (merge->kept)
        return arena_printf(arena, "%s: what was edited by hand was kept (%s).", name,
                            counted(arena, merge->kept, "place"));
    return NULL;
}

/// Beside the module that cannot be merged, for a person who compares the two.
static const char *path_beside(Arena *arena, const char *path) {
    size_t size = strlen(path);
    if (str_ends(str_from(path), ".py")) size -= 3;
    return arena_printf(arena, "%.*s_new.py", (int)size, path);
}

/// The module that is there, merged with what is derived now.
static ActionEdit update_edit(Request *request, const Snapshot *snapshot, const Neighbour *module,
                              UpdateNews *news) {
    Arena *arena = request->arena;
    ActionEdit edit = {.label = "Update backward", .needs_confirmation = true};
    const BackwardOptions options = {.wrapper = wrapper_of(module->text),
                                     .is_untuned = is_untuned(module->text)};
    ImportResolver *imports = import_resolver_new(request->server->overlay);
    const Resolver *resolver = import_resolver_interface(imports);
    NewFile file = {module->path, module_anew(arena, snapshot, module->path, module->text, resolver,
                                              &options, &edit.refusal)};
    if (file.text) {
        ModuleUpdate update = module_merge(arena, module->path, module->text,
                                           snapshot->source->path, file.text, resolver, &options);
        if (update.refusal) {
            file.path = path_beside(arena, module->path);
            news->words = arena_printf(
                arena, "%s cannot be merged: %s. The new text is offered beside it, as %s.",
                module->name, update.refusal, path_beside(arena, module->name));
        } else {
            file.text = update.merge.text;
            *news = (UpdateNews){update.merge.first_change, update.merge.first_conflict,
                                 update.merge.conflicts, update.merge.kept,
                                 words_of(arena, module->name, &update.merge)};
        }
        LIST_PUSH(arena, &edit.files, file);
        edit.description = arena_printf(
            arena, "%s as it is derived now, with what was edited in it", module->name);
    }
    import_resolver_free(imports);
    return edit;
}

ActionEdit backward_edit(Request *request, const Snapshot *snapshot, const Kernel *kernel,
                         bool is_below, UpdateNews *news) {
    Neighbour module = is_below ? (Neighbour){0} : written_backward(request, kernel);
    if (module.name) return update_edit(request, snapshot, &module, news);
    ActionId id = is_below ? ACTION_BACKWARD_HERE : ACTION_BACKWARD_FILE;
    Range name = snapshot_range(snapshot, kernel->definition->name_range);
    const ActionChoices choices = {.is_untuned = !request->configuration->tunes_backward,
                                   .saves_nothing = !request->configuration->saves_for_backward};
    return action_apply_as(request->arena, snapshot, id, name, &choices);
}

void update_json(Request *request, Json *json, const UpdateNews *news) {
    (void)request;
    if (news->first_change) json_set_number(json, "first", news->first_change - 1);
    if (news->conflicts) {
        json_set_number(json, "conflicts", news->conflicts);
        json_set_number(json, "conflict", news->first_conflict - 1);
    }
    if (news->words) json_set_string(json, "note", news->words);
}
