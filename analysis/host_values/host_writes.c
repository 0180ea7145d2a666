// Which tensors of the host code may hold something when the launch comes: what is not followed (other launches, unknown
// functions, branches not taken, earlier iterations of a loop) may have written to them.
#include "analysis/host_values/host_writes.h"

#include <string.h>

#include "analysis/host_values/host.h"
#include "analysis/host_values/torch.h"
#include "analysis/syntax/syntax_nodes.h"

enum { MOST_DEPTH = 8 };

static void note_value(const HostValue *value, int depth) {
    if (!value || depth > MOST_DEPTH) return;
    if (value->kind == HOST_TENSOR) value->tensor->buffer->may_be_written = true;
    if (value->kind != HOST_SEQUENCE && value->kind != HOST_DICTIONARY) return;
    for (int i = 0; i < value->count; i++) note_value(value->items[i], depth + 1);
}

void host_note_written(const HostValue *value) { note_value(value, 0); }

void host_note_written_by(const HostCall *call) {
    for (int i = 0; i < call->count; i++) host_note_written(call->items[i]);
    for (int i = 0; i < call->name_count; i++) host_note_written(call->values[i]);
}

typedef struct Mentions {
    HostFrame *frame;
} Mentions;

static bool visit_mention(void *context, SyntaxNode node) {
    const Mentions *mentions = context;
    const Source *source = mentions->frame->module->source;
    if (node_kind(node) != SYNTAX_IDENTIFIER) return true;
    SyntaxNode parent = node_parent(node);
    if (node_kind(parent) == SYNTAX_ATTRIBUTE &&
        torch_asks_only(node_text(source, node_field(parent, "attribute"))))
        return true;
    Str name = node_text(source, node);
    for (const HostFrame *at = mentions->frame; at; at = at->outer) {
        const HostValue *value = map_get(&at->names, name);
        if (!value) continue;
        host_note_written(value);
        break;
    }
    return true;
}

void host_note_named(HostFrame *frame, SyntaxNode node) {
    Mentions mentions = {frame};
    if (!node_is_null(node)) syntax_walk(node, visit_mention, &mentions);
}

bool host_call_allocates(const Source *source, SyntaxNode node) {
    return node_kind(node) == SYNTAX_NONE || torch_allocation(source, node);
}

static bool visit_skipped(void *context, SyntaxNode node) {
    const Mentions *mentions = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_ASSIGNMENT &&
        host_call_allocates(mentions->frame->module->source, node_field(node, "right")))
        return true;
    if (kind == SYNTAX_ASSIGNMENT || kind == SYNTAX_AUGMENTED_ASSIGNMENT)
        host_note_named(mentions->frame, node_field(node, "left"));
    if (kind == SYNTAX_CALL) host_note_named(mentions->frame, node);
    return true;
}

void host_note_skipped(HostFrame *frame, SyntaxNode branch) {
    Mentions mentions = {frame};
    if (!node_is_null(branch)) syntax_walk(branch, visit_skipped, &mentions);
}

static bool visit_return(void *context, SyntaxNode node) {
    int *returns = context;
    *returns += node_kind(node) == SYNTAX_RETURN;
    return true;
}

bool host_has_several_results(const HostValue *function) {
    int returns = 0;
    syntax_walk(node_field(function->node, "body"), visit_return, &returns);
    return returns > 1;
}
