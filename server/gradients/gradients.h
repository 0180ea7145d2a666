// What is known of each kernel's gradients, and the checks that run in the background: derived on a queue, proved by worker processes.
#ifndef TAD_SERVER_GRADIENTS_GRADIENTS_H
#define TAD_SERVER_GRADIENTS_GRADIENTS_H

#include "autodiff/backward.h"
#include "autodiff/emit/emitted.h"
#include "server/proofs/gradient_place.h"
#include "server/session/session.h"

// GRADIENT_STATE(ID, "name in messages")
#define GRADIENT_STATES(X)                                                                         \
    X(UNCHECKED, "unchecked")                                                                      \
    X(RUNNING, "running")                                                                          \
    X(PROVED, "proved")                                                                            \
    X(FAILED, "failed")                                                                            \
    X(UNPROVED, "unproved")                                                                        \
    X(REFUSED, "refused")                                                                          \
    X(NOT_DIFFERENTIABLE, "not-differentiable")
typedef enum GradientState {
#define STATE(id, name) GRADIENT_##id,
    GRADIENT_STATES(STATE)
#undef STATE
        GRADIENT_STATE_COUNT
} GradientState;

/// A copy of what is known: free of the table, which other threads change.
typedef struct GradientStatus {
    GradientState state;
    const char *reason;  // "" for none
    double worst_error, seconds;
    bool has_error;
    bool is_waiting;  // running: for a worker
    int percent;      // running: how far it is
    bool is_stale;    // the kernel, or a helper of it, has other text than when it was checked
    Json *details;    // what the runner answered, or NULL
    Json *range;  // of a wrong gradient in the text that was checked, or NULL: the kernel's name
    const char
        *given;  // of a wrong gradient: the helper whose derivative by hand it rests on; or NULL
    GradientWriter writer;  // of a wrong gradient, where the file holds the backward
    uint64_t hash;
} GradientStatus;

struct Gradients;
struct Gradients *gradients_new(Server *server);
/// Stops the workers. What waited for them is answered.
void gradients_end(struct Gradients *gradients);
void gradients_free(struct Gradients *gradients);

/// From any thread; GRADIENT_UNCHECKED where nothing is known. `hash` says what is stale.
GradientStatus gradient_status(const struct Gradients *gradients, Arena *arena, const char *uri,
                               const char *kernel, uint64_t hash);
/// What is known, in a sentence or two, for a person who asks why; "" where nothing is.
const char *gradient_status_words(Arena *arena, const char *kernel, const GradientStatus *status);
/// GradientStatus of the extension protocol (docs/server.md).
Json *gradient_status_json(Arena *arena, const char *uri, const char *kernel, int version,
                           const GradientStatus *status);
/// Why the rules refuse the kernel's backward, as far as it is known for this very text; else NULL.
const char *gradient_refusal(const struct Gradients *gradients, Arena *arena, const char *uri,
                             const char *kernel, uint64_t hash);
/// Whether it is known for this very text that the derived backward adds up with atomics, or runs a loop again for each iteration.
bool gradient_is_slow(const struct Gradients *gradients, Arena *arena, const char *uri,
                      const char *kernel, uint64_t hash);

/// By what its derived gradients are stored, as far as it is known for this very text (schedule_brief); else NULL.
const char *gradient_schedule(const struct Gradients *gradients, Arena *arena, const char *uri,
                              const char *kernel, uint64_t hash);

/// Whether it is known that the kernel, as it is, has the same backward as its twin in the other of the two files that `written.h` tells of;
/// `both`: outdated_hash of the two.
bool gradient_is_same(const struct Gradients *gradients, Arena *arena, const char *uri,
                      const char *kernel, uint64_t both);

/// A forward kernel whose result became stale, or fresh again by undoing.
typedef struct Stale {
    const char *kernel;
    GradientStatus status;
} Stale;
typedef struct StaleList {
    LIST(Stale) list;
} StaleList;

/// Adds what the last checks found, as far as it holds for this text, and lists what the client was told otherwise about its
/// staleness. On the fast queue.
void gradients_diagnose(struct Gradients *gradients, Arena *arena, const Snapshot *snapshot,
                        const char *uri, Diagnostics *diagnostics, StaleList *stale);
/// Tells what of the list is still news. On the loop's thread.
void gradients_tell_stale(Server *server, const char *uri, int version, const StaleList *stale);

/// Keeps a result and tells the client. `line` is the kernel's in the text that was checked. On the loop's thread.
void gradients_record(struct Gradients *gradients, const char *uri, const char *kernel, int version,
                      int line, const GradientStatus *status);
struct Checks *gradients_checks(const struct Gradients *gradients);

/// `request`, which the client cancelled, waits for a check. On the loop's thread.
void gradients_cancel_request(Server *server, const Request *request);
/// Derives the forward kernels of a document in the background after a pause, for the lenses and the light bulb.
/// On the loop's thread.
void gradients_watch(Server *server, const char *uri);

#endif
