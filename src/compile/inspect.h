// SPDX-License-Identifier: Apache-2.0
// What a compiled kernel is refused for before anyone loads it.
//
// A kernel is arithmetic: called twice with the same operands it must do the same work twice. An
// object that has memory of its own could answer the second call from it; one that runs code when
// it is loaded could act before the runner has locked itself; one that imports a function could let
// a vendor library do the work. All three are visible in the file. The first is judged by what the
// loader maps writable, not by section or symbol names, which a candidate may choose as it likes.
#pragma once

#include "base/outcome.h"

#include <cstdint>
#include <string_view>

namespace tilewright {

struct Inspection {
  // ok, or `cheat` by writable-state, constructor or imports, or `compile_error` by `object`
  // (not a shared object at all) or `no-symbol` (the launch names a function that is not there).
  Finding finding;
  std::int64_t text_bytes = 0;  // size of the section .text
};

// `strict` off leaves only the checks that the object is one and exports `symbol`.
[[nodiscard]] Inspection inspect(std::string_view object, std::string_view symbol, bool strict);

}  // namespace tilewright
