// The user's model.toml by table, then the command line, then the key.
#include "server/model/model.h"

#include <ctype.h>

#include "analysis/syntax/toml.h"
#include "server/network/http.h"
#include "server/system/environment.h"
#include "server/system/files.h"
#include "server/system/private.h"

typedef enum ModelKind { MODEL_TEXT, MODEL_NUMBER, MODEL_NAME } ModelKind;

typedef struct ModelRow {
    const char *name;
    ModelKind kind;
    size_t field;
} ModelRow;

static const ModelRow rows[] = {
#define MODEL_SETTING(name, kind, field, missing, help)                                            \
    {name, MODEL_##kind, offsetof(ModelSettings, field)},
#include "server/model/model.def"
#undef MODEL_SETTING
};

ModelSettings model_settings_default(void) {
    return (ModelSettings){
#define MODEL_SETTING(name, kind, field, missing, help) .field = (missing),
#include "server/model/model.def"
#undef MODEL_SETTING
    };
}

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/// `[faster]` and its like: what a phase has in the place of the others' settings.
static Error read_phase(Arena *arena, const char *path, Str phase, const Toml *table,
                        ModelSettings *settings) {
    static const char *const own[] = {"model",      "temperature", "effort",       "max-iters",
                                      "max-stalls", "price-input", "price-output", NULL};
    Json *json = json_object(arena);
    for (int i = 0; i < table->count; i++) {
        const Toml *value = table->items[i];
        const char *name = str_dup(arena, table->keys[i]);
        if (!is_one_of(name, own) || value->kind == TOML_TABLE)
            return arena_printf(arena, "%s:%d: a phase has no setting `%s` of its own", path,
                                range_line(value->range), name);
        if (value->kind == TOML_STRING)
            json_set_string(json, name, str_dup(arena, value->string));
        else
            json_set_number(json, name, value->number);
    }
    if (!settings->phases) settings->phases = json_object(arena);
    json_set(settings->phases, str_dup(arena, phase), json);
    return NULL;
}

static Error read_key(Arena *arena, const char *path, Str key, const Toml *value,
                      ModelSettings *settings) {
    if (value->kind == TOML_TABLE) {
        // The kinds of its values are looked at as those of the same settings outside.
        ModelSettings ignored = *settings;
        Error error = read_phase(arena, path, key, value, settings);
        for (int i = 0; i < value->count && !error; i++)
            error = read_key(arena, path, value->keys[i], value->items[i], &ignored);
        return error;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!str_is(key, rows[i].name)) continue;
        void *field = (char *)settings + rows[i].field;
        bool is_number = value->kind == TOML_INTEGER || value->kind == TOML_FLOAT;
        if (rows[i].kind == MODEL_NUMBER ? !is_number || !(value->number >= 0)
                                         : value->kind != TOML_STRING)
            return arena_printf(arena, "%s:%d: `%s` is a %s", path, range_line(value->range),
                                rows[i].name, rows[i].kind == MODEL_NUMBER ? "number" : "text");
        if (rows[i].kind == MODEL_NUMBER)
            *(double *)field = value->number;
        else
            *(const char **)field = str_dup(arena, value->string);
        return NULL;
    }
    return arena_printf(arena, "%s:%d: there is no setting `%.*s` of a model", path,
                        range_line(value->range), STR_ARGS(key));
}

/// `*missing`: why there is none to read, where that is not because nobody wrote one.
static Error read_file(Arena *arena, const char *workspace, ModelSettings *settings,
                       const char **missing) {
    Str text;
    const char *path =
        private_path(arena, "XDG_CONFIG_HOME", ".config", "model.toml", workspace, missing);
    if (!path || !file_exists(path)) return NULL;  // the command line may say it all
    Error error = private_refuse(arena, path);
    if (!error) error = file_read(arena, path, &text);
    if (error) return error;
    const Toml *root = toml_parse(arena, source_new(arena, path, text), &error);
    if (error) return arena_printf(arena, "%s: %s", path, error);
    for (int i = 0; i < root->count && !error; i++)
        error = read_key(arena, path, root->keys[i], root->items[i], settings);
    return error;
}

