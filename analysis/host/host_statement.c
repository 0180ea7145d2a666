// Statements of host code: runs a block with the chosen inputs, steering towards the launch.
#include "analysis/host/host_statement.h"

#include "analysis/host/host_expression.h"
#include "analysis/host/host_operator.h"
#include "analysis/host/host_tensor.h"
#include "analysis/host_values/host.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_solve.h"
#include "analysis/host_values/host_value.h"
#include "analysis/host_values/host_writes.h"
#include "analysis/host_values/torch.h"
#include "analysis/syntax/syntax_nodes.h"

#include <string.h>

/// Launchers loop over layers, chunks and dtypes, of which there are tens. Beyond: what the loop counts is unknown.
enum { MAX_TRIPS = 64 };

/// What was made before a loop or an inner function with the launch was perhaps written to when that ran before.
static void enter_repeated(Host *host) { host->older_buffers = host->buffer_count; }

HostFrame *host_frame(Host *host, HostFrame *outer, const Module *module) {
    HostFrame *frame = ARENA_NEW(host->arena, HostFrame);
    frame->names = map_new(host->arena);
    frame->outer = outer;
    frame->module = module;
    LIST_PUSH(host->arena, &host->frames, frame);
    return frame;
}

// ---- what is changed in place ----

enum { MOST_FRAMES = 64 };  // the last of these, and those of modules

static const HostValue *with_other(Host *host, const HostValue *container, const HostValue *old,
                                   const HostValue *now) {
    HostValue *copy = host_new(host, container->kind);
    *copy = *container;
    const HostValue **items = ARENA_ARRAY(host->arena, const HostValue *, container->count + 1);
    for (int i = 0; i < container->count; i++)
        items[i] = container->items[i] == old ? now : container->items[i];
    copy->items = items;
    return copy;
}

static bool has_item(const HostValue *container, const HostValue *item) {
    bool holds = container->kind == HOST_SEQUENCE || container->kind == HOST_DICTIONARY;
    for (int i = 0; holds && i < container->count; i++)
        if (container->items[i] == item) return true;
    return false;
}

static void change_in(Host *host, Map *names, const HostValue *old, const HostValue *now) {
    for (int i = 0; i < names->count; i++) {
        const HostValue *value = names->entries[i].value;
        if (value == old)
            names->entries[i].value = (void *)(uintptr_t)now;
        else if (value && has_item(value, old))
            names->entries[i].value = (void *)(uintptr_t)with_other(host, value, old, now);
    }
}

void host_change(Host *host, const HostValue *old, const HostValue *now) {
    for (int i = 0; i < host->frames.count; i++) {
        HostFrame *frame = host->frames.items[i];
        if (i + MOST_FRAMES < host->frames.count && !frame->is_global) continue;
        change_in(host, &frame->names, old, now);
    }
    change_in(host, &host->attributes, old, now);
}

bool host_contains_site(const Host *host, const HostFrame *frame, SyntaxNode node) {
    if (frame->module != host->module || node_is_null(node)) return false;
    Range range = node_range(frame->module->source, node), site = host->site->range;
    return range.start <= site.start && site.end <= range.end;
}

bool host_contains_choice(const Host *host, const HostFrame *frame, SyntaxNode node) {
    if (frame->module != host->module || node_is_null(node)) return false;
    Range range = node_range(frame->module->source, node);
    for (LIST_EACH(int, i, host->site->chosen)) {
        Range choice = node_range(frame->module->source, host->site->chosen.items[i]);
        if (range.start <= choice.start && choice.end <= range.end) return true;
    }
    return false;
}

/// Whether the launch, or the choice of its kernel, is in there.
static bool leads_to_site(const Host *host, const HostFrame *frame, SyntaxNode node) {
    return host_contains_site(host, frame, node) || host_contains_choice(host, frame, node);
}

typedef struct KernelAssignment {
    const Source *source;
    Str name;
    bool is_found;
} KernelAssignment;

static bool visit_choice(void *context, SyntaxNode node) {
    KernelAssignment *search = context;
    search->is_found |=
        node_kind(node) == SYNTAX_ASSIGNMENT &&
        str_equal(node_text(search->source, node_field(node, "left")), search->name);
    return !search->is_found;
}

