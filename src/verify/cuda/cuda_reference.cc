// SPDX-License-Identifier: Apache-2.0
// See cuda_reference.h. Sums of a comparison are joined in the order of the blocks, so that the
// same comparison gives the same numbers.
#include "verify/cuda/cuda_reference.h"

#include "base/rng.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tilewright {
namespace {

constexpr std::int64_t kProductTile = 64;  // kTile of kernels/product.cuh
constexpr std::int64_t kBatches = 3;

std::vector<long long> sample(std::int64_t count, std::int64_t wanted, Rng* rng) {
  std::set<long long> chosen;
  if (wanted >= count) {
    for (std::int64_t i = 0; i < count; ++i) chosen.insert(chosen.end(), i);
  } else {
    chosen = {0, count - 1};
    while (static_cast<std::int64_t>(chosen.size()) < wanted) {
      chosen.insert(static_cast<long long>(rng->below(static_cast<std::uint64_t>(count))));
    }
  }
  return {chosen.begin(), chosen.end()};
}

std::size_t doubles(std::int64_t count) {
  return static_cast<std::size_t>(count) * sizeof(double);
}
std::size_t floats(std::int64_t count) {
  return static_cast<std::size_t>(count) * sizeof(float);
}

std::int64_t tiles(std::int64_t count) {
  return (count + kProductTile - 1) / kProductTile;
}

void multiply(KernelBench& bench, const ProductArguments& x) {
  const bool sizes = x.magnitude != nullptr;
  const Kernel plain = sizes ? Kernel::product_magnitude : Kernel::product;
  const Kernel weighed = sizes ? Kernel::weighed_product_magnitude : Kernel::weighed_product;
  bench.run(x.weighed != nullptr ? weighed : plain,
            x.batches.count * tiles(x.rows.count) * tiles(x.cols.count), x);
}

std::int64_t groups_of(const Problem& p) {
  const std::int64_t width = freivalds_group(p.out);
  return (p.n + width - 1) / width;
}

// `blocks` tallies at `at`, joined.
Tally join_all(KernelBench& bench, cuda::Pointer at, std::int64_t blocks, Tally total) {
  for (const Tally& tally : bench.download<Tally>(at, static_cast<std::size_t>(blocks))) {
    join(total, tally);
  }
  return total;
}

}  // namespace

SamplePlan sample_plan(const Problem& p, const Extent& e, std::uint64_t seed,
                       const ReferenceLimits& limits) {
  SamplePlan plan;
  // Sizes are below 2^40, so the products are formed in floating point.
  const double results =
      static_cast<double>(p.batch) * static_cast<double>(e.m) * static_cast<double>(e.n);
  plan.full = results <= static_cast<double>(limits.results) &&
              results * static_cast<double>(e.k) <= static_cast<double>(limits.multiply_adds);
  if (plan.full) return plan;
  Rng rng(seed, 0x5a);
  plan.batches = sample(p.batch, kBatches, &rng);
  plan.rows = sample(e.m, limits.lines, &rng);
  plan.cols = sample(e.n, limits.lines, &rng);
  return plan;
}