static Error take_key(Arena *arena, ModelSettings *settings) {
    secret_take(settings->key_variable);
    const char *key = secret_of(settings->key_variable);
    if (!key) return NULL;
    for (const char *at = key; *at; at++)
        if (!isgraph((unsigned char)*at) || *at == '"' || *at == '\\')
            return arena_printf(arena, "$%s holds something that is no key",
                                settings->key_variable);
    settings->key = key;
    return NULL;
}

void model_keys_take(void) {
    Arena *arena = arena_new();
    ModelSettings settings = model_settings_default();
    const char *missing = NULL;
    secret_take(settings.key_variable);
    secret_take(settings.embedding_key_variable);
    // What is wrong with the file is said by who needs it.
    (void)read_file(arena, NULL, &settings, &missing);
    secret_take(settings.key_variable);
    secret_take(settings.embedding_key_variable);
    arena_free(arena);
}

Error model_settings_refuse(Arena *arena, ModelSettings *settings) {
    static const char *const apis[] = {"openai", "anthropic", NULL};
    static const char *const efforts[] = {"low", "medium", "high", NULL};
    if (!is_one_of(settings->api_name, apis)) return "`api` of a model is openai or anthropic";
    settings->api = strcmp(settings->api_name, apis[1]) == 0 ? MODEL_ANTHROPIC : MODEL_OPENAI;
    if (settings->effort && !is_one_of(settings->effort, efforts))
        return "`effort` of a model is low, medium or high";
    Error error = http_refuse(arena, settings->endpoint);
    if (error) return error;
    if (settings->key && strncmp(settings->endpoint, "https://", 8) != 0 &&
        !http_is_local(settings->endpoint))
        return arena_printf(arena,
                            "$%s holds a key, which is sent to other machines by https alone",
                            settings->key_variable);
    return NULL;
}

static Error read_settings(Arena *arena, const Options *options, const char *workspace,
                           ModelSettings *settings) {
    *settings = model_settings_default();
    const char *missing = NULL;
    Error error = read_file(arena, workspace, settings, &missing);
    if (error) return error;
    if (options->endpoint) settings->endpoint = options->endpoint;
    if (options->model) settings->model = options->model;
    if (options->max_iters) settings->max_iters = options->max_iters;
    if (options->max_stalls) settings->max_stalls = options->max_stalls;
    if (options->max_tokens) settings->max_tokens = options->max_tokens;
    if (options->max_seconds) settings->max_seconds = options->max_seconds;
    if (options->temperature >= 0) settings->temperature = options->temperature;
    if (options->effort) settings->effort = options->effort;
    if (options->api) settings->api_name = options->api;
    for (int i = 0; settings->phases && i < settings->phases->count; i++) {
        Json *own = settings->phases->items[i];
        if (options->model) json_set_string(own, "model", options->model);
        if (options->max_iters) json_set_number(own, "max-iters", options->max_iters);
        if (options->max_stalls) json_set_number(own, "max-stalls", options->max_stalls);
        if (options->temperature >= 0) json_set_number(own, "temperature", options->temperature);
        if (options->effort) json_set_string(own, "effort", options->effort);
    }
    if (settings->endpoint && settings->model) return NULL;
    return arena_printf(arena,
                        "no model is set up: say `endpoint` and `model` in "
                        "~/.config/tad-lsp/model.toml, or --endpoint and --model%s%s",
                        missing ? "; " : "", missing ? missing : "");
}

Error model_settings_read(Arena *arena, const Options *options, const char *workspace,
                          ModelSettings *settings) {
    Error error = read_settings(arena, options, workspace, settings);
    if (!error) error = take_key(arena, settings);
    return error ? error : model_settings_refuse(arena, settings);
}

