// Expressions of host code: from syntax to a HostValue.
#include "analysis/host/host_expression.h"

#include "analysis/host/host_call.h"
#include "analysis/host/host_operator.h"
#include "analysis/host/host_statement.h"
#include "analysis/host/host_tensor.h"
#include "analysis/host/host_tensor_call.h"
#include "analysis/host/launch_bind.h"
#include "analysis/host_values/host.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_solve.h"
#include "analysis/host_values/host_value.h"
#include "analysis/host_values/host_writes.h"
#include "analysis/host_values/torch.h"
#include "analysis/ir/type_limits.h"
#include "analysis/syntax/syntax_nodes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 60000, MAX_DEPTH = 200 };

static const HostValue *made_up(Host *host, const HostFrame *frame, SyntaxNode node) {
    Str text = source_slice(node_range(frame->module->source, node));
    int size = text.size > 60 ? 60 : (int)text.size;
    return host_input_value(host,
                            host_input(host, arena_printf(host->arena, "%.*s", size, text.data)));
}

static const HostValue *input_member(Host *host, const HostInput *input, const char *suffix) {
    return host_input_value(
        host, host_input(host, arena_printf(host->arena, "%s%s", input->name, suffix)));
}

const HostValue *host_keyed(Host *host, const HostInput *input, Str key) {
    return input_member(host, input, arena_printf(host->arena, "[\"%.*s\"]", STR_ARGS(key)));
}

/// What a block becomes among those of the launch that have to stay apart: at least twice the next smaller one, so that those
/// that divide each other still do.
static int64_t block_apart(const HostPolicy *policy, int64_t value) {
    const int64_t least = 8;
    int64_t made = 0;
    for (int64_t block = 1; block <= value; block *= 2) {
        if (!(policy->apart & (uint64_t)block)) continue;
        bool is_kept = block < 32 || (policy->apart_kept & (uint64_t)block);
        made = is_kept ? block : 2 * made > least ? 2 * made : least;
    }
    return made;
}

/// A power of two made smaller, as a block; one that the kernel has in its own text belongs to that, and stays.
static int64_t shrink_block(const Host *host, const HostFrame *frame, int64_t value) {
    for (int power = 0; power < 63; power++)
        if (value == (int64_t)1 << power && host->own_lengths >> power & 1) return value;
    if (host->policy.divide_blocks && !frame->is_global) return host_divided_block(value);
    if (host->policy.keep_blocks || host->policy.divide_blocks || frame->is_global || value < 32 ||
        value > 4096 || (value & (value - 1)) != 0)
        return value;
    if (host->policy.apart & (uint64_t)value) return block_apart(&host->policy, value);
    return host_small_block(value);
}

/// A number's letters without the underscores between them.
static const char *digits_of(Host *host, Str text) {
    char *digits = ARENA_ARRAY(host->arena, char, text.size + 1);
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] != '_') digits[size++] = text.data[i];
    return digits;
}

static const HostValue *integer(Host *host, const HostFrame *frame, Str text) {
    const char *digits = digits_of(host, text);
    char kind = digits[0] == '0' ? (char)tolower((unsigned char)digits[1]) : '\0';
    int base = kind == 'x' ? 16 : kind == 'b' ? 2 : kind == 'o' ? 8 : 10;
    errno = 0;
    long long value = strtoll(base == 10 ? digits : digits + 2, NULL, base);
    if (errno == ERANGE) return host_unknown(host, "an integer of more than 64 bits");
    return host_of_int(host, shrink_block(host, frame, value));
}

static const HostValue *number(Host *host, Str text) {
    return host_of_float(host, strtod(digits_of(host, text), NULL));
}

static const HostValue *string(Host *host, const HostFrame *frame, SyntaxNode node) {
    Str content = STR("");
    for (uint32_t i = 0; i < node_child_count(node); i++) {
        SyntaxNode child = node_child(node, i);
        if (node_kind(child) == SYNTAX_INTERPOLATION)
            return host_unknown(host, "a formatted string");
        if (node_kind(child) == SYNTAX_STRING_CONTENT)
            content = node_text(frame->module->source, child);
    }
    return host_of_string(host, content);
}

