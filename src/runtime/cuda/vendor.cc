// SPDX-License-Identifier: Apache-2.0
// See vendor.h.
#include "runtime/cuda/vendor.h"

#include "vendor/algo_config.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

cuda::Pointer address(const void* pointer) {
  return reinterpret_cast<cuda::Pointer>(pointer);
}

}  // namespace

Status VendorCall::run(const Operands& o, cuda::Pointer workspace, cuda::Stream stream) const {
  return matmul_.run(chosen_.algo, o.alpha, address(o.b), address(o.a), o.beta, address(o.c),
                     workspace, chosen_.workspace, stream);
}

Result<std::unique_ptr<Vendor>> Vendor::open() {
  const auto library = vendor::cublas_lt();
  if (!library) return tl::unexpected(library.error());
  vendor::LtHandle handle = nullptr;
  if (Status s = vendor::check((*library)->Create(&handle), "starting cublasLt"); !s) {
    return tl::unexpected(s.error());
  }
  return std::unique_ptr<Vendor>(new Vendor(**library, handle));
}

Vendor::~Vendor() {
  library_->Destroy(handle_);
}

Result<std::shared_ptr<const VendorCall>> Vendor::choose(const Call& call,
                                                         std::int64_t workspace) const {
  const Problem problem = problem_of(call, 1, 0);
  if (const std::string reason = vendor::why_not(problem); !reason.empty()) {
    return fail(ErrorCode::negative, reason);
  }
  if (call.lda < call.a_columns() || call.ldb < call.b_columns()) {
    return fail(ErrorCode::negative, "cublasLt has no row stride of 0");
  }
  auto matmul = vendor::LtMatmul::make(
      *library_, handle_,
      vendor::column_gemm(problem, {call.stride_a, call.stride_b, call.stride_c}));
  if (!matmul) return tl::unexpected(matmul.error());
  vendor::LtLimits limits;
  limits.workspace = static_cast<std::uint64_t>(workspace);
  limits.reductions = vendor::allowed_reductions(problem);
  // Of the addresses; the library sees the strides itself.
  limits.align_left = limits.align_right = limits.align_out = VendorCall::kAddressAlignment;
  const auto proposals = matmul->propose(limits, 8);
  if (!proposals) return tl::unexpected(proposals.error());
  const auto usable = std::ranges::find_if(*proposals, [&](const vendor::LtHeuristic& p) {
    return p.state == vendor::kSuccess && p.workspace <= limits.workspace;
  });
  if (usable == proposals->end()) {
    return fail(ErrorCode::negative, "cublasLt proposes no algorithm");
  }
  const auto config = vendor::read_config(*library_, usable->algo);
  return std::make_shared<const VendorCall>(*std::move(matmul), *usable,
                                            config ? vendor::to_text(*config) : "");
}

}  // namespace tilewright::runtime
