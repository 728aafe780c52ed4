// SPDX-License-Identifier: Apache-2.0
// See cuda_ground.h; what the steps are for stands where the rules are, in proof.cc and timed.cc.
#include "verify/cuda/cuda_ground.h"

#include "base/element.h"
#include "base/rng.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tilewright {
namespace {

// More calls on one set than any plan makes in one round.
constexpr std::int64_t kMostCalls = 1 << 14;

// Every feed that comes here was made here.
const CudaFeed& feed_of(const Feed& feed) {
  return static_cast<const CudaFeed&>(feed);
}

}  // namespace

CudaGround::CudaGround(CudaShelf& shelf, Owner owner)
    : shelf_(shelf),
      arena_(shelf.arena()),
      bench_(shelf.bench()),
      owner_(owner),
      placed_(static_cast<std::size_t>(arena_.layout().sets)),
      digests_(bench_.allocate(placed_.size() * kMatrixCount * sizeof(Digest))) {}

FeedPointer CudaGround::fresh(DataKind kind, std::uint64_t seed, Depth depth) {
  return shelf_.fresh(kind, seed, depth);
}

FeedPointer CudaGround::one_changed(const FeedPointer& feed, bool in_a, std::uint64_t seed) {
  return shelf_.one_changed(feed_of(*feed), in_a, seed);
}

FeedPointer CudaGround::unread(const FeedPointer& feed) {
  return shelf_.unread(feed_of(*feed));
}

void CudaGround::paint_guards() {
  shelf_.guards().paint(bench_);
  // At the first launch the head of the workspace is zero, and scrubbing leaves it alone.
  bench_.set_bytes(arena_.workspace(), 0, static_cast<std::size_t>(arena_.workspace_zeroed()));
}

DeviceView CudaGround::matrix(int set, Matrix which) const {
  if (which == kOperandA) return device_a(arena_, set);
  return which == kOperandB ? device_b(arena_, set) : device_c(arena_, set, owner_);
}

cuda::Pointer CudaGround::digest_slot(int set, Matrix which) const {
  return digests_.address() +
         static_cast<cuda::Pointer>(set * kMatrixCount + which) * sizeof(Digest);
}

void CudaGround::digest(int set, Matrix which, cuda::Pointer to) {
  const DeviceView view = matrix(set, which);
  const int bytes = word_bytes(view);
  const DeviceView words = in_words(view, bytes);
  bench_.set_bytes(to, 0, sizeof(Digest));
  bench_.run(Kernel::digest_words, bench_.blocks_for(elements(words)), words, bytes,
             device_pointer<Digest>(to));
}

void CudaGround::remember(int set, Matrix which) {
  digest(set, which, digest_slot(set, which));
  at(set).known[static_cast<std::size_t>(which)] = true;
}

void CudaGround::moved_to(int set) {
  if (set == last_) return;
  other_ = last_;
  last_ = set;
}

void CudaGround::place(int set, const Feed& feed) {
  const CudaShelf::Operands from = shelf_.materialise(feed_of(feed));
  const auto copy = [&](Matrix which, const DeviceView& packed) {
    const DeviceView to = matrix(set, which);
    const int bytes = word_bytes(to);
    const DeviceView words = in_words(to, bytes);
    bench_.run(Kernel::copy_words, bench_.blocks_for(elements(words)), words,
               in_words(packed, bytes), bytes);
    remember(set, which);
  };
  copy(kOperandA, from.a);
  copy(kOperandB, from.b);
  at(set).operand.reset();
  moved_to(set);
}

void CudaGround::fill_c(int set, Fill fill, std::uint64_t seed) {
  at(set).fill = fill;
  at(set).fill_seed = seed;
  shelf_.draw(matrix(set, kResult), shelf_.drawing(fill, seed));
  accept_c(set);
}

void CudaGround::accept_c(int set) {
  remember(set, kResult);
}

void CudaGround::scrub_workspace(std::uint64_t number) {
  const WorkspaceArguments x{device_pointer<unsigned char>(arena_.workspace()),
                             arena_.workspace_in_use(), arena_.workspace_zeroed(), number};
  bench_.run(Kernel::scrub_workspace, bench_.blocks_for((x.bytes + 7) / 8), x);
}

bool CudaGround::spoil_workspace(std::uint64_t seed) {
  const WorkspaceArguments x{device_pointer<unsigned char>(arena_.workspace()),
                             arena_.workspace_in_use(), arena_.workspace_zeroed(), seed};
  bench_.run(Kernel::spoil_workspace, bench_.blocks_for(x.bytes - x.zeroed), x);
  return x.bytes > x.zeroed;
}