bool host_items(Host *host, const HostValue *value, const HostValue *const **items, int *count) {
    if (value->kind == HOST_SEQUENCE) {
        *items = value->items;
        *count = value->count;
        return true;
    }
    if (value->kind == HOST_DICTIONARY) {
        const HostValue **keys = ARENA_ARRAY(host->arena, const HostValue *, value->count + 1);
        for (int i = 0; i < value->count; i++) keys[i] = host_of_string(host, value->keys[i]);
        *items = keys;
        *count = value->count;
        return true;
    }
    return false;
}

/// `x.shape[1]`, `x.shape[-1]`: which end of the shape the launcher counts from.
static void note_size(Host *host, const HostValue *shape, int64_t index) {
    if (!shape->shape_of || shape->axis || shape->count != shape->shape_of->rank) return;
    HostInput *input = host_input(host, shape->shape_of->name);
    if (index >= 0 && index < TYPE_MAX_RANK) input->sizes_from_front |= 1U << index;
    if (index < 0 && index >= -TYPE_MAX_RANK) input->sizes_from_end |= 1U << (-index - 1);
}

const HostValue *host_item(Host *host, const HostValue *value, int64_t index) {
    if (value->kind == HOST_SEQUENCE) {
        note_size(host, value, index);
        int64_t position = index < 0 ? index + value->count : index;
        int64_t needed = index < 0 ? -index : index + 1;
        if (needed <= TYPE_MAX_RANK)
            host_need_rank(host, value->shape_of, value->count, (int)needed);
        if (position >= 0 && position < value->count)
            return value->shape_of && !value->axis ? host_look_at(value->items[position])
                                                   : value->items[position];
        return host_unknown(host, "an index out of range");
    }
    if (value->kind == HOST_INPUT && value->input->kind != INPUT_TENSOR)
        return input_member(host, value->input,
                            arena_printf(host->arena, "[%lld]", (long long)index));
    HostTensor *tensor = value->kind == HOST_TENSOR ? value->tensor : NULL;
    if (tensor && tensor->rank > 0 && index >= 0) {  // rows of a tensor, when it is unpacked
        HostTensor *row = ARENA_NEW(host->arena, HostTensor);
        *row = *tensor;
        row->rank--;
        row->offset = host_apply(
            host, HOST_OP_ADD, tensor->offset,
            host_apply(host, HOST_OP_MULTIPLY, tensor->strides[0], host_of_int(host, index)));
        for (int i = 0; i < row->rank; i++) {
            row->dims[i] = tensor->dims[i + 1];
            row->strides[i] = tensor->strides[i + 1];
        }
        return host_of_tensor(host, row);
    }
    return value->kind == HOST_UNKNOWN ? value
                                       : host_unknown(host, "an item of what is no sequence");
}

static const HostValue *dotted_object(Host *host, const char *dotted) {
    const char *last = strrchr(dotted, '.');
    DTypeCode dtype = last ? dtype_from_library_name(str_from(last + 1)) : DTYPE_UNKNOWN;
    const HostValue *limit = host_type_limit(host, dotted);
    if (limit) return limit;
    if (dtype != DTYPE_UNKNOWN &&
        (strncmp(dotted, "torch.", 6) == 0 || strncmp(dotted, "triton.language.", 16) == 0))
        return host_of_dtype(host, dtype);
    if (strcmp(dotted, "math.pi") == 0) return host_of_float(host, 3.14159265358979323846);
    if (strcmp(dotted, "math.inf") == 0 || strcmp(dotted, "torch.inf") == 0)
        return host_of_float(host, (double)__builtin_inff());
    void *assigned = map_get(&host->attributes, str_from(dotted));
    return assigned ? assigned : host_object(host, dotted);
}

static const HostValue *identifier(Host *host, HostFrame *frame, SyntaxNode node) {
    const HostValue *value = host_lookup(host, frame, node_text(frame->module->source, node));
    return value->kind == HOST_OBJECT ? dotted_object(host, value->note) : value;
}

