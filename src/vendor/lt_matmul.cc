// SPDX-License-Identifier: Apache-2.0
// See lt_matmul.h.
#include "vendor/lt_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tilewright::vendor {
namespace {

const void* address(cuda::Pointer pointer) {
  return reinterpret_cast<const void*>(pointer);
}

struct PreferenceOwner {
  const CublasLt& library;
  LtPreference preference = nullptr;
  explicit PreferenceOwner(const CublasLt& of) : library(of) {}
  ~PreferenceOwner() {
    if (preference != nullptr) library.MatmulPreferenceDestroy(preference);
  }
  PreferenceOwner(const PreferenceOwner&) = delete;
  PreferenceOwner& operator=(const PreferenceOwner&) = delete;

  template <class Value>
  Status set(PreferenceAttribute attribute, Value value) {
    return vendor::check(
        library.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
        fmt::format("setting cublasLt preference {}", static_cast<int>(attribute)));
  }
};

Status assert_workspace(const CublasLt& library, LtPreference preference, std::uint64_t wanted) {
  std::uint64_t bytes = 0;
  std::size_t written = 0;
  if (Status s = check(library.MatmulPreferenceGetAttribute(preference, kPreferWorkspace, &bytes,
                                                            sizeof bytes, &written),
                       "reading the workspace limit back");
      !s) {
    return s;
  }
  if (written == sizeof bytes && bytes == wanted) return {};
  return fail(ErrorCode::internal,
              fmt::format("cublasLt holds a workspace limit of {} bytes, not {}", bytes, wanted));
}

}  // namespace

std::uint32_t common_alignment(const std::vector<cuda::Pointer>& addresses) {
  constexpr cuda::Pointer kMost = 256;
  cuda::Pointer bits = kMost;
  for (const cuda::Pointer each : addresses) bits |= each;
  return std::uint32_t{1} << std::countr_zero(bits);
}

Result<LtMatmul> LtMatmul::make(const CublasLt& library, LtHandle handle, const ColumnGemm& gemm) {
  LtMatmul made(library, handle, gemm);
  if (Status status = made.describe(); !status) return tl::unexpected(status.error());
  return made;
}

Status LtMatmul::describe() {
  const CublasLt& lib = *library_;
  if (Status s = vendor::check(lib.MatmulDescCreate(&desc_, gemm_.compute, gemm_.scale),
                               "describing the product to cublasLt");
      !s) {
    return s;
  }
  const auto set_operation = [&](DescAttribute which, Operation operation) {
    const int value = operation;
    return vendor::check(lib.MatmulDescSetAttribute(desc_, which, &value, sizeof value),
                         "setting a transposition");
  };
  if (Status s = set_operation(kDescTransA, gemm_.op_left); !s) return s;
  if (Status s = set_operation(kDescTransB, gemm_.op_right); !s) return s;

  struct Matrix {
    LtLayout* layout;
    DataType type;
    std::int64_t rows, columns, ld, stride;
  };
  const std::array matrices = {
      Matrix{&left_, gemm_.in, gemm_.left_rows(), gemm_.left_columns(), gemm_.ld_left,
             gemm_.stride_left},
      Matrix{&right_, gemm_.in, gemm_.right_rows(), gemm_.right_columns(), gemm_.ld_right,
             gemm_.stride_right},
      Matrix{&out_, gemm_.out, gemm_.rows, gemm_.columns, gemm_.ld_out, gemm_.stride_out}};
  for (const Matrix& m : matrices) {
    if (Status s = vendor::check(
            lib.MatrixLayoutCreate(m.layout, m.type, static_cast<std::uint64_t>(m.rows),
                                   static_cast<std::uint64_t>(m.columns), m.ld),
            "describing a matrix to cublasLt");
        !s) {
      return s;
    }
    if (gemm_.batch == 1) continue;
    const auto batch = static_cast<std::int32_t>(gemm_.batch);
    if (Status s = vendor::check(
            lib.MatrixLayoutSetAttribute(*m.layout, kLayoutBatch, &batch, sizeof batch),
            "setting a batch count");
        !s) {
      return s;
    }
    if (Status s = vendor::check(
            lib.MatrixLayoutSetAttribute(*m.layout, kLayoutStride, &m.stride, sizeof m.stride),
            "setting a batch stride");
        !s) {
      return s;
    }
  }
  return {};
}

