// The local index on disk, a file of the user's own: kernels with their structure, and the Functions that they belong to; embeddings of their
// texts.
#ifndef TAD_SERVER_RETRIEVAL_STORE_H
#define TAD_SERVER_RETRIEVAL_STORE_H

#include "base/error.h"
#include "base/list.h"
#include "base/map.h"
#include "server/retrieval/structure.h"

/// A file as it was read. Paths are absolute, with all links followed.
typedef struct Stamp {
    const char *path;
    int64_t mtime_ns, size, hash;
} Stamp;

/// An embedding of a text, of length 1.
typedef struct StoredVector {
    const float *items;
    int count;  // 0: there is none
} StoredVector;

typedef struct StoredKernel {
    const char *path, *name;
    int line;      // one-based, of the `def`
    int64_t hash;  // of the text
    StoredVector vector;
    Structure structure, words;
    const char *text;  // decorators included
} StoredKernel;

typedef struct StoredMember {
    const char *path, *name;  // of the kernel
    bool is_forward;
} StoredMember;

typedef struct StoredPair {
    const char *name;  // of the Function
    int line;
    LIST(StoredMember) members;
} StoredPair;

typedef struct StoredFile {
    Stamp stamp;
    LIST(Stamp) uses;  // what it imports, directly and through others
    LIST(StoredKernel) kernels;
    LIST(StoredPair) pairs;
} StoredFile;

typedef struct StoreChange {
    LIST(const char *) roots;      // to be remembered: where the user has pointed
    LIST(const char *) forgotten;  // roots that are no longer
    LIST(const char *) gone;       // files
    LIST(StoredFile *) files;      // each in the place of what is known of it
} StoreChange;

/// A kernel where it stands, with a Function that it is the forward or the backward of.
typedef struct StoredPlace {
    const char *path, *name;
    int line;
} StoredPlace;

typedef struct StoredPlaces {
    LIST(StoredPlace) list;
} StoredPlaces;

typedef struct Store Store;

/// Where the index lies: NULL and `*error` where nobody says where the user's own files are.
const char *store_path(Arena *arena, Error *error);
/// Opens it for readers. An error, in words for the user, where there is none, or one that cannot be used.
Store *store_open(Arena *arena, Error *error);
/// The same for a writer, who makes it where it is missing, and makes it anew where it is damaged or of another version: `*made_anew`
/// then says why. Other writers wait until store_close.
Store *store_open_to_write(Arena *arena, const char **made_anew, Error *error);
void store_close(Store *store);

/// path -> StoredFile *, with stamps alone.
Map store_files(Store *store, Error *error);
typedef struct StorePaths {
    LIST(const char *) list;
} StorePaths;
StorePaths store_roots(Store *store, Error *error);
/// All of it, or nothing.
Error store_write(Store *store, const StoreChange *change);

typedef struct StoredKernels {
    LIST(StoredKernel) list;  // without texts
} StoredKernels;
/// Kernels that a Function launches forward, and whose backward is in the index. With vectors, as far as there are, where `embedding`
/// says which (model_embedding), and is not NULL.
StoredKernels store_forwards(Store *store, const char *embedding, Error *error);
/// Those among them that want a vector, each text once: path, name, hash and text.
StoredKernels store_without_vector(Store *store, const char *embedding, Error *error);
/// The vector of a text; none where `embedding` is NULL.
StoredVector store_vector(Store *store, const char *embedding, int64_t hash);
/// Adds the vectors of kernels, by their hashes, and drops those of other embeddings and of texts that are gone.
Error store_write_vectors(Store *store, const char *embedding, const StoredKernel *kernels,
                          int count);
/// The Functions that launch the kernel forward, and the kernels of their backwards.
StoredPlaces store_functions_of(Store *store, const StoredKernel *kernel, Error *error);
StoredPlaces store_backwards_of(Store *store, const StoredKernel *kernel, Error *error);
/// The text of a kernel as it was indexed; "" where it is not there.
const char *store_text(Store *store, const char *path, const char *name);

#endif