/// `a.b.c` that a module's scope knows (another file's helper or constant), or NULL.
static const HostValue *scoped(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode base = node;
    while (node_kind(base) == SYNTAX_ATTRIBUTE) base = node_field(base, "object");
    if (node_kind(base) != SYNTAX_IDENTIFIER ||
        host_lookup(host, frame, node_text(frame->module->source, base))->kind != HOST_OBJECT)
        return NULL;
    ScopeEntry entry = scope_of_expression(host->arena, frame->module, node);
    bool known = entry.kind == SCOPE_EXTERNAL || entry.kind == SCOPE_ASSIGNED ||
                 (entry.kind == SCOPE_FUNCTION && !entry.function->is_jit);
    return known ? host_of_entry(host, entry, node_text(frame->module->source, node)) : NULL;
}

static const HostValue *attribute(Host *host, HostFrame *frame, SyntaxNode node) {
    const HostValue *known = scoped(host, frame, node);
    if (known) return known->kind == HOST_OBJECT ? dotted_object(host, known->note) : known;
    const HostValue *self = host_evaluate(host, frame, node_field(node, "object"));
    Str name = node_text(frame->module->source, node_field(node, "attribute"));
    if (self->kind == HOST_OBJECT) {
        return dotted_object(host,
                             arena_printf(host->arena, "%s.%.*s", self->note, STR_ARGS(name)));
    }
    if (self->kind == HOST_INPUT) {
        HostInput *input = self->input;
        const char *suffix = arena_printf(host->arena, ".%.*s", STR_ARGS(name));
        const char *dotted = arena_printf(host->arena, "%s%s", input->name, suffix);
        void *assigned = map_get(&host->attributes, str_from(dotted));
        if (assigned) return assigned;
        if (host_may_be_tensor(input))
            host_decide(host, input, torch_tells_tensor(name) ? INPUT_TENSOR : INPUT_OBJECT);
        if (input->kind == INPUT_OBJECT || input->kind == INPUT_DTYPE)
            return input_member(host, input, suffix);
        if (input->kind == INPUT_NONE) return host_unknown(host, "an attribute of None");
    }
    if (host_is_tensor_like(self)) {
        HostTensor *tensor = host_as_tensor(host, self);
        const HostValue *result = host_tensor_attribute(host, self, tensor, name);
        return result ? result : made_up(host, frame, node);
    }
    if (self->kind == HOST_UNKNOWN) return self;
    return made_up(host, frame, node);
}

const HostValue *host_growing(const HostValue *sequence, const HostValue *a, const HostValue *b) {
    HostValue *made = (HostValue *)(uintptr_t)sequence;
    made->shape_of = a->shape_of ? a->shape_of : b ? b->shape_of : NULL;
    made->axis = 1;
    return sequence;
}

static const HostValue *sliced(Host *host, HostFrame *frame, const HostValue *value,
                               SyntaxNode node) {
    int64_t bounds[2] = {0, value->count};
    int part = 0;
    for (uint32_t i = 0; i < node_all_child_count(node); i++) {
        SyntaxNode child = node_all_child(node, i);
        if (strcmp(node_kind_name(child), ":") == 0) {
            part++;
            continue;
        }
        int64_t bound = 0;
        if (part > 1) return host_unknown(host, "a slice with a step");
        if (!host_int(host_evaluate(host, frame, child), &bound))
            return host_unknown(host, "a slice that is not known");
        if (bound < 0) bound += value->count;
        bounds[part] = bound < 0 ? 0 : bound > value->count ? value->count : bound;
    }
    int64_t count = bounds[1] > bounds[0] ? bounds[1] - bounds[0] : 0;
    for (int64_t i = 0; value->shape_of && !value->axis && i < count; i++)
        host_look_at(value->items[bounds[0] + i]);
    return host_growing(host_sequence(host, value->items + (count ? bounds[0] : 0), (int)count),
                        value, NULL);
}

bool host_key(Host *host, const HostValue *value, Str *key) {
    if (value->kind == HOST_OBJECT) return *key = str_from(value->note), true;
    Constant now;
    if (!host_compute(value, &now)) return false;
    switch (now.kind) {
    case CONSTANT_STRING: *key = now.string; return true;
    case CONSTANT_INT:
    case CONSTANT_BOOL:
        *key = str_from(arena_printf(host->arena, "%lld", (long long)now.integer));
        return true;
    case CONSTANT_DTYPE:
        *key = str_from(dtype_name(now.dtype.code) ? dtype_name(now.dtype.code) : "?");
        return true;
    default: return false;
    }
}

