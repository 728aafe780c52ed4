# SPDX-License-Identifier: Apache-2.0
# tw_embed(target symbol BASE dir FILES ...): compiles text files into `target` as
#
#   std::span<const tilewright::EmbeddedFile> symbol();   // base/embedded.h, declared by the user
#
# each with its name relative to BASE, in the given order. Long texts are cut into pieces, since
# compilers limit one string literal to 64 KiB.
function(tw_embed target symbol)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "BASE" "FILES")
  set(output "${PROJECT_BINARY_DIR}/embedded/${symbol}.cc")
  set(entries "")
  foreach(file IN LISTS arg_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" content)
    file(RELATIVE_PATH name "${arg_BASE}" "${file}")
    set(pieces "")
    string(LENGTH "${content}" length)
    set(at 0)
    while(at LESS length)
      string(SUBSTRING "${content}" ${at} 16000 piece)
      string(APPEND pieces "R\"tw_embed(${piece})tw_embed\"\n")
      math(EXPR at "${at} + 16000")
    endwhile()
    string(APPEND entries "    {\"${name}\", ${pieces}\"\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" CONTENT
"// Generated from the files it names; see cmake/TilewrightEmbed.cmake.
#include \"base/embedded.h\"

#include <span>

namespace tilewright {
std::span<const EmbeddedFile> @symbol@();
std::span<const EmbeddedFile> @symbol@() {
  static constexpr EmbeddedFile kFiles[] = {
@entries@  };
  return kFiles;
}
}  // namespace tilewright
" @ONLY)
  target_sources(${target} PRIVATE "${output}")
endfunction()
