// SPDX-License-Identifier: Apache-2.0
// An algorithm of cublasLt as text that gives back the very same one.
//
// The library's struct is opaque: its knobs (algo_config.h) may not be all that it holds. So the
// bytes are kept, and with them whose they are, for another version or device reads them otherwise.
#pragma once

#include "vendor/cublas_api.h"

#include <string>
#include <string_view>

namespace tilewright::vendor {

// `stamp` names library and device: "cublasLt 13.1.0 sm_90x132 00000000000000420000...".
[[nodiscard]] std::string exact_text(const LtAlgo& algo, std::string_view stamp);
// An Error, in words for a record, where `text` has another stamp or is none.
[[nodiscard]] Result<LtAlgo> algo_from_exact(std::string_view text, std::string_view stamp);

}  // namespace tilewright::vendor
