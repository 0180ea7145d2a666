// Looking up what PyTorch does to memory.
#include "analysis/host_values/torch.h"

#include "analysis/syntax/syntax_nodes.h"

static const TorchRow rows[] = {
#define TORCH(name, use, storage, contents, shape, tells, example)                                 \
    {name, TORCH_##use, TORCH_##storage, TORCH_##contents, TORCH_##shape, tells},
#include "analysis/host_values/torch.def"
#undef TORCH
};

const TorchRow *torch_row(Str name) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_is(name, rows[i].name)) return &rows[i];
    return NULL;
}

bool torch_asks_only(Str member) {
    const TorchRow *row = torch_row(member);
    return row && row->storage == TORCH_ASKS;
}

bool torch_tells_tensor(Str member) {
    const TorchRow *row = torch_row(member);
    return row && row->tells;
}

static bool has_out(const Source *source, SyntaxNode list) {
    for (uint32_t i = 0; i < node_child_count(list); i++) {
        SyntaxNode child = node_child(list, i);
        if (node_kind(child) == SYNTAX_KEYWORD_ARGUMENT &&
            str_is(node_text(source, node_field(child, "name")), "out"))
            return true;
    }
    return false;
}

/// The row of a call whose result is certainly no memory that there was before.
static const TorchRow *row_of_new(const Source *source, SyntaxNode call) {
    if (node_is_null(call) || node_kind(call) != SYNTAX_CALL) return NULL;
    SyntaxNode function = node_field(call, "function"), list = node_field(call, "arguments");
    if (node_kind(function) == SYNTAX_ATTRIBUTE) function = node_field(function, "attribute");
    const TorchRow *row = torch_row(node_text(source, function));
    if (!row || row->storage != TORCH_NEW) return NULL;
    return node_is_null(list) || !has_out(source, list) ? row : NULL;
}

const TorchRow *torch_allocation(const Source *source, SyntaxNode call) {
    const TorchRow *row = row_of_new(source, call);
    bool is_made = row && row->contents != TORCH_COPIED && row->contents != TORCH_COMPUTED;
    return is_made ? row : NULL;
}

const TorchRow *torch_copy(const Source *source, SyntaxNode call) {
    const TorchRow *row = row_of_new(source, call);
    return row && row->contents == TORCH_COPIED ? row : NULL;
}
