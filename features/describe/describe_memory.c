// Loops, addresses and memory of values in sentences.
#include "features/describe/describe_memory.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/ir/loops.h"
#include "base/escape.h"
#include "features/describe/describe.h"

enum { ACCESS_LIMIT = 4 };

static bool poly_is(const Poly *poly, int64_t number) {
    int64_t constant;
    return poly && poly_is_constant(poly, &constant) && constant == number;
}

/// "pid*BLOCK + i + j*stride"; lanes are i, j, k, ... by axis.
static const char *affine_label(Arena *arena, const Affine *affine) {
    static const char *const lanes[TYPE_MAX_RANK] = {"i", "j", "k", "l", "m", "n", "o", "p"};
    Buffer out = buffer_new(arena);
    if (!poly_is(affine->base, 0)) buffer_puts(&out, poly_label(arena, affine->base));
    for (int i = 0; i < affine->rank; i++) {
        const Poly *lane = affine->lane[i];
        if (!lane || poly_is(lane, 0)) continue;
        bool is_negative = lane->count == 1 && lane->terms[0].coefficient < 0 && out.size;
        if (is_negative) lane = poly_subtract(arena, poly_constant(arena, 0), lane);
        buffer_puts(&out, !out.size ? "" : is_negative ? " - " : " + ");
        if (poly_is(lane, 1))
            buffer_puts(&out, lanes[i]);
        else
            buffer_printf(&out, lane->count > 1 ? "(%s)*%s" : "%s*%s", poly_label(arena, lane),
                          lanes[i]);
    }
    if (!out.size) buffer_puts(&out, "0");
    return buffer_text(&out);
}

// --- Loops

/// The loop that carries `value`, with its position among what is carried: as the argument of the body, as what an
/// iteration hands on, or as what is left after it.
static const Op *carrier_of(const Value *value, int *index) {
    const Region *region = value->region;
    const Op *loop = region ? region->parent : NULL;
    if (loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR)) {
        for (int i = 1; i < region->argument_count; i++)
            if (region->arguments[i] == value) {
                *index = i - 1;
                return loop;
            }
        return NULL;
    }
    const Op *op = value->op;
    if (!op) return NULL;
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR) {
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i] == value) {
                *index = i;
                return op;
            }
        return NULL;
    }
    loop = op->parent ? op->parent->parent : NULL;
    if (!loop || (loop->code != OP_FOR && loop->code != OP_STATIC_FOR)) return NULL;
    const Op *yield = region_terminator(op->parent);
    for (int i = 0; yield && i < yield->operand_count; i++)
        if (yield->operands[i] == value) {
            *index = i;
            return loop;
        }
    return NULL;
}

/// What the user wrote for the value, where that is short.
static const char *written(Arena *arena, const Value *value) {
    if (!value) return NULL;
    Str text = source_slice(value->op ? value->op->range : value->range);
    if (value->name) return value->name;
    bool is_short = text.size && text.size <= 60 && !memchr(text.data, '\n', text.size);
    return is_short ? code_visible(arena, text) : NULL;
}

/// Once for each loop: a hover on `for` tells all that it carries.
static const Carried *classified(FileNames *names, const Op *loop) {
    Carried *all = map_get_pointer(&names->carried, loop);
    if (all) return all;
    all = loop_classify(names->arena, loop);
    map_set_pointer(&names->carried, loop, all);
    return all;
}

void describe_carried(Buffer *out, FileNames *names, const Value *value) {
    int index = 0;
    const Op *loop = carrier_of(value, &index);
    if (!loop) return;
    const Carried *carried = &classified(names, loop)[index];
    const char *sign = carried->negated ? "−" : "+";
    const char *step = written(out->arena, carried->step);
    const char *term = written(out->arena, carried->term);
    const char *factor = written(out->arena, carried->factor);
    buffer_puts(out, "\n\n**Carried by the loop**: ");
    switch (carried->class) {
    case CARRIED_UNCHANGED: buffer_puts(out, "unchanged."); break;
    case CARRIED_INDUCTION:
        buffer_printf(out, "an induction, %s `%s` each iteration.", sign,
                      step ? step : "a fixed step");
        break;
    case CARRIED_SUM:
        if (term)
            buffer_printf(out,
                          "a sum, %s `%s` each iteration; its gradient is the same in all of them.",
                          sign, term);
        else
            buffer_puts(out, "a sum; its gradient is the same in all iterations.");
        break;
    case CARRIED_GAUGE:
        if (carried->gauge == index)
            buffer_puts(out, "the gauge of an online reduction; where it cancels no gradient flows "
                             "through it.");
        else
            buffer_printf(out, "a running value of an online reduction, rescaled by `%s`.",
                          factor ? factor : "a factor");
        break;
    case CARRIED_RECURRENCE:
        buffer_puts(out, "a recurrence; each iteration needs the state of the one before.");
        break;
    }
}

// --- Addresses and memory

