// Statements of the tile IR in, lines of Python out: assignments, loops, branches, and which names are visible where.
#include "autodiff/emit/emit_statement.h"

#include <string.h>

#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"
#include "autodiff/emit/emit_inline.h"
#include "autodiff/emit/emit_layout.h"
#include "autodiff/emit/emit_names.h"

/* ---- lines ---- */

static void emit_indent(Emitter *emitter, int extra) {
    for (int i = 0; i < emitter->indent + extra; i++) buffer_puts(&emitter->out, "    ");
}

void emit_parts(Emitter *emitter, const char *head, const char *text, const char *tail) {
    layout_statement(&emitter->out, emitter->indent * INDENT, head, text, tail);
}

static void emit_line(Emitter *emitter, const char *line) { emit_parts(emitter, "", line, ""); }

static void emit_assignment(Emitter *emitter, const char *name, EmittedText value) {
    emit_parts(emitter, arena_printf(emitter->arena, "%s = ", name), value.text, "");
}

/* ---- values ---- */

void text_set(Emitter *emitter, const Value *value, const char *text, int precedence) {
    EmittedText *entry = ARENA_NEW(emitter->arena, EmittedText);
    *entry = (EmittedText){text, precedence};
    map_set_pointer(&emitter->texts, value, entry);
}

static const char *name_as(Emitter *emitter, const Value *value, const char *hint) {
    const char *name =
        value->op ? name_again(emitter, value, value->op, hint) : name_new(emitter, value, hint);
    text_set(emitter, value, name, PRECEDENCE_ATOM);
    return name;
}

static const char *name_value(Emitter *emitter, const Value *value) {
    return name_as(emitter, value, value->name);
}

static bool is_loop(const Op *op) { return op_is_loop(op->code); }

/* ---- statements ---- */

static void emit_statement(Emitter *emitter, const Op *op);

static const char *range_text(Emitter *emitter, const Op *op) {
    int64_t lower = 1, step = 0;
    bool from_zero = value_is_int(op->operands[0], &lower) && lower == 0;
    bool by_one = value_is_int(op->operands[2], &step) && step == 1;
    const char *name = op->code == OP_STATIC_FOR ? "tl.static_range"
                       : op->keyword_count       ? "tl.range"
                                                 : "range";
    Buffer text = buffer_new(emitter->arena);
    buffer_printf(&text, "%s(", name);
    if (!from_zero || !by_one)
        buffer_printf(&text, "%s, ", emit_value(emitter, op->operands[0]).text);
    buffer_puts(&text, emit_value(emitter, op->operands[1]).text);
    if (!by_one) buffer_printf(&text, ", %s", emit_value(emitter, op->operands[2]).text);
    for (int i = 0; i < op->keyword_count; i++)
        buffer_printf(&text, ", %s=%s", op->keywords[i].name,
                      emit_value(emitter, op->keywords[i].value).text);
    buffer_putc(&text, ')');
    return buffer_text(&text);
}

typedef struct AugmentedUpdate {
    const Emitter *emitter;
    const Region *body;
    int own;
} AugmentedUpdate;

/// Whether printing `value` here reads a carried variable before number `own`: an assignment has changed that by then.
static intptr_t reads_changed_within(ValueWalk *walk, const Value *value) {
    const AugmentedUpdate *update = walk->context;
    const Region *body = update->body;
    int own = update->own;
    if (!value) return false;
    if (value->region == body && !value->op) {
        int index = value->index - (body->parent->code == OP_WHILE ? 0 : 1);
        return index >= 0 && index < own && region_terminator(body)->operands[index] != value;
    }
    if (!value->op || value->op->parent != body) return false;
    EmittedText *text = map_get_pointer(&update->emitter->texts, value);
    if (text && text->precedence == PRECEDENCE_ATOM && !strpbrk(text->text, "(.[ "))
        return false;  // a name
    for (int i = 0; i < value->op->operand_count; i++)
        if (walk_ask(walk, value->op->operands[i])) return true;
    return false;
}

static bool reads_changed(const Emitter *emitter, const Value *value, const Region *body, int own) {
    return walk_from(value, reads_changed_within, true, &(AugmentedUpdate){emitter, body, own});
}

