// SPDX-License-Identifier: Apache-2.0
// What a runner could not do: the word and text of Reply::failure and ::detail.
#pragma once

#include <tl/expected.hpp>

#include <string>

namespace tilewright::runner {

struct Failure {
  std::string word;  // of kFailures (execute/failures.cc)
  std::string detail;
};
using Done = tl::expected<void, Failure>;

}  // namespace tilewright::runner
