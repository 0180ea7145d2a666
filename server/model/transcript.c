// {"tad-lsp": "transcript", "api": ..., "model": ..., "turns": [{"request": ..., "answer": ...}], "measured": [...]}
#include "server/model/transcript.h"

#include "base/json.h"
#include "server/system/files.h"

struct Transcript {
    Arena *arena;
    Json *root, *turns;
    Json *measured;
    int next, next_measured;  // to be played
};

Transcript *transcript_new(Arena *arena, const ModelSettings *settings) {
    Transcript *transcript = ARENA_NEW(arena, Transcript);
    *transcript =
        (Transcript){.arena = arena, .root = json_object(arena), .turns = json_array(arena)};
    transcript->measured = json_array(arena);
    Json *root = transcript->root;
    json_set_string(root, "tad-lsp", "transcript");
    json_set_string(root, "endpoint", settings->endpoint);
    json_set_string(root, "api", settings->api_name);
    json_set_string(root, "model", settings->model);
    if (settings->temperature >= 0) json_set_number(root, "temperature", settings->temperature);
    if (settings->effort) json_set_string(root, "effort", settings->effort);
    json_set_number(root, "max_iters", settings->max_iters);
    json_set_number(root, "max_stalls", settings->max_stalls);
    if (settings->phases) json_set(root, "phases", json_copy(arena, settings->phases));
    json_set(root, "turns", transcript->turns);
    json_set(root, "measured", transcript->measured);
    return transcript;
}

static bool is_transcript(const Json *root) {
    return strcmp(json_get_string(root, "tad-lsp", ""), "transcript") == 0;
}

Error transcript_read(Arena *arena, const char *path, Transcript **transcript,
                      ModelSettings *settings) {
    Str text;
    Error error = file_read(arena, path, &text);
    Json *root = error ? NULL : json_parse(arena, text, &error);
    if (error) return arena_printf(arena, "%s: %s", path, error);
    Json *turns = json_get(root, "turns");
    if (!is_transcript(root) || !turns || turns->kind != JSON_ARRAY)
        return arena_printf(arena, "%s: is no transcript of --ask", path);
    *settings = model_settings_default();
    settings->endpoint = json_get_string(root, "endpoint", "");
    settings->api_name = json_get_string(root, "api", "");
    settings->model = json_get_string(root, "model", "");
    settings->temperature = json_get_number(root, "temperature", -1);
    settings->effort = json_get_string(root, "effort", NULL);
    settings->max_iters = json_get_number(root, "max_iters", settings->max_iters);
    settings->max_stalls = json_get_number(root, "max_stalls", settings->max_stalls);
    settings->phases = json_get(root, "phases");
    *transcript = ARENA_NEW(arena, Transcript);
    **transcript = (Transcript){
        .arena = arena, .root = root, .turns = turns, .measured = json_get(root, "measured")};
    return model_settings_refuse(arena, settings);
}

void transcript_add(Transcript *transcript, const char *body, const ChatReply *reply) {
    Json *turn = json_object(transcript->arena);
    json_set_string(turn, "request", body);
    json_set_string(turn, "answer", reply->text);
    json_set_number(turn, "input_tokens", reply->input_tokens);
    json_set_number(turn, "output_tokens", reply->output_tokens);
    if (reply->is_cut) json_set_bool(turn, "is_cut", true);
    json_push(transcript->turns, turn);
}

Error transcript_next(Transcript *transcript, const char *body, ChatReply *reply) {
    if (transcript->next >= transcript->turns->count) return "the transcript has no more answers";
    const Json *turn = transcript->turns->items[transcript->next++];
    if (strcmp(json_get_string(turn, "request", ""), body) != 0)
        return arena_printf(
            transcript->arena,
            "request %d is another than in the transcript: the file, or tad-lsp, has "
            "changed since",
            transcript->next);
    *reply = (ChatReply){.text = json_get_string(turn, "answer", ""),
                         .input_tokens = json_get_int(turn, "input_tokens", 0),
                         .output_tokens = json_get_int(turn, "output_tokens", 0),
                         .is_cut = json_get_bool(turn, "is_cut", false)};
    return NULL;
}

void transcript_add_measured(Transcript *transcript, const Json *measured) {
    json_push(transcript->measured, json_copy(transcript->arena, measured));
}

const Json *transcript_next_measured(Transcript *transcript) {
    const Json *list = transcript->measured;
    if (!list || list->kind != JSON_ARRAY || transcript->next_measured >= list->count) return NULL;
    return list->items[transcript->next_measured++];
}

int transcript_left(const Transcript *transcript) {
    return transcript->turns->count - transcript->next;
}

const char *transcript_text(const Transcript *transcript) {
    return json_print(transcript->arena, transcript->root, true);
}

bool transcript_is_ours(Arena *arena, Str text) {
    Error error = NULL;
    const Json *root = json_parse(arena, text, &error);
    return !error && is_transcript(root);
}