void CudaGround::spoil_c(int set, std::uint64_t seed) {
  const Problem& p = problem();
  const DeviceView c = matrix(set, kResult);
  Rng rng(seed, 0x5c);
  const auto below = [&rng](std::int64_t bound) {
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
  };
  const std::int64_t batch = below(p.batch), row = below(p.m), col = below(p.n);
  const std::int64_t index = batch * c.batch_stride + row * c.stride + col;
  const auto size = static_cast<std::int64_t>(size_of(p.out));
  const auto bytes = bench_.download<unsigned char>(
      arena_.c(set, owner_) + static_cast<cuda::Pointer>(index * size),
      static_cast<std::size_t>(size));
  unsigned bits = 0;
  store(p.out, &bits, 0, another_result(load(p.out, bytes.data(), 0), p.k));
  bench_.run(Kernel::change_element, 1, ElementChange{c.data + index * size, c.type, bits});
}

void CudaGround::lay_bait(int set, std::uint64_t seed) {
  const DeviceView from = device_c(arena_, set, Owner::candidate);
  bench_.run(Kernel::lay_bait, bench_.blocks_for(elements(from)),
             device_c(arena_, set, Owner::baseline), from, static_cast<unsigned long long>(seed));
}

void CudaGround::fill_baseline_c(int set, std::uint64_t seed, DataKind like) {
  const Fill fill = like == DataKind::damped ? Fill::damped : Fill::plausible;
  shelf_.draw(device_c(arena_, set, Owner::baseline), shelf_.drawing(fill, seed));
}

Finding CudaGround::check(const std::vector<int>& sets, int called, bool with_results) {
  if (auto broken = shelf_.guards().broken(bench_, sets)) {
    const std::string where =
        broken->set < 0 ? std::string() : fmt::format("operand set {}: ", broken->set);
    return {Outcome::out_of_bounds, "guards", where + broken->text};
  }
  const cuda::Pointer results =
      bench_.results(sizeof(Broken) + sets.size() * kMatrixCount * sizeof(Digest));
  const WorkspaceArguments workspace{device_pointer<unsigned char>(arena_.workspace()),
                                     arena_.workspace_in_use(), arena_.workspace_zeroed(), 0};
  bench_.upload_to(results, std::vector<Broken>(1));
  bench_.run(Kernel::check_zeros, bench_.blocks_for(workspace.zeroed), workspace,
             device_pointer<Broken>(results));
  const cuda::Pointer now = results + sizeof(Broken);
  const auto looked_at = [&](int set, int which) {
    return at(set).known[static_cast<std::size_t>(which)] &&
           (which != kResult || (with_results && set != called));
  };
  cuda::Pointer next = now;
  for (const int set : sets) {
    for (int which = 0; which < kMatrixCount; ++which, next += sizeof(Digest)) {
      if (looked_at(set, which)) digest(set, static_cast<Matrix>(which), next);
    }
  }
  const Broken zeros = bench_.download<Broken>(results, 1).front();
  const auto current = bench_.download<Digest>(now, sets.size() * kMatrixCount);
  const auto earlier = bench_.download<Digest>(digests_.address(), placed_.size() * kMatrixCount);
  if (!bench_.trouble().ok()) return bench_.trouble();
  if (zeros.count > 0) {
    return {Outcome::wrong, "workspace",
            fmt::format("{} of the first {} bytes of the workspace, which a call leaves zero, are "
                        "not; the first is byte {}",
                        zeros.count, workspace.zeroed, zeros.first)};
  }
  constexpr std::array<const char*, kMatrixCount> names = {"A", "B", "C"};
  for (int which = 0; which < kMatrixCount; ++which) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const int set = sets[i];
      const auto place = static_cast<std::size_t>(which);
      const auto index = static_cast<std::size_t>(set) * kMatrixCount + place;
      if (!looked_at(set, which) || current[i * kMatrixCount + place] == earlier[index]) continue;
      if (which == kResult) {
        return {Outcome::cheat, "other-sets",
                fmt::format("a call on operand set {} wrote to C of set {}", called, set)};
      }
      return {Outcome::cheat, "inputs-unchanged",
              fmt::format("{} of operand set {} is not what it was before the call", names[place],
                          set)};
    }
  }
  return {};
}

Finding CudaGround::intact(int called) {
  std::vector<int> sets = {called, last_, other_};
  std::ranges::sort(sets);
  sets.erase(std::ranges::unique(sets).begin(), sets.end());
  return check(sets, called, true);
}

Finding CudaGround::all_intact() {
  std::vector<int> sets(placed_.size());
  std::iota(sets.begin(), sets.end(), 0);
  return check(sets, -1, false);
}

Agreement CudaGround::against(int set, const DeviceReference& reference, bool exact,
                              const Scaling& scaling, bool with_norm) {
  return compare_on_device(bench_, problem(), matrix(set, kResult), reference,
                           accumulation(scaling.alpha, scaling.beta, scaling.calls),
                           shelf_.drawing(at(set).fill, at(set).fill_seed), exact, with_norm);
}

