// SPDX-License-Identifier: Apache-2.0
// See lt_search.h.
#include "baseline/cuda/lt_search.h"

#include "baseline/cuda/implementation.h"
#include "vendor/exact_algo.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

// More than it ever returned (8 on CUDA 13.1).
constexpr int kRequested = 100;
// A C that is accumulated into thousands of times while timing must not overflow to infinity.
constexpr float kTimedAlpha = 1.0F / 1024;

}  // namespace

Status enqueue_lt(const CudaShared& shared, const vendor::LtMatmul& matmul,
                  const vendor::LtAlgo& algo, const CudaGemm& gemm, cuda::Stream stream) {
  return matmul.run(algo, gemm.alpha, gemm.b, gemm.a, gemm.beta, gemm.c,
                    shared.lt_workspace().address(), shared.lt_workspace().bytes(), stream);
}

Result<std::unique_ptr<LtSearch>> LtSearch::open(CudaShared& shared, const Problem& problem,
                                                 std::span<const CudaGemm> sets) {
  if (sets.empty()) return fail(ErrorCode::internal, "a baseline was prepared without operands");
  std::vector<cuda::Pointer> a, b, c;
  for (const CudaGemm& gemm : sets) {
    if (Status s = check_sizes(gemm, problem); !s) return tl::unexpected(s.error());
    a.push_back(gemm.a);
    b.push_back(gemm.b);
    c.push_back(gemm.c);
  }
  if (Status s = shared.prepare_lt(); !s) return tl::unexpected(s.error());
  std::unique_ptr<LtSearch> search(new LtSearch(shared, problem, sets));
  auto matmul =
      vendor::LtMatmul::make(shared.lt(), shared.lt_handle(), column_gemm_of(sets[0], problem));
  if (!matmul) return tl::unexpected(matmul.error());
  search->matmul_.emplace(std::move(*matmul));
  search->limits_ = {.workspace = shared.lt_workspace().bytes(),
                     .reductions = vendor::allowed_reductions(problem),
                     .align_left = vendor::common_alignment(b),
                     .align_right = vendor::common_alignment(a),
                     .align_out = vendor::common_alignment(c)};
  return search;
}

Result<LtSearch::Proposals> LtSearch::propose() const {
  const auto proposed = matmul_->propose(limits_, kRequested);
  if (!proposed) return tl::unexpected(proposed.error());
  Proposals result;
  result.returned = static_cast<int>(proposed->size());
  for (const vendor::LtHeuristic& each : *proposed) {
    if (each.state != vendor::kSuccess || each.workspace > limits_.workspace) continue;
    // The mask is a wish of ours; what came is a fact.
    const auto config = config_of(each.algo);
    if (config && (config->reduction & ~limits_.reductions) != 0) continue;
    result.usable.push_back(each.algo);
  }
  if (result.usable.empty()) {
    return fail(ErrorCode::environment,
                fmt::format("cublasLt has no usable algorithm among {} for {}", result.returned,
                            to_text(problem_)));
  }
  return result;
}

Status LtSearch::run(const vendor::LtAlgo& algo, const CudaGemm& gemm, cuda::Stream stream) const {
  return enqueue_lt(shared_, *matmul_, algo, gemm, stream);
}

CudaGemm LtSearch::check_gemm() const {
  CudaGemm gemm = sets_[0];
  gemm.alpha = 1;  // of a zero, any algorithm is right
  return gemm;
}

Result<const std::vector<std::byte>*> LtSearch::trusted() {
  if (trusted_) return &*trusted_;
  const CudaGemm gemm = check_gemm();
  const SampledRows rows(shared_.context(), shared_.stream(), problem_, gemm);
  if (Status s = rows.poison(); !s) return tl::unexpected(s.error());
  if (Status s = enqueue_cublas(shared_, problem_, gemm, shared_.stream()); !s) {
    return tl::unexpected(s.error());
  }
  auto fetched = rows.fetch();
  if (!fetched) return tl::unexpected(fetched.error());
  trusted_ = std::move(*fetched);
  return &*trusted_;
}