/// An item of a container, which is another one where the inputs are others that its key rests on.
static const HostValue *picked(Host *host, const HostValue *item, const HostValue *key) {
    bool rests_on_inputs = key->kind == HOST_INPUT || key->kind == HOST_OPERATION;
    if (!rests_on_inputs || item->kind != HOST_CONSTANT) return item;
    HostValue *copy = ARENA_NEW(host->arena, HostValue);
    *copy = *item;
    copy->is_picked = true;
    return copy;
}

static const HostValue *subscript(Host *host, HostFrame *frame, SyntaxNode node) {
    const HostValue *value = host_evaluate(host, frame, node_field(node, "value"));
    if (value->kind == HOST_UNKNOWN) return value;
    SyntaxNode index_node = node_field(node, "subscript");
    if (host_is_tensor_like(value))
        return host_tensor_subscript(host, host_as_tensor(host, value), frame, node);
    if (value->kind == HOST_SEQUENCE && node_kind(index_node) == SYNTAX_SLICE)
        return sliced(host, frame, value, index_node);
    const HostValue *index = host_evaluate(host, frame, index_node);
    if (value->kind == HOST_DICTIONARY) {
        Str key = STR("");
        bool known = host_key(host, index, &key);
        for (int i = 0; known && i < value->count; i++)
            if (str_equal(value->keys[i], key)) return picked(host, value->items[i], index);
        if (index->kind == HOST_INPUT && value->count > 0) {  // one of the keys is meant
            host_decide(host, index->input, INPUT_STRING);
            const HostValue *any = NULL;
            for (int i = 0; i < value->count; i++) {
                const HostValue *same =
                    host_equal(host, index, host_of_string(host, value->keys[i]));
                any = any ? host_apply(host, HOST_OP_OR, any, same) : same;
            }
            host_require(host, any, true, HOST_MUST);
        }
        return host_unknown(host, "a key that the dictionary does not have");
    }
    bool is_named = index->kind == HOST_CONSTANT && index->constant.kind == CONSTANT_STRING;
    if (value->kind == HOST_INPUT && is_named)
        return host_keyed(host, value->input, index->constant.string);
    int64_t position = 0;
    if (host_int(index, &position) && (value->kind == HOST_SEQUENCE || value->kind == HOST_INPUT))
        return picked(host, host_item(host, value, position), index);
    return made_up(host, frame, node);
}

static const HostValue *dictionary(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode *children = NULL;
    int count = node_children(host->arena, node, &children), filled = 0, capacity = count + 8;
    Str *keys = ARENA_ARRAY(host->arena, Str, capacity);
    const HostValue **items = ARENA_ARRAY(host->arena, const HostValue *, capacity);
    for (int i = 0; i < count; i++) {
        if (node_kind(children[i]) == SYNTAX_DICTIONARY_SPLAT) {
            const HostValue *spread = host_evaluate(host, frame, node_child(children[i], 0));
            if (spread->kind != HOST_DICTIONARY)
                return host_unknown(host, "a dictionary spread from what is not understood");
            for (int k = 0; k < spread->count && filled < capacity; k++) {
                keys[filled] = spread->keys[k];
                items[filled++] = spread->items[k];
            }
        } else if (node_kind(children[i]) == SYNTAX_PAIR && filled < capacity) {
            const HostValue *key = host_evaluate(host, frame, node_field(children[i], "key"));
            const HostValue *item = host_evaluate(host, frame, node_field(children[i], "value"));
            if (!host_key(host, key, &keys[filled])) continue;
            items[filled++] = item;
        }
    }
    HostValue *value = host_new(host, HOST_DICTIONARY);
    value->keys = keys;
    value->items = items;
    value->count = filled;
    return value;
}

