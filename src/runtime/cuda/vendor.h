// SPDX-License-Identifier: Apache-2.0
// cublasLt as a fallback: opened once it is wanted, its first suggestion taken at prepare. It has
// no part in results that must be the same everywhere, and none with a bias or an activation: its
// gelu is the tanh form, and its bias would be rounded with ours only by luck. Nor has it where C
// is of 16 bits and added to: some of its kernels round the product before they add beta C
// (cublasLt 13.1 on an H200: 5 of 63 random products were off by up to 4 units in the last place),
// and a product of this library is rounded once.
#pragma once

#include "runtime/call.h"
#include "vendor/lt_matmul.h"

#include <memory>
#include <string>

namespace tilewright::runtime {

// One product, and how it will be computed. Thread-safe.
class VendorCall {
 public:
  // Bytes by which all addresses must be divisible: more than that no load of a kernel asks for.
  static constexpr std::uint32_t kAddressAlignment = 16;

  VendorCall(vendor::LtMatmul matmul, const vendor::LtHeuristic& chosen, std::string text)
      : matmul_(std::move(matmul)), chosen_(chosen), text_(std::move(text)) {}
  // Whether the sum with beta C is rounded once, too.
  [[nodiscard]] static bool rounds_once(const Call& call) { return size_of(call.out) > 2; }
  [[nodiscard]] std::int64_t workspace_bytes() const {
    return static_cast<std::int64_t>(chosen_.workspace);
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Status run(const Operands& operands, cuda::Pointer workspace,
                           cuda::Stream stream) const;

 private:
  vendor::LtMatmul matmul_;
  vendor::LtHeuristic chosen_;
  std::string text_;  // "algo=66 tile=..."
};

class Vendor {
 public:
  // The context must be current.
  [[nodiscard]] static Result<std::unique_ptr<Vendor>> open();
  ~Vendor();
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;
  // `workspace`: the most bytes that there will be.
  [[nodiscard]] Result<std::shared_ptr<const VendorCall>> choose(const Call& call,
                                                                 std::int64_t workspace) const;
  [[nodiscard]] const std::string& version() const { return library_->version; }

 private:
  Vendor(const vendor::CublasLt& library, vendor::LtHandle handle)
      : library_(&library), handle_(handle) {}
  const vendor::CublasLt* library_;
  vendor::LtHandle handle_;
};

}  // namespace tilewright::runtime