static const char *axis_label(Arena *arena, const Axis *axis) {
    if (axis->is_program) return arena_printf(arena, "program axis %d", axis->program_axis);
    const Region *body = axis->loop->region_count ? axis->loop->regions[0] : NULL;
    const Value *variable = body && body->argument_count ? body->arguments[0] : NULL;
    return arena_printf(arena, "the loop over `%s`",
                        variable && variable->name ? variable->name : "…");
}

static void describe_axes(Buffer *out, const Kernel *kernel, const Access *access) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    FunctionAxes around = function_axes(out->arena, kernel->function);
    int count = access_axes(out->arena, &around, access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count && i < ACCESS_MOST_AXES; i++) {
        const char *name = axis_label(out->arena, &axes[i]);
        const char *who = axes[i].is_program ? "programs" : "iterations";
        switch (dependence[i]) {
        case AXIS_FREE:
            buffer_printf(out, "\n- %s: *free*, all %s touch the same elements", name, who);
            break;
        case AXIS_OWNED:
            buffer_printf(out, "\n- %s: *owned*, each of its %s has its own elements", name, who);
            break;
        case AXIS_SCATTERED:
            buffer_printf(out, "\n- %s: *scattered*, %s may share elements", name, who);
            break;
        }
    }
}

void describe_access(Buffer *out, const Kernel *kernel, Op *op) {
    Access access = access_of(out->arena, op);
    const OpRow *row = &op_rows[op->code];
    const char *verb = row->effects & EFFECT_ATOMIC   ? "Updates"
                       : row->effects & EFFECT_WRITES ? "Stores to"
                                                      : "Reads";
    const char *parameter =
        access.parameter && access.parameter->name ? access.parameter->name : NULL;
    if (parameter && access.offset.known)
        buffer_printf(out, "\n\n**%s** `%s[%s]`", verb, parameter,
                      affine_label(out->arena, &access.offset));
    else if (parameter)
        buffer_printf(out, "\n\n**%s** `%s` at addresses that depend on data", verb, parameter);
    else
        return;
    const char *mask = written(out->arena, access.mask);
    if (access.mask && !value_is_none(access.mask))
        buffer_printf(out, mask ? " where `%s`" : " where its mask holds", mask);
    describe_axes(out, kernel, &access);
}

void describe_address(Buffer *out, Value *value) {
    if (value->type.kind == TYPE_NUMBER) {
        if (!dtype_is_integer(value->type.element) || value->type.rank == 0 || value->constant ||
            dtype_class(value->type.element) == CLASS_BOOL)
            return;
        Affine affine = affine_of(out->arena, value);
        if (affine.known)
            buffer_printf(out, "\n\n**Lanes**: `%s`", affine_label(out->arena, &affine));
        return;
    }
    bool is_pointer = value->type.kind == TYPE_POINTER || value->type.kind == TYPE_BLOCK_POINTER ||
                      value->type.kind == TYPE_DESCRIPTOR;
    if (!is_pointer) return;
    Value *root = NULL;
    Affine affine = pointer_affine_of(out->arena, value, &root);
    if (!root || !root->name || root == value) return;
    if (affine.known)
        buffer_printf(out, "\n\n**Address**: `%s[%s]`", root->name,
                      affine_label(out->arena, &affine));
    else
        buffer_printf(out, "\n\n**Address**: in `%s`, depends on data", root->name);
}

// --- Parameters

typedef struct AccessSearch {
    Buffer *out;
    FileNames *names;
    const Value *parameter;
    Former *former;
    Map told;
} AccessSearch;

static bool affine_mentions(const Affine *affine, const Value *value) {
    if (affine->base && poly_mentions(affine->base, value)) return true;
    for (int i = 0; i < affine->rank; i++)
        if (affine->lane[i] && poly_mentions(affine->lane[i], value)) return true;
    return false;
}

static bool visit_access(void *context, Op *op) {
    AccessSearch *search = context;
    if (!op_is_access(op) || search->told.count >= ACCESS_LIMIT) return true;
    Access access = access_by(search->former, op);
    if (!access.parameter || !access.parameter->name || !access.offset.known) return true;
    if (access.parameter != search->parameter &&
        !affine_mentions(&access.offset, search->parameter))
        return true;
    const char *text = arena_printf(search->out->arena, "%s[%s]", access.parameter->name,
                                    affine_label(search->out->arena, &access.offset));
    if (map_has(&search->told, str_from(text))) return true;
    map_set(&search->told, str_from(text), search);
    int effects = op_rows[op->code].effects;
    const char *verb = effects & EFFECT_ATOMIC   ? "updates"
                       : effects & EFFECT_WRITES ? "stores to"
                                                 : "reads";
    const CallSite *call = op->call;
    while (call && call->outer) call = call->outer;
    Range range = snapshot_range(search->names->snapshot, call ? call->range : op->range);
    buffer_printf(search->out, "\n- line %d %s `%s`", range_line(range), verb, text);
    return true;
}

void describe_accesses(Buffer *out, FileNames *names, const Kernel *kernel,
                       const Value *parameter) {
    AccessSearch search = {out, names, parameter, former_new(out->arena), map_new(out->arena)};
    region_walk(kernel->function->body, visit_access, &search);
}
