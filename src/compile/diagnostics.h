// SPDX-License-Identifier: Apache-2.0
// What a compiler printed, for people and for the record.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

// Printable ASCII with line ends and tabs; anything else, such as bytes of the candidate that the
// compiler quotes, becomes `?`. Findings end up in JSON, where stray bytes would not be accepted.
[[nodiscard]] std::string plain(std::string_view text);

// The first lines that report an error (else the last ones), joined by `; `.
[[nodiscard]] std::string first_errors(std::string_view log);

// Why the compiler gave up: `memory`, `disk`, `output-size`, or `compiler` for a fault of the text.
[[nodiscard]] std::string_view failure_rule(std::string_view log);

}  // namespace tilewright
