// SPDX-License-Identifier: Apache-2.0
// Whether an algorithm computed what cuBLAS did, told from a sample of C's rows.
//
// A split K that drops its tail, or a kernel that does not run at all, must not win a search. Whole
// rows are compared: the first, the last and some in between, which cover every column. The rows
// are poisoned before the run. Proof against f64 is verify's business, for the choice that counts.
#pragma once

#include "baseline/cuda/cuda_baseline.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tilewright {

// Sorted indices of at most `most` rows out of `total`: first, last and random ones.
[[nodiscard]] std::vector<std::int64_t> sampled_rows(std::int64_t total, int most,
                                                     std::uint64_t seed);

// How many rows of so many columns are looked at: 64, fewer where they are long, 16 at least.
[[nodiscard]] int rows_for(std::int64_t columns);

// |x - y| <= relative * max(|x|, |y|) + of_scale * (root mean square of the reference).
struct RowTolerance {
  double relative = 0, of_scale = 0;
};
// Two correct results differ by one rounding each and by the order in which K products were
// summed. The order costs up to K/2^23 of the typical size with f32 sums (tensor cores truncate),
// sqrt(K)/2^10 with f16 sums.
[[nodiscard]] RowTolerance tolerance_for(const Problem& problem);

// Empty if `got` agrees with `want` (elements of problem.out), else where it does not and by how
// much. NaN agrees with nothing but NaN.
[[nodiscard]] std::string disagreement(const Problem& problem, const std::vector<std::byte>& want,
                                       const std::vector<std::byte>& got);

// The sampled rows of one C in device memory.
class SampledRows {
 public:
  SampledRows(const cuda::Context& context, cuda::Stream stream, const Problem& problem,
              const CudaGemm& gemm);
  // Fills them with NaN if C is not read, else with a plain number; enqueues only.
  [[nodiscard]] Status poison() const;
  // Waits for the stream and copies them to the host.
  [[nodiscard]] Result<std::vector<std::byte>> fetch() const;

 private:
  [[nodiscard]] cuda::Pointer address(std::int64_t row) const;
  const cuda::Context& context_;
  cuda::Stream stream_;
  CudaGemm gemm_;
  std::size_t element_ = 2;
  std::vector<std::int64_t> rows_;
};

}  // namespace tilewright
