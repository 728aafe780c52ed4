// SPDX-License-Identifier: Apache-2.0
// Asking a library a question without letting it in: the question runs in a forked child.
//
// Loading OpenBLAS starts threads, reads the environment once and for all, and on a processor it
// misjudges may even crash. None of that may happen to the tuner itself, so it learns what is
// installed from a child that answers with a text and exits.
#pragma once

#include "base/error.h"

#include <chrono>
#include <functional>
#include <string>

namespace tilewright {

// The text that `question` returns, evaluated in a child of ours. An Error if the child died,
// overran `limit`, or wrote nothing.
[[nodiscard]] Result<std::string> ask_in_child(
    const std::function<std::string()>& question,
    std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace tilewright