Status LtSearch::verify(const vendor::LtAlgo& algo) {
  const auto want = trusted();
  if (!want) return tl::unexpected(want.error());
  const CudaGemm gemm = check_gemm();
  const SampledRows rows(shared_.context(), shared_.stream(), problem_, gemm);
  if (Status s = rows.poison(); !s) return s;
  if (Status s = run(algo, gemm, shared_.stream()); !s) return s;
  const auto got = rows.fetch();
  if (!got) return tl::unexpected(got.error());
  if (const std::string wrong = disagreement(problem_, **want, *got); !wrong.empty()) {
    return fail(ErrorCode::negative, wrong);
  }
  return {};
}

Result<GraphTimer> LtSearch::timer(const vendor::LtAlgo& algo) const {
  const int calls = calls_per_graph(problem_.flop(), problem_.bytes());
  return GraphTimer::capture(shared_.context(), shared_.stream(), calls,
                             [&](int call, cuda::Stream stream) {
                               CudaGemm gemm = sets_[static_cast<std::size_t>(call) % sets_.size()];
                               gemm.alpha = gemm.beta == 0 ? 1 : kTimedAlpha;
                               return run(algo, gemm, stream);
                             });
}

Result<vendor::LtAlgo> LtSearch::within_limits(const Result<vendor::LtAlgo>& algo) const {
  if (!algo) return algo;
  const auto checked = matmul_->check(*algo);
  if (!checked) return tl::unexpected(checked.error());
  if (checked->workspace > limits_.workspace) {
    return fail(ErrorCode::negative,
                fmt::format("needs {} bytes of workspace", checked->workspace));
  }
  return algo;
}

Result<vendor::LtAlgo> LtSearch::admit(const vendor::LtAlgo& from,
                                       const vendor::AlgoConfig& config) const {
  if ((config.reduction & ~limits_.reductions) != 0) {
    return fail(ErrorCode::negative,
                fmt::format("reduction scheme {} is not allowed", config.reduction));
  }
  const vendor::CublasLt& lt = shared_.lt();
  auto algo = within_limits(vendor::turned(lt, from, config));
  if (algo) return algo;
  // What else `from` holds may not suit the new value.
  const auto plain = vendor::plain_algo(lt, shared_.lt_handle(), matmul_->gemm(), config.id);
  if (!plain) return plain;
  return within_limits(vendor::turned(lt, *plain, config));
}

Result<vendor::LtAlgo> LtSearch::recall(std::string_view exact) {
  const auto algo = within_limits(vendor::algo_from_exact(exact, stamp()));
  if (!algo) return algo;
  const auto config = config_of(*algo);
  if (!config) return tl::unexpected(config.error());
  if ((config->reduction & ~limits_.reductions) != 0) {
    return fail(ErrorCode::negative,
                fmt::format("reduction scheme {} is not allowed", config->reduction));
  }
  if (const Status right = verify(*algo); !right) return tl::unexpected(right.error());
  return algo;
}

std::string LtSearch::stamp() const {
  const cuda::Context& context = shared_.context();
  return fmt::format(
      "cublasLt {} sm_{}{}x{}", shared_.lt().version, context.attribute(cuda::kCapabilityMajor),
      context.attribute(cuda::kCapabilityMinor), context.attribute(cuda::kMultiprocessors));
}

Result<vendor::AlgoConfig> LtSearch::config_of(const vendor::LtAlgo& algo) const {
  return vendor::read_config(shared_.lt(), algo);
}

Result<vendor::AlgoCapabilities> LtSearch::capabilities(std::int32_t id) {
  if (const auto known = capabilities_.find(id); known != capabilities_.end()) {
    return known->second;
  }
  const auto algo = vendor::plain_algo(shared_.lt(), shared_.lt_handle(), matmul_->gemm(), id);
  if (!algo) return tl::unexpected(algo.error());
  auto can = vendor::read_capabilities(shared_.lt(), *algo);
  if (!can) return can;
  return capabilities_.emplace(id, std::move(*can)).first->second;
}

std::string LtSearch::memo_key(std::string_view name) const {
  const vendor::ColumnGemm& g = matmul_->gemm();
  return fmt::format("{}|{}|{} {} {}|{} {} {}", name, to_text(problem_), limits_.align_left,
                     limits_.align_right, limits_.align_out, g.stride_left, g.stride_right,
                     g.stride_out);
}

}  // namespace tilewright
