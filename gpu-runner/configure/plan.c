// A configuration as text, and as bindings for lowering.
#include "gpu-runner/configure/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool configuration_has_literal_grid(const PlanConfiguration *configuration) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (configuration->grid[axis] > 1 && !configuration->grid_source[axis] &&
            !configuration->has_grid_sources[axis])
            return configuration->origin == SPEC_LAUNCHER;
    return false;
}

PlanConfiguration configuration_copy(Arena *arena, const PlanConfiguration *configuration,
                                     int more) {
    PlanConfiguration copy = *configuration;
    copy.arguments = ARENA_ARRAY(arena, PlanArgument, configuration->argument_count + more + 1);
    memcpy(copy.arguments, configuration->arguments,
           sizeof(PlanArgument) * (size_t)configuration->argument_count);
    return copy;
}

const char *spec_origin_name(SpecOrigin origin) {
    static const char *const names[] = {[SPEC_COMMENT] = "comment",
                                        [SPEC_PYPROJECT] = "pyproject",
                                        [SPEC_LAUNCHER] = "launcher",
                                        [SPEC_KERNEL] = "kernel"};
    return names[origin];
}

int64_t size_product(int64_t a, int64_t b) {
    const int64_t beyond_memory = (int64_t)1 << 56;
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        product = (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return product > beyond_memory    ? beyond_memory
           : product < -beyond_memory ? -beyond_memory
                                      : product;
}

void argument_set_shape(PlanArgument *argument, int rank, const int64_t *dims) {
    int64_t stride = 1;
    argument->rank = rank;
    for (int i = rank - 1; i >= 0; i--) {
        argument->dims[i] = dims[i];
        argument->strides[i] = stride;
        stride = size_product(stride, dims[i]);
    }
    argument->stride_count = rank;
    argument->extent = stride;
    argument->is_dense = true;
}

static void print_number(Buffer *text, double number) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", number);
    for (int precision = 1; precision < 17; precision++) {  // the shortest that reads back
        char shorter[40];
        snprintf(shorter, sizeof shorter, "%.*g", precision, number);
        if (strtod(shorter, NULL) == number) {
            memcpy(digits, shorter, sizeof digits);
            break;
        }
    }
    buffer_puts(text, digits);
    if (!strpbrk(digits, ".en")) buffer_puts(text, ".0");
}

void constant_print(Buffer *text, const Constant *constant) {
    switch (constant->kind) {
    case CONSTANT_NONE: buffer_puts(text, "None"); return;
    case CONSTANT_BOOL: buffer_puts(text, constant->integer ? "True" : "False"); return;
    case CONSTANT_INT: buffer_printf(text, "%lld", (long long)constant->integer); return;
    case CONSTANT_FLOAT: print_number(text, constant->number); return;
    case CONSTANT_STRING: buffer_printf(text, "\"%.*s\"", STR_ARGS(constant->string)); return;
    case CONSTANT_DTYPE:
        buffer_printf(text, "tl.%s",
                      dtype_name(constant->dtype.code) ? dtype_name(constant->dtype.code) : "void");
        return;
    case CONSTANT_TUPLE: constant_write_tuple(text, constant, constant_print); return;
    case CONSTANT_FUNCTION: break;
    }
    if (constant->function) buffer_printf(text, "%.*s", STR_ARGS(constant->function->name));
}

static const char *const part_list_names[] = {
    [PART_STARTS] = "starts", [PART_ENDS] = "ends",     [PART_LENGTHS] = "lengths",
    [PART_ROWS] = "rows",     [PART_BOUNDS] = "bounds",
};

const char *part_list_name(PartList list) { return part_list_names[list]; }

bool part_list_named(Str name, PartList *list) {
    for (int i = 0; i <= PART_BOUNDS; i++)
        if (str_is(name, part_list_names[i])) {
            *list = (PartList)i;
            return true;
        }
    return false;
}