/// Whether another kernel is chosen there for the launch.
static bool chooses_another(const Host *host, const HostFrame *frame, SyntaxNode branch) {
    if (!host->site->chosen.count || frame->module != host->module) return false;
    SyntaxNode callee = node_field(host->site->subscript, "value");
    KernelAssignment search = {frame->module->source, node_text(frame->module->source, callee),
                               false};
    syntax_walk(branch, visit_choice, &search);
    return search.is_found && !host_contains_choice(host, frame, branch);
}

static void set_name(HostFrame *frame, Str name, const HostValue *value) {
    map_set(&frame->names, name, (void *)(uintptr_t)value);
}

static const HostValue *get_name(const HostFrame *frame, Str name) {
    return map_get(&frame->names, name);
}

/// Two sizes under one name are meant to be the same: `M, K = a.shape` and then `K, N = b.shape`.
static void learn_rebinding(Host *host, const HostFrame *frame, Str name, const HostValue *value) {
    const HostValue *old = get_name(frame, name);
    if (str_is(name, "_") || !old || old->kind != HOST_SIZE || value->kind != HOST_SIZE ||
        old->input == value->input)
        return;
    host_require(host, host_apply(host, HOST_OP_EQUAL, old, value), true, HOST_WISH);
}

static void assign_pattern(Host *host, HostFrame *frame, SyntaxNode target,
                           const HostValue *value) {
    SyntaxNode *parts = NULL;
    int count = node_children(host->arena, target, &parts), starred = -1;
    for (int i = 0; i < count; i++)
        if (node_kind(parts[i]) == SYNTAX_LIST_SPLAT_PATTERN ||
            node_kind(parts[i]) == SYNTAX_LIST_SPLAT)
            starred = i;
    if (value->kind == HOST_SEQUENCE && value->shape_of && !value->shape_of->is_rank_certain) {
        HostInput *input = host_input(host, value->shape_of->name);
        int wanted = starred < 0 ? count : count - 1;
        if (starred < 0 || value->count < wanted)
            host_set_rank(host, input, input->rank + wanted - value->count);
        if (starred >= 0) {
            input->is_rank_certain = false;
            input->has_rest = true;
        }
    }
    for (int i = 0; i < count; i++) {
        if (i == starred) {
            int rest = value->kind == HOST_SEQUENCE ? value->count - (count - 1) : -1;
            const HostValue *list =
                rest >= 0 ? host_sequence(host, value->items + (rest ? i : 0), rest)
                          : host_unknown(host, "the rest of a sequence that is not understood");
            host_assign(host, frame, node_child(parts[i], 0), list);
            continue;
        }
        int64_t index = starred >= 0 && i > starred ? i - count : i;
        bool unused = node_kind(parts[i]) == SYNTAX_IDENTIFIER &&
                      str_is(node_text(frame->module->source, parts[i]), "_");
        if (unused && value->kind == HOST_SEQUENCE) {
            if (index < 0) index += value->count;
            const HostValue *size = index >= 0 && index < value->count ? value->items[index] : NULL;
            if (size && size->kind == HOST_SIZE) size->input->is_dim_left_out[size->axis] = true;
            continue;
        }
        host_assign(host, frame, parts[i], host_item(host, value, index));
    }
}

/// `sizes[-1] = n` of a list.
static const HostValue *with_item(Host *host, const HostValue *list, const HostValue *key,
                                  const HostValue *value) {
    int64_t index;
    if (!host_int(key, &index)) return host_unknown(host, "a list with an item that is not known");
    if (index < 0) index += list->count;
    if (index < 0 || index >= list->count) return host_unknown(host, "an index out of range");
    const HostValue **items = ARENA_ARRAY(host->arena, const HostValue *, list->count);
    for (int i = 0; i < list->count; i++) items[i] = i == index ? value : list->items[i];
    return host_sequence(host, items, list->count);
}

