// The fast queue's side: each document's snapshot follows its text; features work on it in the order in which they were asked.
#ifndef TAD_SERVER_QUEUES_FAST_QUEUE_H
#define TAD_SERVER_QUEUES_FAST_QUEUE_H

#include "server/session/session.h"

/// The snapshot of the request's own text. NULL and a failed request where the analysis failed. On the fast queue only.
const Snapshot *request_snapshot(Request *request);
/// The offsets of a range; false and a failed request where it is none.
bool request_range(Request *request, const Json *range, uint32_t *start, uint32_t *end);
/// A range of the request's own text, and a place in any file.
Json *request_range_json(Request *request, const Snapshot *snapshot, Range range);
/// The same as JSON text.
void request_range_write(const Request *request, const Snapshot *snapshot, Range range,
                         Buffer *text);
/// The client's own name of a file that it has open.
const char *request_uri_of(Request *request, const char *path);
Json *location_json(Request *request, const Snapshot *snapshot, Range range);
// The fast queue: one snapshot a document, one resolver for all.
struct FastQueue *fast_queue_new(Arena *arena, Overlay *overlay, const Blackbox *box);
void fast_queue_free(struct FastQueue *queue);
/// The fast queue forgets the document's snapshot. The last request for it.
void queue_document_close(Request *request);
/// Whether the document's snapshot imports what its resolver was not asked for. On the fast queue.
ReadingAhead queue_document_unread(const QueueDocument *document);
/// The snapshot of the request's text, for another queue to read: it lives until fast_queue_let_go. NULL where there is none. On the fast queue, as its end; `is_read`: all that it imports is read now.
const Snapshot *fast_queue_hold(struct FastQueue *queue, const Request *request);
void fast_queue_let_go(struct FastQueue *queue, bool is_read);
/// Reads every pyproject.toml again. On the fast queue.
void fast_queue_forget_settings(struct FastQueue *queue);
/// The document is open: it is asked for by fast_queue_stale until queue_document_close. On the fast queue.
void fast_queue_adopt(struct FastQueue *queue, QueueDocument *document);
/// The open documents that import what has changed since their snapshots were built. On the fast queue.
QueueDocuments fast_queue_stale(struct FastQueue *queue, Arena *arena);
/// `[tool.tad]` for the request's document. On the fast queue.
const Settings *request_settings(Request *request);
/// The choice of diagnostics that the editor's settings make, as options of the command line.
Options request_options(const Request *request);
/// Whether an edit of it is analysed so soon that no other thread needs to be woken for it. While the fast queue is idle.
bool queue_document_is_quick(const QueueDocument *document);
/// Whether an analysis of it takes so long that whoever asks about another document would notice. From any thread.
bool queue_document_is_long(const QueueDocument *document);
QueueDocument *queue_document_new(const char *uri);
QueueDocument *queue_document_retain(QueueDocument *document);
void queue_document_release(QueueDocument *document);

#endif
