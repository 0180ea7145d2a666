# What others wrote: tad::json-c, tad::uv from the system (opened at run time: libcurl, server/network/http.c; SQLite,
# server/retrieval/sqlite.c); tad::tree-sitter (runtime and
# grammars, compiled here) from npm packages. All are SYSTEM: our warnings are not asked of them.
include(FindPkgConfig)
find_package(Threads REQUIRED)

# tad_system_library(NAME PKG_CONFIG_MODULE [ARCHIVE file] [SONAME file]): the static archive where the
# system ships it (Debian and Ubuntu do), so that a program carries what it runs; else the shared library,
# of which `cmake --install` puts a copy under its SONAME beside the programs.
function(tad_system_library name module)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "ARCHIVE;SONAME" "")
    add_library(tad-${name} INTERFACE)
    add_library(tad::${name} ALIAS tad-${name})
    pkg_check_modules(${name} REQUIRED ${module})
    target_include_directories(tad-${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
    if(arg_ARCHIVE)
        find_library(${name}_ARCHIVE NAMES ${arg_ARCHIVE} HINTS ${${name}_LIBDIR})
    endif()
    if(${name}_ARCHIVE)
        target_link_libraries(tad-${name} INTERFACE ${${name}_ARCHIVE} Threads::Threads
                              ${CMAKE_DL_LIBS})
        return()
    endif()
    target_link_libraries(tad-${name} INTERFACE ${${name}_LINK_LIBRARIES})
    if(arg_SONAME)
        list(GET ${name}_LINK_LIBRARIES 0 library)
        get_filename_component(folder ${library} DIRECTORY)
        file(REAL_PATH ${folder}/${arg_SONAME} file)
        install(FILES ${file} DESTINATION . RENAME ${arg_SONAME})
        set_property(GLOBAL PROPERTY TAD_LIBRARIES_BESIDE TRUE)
    endif()
endfunction()

tad_system_library(json-c json-c ARCHIVE libjson-c.a SONAME libjson-c.so.5)
tad_system_library(uv libuv ARCHIVE libuv_a.a)

set(MODULES ${CMAKE_SOURCE_DIR}/node_modules)
set(TREE_SITTER ${MODULES}/tree-sitter/vendor/tree-sitter/lib)
set(GRAMMARS ${MODULES}/tree-sitter-python ${MODULES}/@tree-sitter-grammars/tree-sitter-toml)
foreach(folder ${TREE_SITTER} ${GRAMMARS})
    if(NOT EXISTS ${folder}/src)
        message(FATAL_ERROR "The parser sources are missing (${folder}). Run `make build`, or "
                            "`tools/setup build`, which installs them with npm.")
    endif()
endforeach()

add_library(tree-sitter STATIC ${TREE_SITTER}/src/lib.c)
add_library(tad::tree-sitter ALIAS tree-sitter)
target_include_directories(tree-sitter PRIVATE ${TREE_SITTER}/src)
target_include_directories(tree-sitter SYSTEM PUBLIC ${TREE_SITTER}/include)
target_compile_definitions(tree-sitter PRIVATE _DEFAULT_SOURCE _POSIX_C_SOURCE=200809L)
foreach(grammar ${GRAMMARS})
    get_filename_component(name ${grammar} NAME)
    add_library(${name} OBJECT ${grammar}/src/parser.c ${grammar}/src/scanner.c)
    target_include_directories(${name} PRIVATE ${grammar}/src)
    target_compile_options(${name} PRIVATE -w)
    target_sources(tree-sitter PRIVATE $<TARGET_OBJECTS:${name}>)
endforeach()
target_compile_options(tree-sitter PRIVATE -w)
if(TAD_SANITIZE)
    # The runtime is checked with the rest; the grammars are tables, slow to compile with checks.
    target_compile_options(tree-sitter PRIVATE -fsanitize=${TAD_SANITIZE})
endif()
