// Parts of answers that several requests share.
#ifndef TAD_SERVER_QUEUES_ANSWER_H
#define TAD_SERVER_QUEUES_ANSWER_H

#include "codeactions/codeactions.h"
#include "features/features.h"
#include "server/session/session.h"

/// The snapshot of the request's own text and the offset of its `position`; NULL and a failed request.
const Snapshot *request_snapshot_at(Request *request, uint32_t *offset);
/// The offset of a position; false and a failed request where it is none.
bool position_offset(Request *request, const Json *position, uint32_t *offset);
Json *offset_json(Request *request, uint32_t offset);
/// MarkupContent; plain text where the client shows no Markdown.
Json *markup_json(Request *request, const char *markdown);
/// LSP's SymbolKind.
int symbol_kind_number(SymbolKind kind);

/// The edits of one document.
typedef struct DocumentEdits {
    const char *uri;
    Json *version, *edits;
} DocumentEdits;

/// A WorkspaceEdit of documents and of new files; versioned, with an annotation, where the client has these.
typedef struct EditWriter {
    Request *request;
    LIST(DocumentEdits) documents;
    Json *files;             // operations that make files, each followed by the edit that fills it
    const char *annotation;  // identifier, or NULL
    Json *annotations;
} EditWriter;

EditWriter edit_writer_new(Request *request);
/// From now on edits are under this annotation, where the client shows them.
void edit_annotate(EditWriter *writer, const char *label, const char *description,
                   bool needs_confirmation);
/// In what is the request's document now.
void edit_replace(EditWriter *writer, const Snapshot *snapshot, Range range, Str text);
/// The text of another file, made anew or replaced as a whole. A client that cannot make files is told to write into one that
/// is not there yet, which opens it.
void edit_new_file(EditWriter *writer, const char *path, const char *text);
/// Why the file must not be made or filled anew: it is somebody else's, or a link leads out of the workspace. NULL where it may.
Error edit_refuse_file(const Request *request, const char *path);
Json *edit_finish(EditWriter *writer);

#endif
