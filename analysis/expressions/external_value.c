// Values of other modules, by their dotted names.
#include "analysis/expressions/external_value.h"

#include <math.h>

#include "analysis/build/build.h"
#include "analysis/module/module_scope.h"

Value *lower_external_value(Lowering *lowering, Str dotted) {
    Builder *builder = &lowering->builder;
    Str language;
    if (scope_language_name(dotted, &language)) {
        DTypeCode dtype = dtype_from_name(language);
        // strings and signatures have shorter names, too
        bool is_dtype = dtype != DTYPE_UNKNOWN && str_is(language, dtype_name(dtype));
        if (is_dtype) return build_dtype(builder, dtype_of(dtype));
        OpCode code = scope_find_operation(language);
        if (code != OP_COUNT)
            return build_constant(builder, (Constant){.kind = CONSTANT_FUNCTION, .op = code});
        if (str_is(language, "pi32_t"))
            return build_constant(builder, (Constant){.kind = CONSTANT_DTYPE,
                                                      .dtype = dtype_of(DTYPE_INT32),
                                                      .is_pointer = true});
        if (str_is(language, "TRITON_MAX_TENSOR_NUMEL")) return build_int(builder, 1 << 20);
        // Members of an enumeration: nothing computes with them, an operation is told by their name.
        if (str_is(language, "PropagateNan.ALL") || str_is(language, "PropagateNan.NONE"))
            return build_unary(builder, OP_GLOBAL,
                               build_string(builder, arena_printf(lowering->arena, "tl.%.*s",
                                                                  STR_ARGS(language))));
        // classes, and the modules and enumerations that have names of their own
        static const char *const classes[] = {
            "constexpr",  "tensor",       "dtype",       "tuple",        "tensor_descriptor",
            "block_type", "pointer_type", "void",        "PropagateNan", "tensor_descriptor_base",
            "math",       "extra",        "target_info",
        };
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
            if (str_is(language, classes[i])) return lowering_opaque(lowering, classes[i]);
        return NULL;
    }
    if (str_is(dotted, "triton.__version__")) return build_string(builder, TRITON_VERSION);
    // What is compiled for is CUDA, as target_info says, too.
    if (str_is(dotted, "torch.version.hip")) return build_none(builder);
    if (str_is(dotted, "math.pi")) return build_float(builder, 3.14159265358979323846);
    if (str_is(dotted, "math.e")) return build_float(builder, 2.71828182845904523536);
    if (str_is(dotted, "math.inf") || str_is(dotted, "numpy.inf") || str_is(dotted, "torch.inf"))
        return build_float(builder, INFINITY);
    if (str_is(dotted, "math.nan")) return build_float(builder, NAN);
    return NULL;
}