Error model_settings_look(Arena *arena, const char *workspace, ModelSettings *settings) {
    static const Options none = {.temperature = -1};
    Error error = read_settings(arena, &none, workspace, settings);
    return error ? error : model_settings_refuse(arena, settings);
}

// --- embeddings

const char *model_embedding_url(Arena *arena, const ModelSettings *settings) {
    size_t size = strlen(settings->endpoint);
    while (size && settings->endpoint[size - 1] == '/') size--;
    bool is_ollama = strcmp(settings->embedding_api, "ollama") == 0;
    return arena_printf(arena, "%.*s/%s", (int)size, settings->endpoint,
                        is_ollama ? "embed" : "embeddings");
}

Error model_settings_embedding(Arena *arena, const char *workspace, bool takes_key,
                               ModelSettings *settings) {
    static const char *const apis[] = {"openai", "ollama", NULL};
    *settings = model_settings_default();
    const char *missing = NULL;
    Error error = read_file(arena, workspace, settings, &missing);
    settings->endpoint = settings->embedding_endpoint;
    settings->model = settings->embedding_model;
    settings->api_name = "openai";
    settings->effort = NULL;
    settings->key_variable = settings->embedding_key_variable;
    if (error || !settings->endpoint) return error;
    if (!settings->model) return "`embedding-endpoint` needs `embedding-model`";
    if (!is_one_of(settings->embedding_api, apis)) return "`embedding-api` is openai or ollama";
    if (settings->embedding_weight > 1) return "`embedding-weight` is at most 1";
    if (takes_key) error = take_key(arena, settings);
    return error ? error : model_settings_refuse(arena, settings);
}

const char *model_embedding(Arena *arena, const char *workspace, double *weight) {
    ModelSettings settings;
    Error error = model_settings_embedding(arena, workspace, false, &settings);
    *weight = error ? 0 : settings.embedding_weight;
    if (error || !settings.endpoint) return NULL;
    return arena_printf(arena, "%s %s", model_embedding_url(arena, &settings), settings.model);
}

Error model_settings_phase(Arena *arena, const ModelSettings *settings, const char *phase,
                           ModelSettings *own) {
    *own = *settings;
    const Json *said = settings->phases ? json_get(settings->phases, phase) : NULL;
    if (!said || said->kind != JSON_OBJECT) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Json *value = json_get(said, rows[i].name);
        void *field = (char *)own + rows[i].field;
        if (value && rows[i].kind == MODEL_NUMBER)
            *(double *)field = json_get_number(said, rows[i].name, *(double *)field);
        else if (value)
            *(const char **)field = json_get_string(said, rows[i].name, *(const char **)field);
    }
    return model_settings_refuse(arena, own);
}

double model_price(const ModelSettings *settings, int64_t input, int64_t output) {
    return ((settings->price_input > 0 ? settings->price_input * (double)input : 0) +
            (settings->price_output > 0 ? settings->price_output * (double)output : 0)) /
           1e6;
}

/// How many bytes at `text` stand somewhere in the key, one after the other.
static size_t piece_size(const char *key, const char *text) {
    size_t longest = 0;
    for (const char *from = key; *from; from++) {
        size_t size = 0;
        while (from[size] && from[size] == text[size]) size++;
        if (size > longest) longest = size;
    }
    return longest;
}

const char *model_redacted(Arena *arena, const ModelSettings *settings, const char *text) {
    enum { PIECE = 12 };  // a shorter one may be a word: `sk-proj-`
    if (!settings->key || !*settings->key) return text;
    size_t whole = strlen(settings->key), least = whole < PIECE ? whole : PIECE;
    Buffer out = buffer_new(arena);
    while (*text) {
        size_t size = piece_size(settings->key, text);
        if (size >= least)
            buffer_puts(&out, "(key)");
        else
            buffer_add(&out, text, size = 1);
        text += size;
    }
    return buffer_text(&out);
}
