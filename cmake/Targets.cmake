# How a folder becomes a library, a main file a program, a file under tests/unit a test. Folders that
# are still empty become empty libraries, so that the rest builds.

set(TAD_FLAGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wformat=2 -Wvla -Wundef -Wcast-qual)
if(TAD_WERROR)
    list(APPEND TAD_FLAGS -Werror)
endif()
if(TAD_SANITIZE)
    list(APPEND TAD_FLAGS -fsanitize=${TAD_SANITIZE} -fno-sanitize-recover=all
         -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TAD_SANITIZE})
endif()

# Ours: the flags, and includes written from the root of the repository ("analysis/ir.h").
function(tad_own target)
    target_compile_options(${target} PRIVATE ${TAD_FLAGS})
    target_compile_definitions(${target} PRIVATE _DEFAULT_SOURCE _POSIX_C_SOURCE=200809L
                               TAD_VERSION="${PROJECT_VERSION}")
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE m)
endfunction()

# tad_library(NAME FOLDER [PUBLIC libraries...] [PRIVATE libraries...]): all of FOLDER but its main.c.
function(tad_library name folder)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "PUBLIC;PRIVATE")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.c)
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${folder}/main.c)
    if(sources)
        add_library(${name} STATIC ${sources})
        tad_own(${name})
        target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    else()
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE ${arg_PUBLIC})
    endif()
    set_property(GLOBAL PROPERTY TAD_LIBRARY_OF_${folder} ${name})
endfunction()

# tad_program(NAME MAIN LIBRARY): finds shared libraries beside itself, so it can be copied with them.
function(tad_program name main library)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${main})
    if(NOT sources)
        return()
    endif()
    add_executable(${name} ${sources})
    tad_own(${name})
    target_link_libraries(${name} PRIVATE ${library})
    set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
    install(TARGETS ${name} RUNTIME DESTINATION .)
endfunction()

# The libraries of the folders which SOURCE includes from.
function(tad_libraries_of result source)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} includes REGEX "^#include \"[a-z-]+/")
    set(libraries)
    foreach(include ${includes})
        string(REGEX REPLACE "^#include \"([a-z-]+)/.*" "\\1" folder "${include}")
        get_property(library GLOBAL PROPERTY TAD_LIBRARY_OF_${folder})
        list(APPEND libraries ${library})
    endforeach()
    list(REMOVE_DUPLICATES libraries)
    set(${result} ${libraries} PARENT_SCOPE)
endfunction()

# One file under tests/unit, one test program.
function(tad_unit_tests)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        tad_libraries_of(libraries ${source})
        add_executable(unit-${name} ${source})
        tad_own(unit-${name})
        target_link_libraries(unit-${name} PRIVATE ${libraries})
        set_target_properties(unit-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                              ${CMAKE_BINARY_DIR}/unit)
        add_test(NAME ${name} COMMAND unit-${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
        set_tests_properties(${name} PROPERTIES TIMEOUT 300)
    endforeach()
endfunction()

# One file under tests/fuzz, one libFuzzer program.
function(tad_fuzz_targets)
    if(NOT TAD_FUZZ)
        return()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        tad_libraries_of(libraries ${source})
        add_executable(fuzz-${name} ${source})
        tad_own(fuzz-${name})
        target_link_libraries(fuzz-${name} PRIVATE ${libraries})
        target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
    endforeach()
endfunction()

# One file in bench, one program, `bench-NAME`; built when asked for.
function(tad_bench_programs)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.c)
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        tad_libraries_of(libraries ${source})
        add_executable(bench-${name} EXCLUDE_FROM_ALL ${source})
        tad_own(bench-${name})
        target_link_libraries(bench-${name} PRIVATE ${libraries})
    endforeach()
endfunction()
