// Open files: their text by version, edited as the client says. Texts are immutable and counted, so that a queue keeps the one it works on.
#ifndef TAD_SERVER_TEXT_DOCUMENTS_H
#define TAD_SERVER_TEXT_DOCUMENTS_H

#include <limits.h>
#include <stdatomic.h>

#include "base/map.h"
#include "server/text/protocol.h"

/// Of a file that is not open.
enum { VERSION_ON_DISK = INT_MIN };

typedef struct Text {
    Arena *arena;
    atomic_int count;  // of holders
    int version;
    Str text;
    Str analysed;  // the same with "\n" for a lone "\r", which the analysis does not take for the end of a line; Python alone
    bool is_cell;  // of a notebook
    bool is_settings;  // of a TOML file: nothing of it is analysed
    Lines lines;
    uint32_t caret;  // behind what was just typed, NO_CARET where nobody seems to type
} Text;

#define NO_CARET UINT32_MAX

/// Copies `text` of the document `uri`. The caller holds one count.
Text *text_new(const char *uri, Str text, int version);
Text *text_retain(const Text *text);
/// NULL is allowed.
void text_release(Text *text);
/// The text after `contentChanges`, one after the other; a place outside is moved inside. NULL and `*error` where a change is malformed.
Text *text_edit(const Text *old, const Json *changes, Encoding encoding, int version, Error *error);

struct QueueDocument;

/// Belongs to the loop's thread.
typedef struct Document {
    Arena *arena;
    const char *uri;
    const char *file;  // real path, "" where it is no file
    Text *text;
    struct QueueDocument *queue;  // what the queues know of it
    struct Timer *late;           // before diagnostics at the caret are shown; or NULL
    struct LateDocument *late_context;
    bool is_late;    // they are shown
    uint64_t shown;  // map_hash of the diagnostics that were published last
    bool is_unread;  // what it imports will be read ahead
} Document;

typedef struct Documents {
    Arena *arena;
    Map by_uri;  // -> Document, NULL once closed
    int open_count;
} Documents;

Documents documents_new(Arena *arena);
/// NULL where it is not open.
Document *documents_find(const Documents *documents, const char *uri);
/// Adds a document with its text. Requires that it is not open.
Document *documents_open(Documents *documents, const char *uri, Text *text);
/// Forgets it and lets go of its text.
void documents_close(Documents *documents, Document *document);

#endif
