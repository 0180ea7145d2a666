// Which model is asked, and how. Said by the user alone, in a file of his own or on the command line: a project says nothing of it.
#ifndef TAD_SERVER_MODEL_MODEL_H
#define TAD_SERVER_MODEL_MODEL_H

#include "base/error.h"
#include "base/json.h"
#include "base/list.h"
#include "base/text.h"
#include "server/settings/options.h"

typedef enum ModelApi { MODEL_OPENAI, MODEL_ANTHROPIC } ModelApi;

typedef struct ModelSettings {
    const char *endpoint, *model;  // NULL: no model is asked
    const char *api_name;
    ModelApi api;
    double temperature;           // negative: not said
    const char *effort;           // NULL: not said
    const char *key_variable;     // its name
    const char *key;              // its value, which nobody copies; NULL: it has none
    const char *proxy, *ca_file;  // NULL: not said
    double max_iters, max_stalls, max_tokens, max_seconds;
    double price_input, price_output;  // of a million tokens; negative: not said
    // The other endpoint, as the file says it.
    const char *embedding_endpoint, *embedding_api, *embedding_model, *embedding_key_variable;
    double embedding_weight;
    Json *phases;  // {phase: {setting: value}}, what a phase has in their place; NULL: nothing
} ModelSettings;

/// Takes the keys that the user's file names, and those of the usual variables, out of the environment (secret_take): first thing in each
/// process, so that none of its children inherits one.
void model_keys_take(void);
/// Reads the user's file and the options. A file that lies in `workspace`, or that others may write to, is refused.
Error model_settings_read(Arena *arena, const Options *options, const char *workspace,
                          ModelSettings *settings);
/// The same without options and without the key, for who only wants to know whether there is a model.
Error model_settings_look(Arena *arena, const char *workspace, ModelSettings *settings);
/// Those of the embedding endpoint, in the fields of the other: `endpoint` is NULL where none is set up. With the key only where
/// `takes_key`.
Error model_settings_embedding(Arena *arena, const char *workspace, bool takes_key,
                               ModelSettings *settings);
/// Where embeddings are had.
const char *model_embedding_url(Arena *arena, const ModelSettings *settings);
/// What vectors are kept under: of which model, where. NULL where none is set up, or its settings cannot be used.
const char *model_embedding(Arena *arena, const char *workspace, double *weight);
/// Those of a conversation that was recorded; nothing is asked with them.
ModelSettings model_settings_default(void);
/// Whether the settings can be used at all; a sentence where not.
Error model_settings_refuse(Arena *arena, ModelSettings *settings);
/// Those that hold in a phase. A sentence where they cannot be used.
Error model_settings_phase(Arena *arena, const ModelSettings *settings, const char *phase,
                           ModelSettings *own);
/// What so many tokens cost by the user's prices; 0 where he has said none.
double model_price(const ModelSettings *settings, int64_t input, int64_t output);
/// The text without the key in it, whoever has put it there.
const char *model_redacted(Arena *arena, const ModelSettings *settings, const char *text);

#endif
