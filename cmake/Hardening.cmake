# What the compiler and the linker add against memory errors in a program that reads strangers' texts, for
# our code and for what is compiled in. Sanitized builds have their own checks and go without.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

if(TAD_SANITIZE)
    return()
endif()

check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
add_compile_options(-fstack-protector-strong)

# A shadow stack asks nothing of code that calls and returns as C does, so that archives which were built without a word
# about it may be linked in. Marks of jumps (IBT) are lost with the first such archive: jumps into it have none.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    check_linker_flag(C -Wl,-z,shstk TAD_HAS_SHSTK)
    if(TAD_HAS_SHSTK)
        add_link_options(-Wl,-z,shstk)
    endif()
endif()

foreach(flag -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "TAD_HAS${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
        add_compile_options(${flag})
    endif()
endforeach()

# Level 3 also checks sizes that are known only when the program runs. It needs optimized code.
set(TAD_FORTIFY 2)
set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -Werror")
check_c_source_compiles("
#include <features.h>
#if __USE_FORTIFY_LEVEL < 3
#error none
#endif
int main(void) { return 0; }" TAD_HAS_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
if(TAD_HAS_FORTIFY_3)
    set(TAD_FORTIFY 3)
endif()
add_compile_options("$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=${TAD_FORTIFY}>")