bool host_is_spread(SyntaxNode node) {
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        switch (node_kind(node)) {
        case SYNTAX_LIST_SPLAT:
        case SYNTAX_PARENTHESIZED_LIST_SPLAT: return true;
        case SYNTAX_ATTRIBUTE: node = node_field(node, "object"); break;
        case SYNTAX_SUBSCRIPT: node = node_field(node, "value"); break;
        case SYNTAX_CALL: node = node_field(node, "function"); break;
        default: return false;
        }
    }
    return false;
}

static const HostValue *sequence(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode *children = NULL;
    int count = node_children(host->arena, node, &children);
    LIST(const HostValue *) items = {0};
    const HostValue *grows = NULL;
    for (int i = 0; i < count; i++) {
        if (!host_is_spread(children[i])) {
            LIST_PUSH(host->arena, &items, host_evaluate(host, frame, children[i]));
            continue;
        }
        const HostValue *spread = host_evaluate(host, frame, children[i]);
        const HostValue *const *more = NULL;
        int more_count = 0;
        if (!host_items(host, spread, &more, &more_count))
            return host_unknown(host, "a sequence spread from what is not understood");
        if (spread->kind == HOST_SEQUENCE && spread->shape_of) grows = spread;
        for (int k = 0; k < more_count; k++)
            LIST_PUSH(host->arena, &items,
                      grows && !spread->axis ? host_look_at(more[k]) : more[k]);
    }
    const HostValue *made = host_sequence(host, items.items, items.count);
    return grows ? host_growing(made, grows, NULL) : made;
}

typedef struct Comprehension {
    Host *host;
    HostFrame *frame;
    SyntaxNode *clauses;
    int clause_count;
    SyntaxNode body;
    LIST(const HostValue *) items;
    bool failed;
} Comprehension;

static void comprehend(Comprehension *state, int clause) {
    if (state->failed || state->items.count > 512) return;
    if (clause == state->clause_count) {
        LIST_PUSH(state->host->arena, &state->items,
                  host_evaluate(state->host, state->frame, state->body));
        return;
    }
    SyntaxNode node = state->clauses[clause];
    if (node_kind(node) == SYNTAX_IF_CLAUSE) {
        bool known = false;
        bool truth =
            host_truth(host_evaluate(state->host, state->frame, node_child(node, 0)), &known);
        if (truth || !known) comprehend(state, clause + 1);
        return;
    }
    const HostValue *source = host_evaluate(state->host, state->frame, node_field(node, "right"));
    const HostValue *const *items = NULL;
    int count = 0;
    if (!host_items(state->host, source, &items, &count)) {
        state->failed = true;
        return;
    }
    for (int i = 0; i < count && i < 64; i++) {
        host_assign(state->host, state->frame, node_field(node, "left"), items[i]);
        comprehend(state, clause + 1);
    }
}

static const HostValue *comprehension(Host *host, HostFrame *frame, SyntaxNode node) {
    Comprehension state = {.host = host,
                           .frame = host_frame(host, frame, frame->module),
                           .body = node_field(node, "body")};
    state.frame->is_global = frame->is_global;
    SyntaxNode *children = NULL;
    int count = node_children(host->arena, node, &children);
    state.clauses = ARENA_ARRAY(host->arena, SyntaxNode, count + 1);
    for (int i = 0; i < count; i++)
        if (node_kind(children[i]) == SYNTAX_FOR_IN_CLAUSE ||
            node_kind(children[i]) == SYNTAX_IF_CLAUSE)
            state.clauses[state.clause_count++] = children[i];
    comprehend(&state, 0);
    if (state.failed) return host_unknown(host, "a comprehension over what is not understood");
    return host_sequence(host, state.items.items, state.items.count);
}

/// What `get` gives for a key that a dictionary does not have; of a caller's keywords, what the caller may pass for it.
static const HostValue *absent_item(Host *host, const HostValue *self, Str key,
                                    const HostValue *otherwise) {
    const HostValue *given = self->input ? host_keyed(host, self->input, key) : NULL;
    if (!given || given->kind != HOST_INPUT) return given ? given : otherwise;
    if (given->input->kind == INPUT_UNDECIDED && !given->input->is_optional)
        host_default(host, given->input, STR(""), host_none(host));
    return given->input->kind == INPUT_NONE ? otherwise : given;
}

