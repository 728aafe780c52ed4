# SPDX-License-Identifier: Apache-2.0
# Libraries from the distribution. No network, no vendored trees (docs/adding-a-device.md says what
# each is for). Debian's spdlog and toml++ targets link shared libraries, so they are used as headers.
#
# TILEWRIGHT_PORTABLE: every library that is linked is an archive, so that a binary needs no more than
# glibc. The libraries that we are compared with are opened at run time in any case.
if(TILEWRIGHT_PORTABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
find_package(SQLiteCpp REQUIRED)

# Compile options every target of ours shares.
add_library(tw_options INTERFACE)
target_compile_features(tw_options INTERFACE cxx_std_20)
target_compile_options(tw_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  # GCC 12 warns falsely inside std::string::replace (gcc.gnu.org/PR105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${TILEWRIGHT_WERROR}>:-Werror>)
if(TILEWRIGHT_SANITIZE)
  target_compile_options(tw_options INTERFACE
    -fsanitize=${TILEWRIGHT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # What these find AddressSanitizer reports as well, and they take half of the compile time.
    $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=null,vptr,object-size>)
  target_link_options(tw_options INTERFACE -fsanitize=${TILEWRIGHT_SANITIZE})
endif()
if(TILEWRIGHT_PORTABLE)
  target_link_options(tw_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
# Debian has no archive of fmt; as headers it doubles the time that most files take to compile.
target_link_libraries(tw_options INTERFACE
  $<IF:$<BOOL:${TILEWRIGHT_PORTABLE}>,fmt::fmt-header-only,fmt::fmt> tl::expected)