/// Whether the variable holds the value already.
static bool is_in_place(Emitter *emitter, const char *name, const Value *value) {
    const EmittedText *known = map_get_pointer(&emitter->texts, value);
    return known && known->precedence == PRECEDENCE_ATOM && strcmp(known->text, name) == 0;
}

/// `name += x` where `name = name + x` would stand, `name -= x` likewise; false: neither.
static bool emit_step(Emitter *emitter, const char *name, const Op *op) {
    if (op->code != OP_ADD && op->code != OP_SUB) return false;
    int own = is_in_place(emitter, name, op->operands[0])                         ? 0
              : op->code == OP_ADD && is_in_place(emitter, name, op->operands[1]) ? 1
                                                                                  : -1;
    if (own < 0) return false;
    const char *head =
        arena_printf(emitter->arena, "%s %c= ", name, op->code == OP_ADD ? '+' : '-');
    emit_parts(emitter, head, emit_value(emitter, op->operands[1 - own]).text, "");
    return true;
}

static void emit_update(Emitter *emitter, const char *name, const Value *next) {
    if (is_in_place(emitter, name, next)) return;
    const EmittedText *known = map_get_pointer(&emitter->texts, next);
    bool is_expression = next->op && (!known || known->precedence != PRECEDENCE_ATOM);
    if (is_expression && emit_step(emitter, name, next->op)) return;
    emit_assignment(emitter, name, emit_value(emitter, next));
}

static void emit_yields(Emitter *emitter, const Op *loop, const Region *body,
                        const char *const *names) {
    const Op *yield = region_terminator(body);
    int shift = loop->code == OP_WHILE ? 0 : 1;
    const char **held = ARENA_ARRAY(emitter->arena, const char *, yield->operand_count + 1);
    for (int i = 0; i < yield->operand_count; i++) {
        const Value *argument = body->arguments[i + shift];
        if (yield->operands[i] == argument) continue;
        if (!reads_changed(emitter, yield->operands[i], body, i)) continue;
        held[i] = name_new(emitter, NULL, arena_printf(emitter->arena, "next_%s", names[i]));
        emit_assignment(emitter, held[i], emit_value(emitter, yield->operands[i]));
    }
    for (int i = 0; i < yield->operand_count; i++) {
        const Value *argument = body->arguments[i + shift];
        if (yield->operands[i] == argument) continue;
        if (held[i])
            emit_assignment(emitter, names[i], (EmittedText){held[i], PRECEDENCE_ATOM});
        else
            emit_update(emitter, names[i], yield->operands[i]);
    }
}

static Map *scope_copy(const Emitter *emitter, const Map *scope) {
    Map *copy = ARENA_NEW(emitter->arena, Map);
    *copy = map_new(emitter->arena);
    for (int i = 0; i < scope->count; i++)
        map_set(copy, scope->entries[i].key, scope->entries[i].value);
    return copy;
}

static Map *scope_push(Emitter *emitter) {
    Map *outer = emitter->names;
    emitter->names = scope_copy(emitter, outer);
    return outer;
}

/// What a branch has named, or named anew, is taken behind it as well.
static void scope_merge(Map *outer, const Map *branch, const Map *at_start) {
    for (int i = 0; i < branch->count; i++) {
        const MapEntry *entry = &branch->entries[i];
        if (!map_has(at_start, entry->key) || map_get(at_start, entry->key) != entry->value)
            map_set(outer, entry->key, entry->value);
    }
}

/// On as many lines as it takes.
static void emit_comment(Emitter *emitter, const char *format, int line) {
    const char *text = arena_printf(emitter->arena, "%s %d", format, line);
    size_t room = LINE_LIMIT - strlen("# ") - (size_t)(emitter->indent * INDENT);
    while (*text) {
        size_t end = strlen(text);
        if (end > room) {
            end = room;
            while (end > 0 && text[end] != ' ') end--;
            if (end == 0) end = strcspn(text, " ");
        }
        emit_indent(emitter, 0);
        buffer_printf(&emitter->out, "# %.*s\n", (int)end, text);
        text += end + strspn(text + end, " ");
    }
}