void host_assign(Host *host, HostFrame *frame, SyntaxNode target, const HostValue *value) {
    const Source *source = frame->module->source;
    switch (node_kind(target)) {
    case SYNTAX_IDENTIFIER: {
        Str name = node_text(source, target);
        learn_rebinding(host, frame, name, value);
        set_name(frame, name, value);
        break;
    }
    case SYNTAX_PATTERN_LIST:
    case SYNTAX_TUPLE_PATTERN:
    case SYNTAX_LIST_PATTERN:
    case SYNTAX_TUPLE: assign_pattern(host, frame, target, value); break;
    case SYNTAX_PARENTHESIZED: host_assign(host, frame, node_child(target, 0), value); break;
    case SYNTAX_ATTRIBUTE: {
        const HostValue *object = host_evaluate(host, frame, node_field(target, "object"));
        Str name = node_text(source, node_field(target, "attribute"));
        if (object->kind == HOST_INPUT && object->input->kind == INPUT_UNDECIDED &&
            !torch_tells_tensor(name))
            host_decide(host, object->input, INPUT_OBJECT);
        const char *base = object->kind == HOST_INPUT    ? object->input->name
                           : object->kind == HOST_OBJECT ? object->note
                                                         : NULL;
        host_note_written(value);  // from now on others have it
        if (base)
            map_set(&host->attributes,
                    str_from(arena_printf(host->arena, "%s.%.*s", base, STR_ARGS(name))),
                    (void *)(uintptr_t)value);
        break;
    }
    case SYNTAX_SUBSCRIPT: {
        SyntaxNode holder = node_field(target, "value");
        const HostValue *object = host_evaluate(host, frame, holder);
        host_note_written(object);
        const HostValue *key = host_evaluate(host, frame, node_field(target, "subscript"));
        Str text = STR("");
        if (object->kind == HOST_SEQUENCE)
            host_change(host, object, with_item(host, object, key, value));
        if (object->kind != HOST_DICTIONARY || !host_key(host, key, &text))
            break;  // elements of tensors are not followed
        HostValue *grown = host_new(host, HOST_DICTIONARY);
        Str *keys = ARENA_ARRAY(host->arena, Str, object->count + 1);
        const HostValue **items = ARENA_ARRAY(host->arena, const HostValue *, object->count + 1);
        int count = 0;
        for (int i = 0; i < object->count; i++) {
            if (str_equal(object->keys[i], text)) continue;
            keys[count] = object->keys[i];
            items[count++] = object->items[i];
        }
        keys[count] = text;
        items[count++] = value;
        grown->keys = keys;
        grown->items = items;
        grown->count = count;
        grown->input = object->input;
        host_change(host, object, grown);
        break;
    }
    default: break;
    }
}

HostFrame *host_module_frame(Host *host, const Module *module) {
    HostFrame *frame = map_get_pointer(&host->modules, module);
    if (frame) return frame;
    frame = host_frame(host, NULL, module);
    frame->is_global = true;
    map_set_pointer(&host->modules, module, frame);
    return frame;
}

const HostValue *host_of_entry(Host *host, ScopeEntry entry, Str name) {
    switch (entry.kind) {
    case SCOPE_EXTERNAL: return host_object(host, str_dup(host->arena, entry.dotted));
    case SCOPE_FUNCTION: {
        if (entry.function->is_jit) return host_of_jit(host, entry.function, name);
        HostValue *value = host_new(host, HOST_FUNCTION);
        value->node = entry.function->node;
        value->frame = host_module_frame(host, entry.function->module);
        return value;
    }
    case SCOPE_ASSIGNED: {
        if (host->call_depth >= 16) break;
        host->call_depth++;
        const HostValue *value =
            host_evaluate(host, host_module_frame(host, entry.module), entry.node);
        host->call_depth--;
        host_note_written(value);  // by an earlier call
        return entry.item >= 0 ? host_item(host, value, entry.item) : value;
    }
    default: break;
    }
    return host_object(host, str_dup(host->arena, name));
}

const HostValue *host_lookup(Host *host, HostFrame *frame, Str name) {
    HostFrame *outermost = frame;
    for (HostFrame *at = frame; at; at = at->outer) {
        const HostValue *value = get_name(at, name);
        if (value) return value;
        outermost = at;
    }
    set_name(outermost, name, host_object(host, str_dup(host->arena, name)));  // ends `X = X`
    const HostValue *value =
        host_of_entry(host, module_resolve(host->arena, outermost->module, name), name);
    set_name(outermost, name, value);
    return value;
}

/// Whether control never gets past the end of this block.
static bool always_leaves(Host *host, SyntaxNode block) {
    SyntaxNode *children = NULL;
    int count = node_is_null(block) ? 0 : node_children(host->arena, block, &children);
    if (count == 0) return false;
    SyntaxKind last = node_kind(children[count - 1]);
    return last == SYNTAX_RETURN || last == SYNTAX_RAISE;
}

