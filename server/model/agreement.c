// One JSON file: {"agreed": [{"workspace": ..., "url": ...}]}.
#include "server/model/agreement.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/json.h"
#include "server/model/chat.h"
#include "server/system/files.h"
#include "server/system/output.h"
#include "server/system/private.h"

static const char *agreement_path(Arena *arena, const char *workspace, Error *error) {
    return private_path(arena, "XDG_STATE_HOME", ".local/state", "agreed.json", workspace, error);
}

/// The list; empty where there is none that can be trusted.
static Json *agreements_read(Arena *arena, const char *path) {
    Str text;
    Error error = private_refuse(arena, path);
    if (error || !file_exists(path) || file_read(arena, path, &text)) return json_array(arena);
    Json *value = json_parse(arena, text, &error);
    Json *list = error ? NULL : json_get(value, "agreed");
    return list && list->kind == JSON_ARRAY ? list : json_array(arena);
}

bool agreement_holds(Arena *arena, const char *workspace, const char *url) {
    Error error;
    const char *path = agreement_path(arena, workspace, &error);
    if (!path) return false;
    const Json *list = agreements_read(arena, path);
    for (int i = 0; i < list->count; i++)
        if (strcmp(json_get_string(list->items[i], "workspace", ""), workspace) == 0 &&
            strcmp(json_get_string(list->items[i], "url", ""), url) == 0)
            return true;
    return false;
}

Error agreement_keep(Arena *arena, const char *workspace, const char *url) {
    Error error;
    const char *path = agreement_path(arena, workspace, &error);
    if (!path) return error;
    Json *list = agreements_read(arena, path), *entry = json_object(arena);
    json_set_string(entry, "workspace", workspace);
    json_set_string(entry, "url", url);
    json_push(list, entry);
    Json *root = json_object(arena);
    json_set(root, "agreed", list);
    private_make_folder(arena, path_folder(arena, path));
    error = private_refuse(arena, path_folder(arena, path));
    if (error) return error;
    Output output = {.path = path, .root = "/", .is_forced = true};
    return output_write(arena, &output, json_print(arena, root, true));
}

static bool says_yes(void) {
    char line[16] = "";
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return false;
    fputs("Send this, and remember it for this workspace? [y/N] ", stderr);
    fflush(stderr);
    return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

bool agreement_ask(Arena *arena, const char *workspace, const char *subject, const char *requests,
                   const char *later, bool agrees) {
    fputs(lines_visible(arena, requests), stdout);
    fputs(lines_visible(arena, later), stdout);
    fflush(stdout);
    if (!agrees && !says_yes()) {
        say("nothing was sent. --agree sends the above to %s, and remembers it for %s", subject,
            workspace);
        return false;
    }
    Error error = agreement_keep(arena, workspace, subject);
    if (error) say("the agreement is not remembered: %s", error);
    return true;
}

const char *agreement_subject(Arena *arena, const char *url, const char *scope) {
    return scope ? arena_printf(arena, "%s with %s", url, scope) : url;
}

Error agreement_refuse(Arena *arena, const char *file, const char *scope) {
    ModelSettings settings;
    const char *workspace = workspace_of(arena, file);
    Error error = model_settings_look(arena, workspace, &settings);
    if (error) return error;
    if (agreement_holds(arena, workspace,
                        agreement_subject(arena, chat_url(arena, &settings), scope)))
        return NULL;
    return arena_printf(
        arena,
        "you have not agreed that %s of %s %s sent to a model: `tad-lsp --ask%s %s` "
        "in a terminal shows what, and asks",
        scope ? scope : "code", workspace, scope ? "are" : "is",
        scope ? " --phase repair,faster,tidy" : "", file);
}