DeviceReference device_reference(KernelBench& bench, const Problem& p, const DeviceView& a,
                                 const DeviceView& b, const Extent& e,
                                 const ReferenceWishes& wishes, std::uint64_t seed,
                                 const ReferenceLimits& limits) {
  DeviceReference made;
  made.k = e.k;
  if (e.m == 0 || e.n == 0 || p.batch == 0) return made;
  const SamplePlan plan = sample_plan(p, e, seed, limits);
  made.full = plan.full;
  const auto add = [&](const Chosen& batches, const Chosen& rows, const Chosen& cols) {
    DeviceStrip strip{batches, rows, cols, {}, {}};
    const std::int64_t count = batches.count * rows.count * cols.count;
    strip.sum = bench.allocate(doubles(count));
    if (wishes.magnitude) strip.magnitude = bench.allocate(floats(count));
    ProductArguments x;
    x.a = a;
    x.b = b;
    x.a_transposed = p.a_transposed;
    x.b_transposed = p.b_transposed;
    x.batches = batches;
    x.rows = rows;
    x.cols = cols;
    x.k = e.k;
    x.sum = device_pointer<double>(strip.sum);
    x.magnitude = device_pointer<float>(strip.magnitude);
    multiply(bench, x);
    made.bytes += strip.sum.bytes() + strip.magnitude.bytes();
    made.strips.push_back(std::move(strip));
  };
  if (plan.full) {
    add({nullptr, p.batch}, {nullptr, e.m}, {nullptr, e.n});
    return made;
  }
  std::vector<long long> lists = plan.batches;
  lists.insert(lists.end(), plan.rows.begin(), plan.rows.end());
  lists.insert(lists.end(), plan.cols.begin(), plan.cols.end());
  made.lists = bench.upload(lists);
  const auto* at = device_pointer<const long long>(made.lists);
  const auto size = [](const std::vector<long long>& list) {
    return static_cast<long long>(list.size());
  };
  const Chosen batches{at, size(plan.batches)};
  const Chosen rows{at + plan.batches.size(), size(plan.rows)};
  const Chosen cols{at + plan.batches.size() + plan.rows.size(), size(plan.cols)};
  add(batches, rows, {nullptr, e.n});
  add(batches, {nullptr, e.m}, cols);
  if (wishes.weighed) {
    made.operand = weigh_operand(bench, p, b, seed);
    made.weighed = weigh_product(bench, p, a, *made.operand, wishes.weighed_magnitude);
    made.operand->sum = {};  // the weights alone are needed from here on
    made.operand->magnitude = {};
    made.bytes +=
        made.operand->weights.bytes() + made.weighed->sum.bytes() + made.weighed->magnitude.bytes();
  }
  return made;
}

WeighedOperand weigh_operand(KernelBench& bench, const Problem& p, const DeviceView& b,
                             std::uint64_t seed) {
  WeighedOperand made;
  made.weights = bench.upload(freivalds_weights(p.n, seed));
  const std::int64_t count = p.batch * p.k * groups_of(p);
  made.sum = bench.allocate(doubles(count));
  made.magnitude = bench.allocate(floats(count));
  WeighArguments x;
  x.matrix = b;
  x.outer = p.k;
  x.along = p.n;
  x.width = freivalds_group(p.out);
  x.groups = groups_of(p);
  x.weights = device_pointer<const double>(made.weights);
  x.sum = device_pointer<double>(made.sum);
  x.magnitude32 = device_pointer<float>(made.magnitude);
  if (p.b_transposed) {
    bench.run(Kernel::weigh_columns, bench.blocks_for(count), x);
  } else {
    bench.run(Kernel::weigh_rows, bench.blocks_for(count * 32), x);
  }
  return made;
}

WeighedResult weigh_product(KernelBench& bench, const Problem& p, const DeviceView& a,
                            const WeighedOperand& b, bool with_magnitude) {
  WeighedResult made;
  const std::int64_t count = p.batch * p.m * groups_of(p);
  made.sum = bench.allocate(doubles(count));
  if (with_magnitude) made.magnitude = bench.allocate(floats(count));
  ProductArguments x;
  x.a = a;
  x.a_transposed = p.a_transposed;
  x.weighed = device_pointer<const double>(b.sum);
  x.weighed_magnitude = device_pointer<const float>(b.magnitude);
  x.batches = {nullptr, p.batch};
  x.rows = {nullptr, p.m};
  x.cols = {nullptr, groups_of(p)};
  x.k = p.k;
  x.sum = device_pointer<double>(made.sum);
  x.magnitude = device_pointer<float>(made.magnitude);
  if (p.k == 0) {  // nothing was allocated that says which kernel to take
    bench.set_bytes(made.sum.address(), 0, made.sum.bytes());
    bench.set_bytes(made.magnitude.address(), 0, made.magnitude.bytes());
    return made;
  }
  multiply(bench, x);
  return made;
}

WeighedResult weigh_result(KernelBench& bench, const Problem& p, const DeviceView& c,
                           const WeighedOperand& by) {
  WeighedResult made;
  const std::int64_t count = p.batch * p.m * groups_of(p);
  made.sum = bench.allocate(doubles(count));
  made.magnitude = bench.allocate(doubles(count));
  WeighArguments x;
  x.matrix = c;
  x.outer = p.m;
  x.along = p.n;
  x.width = freivalds_group(p.out);
  x.groups = groups_of(p);
  x.weights = device_pointer<const double>(by.weights);
  x.sum = device_pointer<double>(made.sum);
  x.magnitude64 = device_pointer<double>(made.magnitude);
  bench.run(Kernel::weigh_rows, bench.blocks_for(count * 32), x);
  return made;
}

