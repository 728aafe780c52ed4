// SPDX-License-Identifier: Apache-2.0
// See choice.h.
#include "runtime/cpu/choice.h"

#include "base/text.h"
#include "runtime/cpu/division.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tilewright::runtime::cpu {
namespace {

// Each part of a split k leaves a row of f32 that must be added up: few parts repay that. Measured
// with two only.
constexpr int kMostSplits = 8;

struct Needs {
  CpuIsa isa;
  std::vector<std::string_view> features;
};

const std::array<Needs, 4>& needs() {
  static const std::array<Needs, 4> table = {{
      {CpuIsa::scalar, {}},
      {CpuIsa::avx2, {"avx2", "fma", "f16c"}},
      {CpuIsa::avx512, {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"}},
      {CpuIsa::avx512bf16,
       {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512bf16"}},
  }};
  return table;
}

bool available(CpuIsa isa, const Device& device) {
  return std::ranges::all_of(needs()[static_cast<std::size_t>(isa)].features,
                             [&](std::string_view feature) { return device.has(feature); });
}

// A program's words without `threads` and, unless it is k, `split`: the runtime divides calls
// itself (division.h).
std::string shape_of(std::string_view program) {
  std::string shape;
  for (const std::string_view word : words(program)) {
    const bool left_out =
        word.starts_with("threads=") || (word.starts_with("split=") && word != "split=k");
    if (!left_out) shape.append(shape.empty() ? "" : " ").append(word);
  }
  return shape;
}

std::string_view word_of(std::string_view program, std::string_view key) {
  for (const std::string_view word : words(program)) {
    if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
      return word.substr(key.size() + 1);
    }
  }
  return {};
}

bool fits(const CpuKernel& kernel, const Call& call) {
  return kernel.in == call.in && kernel.out == call.out &&
         kernel.a_transposed == call.a_transposed && kernel.b_transposed == call.b_transposed;
}

// Of one thread a kernel that splits k has one order of additions, but a call that is served alone
// now and by the team next would have two.
bool allowed(const CpuKernel& kernel, const Call& call, int threads) {
  if (kernel.splits_k && (call.mode != TW_FASTEST || threads == 1)) return false;
  // One kernel for any number of rows.
  return call.mode != TW_BATCH_INVARIANT || kernel.m_low == 0;
}

// Sums are f32 here whatever a call allows.
Problem tuned_problem(Call call) {
  call.f16_sums = false;
  return problem_of(call, 1, 0);
}

std::string_view made_for(const CpuKernel& kernel) {
  return kernel.m_low == 0 ? "any number of rows" : kernel.m_high == 1 ? "one row" : "few rows";
}

}  // namespace

CpuIsa widest_isa(const Device& device) {
  for (const CpuIsa isa : {CpuIsa::avx512, CpuIsa::avx2}) {
    const bool compiled = std::ranges::any_of(
        cpu_kernels(), [&](const CpuKernel& kernel) { return kernel.isa == isa; });
    if (compiled && available(isa, device)) return isa;
  }
  return CpuIsa::scalar;
}

tl::expected<CpuIsa, Failure> isa_for(const Device& device, const char* asked) {
  const CpuIsa widest = widest_isa(device);
  if (asked == nullptr || *asked == '\0') return widest;
  const auto* const name = std::ranges::find(kCpuIsaNames, std::string_view(asked));
  if (name == kCpuIsaNames.end()) {
    return tl::unexpected(Failure{TW_INVALID, fmt::format("TILEWRIGHT_CPU_ISA={} is none of {}",
                                                          asked, fmt::join(kCpuIsaNames, ", "))});
  }
  const auto isa = static_cast<CpuIsa>(name - kCpuIsaNames.begin());
  if (isa == CpuIsa::avx512bf16) return available(isa, device) ? isa : widest;
  return std::min(isa, widest);
}

Chooser::Chooser(CpuIsa isa, std::vector<WisdomEntry> entries)
    : isa_(isa), wisdom_(std::move(entries)) {
  for (const WisdomEntry& entry : wisdom_.entries()) served_.push_back(served(entry));
}

Chooser::Served Chooser::served(const WisdomEntry& entry) const {
  Served result;
  const auto problem = parse_problem(entry.problem);
  if (!problem) {
    result.refusal = "its problem cannot be read";
    return result;
  }
  if (!problem->is_gemm()) {
    result.refusal = "it is no product";
    return result;
  }
  const std::string shape = shape_of(entry.program);
  Call call;
  call.in = problem->in;
  call.out = problem->out;
  call.a_transposed = problem->a_transposed;
  call.b_transposed = problem->b_transposed;
  result.m = problem->m;
  result.threads = static_cast<int>(parse_integer(word_of(entry.program, "threads")).value_or(1));
  if (word_of(entry.program, "sizes") == "static") {
    result.refusal = "it is made for fixed sizes, and no such kernel is compiled in";
    return result;
  }
  for (const CpuKernel& kernel : cpu_kernels()) {
    if (!fits(kernel, call) || shape_of(kernel.program) != shape) continue;
    if (kernel.isa > isa_) {
      result.refusal =
          fmt::format("it needs {}, and {} is in use", name_of(kernel.isa), name_of(isa_));
      return result;
    }
    result.kernel = &kernel;
    return result;
  }
  result.refusal = word_of(entry.program, "isa") == name_of(CpuIsa::avx512bf16)
                       ? "it flushes subnormals, and no such kernel is compiled in"
                       : "it is not compiled in";
  return result;
}

bool Chooser::serves(const Served& entry, const Call& call, int threads) const {
  if (entry.kernel == nullptr || !fits(*entry.kernel, call)) return false;
  // The nearest problem's kernel must not be one for far fewer rows.
  const bool rows =
      call.m == entry.m || (call.m >= entry.kernel->m_low && call.m <= entry.kernel->m_high);
  return rows && allowed(*entry.kernel, call, std::min(entry.threads, threads));
}

const CpuKernel* Chooser::built_in(const Call& call, int threads) const {
  const CpuKernel* best = nullptr;
  for (const CpuKernel& kernel : cpu_kernels()) {
    if (kernel.isa > isa_ || !fits(kernel, call) || !allowed(kernel, call, threads)) continue;
    if (call.m < kernel.m_low || call.m > kernel.m_high) continue;
    if (kernel.splits_k && threads > kMostSplits) continue;
    if (best == nullptr || kernel.isa > best->isa) best = &kernel;
  }
  return best;
}

Choice Chooser::choose(const Call& call, int threads) const {
  const auto hit = wisdom_.find(
      tuned_problem(call), [&](std::size_t index) { return serves(served_[index], call, threads); },
      call.mode == TW_BATCH_INVARIANT ? Sizes::columns : Sizes::all);
  if (!hit) return {built_in(call, useful_threads(call, threads)), Origin::built_in, 0, 0, 0};
  const Served& entry = served_[hit->index];
  return {entry.kernel, hit->origin, hit->origin == Origin::exact ? entry.threads : 0, hit->index,
          hit->distance};
}

std::string Chooser::reason(const Call& call, const Choice& choice, int threads) const {
  std::string text;
  if (choice.origin == Origin::built_in) {
    text = fmt::format(
        "built in: the rule for {}; {}\n", made_for(*choice.kernel),
        wisdom_.entries().empty() ? "this device has no wisdom" : "the wisdom has nothing near");
  } else {
    const WisdomEntry& entry = wisdom_.entries()[choice.entry];
    text = choice.origin == Origin::exact
               ? fmt::format("exact: tuned here for {}, {}\n", entry.problem, entry.date)
               : fmt::format("nearest: tuned here for {}, {}; {:.2f} octaves away\n", entry.problem,
                             entry.date, choice.distance);
  }
  if (choice.origin == Origin::exact) return text;
  const Problem problem = tuned_problem(call);
  const auto own = wisdom_.find(problem, [here = to_text(problem), this](std::size_t index) {
    return wisdom_.entries()[index].problem == here;
  });
  if (!own || own->origin != Origin::exact) return text;
  const Served& entry = served_[own->index];
  text +=
      fmt::format("not used: {}: {}\n", wisdom_.entries()[own->index].program,
                  !entry.refusal.empty()    ? entry.refusal
                  : call.mode != TW_FASTEST ? "this mode does not allow it"
                                            : fmt::format("it is no use to {} threads", threads));
  return text;
}

}  // namespace tilewright::runtime::cpu
