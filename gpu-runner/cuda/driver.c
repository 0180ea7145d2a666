// The rows of driver.def as pointers to functions, and as sentences.
#include "gpu-runner/cuda/driver.h"

static const struct {
    int code;
    const char *text;
    bool is_lost;
} faults[] = {
#define CALL(field, symbol, ...)
#define FAULT(code, text) {code, text, false},
#define LOST(code, text) {code, text, true},
#include "gpu-runner/cuda/driver.def"
#undef CALL
#undef FAULT
#undef LOST
};

bool driver_is_lost(int code) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].code == code) return faults[i].is_lost;
    return false;
}

Error driver_error(Arena *arena, const Driver *driver, int code, const char *tried) {
    if (code == 0) return NULL;
    const char *name = NULL, *meaning = NULL;
    if (driver->error_name && code != DRIVER_TOO_LONG) driver->error_name(code, &name);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].code == code) meaning = faults[i].text;
    if (code == DRIVER_TOO_LONG) return arena_printf(arena, "%s: %s", tried, meaning);
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
#define LOST(code, text)
#include "gpu-runner/cuda/driver.def"
#undef CALL
#undef FAULT
#undef LOST
    return error ? error : driver_error(arena, driver, driver->initialise(0), "the driver's start");
}