LtMatmul::~LtMatmul() {
  for (const LtLayout layout : {left_, right_, out_}) {
    if (layout != nullptr) library_->MatrixLayoutDestroy(layout);
  }
  if (desc_ != nullptr) library_->MatmulDescDestroy(desc_);
}

LtMatmul::LtMatmul(LtMatmul&& other) noexcept
    : library_(other.library_),
      handle_(other.handle_),
      gemm_(other.gemm_),
      desc_(std::exchange(other.desc_, nullptr)),
      left_(std::exchange(other.left_, nullptr)),
      right_(std::exchange(other.right_, nullptr)),
      out_(std::exchange(other.out_, nullptr)) {}

Result<std::vector<LtHeuristic>> LtMatmul::propose(const LtLimits& limits, int requested) const {
  PreferenceOwner owner(*library_);
  if (Status s = vendor::check(library_->MatmulPreferenceCreate(&owner.preference),
                               "making a cublasLt preference");
      !s) {
    return tl::unexpected(s.error());
  }
  const std::array statuses = {owner.set(kPreferWorkspace, limits.workspace),
                               owner.set(kPreferReductions, limits.reductions),
                               owner.set(kPreferAlignmentA, limits.align_left),
                               owner.set(kPreferAlignmentB, limits.align_right),
                               owner.set(kPreferAlignmentC, limits.align_out),
                               owner.set(kPreferAlignmentD, limits.align_out),
                               assert_workspace(*library_, owner.preference, limits.workspace)};
  for (const Status& status : statuses) {
    if (!status) return tl::unexpected(status.error());
  }
  std::vector<LtHeuristic> proposals(static_cast<std::size_t>(requested));
  int returned = 0;
  const Code code =
      library_->MatmulAlgoGetHeuristic(handle_, desc_, left_, right_, out_, out_, owner.preference,
                                       requested, proposals.data(), &returned);
  if (code == kNotSupported) returned = 0;  // its way of saying that there is none
  if (code != kSuccess && code != kNotSupported) {
    return tl::unexpected(vendor::check(code, "asking cublasLt for algorithms").error());
  }
  proposals.resize(static_cast<std::size_t>(std::clamp(returned, 0, requested)));
  return proposals;
}

Result<LtHeuristic> LtMatmul::check(const LtAlgo& algo) const {
  LtHeuristic result;
  const Code code =
      library_->MatmulAlgoCheck(handle_, desc_, left_, right_, out_, out_, &algo, &result);
  if (Status s = vendor::check(code, "checking an algorithm"); !s) return tl::unexpected(s.error());
  if (Status s = vendor::check(result.state, "checking an algorithm"); !s) {
    return tl::unexpected(s.error());
  }
  result.algo = algo;
  return result;
}

Status LtMatmul::run(const LtAlgo& algo, float alpha, cuda::Pointer left, cuda::Pointer right,
                     float beta, cuda::Pointer out, cuda::Pointer workspace,
                     std::size_t workspace_bytes, cuda::Stream stream) const {
  const Scale by(gemm_.scale, alpha), keep(gemm_.scale, beta);
  void* const result = reinterpret_cast<void*>(out);
  return vendor::check(
      library_->Matmul(handle_, desc_, by.pointer(), address(left), left_, address(right), right_,
                       keep.pointer(), result, out_, result, out_, &algo,
                       reinterpret_cast<void*>(workspace), workspace_bytes, stream),
      "cublasLtMatmul");
}

}  // namespace tilewright::vendor