/// Whether Triton would not see this variable change (loop_shared_start); what prints as an expression is a value of its own.
static bool shares_start(const Emitter *emitter, const Op *loop, int index) {
    int first = loop->code == OP_WHILE ? 0 : 3;
    const Value *initial = loop->operands[first + index];
    if (loop_shared_start(loop, index) < 0) return false;
    while (map_has_pointer(&emitter->inlined, initial)) {
        if (!initial->op || initial->op->code != OP_CAST) return false;
        initial = initial->op->operands[0];
    }
    return true;
}

static const char *emit_own_start(Emitter *emitter, const Op *loop, int index, const char *hint,
                                  EmittedText text) {
    const Value *result = loop->results[index];
    const char *nothing =
        result->type.element.code == DTYPE_INT1                                       ? "| False"
        : dtype_is_integer(result->type.element) || result->type.kind == TYPE_POINTER ? "+ 0"
                                                                                      : "+ 0.0";
    const char *name = name_again(emitter, result, loop, hint);
    emit_line(emitter, "# a value of its own, or Triton would take it for unchanged in the loop");
    const char *start = text.precedence == PRECEDENCE_ATOM
                            ? text.text
                            : arena_printf(emitter->arena, "(%s)", text.text);
    const char *sum = arena_printf(emitter->arena, "%s %s", start, nothing);
    emit_assignment(emitter, name, (EmittedText){sum, 1});
    return name;
}

/// Assigns what a carried variable begins with; its name.
static const char *emit_initial(Emitter *emitter, const Op *loop, int index, const Value *initial) {
    const Value *result = loop->results[index];
    const Region *body = loop->regions[loop->region_count - 1];
    const Value *argument = body->arguments[index + (loop->code == OP_WHILE ? 0 : 1)];
    const char *hint = argument->name ? argument->name : result->name;
    if (!hint) hint = "acc";
    EmittedText text = emit_value(emitter, initial);
    if (shares_start(emitter, loop, index)) return emit_own_start(emitter, loop, index, hint, text);
    bool is_same = initial->name && strcmp(initial->name, hint) == 0 &&
                   is_in_place(emitter, text.text, initial) &&
                   !map_has_pointer(&emitter->inlined, initial);
    if (emitter->lifetimes && is_same && lifetimes_let_carry(emitter->lifetimes, loop, index)) {
        map_set(emitter->names, str_from(text.text), (void *)(uintptr_t)result);
        return text.text;
    }
    const char *name = name_again(emitter, result, loop, hint);
    emit_assignment(emitter, name, text);
    return name;
}

static void emit_loop(Emitter *emitter, const Op *op) {
    bool is_while = op->code == OP_WHILE;
    const Region *body = op->regions[is_while ? 1 : 0];
    int shift = is_while ? 0 : 1, first = is_while ? 0 : 3;
    const char **names = ARENA_ARRAY(emitter->arena, const char *, op->result_count + 1);
    for (int i = 0; i < op->result_count; i++) {
        names[i] = emit_initial(emitter, op, i, op->operands[first + i]);
        for (int r = 0; r < op->region_count; r++)
            text_set(emitter, op->regions[r]->arguments[i + shift], names[i], PRECEDENCE_ATOM);
    }
    if (op->range.source && op->range.source->path[0])
        emit_comment(emitter, op->note ? op->note : "the loop of line", range_line(op->range));
    // Triton unrolls a static loop into the block around it, where its names stay.
    Map *outer = op->code == OP_STATIC_FOR ? emitter->names : scope_push(emitter);
    if (is_while) {
        for (const Op *inner = op->regions[0]->first; inner && inner->code != OP_CONDITION;
             inner = inner->next)
            if (inner->result_count == 1) {
                EmittedText t = emit_op(emitter, inner);
                text_set(emitter, inner->results[0], t.text, t.precedence);
                map_set_pointer(&emitter->inlined, inner->results[0], (void *)1);
            }
        emit_parts(emitter, "while ",
                   emit_value(emitter, region_terminator(op->regions[0])->operands[0]).text, ":");
    } else {
        const char *iv = name_value(emitter, body->arguments[0]);
        map_set(&emitter->counters, str_from(iv), body->arguments[0]);
        emit_parts(emitter, arena_printf(emitter->arena, "for %s in ", iv), range_text(emitter, op),
                   ":");
    }
    for (int i = 0; i < op->result_count; i++)
        map_set(emitter->names, str_from(names[i]), body->arguments[i + shift]);
    emitter->indent++;
    size_t before = emitter->out.size;
    emit_region(emitter, body);
    emit_yields(emitter, op, body, names);
    if (emitter->out.size == before) emit_line(emitter, "pass");
    emitter->indent--;
    emitter->names = outer;
    for (int i = 0; i < op->result_count; i++) {
        map_set(emitter->names, str_from(names[i]), op->results[i]);
        text_set(emitter, op->results[i], names[i], PRECEDENCE_ATOM);
    }
}

