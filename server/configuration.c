// Settings by table.
#include "server/configuration.h"

#include <string.h>

typedef enum SettingType { SETTING_FLAG, SETTING_NUMBER, SETTING_TEXT, SETTING_NAMES } SettingType;

typedef struct SettingRow {
    const char *name;
    SettingType type;
    size_t field;
} SettingRow;

static const SettingRow rows[] = {
#define SETTING(id, name, type, field, missing, help)                                              \
    {name, SETTING_##type, offsetof(Configuration, field)},
#include "server/settings.def"
#undef SETTING
};

#define DEFAULT_FLAG(field, missing) configuration->field = (missing);
#define DEFAULT_NUMBER(field, missing) configuration->field = (missing);
#define DEFAULT_TEXT(field, missing) configuration->field = (missing);
#define DEFAULT_NAMES(field, missing)

static Configuration *defaults_new(void) {
    Arena *arena = arena_new();
    Configuration *configuration = ARENA_NEW(arena, Configuration);
    configuration->arena = arena;
    atomic_init(&configuration->count, 1);
#define SETTING(id, name, type, field, missing, help) DEFAULT_##type(field, missing)
#include "server/settings.def"
#undef SETTING
    return configuration;
}

/// The member `a.b` of {"a": {"b": ...}} or of {"a.b": ...}.
static const Json *member(const Json *section, const char *name) {
    const Json *value = json_get(section, name);
    const char *dot = strchr(name, '.');
    for (int i = 0; !value && dot && section && section->kind == JSON_OBJECT && i < section->count;
         i++) {
        Str key = section->keys[i];
        if (key.size == (size_t)(dot - name) && memcmp(key.data, name, key.size) == 0)
            return member(section->items[i], dot + 1);
    }
    return value;
}

static bool read_names(Arena *arena, const Json *value, Names *names) {
    if (value->kind != JSON_ARRAY) return false;
    names->items = ARENA_ARRAY(arena, const char *, value->count + 1);
    for (int i = 0; i < value->count; i++) {
        if (value->items[i]->kind != JSON_STRING) return false;
        names->items[names->count++] = str_dup(arena, value->items[i]->string);
    }
    return true;
}

static bool setting_read(Configuration *configuration, const SettingRow *row, const Json *value) {
    static const JsonKind kinds[] = {[SETTING_FLAG] = JSON_BOOL,
                                     [SETTING_NUMBER] = JSON_NUMBER,
                                     [SETTING_TEXT] = JSON_STRING,
                                     [SETTING_NAMES] = JSON_ARRAY};
    void *field = (char *)configuration + row->field;
    if (value->kind != kinds[row->type]) return false;
    switch (row->type) {
    case SETTING_FLAG: *(bool *)field = value->number != 0; return true;
    case SETTING_NUMBER: *(double *)field = value->number; return value->number >= 0;
    case SETTING_TEXT:
        *(const char **)field = str_dup(configuration->arena, value->string);
        return true;
    case SETTING_NAMES: return read_names(configuration->arena, value, field);
    }
    return false;
}

Configuration *configuration_new(const Json *section, const Json *fallback, Arena *arena,
                                 Error *complaint) {
    Configuration *configuration = defaults_new();
    *complaint = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Json *value = member(section, rows[i].name);
        if (!value) value = member(fallback, rows[i].name);
        if (!value || value->kind == JSON_NULL) continue;
        if (!setting_read(configuration, &rows[i], value))
            *complaint = arena_printf(arena, "the setting tad.%s has a value of another type: %s",
                                      rows[i].name, json_print(arena, value, false));
    }
    return configuration;
}

Configuration *configuration_retain(Configuration *configuration) {
    if (configuration) atomic_fetch_add(&configuration->count, 1);
    return configuration;
}

void configuration_release(Configuration *configuration) {
    if (configuration && atomic_fetch_sub(&configuration->count, 1) == 1)
        arena_free(configuration->arena);
}
