// SPDX-License-Identifier: Apache-2.0
// Operands for a runner that works alone (main.cc, --script): plain memory of its own context.
//
// A profiler replays a kernel and puts back what it wrote before each pass, which it does reliably
// for plain allocations; memory that another process shares is not for that.
#pragma once

#include "base/element.h"
#include "device/cuda/context.h"

namespace tilewright::runner {

// `bytes` of device memory that hold normal random numbers of this type all over: what runs on
// zeros draws less power and runs at a higher clock than on data.
[[nodiscard]] Result<cuda::Buffer> random_operands(const cuda::Context& context,
                                                   cuda::Stream stream, std::int64_t bytes,
                                                   ElementType type);

}  // namespace tilewright::runner