static bool branch_is_empty(const Region *branch) {
    return !branch->first || (branch->first->code == OP_YIELD && branch->first->operand_count == 0);
}

static const char *negated(Emitter *emitter, const Value *condition) {
    if (condition->op && condition->op->code == OP_LOGICAL_NOT)
        return emit_value(emitter, condition->op->operands[0]).text;
    if (condition->op && condition->op->code == OP_IS_NONE)
        return arena_printf(emitter->arena, "%s is not None",
                            emit_operand(emitter, condition->op->operands[0], 4, false));
    return arena_printf(emitter->arena, "not %s", emit_operand(emitter, condition, 3, false));
}

/// Whether anything was printed.
static bool emit_branch(Emitter *emitter, const Op *op, int index, const char *const *names) {
    emitter->indent++;
    size_t before = emitter->out.size;
    emit_region(emitter, op->regions[index]);
    const Op *yield = region_terminator(op->regions[index]);
    for (int i = 0; i < op->result_count; i++) {
        const Op *made = yield->operands[i]->op;
        bool is_nothing = made && made->code == OP_UNDEFINED && made->note;
        if (!is_nothing) emit_update(emitter, names[i], yield->operands[i]);
    }
    emitter->indent--;
    return emitter->out.size > before;
}

static void buffer_cut(Buffer *buffer, size_t size) {
    if (size < buffer->size) buffer->data[size] = '\0';
    buffer->size = size;
}

static bool is_tail(const Op *op) { return op->next == NULL && op->parent->parent == NULL; }

/// The variable in which a loop carries what one of the branches hands on as it is, if the other branch may change it there.
static const char *carried_name(const Emitter *emitter, const Op *op, int index) {
    for (int side = 0; side < 2 && emitter->lifetimes; side++) {
        const Value *value = region_terminator(op->regions[side])->operands[index];
        const EmittedText *text = map_get_pointer(&emitter->texts, value);
        if (value->op || value->region != op->parent || !text) continue;
        if (map_get(emitter->names, str_from(text->text)) == value &&
            lifetimes_let_reuse(emitter->lifetimes, value, op->results[index], op))
            return text->text;
    }
    return NULL;
}

/// Of a result without a name: what its branch would call it.
static const char *name_of_branch(Emitter *emitter, const Op *op, int index) {
    const Value *value = region_terminator(op->regions[0])->operands[index];
    bool is_made = value->op && value->op->parent == op->regions[0] && !value->op->region_count;
    return value->name ? value->name : is_made ? name_hint(emitter, value->op) : "";
}

/// Texts the results of an `if`; what a branch makes for one of them has its name at once where that loses nothing.
static const char **name_results(Emitter *emitter, const Op *op) {
    int count = op->result_count;
    const char **names = ARENA_ARRAY(emitter->arena, const char *, count + 1);
    const Value **holders = ARENA_ARRAY(emitter->arena, const Value *, count + 1);
    for (int i = 0; i < count; i++) {
        const Value *result = op->results[i];
        const char *wanted = map_get_pointer(&emitter->promised, result);
        if (!wanted) wanted = carried_name(emitter, op, i);
        if (wanted) map_set_pointer(&emitter->promised, result, (void *)(uintptr_t)wanted);
        if (!wanted) wanted = result->name ? result->name : "";
        holders[i] = map_get(emitter->names, str_from(wanted));
        bool is_bare = !*wanted && !result->name;
        names[i] =
            name_as(emitter, result, is_bare ? name_of_branch(emitter, op, i) : result->name);
        if (strcmp(names[i], wanted) != 0) holders[i] = NULL;
    }
    for (int i = 0; i < count; i++) {
        if (holders[i])  // until a branch ends
            map_set(emitter->names, str_from(names[i]), (void *)(uintptr_t)holders[i]);
        for (int branch = 0; branch < 2 && emitter->lifetimes; branch++) {
            const Op *yield = region_terminator(op->regions[branch]);
            if (lifetimes_let_promise(emitter->lifetimes, holders[i], op, branch, i))
                map_set_pointer(&emitter->promised, yield->operands[i],
                                (void *)(uintptr_t)names[i]);
        }
    }
    return names;
}

