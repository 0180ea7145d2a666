// The rows of driver.def as pointers to functions, and as sentences.
#include "gpu-runner/cuda/driver.h"

Error driver_error(Arena *arena, const Driver *driver, int code, const char *tried) {
    static const struct {
        int code;
        const char *text;
    } faults[] = {
#define CALL(field, symbol, ...)
#define FAULT(code, text) {code, text},
#include "gpu-runner/cuda/driver.def"
#undef CALL
#undef FAULT
    };
    if (code == 0) return NULL;
    const char *name = NULL, *meaning = NULL;
    if (driver->error_name) driver->error_name(code, &name);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].code == code) meaning = faults[i].text;
    return arena_printf(arena, "%s: %s (%s, %d)", tried, meaning ? meaning : "the driver refuses",
                        name ? name : "code", code);
}

Error driver_open(Arena *arena, Driver *driver) {
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    Error error = NULL;
    void *library = library_open(arena, "TAD_LIBCUDA", names, &error);
    if (!library) return error;
#define CALL(field, symbol, ...)                                                                   \
    if (!error) error = library_function(arena, library, symbol, &driver->field);
#define FAULT(code, text)
#include "gpu-runner/cuda/driver.def"
#undef CALL
#undef FAULT
    return error ? error : driver_error(arena, driver, driver->initialise(0), "the driver's start");
}
