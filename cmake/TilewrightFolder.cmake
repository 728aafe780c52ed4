# SPDX-License-Identifier: Apache-2.0
# tw_folder(name [LIBRARIES ...]): the static library tw_<name> of src/<name>/*.cc, linked to exactly
# the folders that its row in src/README.md lists. The table is the only statement of the edges:
# the layer test reads the same one.
#
# Sources are globbed on purpose: a folder is its files. CONFIGURE_DEPENDS notices new ones.

function(tw_edges folder out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               "${PROJECT_SOURCE_DIR}/src/README.md")
  file(STRINGS "${PROJECT_SOURCE_DIR}/src/README.md" rows REGEX "^\\| ${folder} \\|")
  list(LENGTH rows count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "src/README.md has ${count} rows for the folder '${folder}', not one")
  endif()
  string(REGEX REPLACE "^\\| ${folder} \\|(.*)\\|[ ]*$" "\\1" row "${rows}")
  string(STRIP "${row}" row)
  string(REPLACE " " ";" row "${row}")
  set(${out} "${row}" PARENT_SCOPE)
endfunction()

function(tw_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES")
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cc"
       "${PROJECT_SOURCE_DIR}/src/${name}/cpu/*.cc" "${PROJECT_SOURCE_DIR}/src/${name}/cuda/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")  # the program's, not the library's
  tw_edges(${name} edges)
  list(TRANSFORM edges PREPEND tw_)
  if(NOT sources)  # headers only
    add_library(tw_${name} INTERFACE)
    target_include_directories(tw_${name} INTERFACE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(tw_${name} INTERFACE tw_options ${edges})
    return()
  endif()
  add_library(tw_${name} STATIC ${sources})
  target_include_directories(tw_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(tw_${name} PUBLIC tw_options ${edges} PRIVATE ${arg_LIBRARIES})
  set_target_properties(tw_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