static const HostValue *container_method(Host *host, const HostValue *self, Str name,
                                         const HostCall *call) {
    if (self->kind == HOST_DICTIONARY) {
        if (str_is(name, "get") && call->count >= 1) {
            Str key = STR("");
            bool known = host_key(host, call->items[0], &key);
            for (int i = 0; known && i < self->count; i++)
                if (str_equal(self->keys[i], key)) return self->items[i];
            const HostValue *otherwise = call->count > 1 ? call->items[1] : host_none(host);
            return known ? absent_item(host, self, key, otherwise) : otherwise;
        }
        if (str_is(name, "values")) return host_sequence(host, self->items, self->count);
        if (str_is(name, "keys")) return self;
        if (str_is(name, "copy")) return host_copy(host, self);
        if (str_is(name, "items")) {
            const HostValue **pairs = ARENA_ARRAY(host->arena, const HostValue *, self->count + 1);
            for (int i = 0; i < self->count; i++) {
                const HostValue *pair[2] = {host_of_string(host, self->keys[i]), self->items[i]};
                pairs[i] = host_sequence(host, pair, 2);
            }
            return host_sequence(host, pairs, self->count);
        }
    }
    if (self->kind == HOST_SEQUENCE && str_is(name, "numel")) {  // torch.Size
        const HostValue *numel = host_of_int(host, 1);
        for (int i = 0; i < self->count; i++)
            numel = host_apply(host, HOST_OP_MULTIPLY, numel, self->items[i]);
        return numel;
    }
    if ((str_is(name, "append") || str_is(name, "extend")) && self->kind == HOST_SEQUENCE &&
        call->count == 1) {
        const HostValue *more =
            str_is(name, "append") ? host_sequence(host, call->items, 1) : call->items[0];
        if (more->kind == HOST_SEQUENCE)
            host_change(host, self, host_concatenated(host, self, more));
        return host_none(host);
    }
    if (str_is(name, "bit_length")) return host_apply(host, HOST_OP_BIT_LENGTH, self, NULL);
    return NULL;
}

static bool is_launch(SyntaxNode function) { return node_kind(function) == SYNTAX_SUBSCRIPT; }

static const HostValue *method(Host *host, HostFrame *frame, SyntaxNode node, SyntaxNode function,
                               const HostValue **callee) {
    *callee = scoped(host, frame, function);
    if (*callee) return NULL;
    const HostValue *self = host_evaluate(host, frame, node_field(function, "object"));
    Str name = node_text(frame->module->source, node_field(function, "attribute"));
    if (self->kind == HOST_OBJECT) {
        *callee =
            host_object(host, arena_printf(host->arena, "%s.%.*s", self->note, STR_ARGS(name)));
        return NULL;
    }
    if (self->kind == HOST_UNKNOWN) return self;
    HostCall call = host_call_arguments(host, frame, node);
    if (self->kind == HOST_INPUT && host_may_be_tensor(self->input))
        host_decide(host, self->input, torch_tells_tensor(name) ? INPUT_TENSOR : INPUT_OBJECT);
    const HostValue *result = NULL;
    if (host_is_tensor_like(self))
        result = host_tensor_method(host, self, host_as_tensor(host, self), name, &call);
    else
        result = container_method(host, self, name, &call);
    if (result) return result;
    host_note_written(self);
    host_note_written_by(&call);
    return made_up(host, frame, node);
}

static const HostValue *call(Host *host, HostFrame *frame, SyntaxNode node) {
    if (node.id == host->site->call.id) {
        host_bind_launch(host, frame);
        return host_none(host);
    }
    SyntaxNode function = node_field(node, "function");
    if (is_launch(function)) {  // another kernel
        host_note_named(frame, node_field(node, "arguments"));
        return host_none(host);
    }
    const HostValue *callee = NULL;
    if (node_kind(function) == SYNTAX_ATTRIBUTE) {
        const HostValue *result = method(host, frame, node, function, &callee);
        if (result) return result;
    } else {
        callee = host_evaluate(host, frame, function);
    }
    HostCall arguments = host_call_arguments(host, frame, node);
    const HostValue *result = NULL;
    if (callee->kind == HOST_FUNCTION)
        result = host_invoke(host, callee, &arguments);
    else if (callee->kind == HOST_OBJECT)
        result = host_library_call(host, STR(""), callee->note, &arguments);
    else if (callee->kind == HOST_UNKNOWN)
        return callee;
    host_note_written(host_keyword(&arguments, "out"));
    if (callee->kind == HOST_FUNCTION && result && result->kind == HOST_UNKNOWN) result = NULL;
    if (callee->kind == HOST_FUNCTION && host_has_several_results(callee))
        host_note_written(result);
    if (result) return result;
    host_note_written_by(&arguments);
    return made_up(host, frame, node);
}

