// SPDX-License-Identifier: Apache-2.0
// The built-in rule: which of the kernels that serve any product to take where nothing was tuned,
// and whether the vendor's library is better still. Pure; its constants are explained in rule.cc.
#pragma once

#include "device/device.h"
#include "runtime/cuda/shelf.h"

namespace tilewright::runtime {

// What the rule expects of a kernel on a device with cold operands and so many bytes of workspace,
// to compare kernels by.
[[nodiscard]] double expected_seconds(const ShelfKernel& kernel, const Call& call,
                                      const Device& device, std::int64_t workspace);

// Whether an untuned call is left to the vendor's library, if there is one and it may be used.
[[nodiscard]] bool vendor_is_faster(const Call& call, const Device& device);

}  // namespace tilewright::runtime