static bool always_raises(Host *host, SyntaxNode block) {
    SyntaxNode *children = NULL;
    int count = node_is_null(block) ? 0 : node_children(host->arena, block, &children);
    return count > 0 && node_kind(children[count - 1]) == SYNTAX_RAISE;
}

/// A condition that decides between two ways: which one is taken.
static bool decide_condition(Host *host, HostFrame *frame, SyntaxNode condition_node,
                             SyntaxNode branch, bool rest_has_site) {
    const HostValue *condition = host_evaluate(host, frame, condition_node);
    if (host->is_reached) return false;
    if (condition->kind == HOST_INPUT && condition->input->kind == INPUT_UNDECIDED) {
        host_decide(host, condition->input, INPUT_BOOL);
        condition = host_input_value(host, condition->input);
    }
    bool known = false, truth = host_truth(condition, &known);
    bool wanted = truth, forced = false;
    if (leads_to_site(host, frame, branch))
        wanted = true, forced = true;
    else if (rest_has_site || chooses_another(host, frame, branch))
        wanted = false, forced = true;
    else if (always_raises(host, branch) || (frame->is_on_path && always_leaves(host, branch)))
        wanted = false, forced = true;
    if (!forced) return host_decides(host, frame, condition, known && truth);
    if (condition->kind == HOST_CONSTANT && known && truth != wanted && !frame->is_global &&
        !always_raises(host, branch))
        host->is_contradicted = true;
    host_require(host, condition, wanted, HOST_MUST);
    return wanted;
}

/// Of an `if`: itself, then elif and else.
typedef LIST(SyntaxNode) Clauses;

static SyntaxNode branch_of(SyntaxNode clause) {
    return node_field(clause, node_kind(clause) == SYNTAX_ELSE ? "body" : "consequence");
}

/// One branch is run; what the others would have done to tensors is remembered. `taken`: its number, or that of clauses for none.
static HostFlow run_branch(Host *host, HostFrame *frame, const Clauses *clauses, int taken) {
    HostFlow flow = FLOW_NEXT;
    if (taken < clauses->count)
        flow = host_run_block(host, frame, branch_of(clauses->items[taken]));
    for (int i = 0; i < clauses->count && !host->is_reached; i++)
        if (i != taken && !always_leaves(host, branch_of(clauses->items[i])))
            host_note_skipped(frame, branch_of(clauses->items[i]));
    return flow;
}

static HostFlow run_if(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode *children = NULL;
    int count = node_children(host->arena, node, &children);
    Clauses clauses = {0};
    LIST_PUSH(host->arena, &clauses, node);
    for (int i = 0; i < count; i++)
        if (node_kind(children[i]) == SYNTAX_ELIF || node_kind(children[i]) == SYNTAX_ELSE)
            LIST_PUSH(host->arena, &clauses, children[i]);
    for (int i = 0; i < clauses.count; i++) {
        SyntaxNode clause = clauses.items[i];
        if (node_kind(clause) == SYNTAX_ELSE) return run_branch(host, frame, &clauses, i);
        bool later = false;
        for (int k = i + 1; k < clauses.count; k++)
            later = later || leads_to_site(host, frame, clauses.items[k]);
        SyntaxNode branch = node_field(clause, "consequence");
        if (decide_condition(host, frame, node_field(clause, "condition"), branch, later))
            return run_branch(host, frame, &clauses, i);
        if (host->is_reached) return FLOW_STOP;
    }
    return run_branch(host, frame, &clauses, clauses.count);
}

/// A loop that is not run to its end.
typedef struct CutLoop {
    Host *host;
    HostFrame *frame;
    const MapEntry *before;  // names before its last iteration
    int before_count;        // 0: it was not run at all
} CutLoop;

static bool stays_the_same(const CutLoop *loop, Str name, const HostValue *now) {
    for (int i = 0; i < loop->before_count; i++) {
        if (!str_equal(loop->before[i].key, name)) continue;
        const HostValue *old = loop->before[i].value;
        bool known = false,
             equal =
                 old == now || (old->is_concrete && now->is_concrete &&
                                constant_equal(&old->constant, &now->constant, &known) && known);
        return equal;
    }
    return false;
}