/// The `if` that is all that the else branch prints, or NULL.
static const Op *elif_of(Emitter *emitter, const Op *op, const char *const *names) {
    const Op *only = NULL;
    for (const Op *inner = op->regions[1]->first; inner; inner = inner->next) {
        bool is_silent =
            inner->code == OP_YIELD ||
            (inner->result_count == 1 && map_has_pointer(&emitter->inlined, inner->results[0]));
        if (is_silent) continue;
        if (only || inner->code != OP_IF) return NULL;
        only = inner;
    }
    if (!only || !emitter->lifetimes) return NULL;
    const Op *yield = region_terminator(op->regions[1]);
    for (int i = 0; i < op->result_count; i++) {
        const Value *value = yield->operands[i];
        const char *promised =
            value->op == only ? map_get_pointer(&emitter->promised, value) : NULL;
        bool is_there =
            promised ? strcmp(promised, names[i]) == 0 : is_in_place(emitter, names[i], value);
        if (!is_there) return NULL;
    }
    return only;
}

static void emit_if(Emitter *emitter, const Op *op, const char *head);

static void emit_else(Emitter *emitter, const Op *op, const char *const *names) {
    const Op *only = elif_of(emitter, op, names);
    if (only) {
        for (const Op *inner = op->regions[1]->first; inner != only; inner = inner->next)
            emit_statement(emitter, inner);
        emit_if(emitter, only, "elif ");
        return;
    }
    size_t before = emitter->out.size;
    emit_line(emitter, "else:");
    if (!emit_branch(emitter, op, 1, names)) buffer_cut(&emitter->out, before);
}

/// `head` is "if " or "elif ".
static void emit_if(Emitter *emitter, const Op *op, const char *head) {
    const Value *condition = op->operands[0];
    const char **names = name_results(emitter, op);
    if (branch_is_empty(op->regions[0]) && is_tail(op) && !op->result_count) {
        emit_parts(emitter, head, emit_value(emitter, condition).text, ":");
        emit_indent(emitter, 1);
        buffer_puts(&emitter->out, "return\n");
        emit_region(emitter, op->regions[1]);
        return;
    }
    // Triton compiles one branch of a constexpr condition: both may use the same names.
    bool is_apart = condition->type.is_constexpr;
    Map *outer = emitter->names, *first = NULL;
    const Map *at_start = scope_copy(emitter, outer);
    if (is_apart) emitter->names = scope_copy(emitter, at_start);
    size_t before = emitter->out.size;
    emit_parts(emitter, head, emit_value(emitter, condition).text, ":");
    bool is_then_empty = !emit_branch(emitter, op, 0, names);
    if (is_apart) {
        first = emitter->names;
        emitter->names = scope_copy(emitter, at_start);
    }
    if (is_then_empty) {
        buffer_cut(&emitter->out, before);
        emit_parts(emitter, head, negated(emitter, condition), ":");
        if (!emit_branch(emitter, op, 1, names)) buffer_cut(&emitter->out, before);
    } else {
        emit_else(emitter, op, names);
    }
    if (is_apart) {
        scope_merge(outer, first, at_start);
        scope_merge(outer, emitter->names, at_start);
        emitter->names = outer;
    }
    for (int i = 0; i < op->result_count; i++)
        map_set(emitter->names, str_from(names[i]), op->results[i]);
}

static bool is_constexpr_number(const Value *value) {
    return value->type.kind == TYPE_NUMBER && value->type.rank == 0 && value->type.is_constexpr;
}

/// Whether the branches of a flag only choose between numbers that are known while Triton compiles.
static bool is_choice_of_constexprs(const Op *op) {
    bool is_choice = op->code == OP_IF && op->result_count && op->operands[0]->type.is_constexpr;
    for (int i = 0; i < op->result_count; i++)
        is_choice = is_choice && is_constexpr_number(op->results[i]);
    for (int r = 0; r < 2 && is_choice; r++)
        for (const Op *inner = op->regions[r]->first; inner && is_choice; inner = inner->next)
            is_choice = inner->code == OP_YIELD ||
                        (op_is_pure(inner) && !inner->region_count && inner->result_count == 1 &&
                         is_constexpr_number(inner->results[0]));
    return is_choice;
}

