// workspace/configuration: the section `tad` of the whole and of each folder.
#include "server/requests/request_configuration.h"

#include "server/requests/request_session.h"
#include "server/session/client.h"
#include "server/text/protocol.h"

/// What was asked: the whole, and each of these folders.
typedef struct ConfigurationAsked {
    Arena *arena;
    Names folders;
} ConfigurationAsked;

static void configuration_received(Server *server, void *context, const Json *result) {
    ConfigurationAsked *asked = context;
    int answered = result && result->kind == JSON_ARRAY ? result->count : 0;
    FolderSection *sections = ARENA_ARRAY(asked->arena, FolderSection, asked->folders.count + 1);
    for (int i = 0; i < asked->folders.count; i++)
        sections[i] = (FolderSection){asked->folders.items[i],
                                      i + 1 < answered ? result->items[i + 1] : NULL};
    if (answered) server_configure(server, result->items[0], sections, asked->folders.count);
    arena_free(asked->arena);
}

void client_ask_configuration(Server *server) {
    if (!server->client.configuration) return;
    Arena *arena = arena_new();
    ConfigurationAsked *asked = ARENA_NEW(arena, ConfigurationAsked);
    *asked = (ConfigurationAsked){
        arena,
        {ARENA_ARRAY(arena, const char *, server->folders.count + 1), server->folders.count}};
    Json *params = json_object(arena), *items = json_array(arena);
    for (int i = -1; i < server->folders.count; i++) {
        Json *item = json_object(arena);
        if (i >= 0) {
            asked->folders.items[i] = arena_strdup(arena, server->folders.items[i]);
            json_set_string(item, "scopeUri", uri_of_path(arena, server->folders.items[i]));
        }
        json_set_string(item, "section", "tad");
        json_push(items, item);
    }
    json_set(params, "items", items);
    client_request(server, "workspace/configuration", params, configuration_received, asked);
}
