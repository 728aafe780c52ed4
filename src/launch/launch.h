// SPDX-License-Identifier: Apache-2.0
// The declarative launch: all that a host must know to call a kernel, as data.
//
// It travels as a small JSON file beside the source or binary, so a kernel that a person or a
// language model wrote enters by the same door as a generated one. There is no host code in a
// candidate. For a CPU: which symbol, how many threads, how much workspace.
#pragma once

#include "base/error.h"
#include "launch/expr.h"
#include "problem/problem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

struct Launch {
  std::string target = "cpu";        // "cpu" now; "cuda" comes with its backend
  std::string symbol = "tw_kernel";  // extern "C", of type tw_cpu_gemm_fn (cpu_abi.h)
  int threads = 1;
  std::string workspace = "0";  // bytes, an expression (expr.h)
  // Set when the kernel serves these sizes only (sizes=static).
  std::optional<std::int64_t> m, n, k;
  friend bool operator==(const Launch&, const Launch&) = default;
};

[[nodiscard]] std::string to_json(const Launch& launch);
[[nodiscard]] Result<Launch> launch_from_json(std::string_view text);

// Workspace bytes for a problem, or why this launch cannot serve it.
[[nodiscard]] Result<std::int64_t> workspace_bytes(const Launch& launch, const Problem& problem);

}  // namespace tilewright
