// SPDX-License-Identifier: Apache-2.0
// The built-in rule: which of the kernels that serve any product to take where nothing was tuned,
// and whether the vendor's library is better still. Pure; the constants are explained in rule.cc
// and vendor_rule.cc.
#pragma once

#include "device/device.h"
#include "runtime/cuda/shelf.h"

namespace tilewright::runtime {

// What the rule expects of a kernel on a device with cold operands and so many bytes of workspace,
// to compare kernels by.
[[nodiscard]] double expected_seconds(const ShelfKernel& kernel, const Call& call,
                                      const Device& device, std::int64_t workspace);

// Whether the vendor's library, if there is one and it may be used, is expected to be clearly
// faster than `ours` seconds, which are expected of the best kernel here.
[[nodiscard]] bool vendor_is_faster(const Call& call, const Device& device, double ours);

}  // namespace tilewright::runtime
