// SPDX-License-Identifier: Apache-2.0
// What the kernels of the fake driver do: products in f64, and copies, on host memory.
#pragma once

#include "driver/fake_state.h"

#include <functional>

namespace tilewright {

// A map as this driver encodes it.
struct EncodedMap {
  std::uint64_t address, columns, rows, batch, row_bytes, batch_bytes;
};

using Values = std::map<std::string, std::uint64_t>;

using Faults = std::function<void(const std::string&)>;

// What a generated kernel would compute. `values` are its arguments by their words.
[[nodiscard]] cuda::Code product(const FakeCubin& cubin, Values values,
                                 const std::map<std::string, EncodedMap>& maps, unsigned grid_z,
                                 const Faults& fault);
// What tw_repack does: `values` are its arguments in order. The rest of the copies' rows is junk.
[[nodiscard]] cuda::Code repack(const std::vector<std::uint64_t>& values);

}  // namespace tilewright