static bool visit_cut(void *context, SyntaxNode node) {
    const CutLoop *loop = context;
    SyntaxKind kind = node_kind(node);
    if (kind != SYNTAX_ASSIGNMENT && kind != SYNTAX_AUGMENTED_ASSIGNMENT) return true;
    SyntaxNode target = node_field(node, "left");
    if (node_kind(target) != SYNTAX_IDENTIFIER) return true;
    Str name = node_text(loop->frame->module->source, target);
    const HostValue *now = get_name(loop->frame, name);
    if (!now || host_is_tensor_like(now) || stays_the_same(loop, name, now)) return true;
    set_name(loop->frame, name, host_unknown(loop->host, "what a long or unknown loop leaves"));
    return true;
}

/// Numbers and sequences that the loop assigns are not those that a part of its iterations left.
static void forget_counted(CutLoop loop, SyntaxNode body) {
    syntax_walk(body, visit_cut, &loop);
    if (!loop.before_count) host_note_skipped(loop.frame, body);
}

static CutLoop cut_loop(Host *host, HostFrame *frame) {
    const Map *names = &frame->names;
    MapEntry *before = ARENA_ARRAY(host->arena, MapEntry, names->count + 1);
    for (int i = 0; i < names->count; i++) before[i] = names->entries[i];
    return (CutLoop){host, frame, before, names->count};
}

static HostFlow run_for(Host *host, HostFrame *frame, SyntaxNode node) {
    const HostValue *source = host_evaluate(host, frame, node_field(node, "right"));
    SyntaxNode body = node_field(node, "body"), target = node_field(node, "left");
    const HostValue *const *items = NULL;
    int count = 0;
    bool has_site = host_contains_site(host, frame, body);
    if (has_site) enter_repeated(host);
    if (!host_items(host, source, &items, &count) || (count == 0 && has_site)) {
        if (!has_site) {
            if (!items) forget_counted((CutLoop){.host = host, .frame = frame}, body);
            return FLOW_NEXT;
        }
        const char *name =
            arena_printf(host->arena, "item of %.*s",
                         STR_ARGS(node_text(frame->module->source, node_field(node, "right"))));
        host_assign(host, frame, target, host_input_value(host, host_input(host, name)));
        return host_run_block(host, frame, body);
    }
    CutLoop loop = {0};
    for (int i = 0; i < count && i < MAX_TRIPS; i++) {
        if (i == MAX_TRIPS - 1 && count > MAX_TRIPS) loop = cut_loop(host, frame);
        host_assign(host, frame, target, items[i]);
        HostFlow flow = host_run_block(host, frame, body);
        if (flow == FLOW_BREAK) return FLOW_NEXT;
        if (flow != FLOW_NEXT && flow != FLOW_CONTINUE) return flow;
    }
    if (count > MAX_TRIPS) forget_counted(loop, body);
    return FLOW_NEXT;
}

static HostFlow run_while(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode body = node_field(node, "body");
    bool has_site = host_contains_site(host, frame, body);
    if (has_site) enter_repeated(host);
    CutLoop loop = {0};
    for (int i = 0; i < MAX_TRIPS; i++) {
        if (i == MAX_TRIPS - 1) loop = cut_loop(host, frame);
        bool known = false,
             truth = host_truth(host_evaluate(host, frame, node_field(node, "condition")), &known);
        if (!known && !has_site) forget_counted((CutLoop){.host = host, .frame = frame}, body);
        if (!(known && truth) && !(has_site && i == 0)) return FLOW_NEXT;
        HostFlow flow = host_run_block(host, frame, body);
        if (flow == FLOW_BREAK) return FLOW_NEXT;
        if (flow != FLOW_NEXT && flow != FLOW_CONTINUE) return flow;
    }
    forget_counted(loop, body);
    return FLOW_NEXT;
}

static HostFlow run_with(Host *host, HostFrame *frame, SyntaxNode node) {
    return host_run_block(host, frame, node_field(node, "body"));
}