static const HostValue *function_value(Host *host, HostFrame *frame, SyntaxNode node) {
    HostValue *value = host_new(host, HOST_FUNCTION);
    value->node = node;
    value->frame = frame;
    return value;
}

static const HostValue *evaluate(Host *host, HostFrame *frame, SyntaxNode node) {
    const Source *source = frame->module->source;
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER: return identifier(host, frame, node);
    case SYNTAX_INTEGER: return integer(host, frame, node_text(source, node));
    case SYNTAX_FLOAT: return number(host, node_text(source, node));
    case SYNTAX_TRUE: return host_of_bool(host, true);
    case SYNTAX_FALSE: return host_of_bool(host, false);
    case SYNTAX_NONE: return host_none(host);
    case SYNTAX_STRING: return string(host, frame, node);
    case SYNTAX_TUPLE:
    case SYNTAX_LIST:
    case SYNTAX_SET:
    case SYNTAX_EXPRESSION_LIST:
    case SYNTAX_PATTERN_LIST: return sequence(host, frame, node);
    case SYNTAX_DICTIONARY: return dictionary(host, frame, node);
    case SYNTAX_PARENTHESIZED: {
        SyntaxNode *inner = NULL;
        return node_children(host->arena, node, &inner) == 1 ? host_evaluate(host, frame, inner[0])
                                                             : host_unknown(host, "parentheses");
    }
    case SYNTAX_UNARY: return host_unary(host, frame, node);
    case SYNTAX_BINARY: {
        const HostValue *value = host_binary(host, frame, node);
        return value ? value : made_up(host, frame, node);
    }
    case SYNTAX_BOOLEAN: return host_boolean(host, frame, node);
    case SYNTAX_NOT: return host_not(host, frame, node);
    case SYNTAX_COMPARISON: return host_comparison(host, frame, node);
    case SYNTAX_CONDITIONAL: return host_conditional(host, frame, node);
    case SYNTAX_ATTRIBUTE: return attribute(host, frame, node);
    case SYNTAX_SUBSCRIPT: return subscript(host, frame, node);
    case SYNTAX_CALL: return call(host, frame, node);
    case SYNTAX_LAMBDA: return function_value(host, frame, node);
    case SYNTAX_LIST_COMPREHENSION:
    case SYNTAX_GENERATOR:
    case SYNTAX_SET_COMPREHENSION: return comprehension(host, frame, node);
    case SYNTAX_NAMED_EXPRESSION: {
        const HostValue *value = host_evaluate(host, frame, node_field(node, "value"));
        host_assign(host, frame, node_field(node, "name"), value);
        return value;
    }
    case SYNTAX_LIST_SPLAT:
    case SYNTAX_PARENTHESIZED_LIST_SPLAT: return host_evaluate(host, frame, node_child(node, 0));
    case SYNTAX_CONCATENATED_STRING: return host_unknown(host, "a long string");
    default:
        return host_unknown(host, "a construct that is not understood (%s)", node_kind_name(node));
    }
}

const HostValue *host_evaluate(Host *host, HostFrame *frame, SyntaxNode node) {
    if (node_is_null(node)) return host_unknown(host, "nothing");
    if (++host->step_count > MAX_STEPS)
        return host_unknown(host, "host code that takes too many steps");
    if (host->depth > MAX_DEPTH) return host_unknown(host, "host code nested too deeply");
    host->depth += node_kind(node) == SYNTAX_IDENTIFIER ? 0 : 1;
    const HostValue *value = evaluate(host, frame, node);
    host->depth -= node_kind(node) == SYNTAX_IDENTIFIER ? 0 : 1;
    return value;
}