Agreement CudaGround::compare(int set, const Feed& feed, const Scaling& scaling, bool with_norm) {
  return against(set, *feed_of(feed).reference, is_exact(feed.kind), scaling, with_norm);
}

Agreement CudaGround::compare_present(int set, const Scaling& scaling, std::uint64_t seed,
                                      Depth depth) {
  const DeviceReference present =
      device_reference(bench_, problem(), matrix(set, kOperandA), matrix(set, kOperandB),
                       whole(problem()), {}, seed, shelf_.limits(depth));
  return against(set, present, false, scaling, false);
}

std::optional<Mismatch> CudaGround::weigh(int set, const Feed& feed, bool exact, std::uint64_t) {
  const DeviceReference& reference = *feed_of(feed).reference;
  if (reference.full || !reference.weighed) return std::nullopt;
  const WeighedResult got =
      weigh_result(bench_, problem(), matrix(set, kResult), *reference.operand);
  return judge_on_device(bench_, problem(), *reference.weighed, got, nullptr, {}, exact);
}

Ground::Before CudaGround::before(int set, const Mismatch& m) {
  const Problem& p = problem();
  const DeviceView c = matrix(set, kResult);
  const std::int64_t index = m.batch * c.batch_stride + m.row * c.stride + m.col;
  const auto size = size_of(p.out);
  const auto bytes = bench_.download<unsigned char>(
      arena_.c(set, owner_) + static_cast<cuda::Pointer>(index) * size, size);
  const unsigned earlier = drawn(shelf_.host_drawing(at(set).fill, at(set).fill_seed),
                                 (m.batch * p.m + m.row) * p.n + m.col);
  unsigned now = 0;
  std::memcpy(&now, bytes.data(), size);
  return {load(p.out, &earlier, 0), now == earlier};
}

std::optional<std::int64_t> CudaGround::written_beyond(int set, const Extent& e) {
  const DeviceView c = matrix(set, kResult);
  const cuda::Pointer results = bench_.results(sizeof(Broken));
  bench_.upload_to(results, std::vector<Broken>(1));
  bench_.run(Kernel::find_written_beyond, bench_.blocks_for(elements(c)), c,
             shelf_.drawing(at(set).fill, at(set).fill_seed), static_cast<long long>(e.m),
             static_cast<long long>(e.n), device_pointer<Broken>(results));
  const Broken found = bench_.download<Broken>(results, 1).front();
  if (found.count == 0) return std::nullopt;
  return static_cast<std::int64_t>(found.first) % problem().m;
}

std::string CudaGround::digest_c(int set) {
  const cuda::Pointer results = bench_.results(sizeof(Digest));
  digest(set, kResult, results);
  const Digest d = bench_.download<Digest>(results, 1).front();
  return fmt::format("{:016x}{:016x}", d.high, d.low);
}

void CudaGround::draw(int set, DataKind kind, std::uint64_t seed) {
  shelf_.draw(matrix(set, kOperandB), shelf_.drawing(kind, Operand::b, seed));
  remember(set, kOperandB);
  at(set).operand.reset();
  draw_a(set, kind, seed);
}

void CudaGround::draw_a(int set, DataKind kind, std::uint64_t seed) {
  shelf_.draw(matrix(set, kOperandA), shelf_.drawing(kind, Operand::a, seed));
  remember(set, kOperandA);
  moved_to(set);
}

const WeighedOperand& CudaGround::operand(int set, std::uint64_t seed) {
  std::optional<WeighedOperand>& kept = at(set).operand;
  if (!kept) kept = weigh_operand(bench_, problem(), matrix(set, kOperandB), seed);
  return *kept;
}

void CudaGround::start_round(int set, std::uint64_t seed) {
  at(set).weighed = weigh_result(bench_, problem(), matrix(set, kResult), operand(set, seed));
}

Ground::Weighing CudaGround::weigh_present(int set, double beta, std::uint64_t seed) {
  const WeighedOperand& by = operand(set, seed);
  const WeighedResult product = weigh_product(bench_, problem(), matrix(set, kOperandA), by, true);
  const WeighedResult got = weigh_result(bench_, problem(), matrix(set, kResult), by);
  Weighing weighing;
  const WeighedResult* before = nullptr;
  if (beta != 0 && at(set).weighed) {
    before = &*at(set).weighed;
    weighing.calls = likeliest_calls(
        inner_products_on_device(bench_, problem(), product, got, *before), beta, kMostCalls);
  }
  weighing.off = judge_on_device(bench_, problem(), product, got, before,
                                 accumulation(1, beta, weighing.calls), false);
  return weighing;
}

}  // namespace tilewright