static HostFlow run_try(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode *children = NULL;
    int count = node_children(host->arena, node, &children);
    HostFlow flow = host_run_block(host, frame, node_field(node, "body"));
    for (int i = 0; i < count; i++) {
        SyntaxKind kind = node_kind(children[i]);
        if (kind != SYNTAX_EXCEPT && kind != SYNTAX_ELSE && kind != SYNTAX_FINALLY) continue;
        if (!host_contains_site(host, frame, children[i]) && kind == SYNTAX_EXCEPT) continue;
        if (flow != FLOW_NEXT && flow != FLOW_RAISE) return flow;
        for (uint32_t k = 0; k < node_child_count(children[i]); k++)
            if (node_kind(node_child(children[i], k)) == SYNTAX_BLOCK)
                flow = host_run_block(host, frame, node_child(children[i], k));
    }
    return flow == FLOW_RAISE ? FLOW_NEXT : flow;
}

static void run_assignment(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode right = node_field(node, "right");
    if (node_is_null(right)) return;
    if (node_kind(right) == SYNTAX_ASSIGNMENT) {  // a = b = value
        run_assignment(host, frame, right);
        if (host->is_reached) return;
        right = node_field(right, "left");
    }
    const HostValue *value = host_evaluate(host, frame, right);
    if (!host->is_reached) host_assign(host, frame, node_field(node, "left"), value);
}

