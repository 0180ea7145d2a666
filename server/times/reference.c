// The user's line or file, for a Python with PyTorch; and its times in words.
#include "server/times/reference.h"

#include <stdlib.h>
#include <string.h>

#include "server/system/files.h"
#include "server/system/target.h"

static Json *problem_json(Arena *arena, const char *problem) {
    Json *json = json_object(arena);
    json_set_string(json, "problem", problem);
    return json;
}

Json *reference_of(Arena *arena, const char *given, Str comment, const char *kernel) {
    static const char mark[] = "# tad reference:";
    if (!given) return NULL;
    Json *json = json_object(arena);
    if (strcmp(given, "lines") != 0) {
        CommandTarget target = target_of(arena, given);
        json_set_string(json, "file", path_real(arena, target.path));
        json_set_string(json, "function", target.kernel ? target.kernel : kernel);
        return json;
    }
    const char *text = str_dup(arena, comment), *at = strstr(text, mark);
    if (!at) return problem_json(arena, "no line `# tad reference: ...` stands above the kernel");
    at += sizeof mark - 1;
    json_set(json, "expression", json_str(arena, str_trim((Str){at, strcspn(at, "\n")})));
    return json;
}

static void put_direction(Buffer *out, const char *name, const Json *reference, const Json *own) {
    double time = json_get_number(reference, "median_ms", 0),
           ours = json_get_number(own, "median_ms", 0);
    if (time <= 0) return;
    buffer_printf(out, "%s%.4g ms %s", *name == 'f' ? " " : ", ", time, name);
    if (ours > 0) buffer_printf(out, " (%.2fx as long)", time / ours);
}

static void put_kind(Buffer *out, const char *before, const char *label, const Json *reference,
                     const char *key, const Json *result) {
    const Json *kind = json_get(reference, key);
    const char *problem = json_get_string(kind, "problem", NULL);
    if (!kind) return;
    buffer_printf(out, "%s%s:", before, label);
    if (problem) buffer_printf(out, " %s", problem);
    put_direction(out, "forward", json_get(kind, "forward"), json_get(result, "forward"));
    put_direction(out, "backward", json_get(kind, "backward"), json_get(result, "backward"));
    const char *alone = json_get_string(kind, "no_backward", NULL);
    if (alone) buffer_printf(out, ", no backward: %s", alone);
    buffer_putc(out, '\n');
}

const char *reference_text(Arena *arena, const Json *result, const char *before) {
    const Json *reference = json_get(result, "reference");
    Buffer out = buffer_new(arena);
    if (!reference) return "";
    const char *problem = json_get_string(reference, "problem", NULL),
               *words = json_get_string(reference, "compared", NULL);
    if (problem) {
        buffer_printf(&out, "%sno reference: %s\n", before, problem);
        return buffer_text(&out);
    }
    const char *torch = json_get_string(reference, "torch", "?");
    put_kind(&out, before, arena_printf(arena, "PyTorch %s, eager", torch), reference, "eager",
             result);
    put_kind(&out, before, "torch.compile", reference, "compile", result);
    if (words) buffer_printf(&out, "%sthe reference: %s\n", before, words);
    return buffer_text(&out);
}