/// `size: tl.constexpr = 64 if WIDE else 32`: what a branch assigns is a tensor to Triton.
static void emit_choice(Emitter *emitter, const Op *op) {
    for (int r = 0; r < 2; r++)
        for (const Op *inner = op->regions[r]->first; inner->code != OP_YIELD;
             inner = inner->next) {
            EmittedText text = emit_op(emitter, inner);
            text_set(emitter, inner->results[0], text.text, text.precedence);
            map_set_pointer(&emitter->inlined, inner->results[0], (void *)1);
        }
    const Op *yields[2] = {region_terminator(op->regions[0]), region_terminator(op->regions[1])};
    for (int i = 0; i < op->result_count; i++) {
        const Value *result = op->results[i];
        const char *text = arena_printf(emitter->arena, "%s if %s else %s",
                                        emit_operand(emitter, yields[0]->operands[i], 1, false),
                                        emit_operand(emitter, op->operands[0], 1, false),
                                        emit_operand(emitter, yields[1]->operands[i], 1, false));
        if (emit_is_unrolled(op)) {
            text_set(emitter, result, arena_printf(emitter->arena, "(%s)", text), PRECEDENCE_ATOM);
            continue;
        }
        const char *name = name_new(emitter, result, result->name ? result->name : "chosen");
        emit_parts(emitter, arena_printf(emitter->arena, "%s: tl.constexpr = ", name), text, "");
        text_set(emitter, result, name, PRECEDENCE_ATOM);
    }
}

static void emit_results(Emitter *emitter, const Op *op) {
    Buffer left = buffer_new(emitter->arena);
    for (int i = 0; i < op->result_count; i++) {
        const char *name =
            value_uses(emitter, op->results[i]) ? name_value(emitter, op->results[i]) : "_";
        buffer_printf(&left, "%s%s", i ? ", " : "", name);
    }
    emit_assignment(emitter, buffer_text(&left), emit_op(emitter, op));
}

static void emit_statement(Emitter *emitter, const Op *op) {
    if (op->code == OP_YIELD || op->code == OP_CONDITION) return;
    if (is_loop(op)) {
        emit_loop(emitter, op);
        return;
    }
    if (is_choice_of_constexprs(op)) {
        emit_choice(emitter, op);
        return;
    }
    if (op->code == OP_IF) {
        emit_if(emitter, op, "if ");
        return;
    }
    bool has_effect = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED);
    if (op->result_count > 1) {
        emit_results(emitter, op);
        return;
    }
    if (has_effect || op->result_count == 0) {
        bool used = op->result_count == 1 && value_uses(emitter, op->results[0]) > 0;
        EmittedText call = emit_op(emitter, op);
        if (used)
            emit_assignment(emitter, name_value(emitter, op->results[0]), call);
        else
            emit_line(emitter, call.text);
        return;
    }
    EmittedText text =
        op_is_named_number(op) ? emit_value(emitter, op->operands[1]) : emit_op(emitter, op);
    if (emit_is_inlined(emitter, op, text)) {
        if (op->code != OP_EXPAND_DIMS && op->code != OP_TUPLE)
            text_set(emitter, op->results[0], text.text, text.precedence);
        return;
    }
    const Value *value = op->results[0];
    const char *hint = value->name ? value->name : name_hint(emitter, op);
    if (value->type.is_constexpr) {  // without the annotation Triton makes a tensor of it
        const char *constant = name_new(emitter, value, hint);
        emit_assignment(emitter, arena_printf(emitter->arena, "%s: tl.constexpr", constant), text);
        text_set(emitter, value, constant, PRECEDENCE_ATOM);
        return;
    }
    const char *name = name_again(emitter, value, op, hint);
    if (!emit_step(emitter, name, op)) emit_assignment(emitter, name, text);
    text_set(emitter, value, name, PRECEDENCE_ATOM);
}

void emit_region(Emitter *emitter, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) emit_statement(emitter, op);
}