Agreement compare_on_device(KernelBench& bench, const Problem& p, const DeviceView& c,
                            const DeviceReference& reference, const Accumulation& how,
                            const Drawing& before, bool exact, bool with_norm) {
  Tally total;
  std::int64_t results = 0;
  for (const DeviceStrip& strip : reference.strips) {
    CompareArguments x;
    x.c = c;
    x.batches = strip.batches;
    x.rows = strip.rows;
    x.cols = strip.cols;
    x.sum = device_pointer<const double>(strip.sum);
    x.magnitude = device_pointer<const float>(strip.magnitude);
    x.terms = error_terms(p, reference.k, how.scaled);
    x.how = how;
    x.before = before;
    x.exact = exact;
    x.with_norm = with_norm;
    x.edge = overflow_edge(p.out);
    const std::int64_t count = strip.batches.count * strip.rows.count * strip.cols.count;
    const std::int64_t blocks = bench.blocks_for(count);
    const cuda::Pointer tallies = bench.results(static_cast<std::size_t>(blocks) * sizeof(Tally));
    x.tallies = device_pointer<Tally>(tallies);
    bench.run(Kernel::compare_strip, blocks, x);
    total = join_all(bench, tallies, blocks, total);
    results += count;
  }
  return conclude(p, total, results, with_norm);
}

std::optional<Mismatch> judge_on_device(KernelBench& bench, const Problem& p,
                                        const WeighedResult& product, const WeighedResult& got,
                                        const WeighedResult* before, const Accumulation& how,
                                        bool exact) {
  JudgeWeighedArguments x;
  x.product = device_pointer<const double>(product.sum);
  if (!exact) x.size = device_pointer<const float>(product.magnitude);
  x.got = device_pointer<const double>(got.sum);
  x.got_size = device_pointer<const double>(got.magnitude);
  if (before != nullptr) {
    x.before = device_pointer<const double>(before->sum);
    x.before_size = device_pointer<const double>(before->magnitude);
  }
  x.groups = groups_of(p);
  x.count = p.batch * p.m * x.groups;
  x.width = freivalds_group(p.out);
  x.n = p.n;
  x.k = p.k;
  x.terms = error_terms(p, p.k, how.scaled);
  x.how = how;
  x.exact = exact;
  if (x.count == 0) return std::nullopt;
  const std::int64_t blocks = bench.blocks_for(x.count);
  const cuda::Pointer tallies = bench.results(static_cast<std::size_t>(blocks) * sizeof(Tally));
  x.tallies = device_pointer<Tally>(tallies);
  bench.run(Kernel::judge_weighed, blocks, x);
  const Tally total = join_all(bench, tallies, blocks, {});
  if (total.count == 0) return std::nullopt;
  const std::int64_t line = total.place / x.groups;
  return Mismatch{line / p.m, line % p.m,    total.place % x.groups * x.width,      total.got,
                  total.want, total.allowed, static_cast<std::int64_t>(total.count)};
}

InnerProducts inner_products_on_device(KernelBench& bench, const Problem& p,
                                       const WeighedResult& product, const WeighedResult& got,
                                       const WeighedResult& before) {
  InnerArguments x;
  x.got = device_pointer<const double>(got.sum);
  x.product = device_pointer<const double>(product.sum);
  x.before = device_pointer<const double>(before.sum);
  x.count = p.batch * p.m * groups_of(p);
  const std::int64_t blocks = bench.blocks_for(x.count);
  const cuda::Pointer sums = bench.results(static_cast<std::size_t>(blocks) * sizeof(SixSums));
  x.sums = device_pointer<SixSums>(sums);
  bench.run(Kernel::inner_products, blocks, x);
  InnerProducts total;
  for (const SixSums& part : bench.download<SixSums>(sums, static_cast<std::size_t>(blocks))) {
    total.got_got += part.value[0];
    total.product_product += part.value[1];
    total.before_before += part.value[2];
    total.got_product += part.value[3];
    total.got_before += part.value[4];
    total.product_before += part.value[5];
  }
  return total;
}

}  // namespace tilewright
