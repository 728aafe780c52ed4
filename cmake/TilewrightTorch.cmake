# SPDX-License-Identifier: Apache-2.0
# LibTorch, for training the language model (src/learn/torch). Optional: without it everything else
# is built, and the configure log says why the model is not. TILEWRIGHT_TORCH tells whether it is.
#
# Debian's libtorch-dev is CPU only. For CUDA point CMAKE_PREFIX_PATH at what
#   python3 -c "import torch; print(torch.utils.cmake_prefix_path)"
# prints. Its package sets many variables; the function keeps them to itself.
function(tw_find_torch out)
  set(${out} OFF PARENT_SCOPE)
  if(TILEWRIGHT_SANITIZE OR TILEWRIGHT_PORTABLE OR TILEWRIGHT_FUZZ)
    message(STATUS "LibTorch: not used with sanitizers or in a portable build; no training here")
    return()
  endif()
  find_package(Torch QUIET)
  if(NOT Torch_FOUND)
    message(STATUS "LibTorch: not found; no training here (Debian: libtorch-dev)")
    return()
  endif()
  # What libraries of the distribution are built with; the other ABI cannot be linked with them.
  if(TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    message(STATUS "LibTorch: ${Torch_DIR} has the old C++ ABI; no training here")
    return()
  endif()
  message(STATUS "LibTorch: ${Torch_DIR}")
  add_library(tw_torch INTERFACE)
  target_link_libraries(tw_torch INTERFACE ${TORCH_LIBRARIES} ${CMAKE_DL_LIBS})
  # PyTorch's headers hold an fmt of their own, which would hide the one that all else is built with.
  find_path(TILEWRIGHT_FMT_HEADERS fmt/format.h REQUIRED)
  set(first "${CMAKE_CURRENT_BINARY_DIR}/before-torch")
  file(MAKE_DIRECTORY "${first}")
  file(CREATE_LINK "${TILEWRIGHT_FMT_HEADERS}/fmt" "${first}/fmt" SYMBOLIC)
  target_include_directories(tw_torch SYSTEM INTERFACE "${first}" ${TORCH_INCLUDE_DIRS})
  separate_arguments(flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(tw_torch INTERFACE ${flags})
  set(${out} ON PARENT_SCOPE)
endfunction()
tw_find_torch(TILEWRIGHT_TORCH)
