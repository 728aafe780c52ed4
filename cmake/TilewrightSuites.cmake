# SPDX-License-Identifier: Apache-2.0
# tw_embed_suites(target): compiles shapes/*.csv into `target`, so that @grid1000 works wherever the
# program is installed. Each file becomes one raw string; problem/builtin_suites.h reads them.

function(tw_embed_suites target)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/shapes/*.csv")
  list(SORT files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  list(LENGTH files count)
  set(rows "")
  foreach(path IN LISTS files)
    get_filename_component(name "${path}" NAME_WE)
    file(READ "${path}" text)
    string(APPEND rows "    {\"${name}\", R\"csv(${text})csv\"},\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/builtin_suites.cc")
  set(content "// Generated from shapes/*.csv; edit those.
#include \"problem/builtin_suites.h\"

#include <array>

namespace tilewright {

std::span<const BuiltinSuite> builtin_suite_texts() {
  static constexpr std::array<BuiltinSuite, ${count}> kSuites = {{
${rows}  }};
  return kSuites;
}

}  // namespace tilewright
")
  file(CONFIGURE OUTPUT "${source}" CONTENT "@content@" @ONLY)  # rewrites only what changed
  target_sources(${target} PRIVATE "${source}")
endfunction()
