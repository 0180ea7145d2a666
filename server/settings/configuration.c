// Settings by table.
#include "server/settings/configuration.h"

#include <string.h>

#include "server/settings/settings.h"
#include "server/system/files.h"

typedef enum SettingType {
    SETTING_FLAG,
    SETTING_NUMBER,
    SETTING_TEXT,
    SETTING_NAMES,
    SETTING_LEVELS
} SettingType;

typedef struct SettingRow {
    const char *name;
    SettingType type;
    size_t field;
} SettingRow;

static const SettingRow rows[] = {
#define SETTING(id, name, type, field, missing, help)                                              \
    {name, SETTING_##type, offsetof(Configuration, field)},
#include "server/settings/settings.def"
#undef SETTING
};

#define DEFAULT_FLAG(field, missing) configuration->field = (missing);
#define DEFAULT_NUMBER(field, missing) configuration->field = (missing);
#define DEFAULT_TEXT(field, missing) configuration->field = (missing);
#define DEFAULT_NAMES(field, missing)
#define DEFAULT_LEVELS(field, missing)

static Configuration *defaults_new(Arena *arena) {
    Configuration *configuration = ARENA_NEW(arena, Configuration);
    configuration->arena = arena;
    configuration->whole = configuration;
    atomic_init(&configuration->count, 1);
#define SETTING(id, name, type, field, missing, help) DEFAULT_##type(field, missing)
#include "server/settings/settings.def"
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

/// {"tf32-dot": "off"} as `tf32-dot=off`.
static bool read_levels(Arena *arena, const Json *value, Names *names) {
    names->items = ARENA_ARRAY(arena, const char *, value->count + 1);
    for (int i = 0; i < value->count; i++) {
        if (value->items[i]->kind != JSON_STRING) return false;
        names->items[names->count++] = arena_printf(arena, "%.*s=%.*s", STR_ARGS(value->keys[i]),
                                                    STR_ARGS(value->items[i]->string));
    }
    return true;
}

static bool setting_read(Configuration *configuration, const SettingRow *row, const Json *value) {
    static const JsonKind kinds[] = {[SETTING_FLAG] = JSON_BOOL,
                                     [SETTING_NUMBER] = JSON_NUMBER,
                                     [SETTING_TEXT] = JSON_STRING,
                                     [SETTING_NAMES] = JSON_ARRAY,
                                     [SETTING_LEVELS] = JSON_OBJECT};
    void *field = (char *)configuration + row->field;
    if (value->kind != kinds[row->type]) return false;
    switch (row->type) {
    case SETTING_FLAG: *(bool *)field = value->number != 0; return true;
    case SETTING_NUMBER: *(double *)field = value->number; return value->number >= 0;
    case SETTING_TEXT:
        *(const char **)field = str_dup(configuration->arena, value->string);
        return true;
    case SETTING_NAMES: return read_names(configuration->arena, value, field);
    case SETTING_LEVELS: return read_levels(configuration->arena, value, field);
    }
    return false;
}

/// What is said of a setting that names a diagnostic or a level that there is not; the others of its names hold.
static Error names_wrong(const Configuration *configuration, const SettingRow *row, Arena *arena) {
    const void *field = (const char *)configuration + row->field;
    const char *where = arena_printf(arena, "the setting tad.%s", row->name);
    if (row->type == SETTING_NAMES) return names_refuse(arena, where, field);
    return row->type == SETTING_LEVELS ? levels_refuse(arena, where, field) : NULL;
}

static void settings_read(Configuration *configuration, const Json *section, const Json *fallback,
                          Arena *arena, Error *complaint) {
    configuration->section = section ? json_copy(configuration->arena, section) : NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Json *value = member(section, rows[i].name);
        if (!value) value = member(fallback, rows[i].name);
        if (!value || value->kind == JSON_NULL) continue;
        if (!setting_read(configuration, &rows[i], value)) {
            *complaint = arena_printf(arena, "the setting tad.%s has a value of another type: %s",
                                      rows[i].name, json_print(arena, value, false));
            continue;
        }
        Error error = names_wrong(configuration, &rows[i], arena);
        if (error) *complaint = error;
    }
}

Configuration *configuration_new(const Json *section, const Json *fallback, Arena *arena,
                                 Error *complaint) {
    Configuration *configuration = defaults_new(arena_new());
    *complaint = NULL;
    settings_read(configuration, section, fallback, arena, complaint);
    return configuration;
}

/// `./tools/runner` of a folder's settings, where there is such a program; commands of PATH stay what they are.
static const char *program_in(Arena *arena, const char *folder, const char *command) {
    if (*command == '/' || !strchr(command, '/')) return command;
    const char *path = path_normal(arena, path_join(arena, folder, command));
    return file_exists(path) ? path : command;
}

void configuration_add_folder(Configuration *whole, FolderSection folder, const Json *section,
                              const Json *fallback, Arena *arena, Error *complaint) {
    Configuration *own = defaults_new(whole->arena);
    own->whole = whole;
    own->folder = arena_strdup(whole->arena, folder.path);
    settings_read(own, folder.section ? folder.section : section, fallback, arena, complaint);
    own->runner = program_in(whole->arena, own->folder, own->runner);
    own->python = program_in(whole->arena, own->folder, own->python);
    LIST_PUSH(whole->arena, &whole->folders, own);
}

const Configuration *configuration_for(const Configuration *configuration, const char *path) {
    const Configuration *best = configuration->whole;
    size_t longest = 0;
    for (LIST_EACH(int, i, configuration->whole->folders)) {
        const Configuration *own = configuration->whole->folders.items[i];
        size_t size = strlen(own->folder);
        while (size > 1 && own->folder[size - 1] == '/') size--;
        bool holds = strncmp(path, own->folder, size) == 0 &&
                     (path[size] == '/' || path[size] == 0 || size == 1);
        if (!holds || size <= longest) continue;
        longest = size;
        best = own;
    }
    return best;
}

Names configuration_folders(const Configuration *configuration, Arena *arena) {
    const Configuration *whole = configuration->whole;
    Names names = {ARENA_ARRAY(arena, const char *, whole->folders.count + 1),
                   whole->folders.count};
    for (int i = 0; i < names.count; i++)
        names.items[i] = arena_strdup(arena, whole->folders.items[i]->folder);
    return names;
}

void configuration_distrust(Configuration *whole) {
    whole->trusted = false;
    for (LIST_EACH(int, i, whole->folders)) whole->folders.items[i]->trusted = false;
}

Configuration *configuration_retain(const Configuration *configuration) {
    Configuration *held = (Configuration *)(uintptr_t)configuration;
    if (held) atomic_fetch_add(&held->whole->count, 1);
    return held;
}

void configuration_release(const Configuration *configuration) {
    if (!configuration) return;
    Configuration *whole = configuration->whole;
    if (atomic_fetch_sub(&whole->count, 1) == 1) arena_free(whole->arena);
}