static void print_contents(Buffer *text, const Content *content) {
    switch (content->kind) {
    case CONTENT_ZERO: buffer_puts(text, " in zeros"); return;
    case CONTENT_RANDOM:
        buffer_puts(text, " in uniform(");
        print_number(text, content->low);
        buffer_puts(text, ", ");
        print_number(text, content->high);
        buffer_putc(text, ')');
        return;
    case CONTENT_SMALL:
        buffer_printf(text, " in range(%lld, %lld)", (long long)content->low,
                      (long long)content->high);
        if (content->has_mark) buffer_printf(text, " or %lld", (long long)content->mark);
        return;
    case CONTENT_DISTINCT: buffer_puts(text, " in distinct"); return;
    case CONTENT_MONOTONE:
        buffer_printf(text, " in growing(%lld)", (long long)content->high);
        return;
    case CONTENT_PARTS:
        buffer_printf(text, " in parts(%s)", part_list_names[content->part]);
        return;
    case CONTENT_VALUES:
        buffer_puts(text, " in (");
        for (int64_t i = 0; i < content->value_count; i++)
            buffer_printf(text, i ? ", %g" : "%g", content->values[i]);
        buffer_puts(text, content->value_count == 1 ? ",)" : ")");
        return;
    case CONTENT_NORMAL: break;
    }
}

const char *configuration_print(Arena *arena, const PlanConfiguration *configuration) {
    Buffer text = buffer_new(arena);
    buffer_puts(&text, "# tad: ");
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind == ARGUMENT_OPEN) continue;
        buffer_printf(&text, "%.*s=", STR_ARGS(argument->name));
        switch (argument->kind) {
        case ARGUMENT_INTEGER: buffer_printf(&text, "%lld", (long long)argument->integer); break;
        case ARGUMENT_FLOAT: print_number(&text, argument->number); break;
        case ARGUMENT_CONSTANT: constant_print(&text, argument->constant); break;
        case ARGUMENT_POINTER:
            buffer_puts(&text, dtype_short_name(argument->dtype));
            for (int d = 0; d < argument->rank; d++)
                buffer_printf(&text, "%s%lld", d ? ", " : "[", (long long)argument->dims[d]);
            if (argument->rank) buffer_putc(&text, ']');
            print_contents(&text, &argument->content);
            break;
        case ARGUMENT_OPEN: break;
        }
        buffer_puts(&text, ", ");
    }
    buffer_printf(&text, "grid=(%lld, %lld, %lld)", (long long)configuration->grid[0],
                  (long long)configuration->grid[1], (long long)configuration->grid[2]);
    return buffer_text(&text);
}

static void bind_block(Arena *arena, const PlanArgument *argument, Type *type) {
    const Poly **dims = ARENA_ARRAY(arena, const Poly *, argument->block_rank + 1);
    for (int axis = 0; axis < argument->block_rank; axis++)
        dims[axis] = poly_constant(arena, argument->block[axis]);
    type->kind = TYPE_DESCRIPTOR;
    type->rank = argument->block_rank;
    type->dims = dims;
}

Binding *configuration_bindings(Arena *arena, const PlanConfiguration *configuration, int *count) {
    Binding *bindings = ARENA_ARRAY(arena, Binding, configuration->argument_count + 1);
    *count = 0;
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind == ARGUMENT_OPEN) continue;
        Binding binding = {.name = argument->name};
        if (argument->kind == ARGUMENT_CONSTANT) {
            binding.constant = argument->constant;
        } else {
            binding.type.kind = argument->kind == ARGUMENT_POINTER ? TYPE_POINTER : TYPE_NUMBER;
            binding.type.element = dtype_of(argument->dtype);
            if (argument->block_rank) bind_block(arena, argument, &binding.type);
        }
        bindings[(*count)++] = binding;
    }
    return bindings;
}

void configuration_set_contents(PlanConfiguration *configuration, double low, double high) {
    for (int i = 0; i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind != ARGUMENT_POINTER || !dtype_code_is_float(argument->dtype) ||
            argument->content.kind != CONTENT_NORMAL)
            continue;
        argument->content.kind = CONTENT_RANDOM;
        argument->content.low = low;
        argument->content.high = high;
    }
}