static void run_augmented(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode left = node_field(node, "left");
    Str text = node_text(frame->module->source, node_field(node, "operator"));
    const HostValue *a = host_evaluate(host, frame, left),
                    *b = host_evaluate(host, frame, node_field(node, "right"));
    if (host->is_reached || text.size < 2) return;
    static const struct {
        const char *text;
        HostOperation operation;
    } operators[] = {{"+=", HOST_OP_ADD},           {"-=", HOST_OP_SUBTRACT},
                     {"*=", HOST_OP_MULTIPLY},      {"/=", HOST_OP_DIVIDE},
                     {"//=", HOST_OP_FLOOR_DIVIDE}, {"%=", HOST_OP_MODULO},
                     {"<<=", HOST_OP_SHIFT_LEFT},   {">>=", HOST_OP_SHIFT_RIGHT}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (str_is(text, operators[i].text)) {
            bool tensor =
                a->kind == HOST_TENSOR || (a->kind == HOST_INPUT && a->input->kind == INPUT_TENSOR);
            if (tensor)
                host_note_written(a);
            else
                host_assign(host, frame, left, host_apply(host, operators[i].operation, a, b));
        }
}

static HostFlow enter_function(Host *host, HostFrame *frame, SyntaxNode node) {
    const Source *source = frame->module->source;
    HostFrame *inner = host_frame(host, frame, frame->module);
    inner->is_on_path = true;
    if (!frame->is_global) enter_repeated(host);
    SyntaxNode *children = NULL;
    int count = node_children(host->arena, node_field(node, "parameters"), &children);
    for (int i = 0; i < count; i++) {
        SyntaxNode child = children[i], name_node = child;
        SyntaxKind kind = node_kind(child);
        if (kind == SYNTAX_TYPED_PARAMETER) name_node = node_child(child, 0);
        if (kind == SYNTAX_DEFAULT_PARAMETER || kind == SYNTAX_TYPED_DEFAULT_PARAMETER)
            name_node = node_field(child, "name");
        bool list = node_kind(name_node) == SYNTAX_LIST_SPLAT_PATTERN;
        if (node_kind(name_node) == SYNTAX_DICTIONARY_SPLAT_PATTERN || list) {
            Str rest = node_text(source, node_child(name_node, 0));
            HostValue *empty = host_new(host, HOST_DICTIONARY);
            if (!list) empty->input = host_input(host, str_dup(host->arena, rest));
            set_name(inner, rest,
                     list ? host_input_value(host, host_input(host, str_dup(host->arena, rest)))
                          : empty);
            continue;
        }
        if (node_kind(name_node) != SYNTAX_IDENTIFIER) continue;
        Str name = node_text(source, name_node);
        int before = host->inputs.count;
        HostInput *input = host_input(host, str_dup(host->arena, name));
        if (host->inputs.count > before) {
            input->is_argument = true;
            input->argument = i;
            SyntaxNode default_node = node_field(child, "value"), type = node_field(child, "type");
            const HostValue *value =
                node_is_null(default_node) ? NULL : host_evaluate(host, inner, default_node);
            host_default(host, input, node_is_null(type) ? STR("") : node_text(source, type),
                         value);
        }
        set_name(inner, name, host_input_value(host, input));
    }
    host_run_block(host, inner, node_field(node, "body"));
    return FLOW_STOP;
}

static HostFlow define(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode definition =
        node_kind(node) == SYNTAX_DECORATED ? node_field(node, "definition") : node;
    bool has_site = host_contains_site(host, frame, definition);
    if (node_kind(definition) == SYNTAX_CLASS)
        return has_site ? host_run_block(host, frame, node_field(definition, "body")) : FLOW_NEXT;
    if (node_kind(definition) != SYNTAX_FUNCTION) return FLOW_NEXT;
    if (has_site) return enter_function(host, frame, definition);
    if (frame->is_global) return FLOW_NEXT;  // found by name when it is needed
    HostValue *value = host_new(host, HOST_FUNCTION);
    value->node = definition;
    value->frame = frame;
    set_name(frame, node_text(frame->module->source, node_field(definition, "name")), value);
    return FLOW_NEXT;
}

static void assume(Host *host, HostFrame *frame, SyntaxNode node) {
    SyntaxNode *children = NULL;
    if (node_children(host->arena, node, &children) < 1) return;
    const HostValue *condition = host_evaluate(host, frame, children[0]);
    if (condition->kind == HOST_INPUT) host_decide(host, condition->input, INPUT_BOOL);
    if (!host->is_reached) host_require(host, condition, true, HOST_MUST);
}

HostFlow host_run_statement(Host *host, HostFrame *frame, SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_EXPRESSION_STATEMENT: {
        SyntaxNode inner = node_child(node, 0);
        if (node_kind(inner) == SYNTAX_ASSIGNMENT)
            run_assignment(host, frame, inner);
        else if (node_kind(inner) == SYNTAX_AUGMENTED_ASSIGNMENT)
            run_augmented(host, frame, inner);
        else
            host_evaluate(host, frame, inner);
        return FLOW_NEXT;
    }
    case SYNTAX_IF: return run_if(host, frame, node);
    case SYNTAX_FOR: return run_for(host, frame, node);
    case SYNTAX_WHILE: return run_while(host, frame, node);
    case SYNTAX_WITH: return run_with(host, frame, node);
    case SYNTAX_TRY: return run_try(host, frame, node);
    case SYNTAX_ASSERT: assume(host, frame, node); return FLOW_NEXT;
    case SYNTAX_RETURN: {
        SyntaxNode *children = NULL;
        int count = node_children(host->arena, node, &children);
        const HostValue *value = count ? host_evaluate(host, frame, children[0]) : host_none(host);
        if (frame->is_on_path && !host->is_reached) host->obstacle = "a return before the launch";
        frame->result = value;
        return FLOW_RETURN;
    }
    case SYNTAX_RAISE: return FLOW_RAISE;
    case SYNTAX_BREAK: return FLOW_BREAK;
    case SYNTAX_CONTINUE: return FLOW_CONTINUE;
    case SYNTAX_FUNCTION:
    case SYNTAX_DECORATED:
    case SYNTAX_CLASS: return define(host, frame, node);
    default: return FLOW_NEXT;
    }
}

/// At module level only what holds the launch is run; names are found when they are needed.
HostFlow host_run_block(Host *host, HostFrame *frame, SyntaxNode block) {
    SyntaxNode *children = NULL;
    int count = node_is_null(block) ? 0 : node_children(host->arena, block, &children);
    for (int i = 0; i < count; i++) {
        bool has_site = host_contains_site(host, frame, children[i]);
        bool definition = node_kind(children[i]) == SYNTAX_FUNCTION ||
                          node_kind(children[i]) == SYNTAX_DECORATED ||
                          node_kind(children[i]) == SYNTAX_CLASS;
        if (frame->is_global && !has_site) continue;
        HostFlow flow = host_run_statement(host, frame, children[i]);
        if (has_site && !host->is_reached && flow != FLOW_STOP && !definition) {
            // Inside a lambda, a comprehension over nothing...: evaluated where it stands.
            host_evaluate(host, frame, host->site->call);
        }
        if (host->is_reached) return FLOW_STOP;
        if (flow != FLOW_NEXT) return flow;
    }
    return FLOW_NEXT;
}
