// Names of Python's own functions and exceptions.
#include "analysis/expressions/python_names.h"

static const char *const python_names[] = {"range",
                                           "min",
                                           "max",
                                           "abs",
                                           "len",
                                           "int",
                                           "float",
                                           "bool",
                                           "str",
                                           "isinstance",
                                           "print",
                                           "tuple",
                                           "list",
                                           "zip",
                                           "enumerate",
                                           "hasattr",
                                           "getattr",
                                           "sum",
                                           "all",
                                           "any",
                                           "type",
                                           "round",
                                           "reversed",
                                           "divmod",
                                           "pow",
                                           "repr",
                                           "callable",
                                           "object",
                                           "dict",
                                           "set",
                                           "map",
                                           "filter",
                                           "sorted",
                                           "slice",
                                           "id",
                                           "hash",
                                           "iter",
                                           "next",
                                           "super",
                                           "Exception",
                                           "ValueError",
                                           "RuntimeError",
                                           "NotImplementedError",
                                           "AssertionError",
                                           "__name__",
                                           "__file__",
                                           "NotImplemented",
                                           "Ellipsis",
                                           "complex",
                                           "bytes",
                                           "format",
                                           "ord",
                                           "chr",
                                           "bin",
                                           "hex",
                                           "oct",
                                           "vars",
                                           "locals",
                                           "globals",
                                           "issubclass",
                                           "breakpoint",
                                           "property",
                                           "staticmethod",
                                           "classmethod",
                                           "frozenset",
                                           "input",
                                           "open",
                                           "exec",
                                           "eval",
                                           "compile",
                                           "__debug__"};

bool python_builtin_exists(Str name) {
    for (size_t i = 0; i < sizeof python_names / sizeof *python_names; i++)
        if (str_is(name, python_names[i])) return true;
    return false;
}

bool python_builtin_is_missing(Str name, const char **instead) {
    static const char *const known[] = {"range", "min",      "max",        "len",      "int",
                                        "float", "print",    "isinstance", "hasattr",  "getattr",
                                        "list",  "__name__", "__file__",   "__debug__"};
    static const struct {
        const char *name;
        const char *instead;
    } replaced[] = {{"abs", "`tl.abs`"},
                    {"sum", "`tl.sum`, or `+`"},
                    {"pow", "`libdevice.pow`"},
                    {"round", "`libdevice.rint`"},
                    {"bool", "a comparison with 0"},
                    {"zip", "`tl.static_range` and subscripts"},
                    {"enumerate", "`tl.static_range` and subscripts"},
                    {"reversed", "`tl.static_range` and subscripts"},
                    {"tuple", "`(...)`"},
                    {"all", "`and`"},
                    {"any", "`or`"},
                    {"divmod", "`//` and `%`"},
                    {"type", "`isinstance`"}};
    *instead = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(name, known[i])) return false;
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (str_is(name, replaced[i].name)) *instead = replaced[i].instead;
    return true;
}
