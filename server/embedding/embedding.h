// Texts into vectors, by an endpoint as OpenAI's (`embeddings`) or Ollama's (`embed`).
#ifndef TAD_SERVER_EMBEDDING_EMBEDDING_H
#define TAD_SERVER_EMBEDDING_EMBEDDING_H

#include "server/model/model.h"
#include "server/retrieval/store.h"

/// The request as a person sees it, without the key.
const char *embedding_request(Arena *arena, const ModelSettings *settings,
                              const StoredKernel *kernels, int count);
/// Asks for the vectors of the kernels' texts, within `max_seconds`, and sets them. `*tokens`: as counted there; 0 where nobody counts. The
/// settings are those of model_settings_embedding. An error has no key in it.
Error embedding_ask(Arena *arena, const ModelSettings *settings, double max_seconds,
                    StoredKernel *kernels, int count, int64_t *tokens);

#endif
