# SPDX-License-Identifier: Apache-2.0
# tw_cpu_kernels(name): the library of the kernels of src/runtime/cpu/catalogue.txt, each compiled
# for its instruction set whatever this machine is. `tilewright-cpu-catalogue` writes their sources.
#
# With sanitizers only the plain kernels (isa=scalar) are instrumented: the others share their
# templates, and instrumented copies would take most of the build's time.

# What a generated kernel is compiled with; the catalogue program compares them with its own.
set(tw_cpu_common_flags -O2 -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns)
set(tw_cpu_flags_scalar ${tw_cpu_common_flags})
set(tw_cpu_flags_avx2 ${tw_cpu_common_flags} -mavx2 -mfma -mf16c)
set(tw_cpu_flags_avx512 ${tw_cpu_flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(tw_cpu_flags_avx512bf16 ${tw_cpu_flags_avx512} -mavx512bf16)

function(tw_cpu_kernels name)
  set(catalogue "${PROJECT_SOURCE_DIR}/src/runtime/cpu/catalogue.txt")
  set(folder "${PROJECT_BINARY_DIR}/cpu_kernels")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${catalogue}")
  set(isas scalar)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(APPEND isas avx2 avx512 avx512bf16)
  endif()
  set(arguments "")
  foreach(isa IN LISTS isas)
    list(JOIN tw_cpu_flags_${isa} "," flags)
    list(APPEND arguments "${isa}=${flags}")
  endforeach()
  file(STRINGS "${catalogue}" lines REGEX "^[^#]")
  set(outputs "${folder}/table.cc")
  set(index 0)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^.* isa=([a-z0-9]+) .*$" "\\1" isa "${line}")
    set(file "${folder}/kernel_${index}.cc")
    set(options "${tw_cpu_flags_${isa}}")
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # which alone knows it; here a kernel may call memset
      list(REMOVE_ITEM options -fno-tree-loop-distribute-patterns)
    endif()
    if(isa STREQUAL "scalar" AND TILEWRIGHT_SANITIZE)
      list(APPEND options -fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all)
    endif()
    set_source_files_properties("${file}" PROPERTIES COMPILE_OPTIONS "${options}")
    list(APPEND outputs "${file}")
    math(EXPR index "${index} + 1")
  endforeach()
  add_custom_command(OUTPUT ${outputs}
    COMMAND tilewright-cpu-catalogue "${catalogue}" "${folder}" ${arguments}
    DEPENDS tilewright-cpu-catalogue "${catalogue}"
    COMMENT "Writing the CPU kernels of the runtime library" VERBATIM)
  add_library(${name} STATIC ${outputs})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE -Wall -Wextra $<$<BOOL:${TILEWRIGHT_WERROR}>:-Werror>)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE tl::expected)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden)
endfunction()
