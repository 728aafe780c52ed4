// SPDX-License-Identifier: Apache-2.0
// oneDNN's matmul primitive on the operands as they lie: no copies, the caller's strides, a
// scratchpad of our own. Two baselines: the distribution's version 2 and a current version 3.
//
// alpha and beta are part of a primitive, so a problem whose alpha or beta is `any` makes one per
// pair of values, in prepare(). Where oneDNN has nothing but its reference loop for a processor
// and type, the baseline is unavailable: beating that loop means nothing.
#include "baseline/environment.h"
#include "baseline/implementation.h"
#include "baseline/onednn_api.h"
#include "baseline/pool_scope.h"
#include "baseline/trial_child.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

namespace tilewright {
namespace {

constexpr const char* kInstall = "; install Debian's libdnnl2";
constexpr const char* kInstallCurrent =
    "; install it (PyPI: onednn) and set TILEWRIGHT_ONEDNN to the file if it is not found";

bool is_reference_loop(std::string_view implementation) {
  return implementation.starts_with("ref") || implementation.find(":ref") != std::string_view::npos;
}

// What the library can do here, learned in a child: its name and a matmul for each type pair.
struct OnednnFacts {
  bool found = false;
  std::string error, version;
  struct Pair {
    std::string in, out, implementation;  // empty: none
  };
  std::vector<Pair> pairs;
};

OnednnMatmul square(ElementType in, ElementType out, std::int64_t size) {
  const OnednnOperand half{{size, size}, {size, 1}, in};
  return {half, half, {{size, size}, {size, 1}, out}};
}

// Operands as oneDNN describes them: a transposed matrix is one with its strides exchanged.
OnednnOperand operand(const Problem& p, ElementType type, std::int64_t rows, std::int64_t cols,
                      std::int64_t ld, bool transposed, std::int64_t batch_stride) {
  OnednnOperand result{{rows, cols}, {transposed ? 1 : ld, transposed ? ld : 1}, type};
  if (p.batch > 1) {
    result.dims.insert(result.dims.begin(), p.batch);
    result.strides.insert(result.strides.begin(), batch_stride);
  }
  return result;
}

OnednnMatmul product(const Problem& p, const tw_cpu_gemm_args& args) {
  OnednnMatmul what;
  what.a = operand(p, p.in, p.m, p.k, args.lda, p.a_transposed, args.stride_a);
  what.b = operand(p, p.in, p.k, p.n, args.ldb, p.b_transposed, args.stride_b);
  what.c = operand(p, p.out, p.m, p.n, args.ldc, false, args.stride_c);
  what.alpha = args.alpha;
  what.beta = args.beta;
  return what;
}

std::string describe(int major) {
  const auto api = OnednnApi::open(major);
  if (!api) return "error\n" + api.error().message;
  const auto engine = api->engine();
  if (!engine) return "error\n" + engine.error().message;
  std::string text = "found\n" + api->version();
  for (const ElementType in : {ElementType::f16, ElementType::bf16}) {
    for (const ElementType out : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
      const auto made = api->matmul(engine->get(), square(in, out, 256));
      text +=
          fmt::format("\n{} {} {}", name_of(in), name_of(out), made ? made->implementation : "");
    }
  }
  return text;
}

OnednnFacts look_at_onednn(int major, const Device& device) {
  OnednnFacts facts;
  // The search may start a Python interpreter; its result is kept if it happens here, not there.
  static_cast<void>(onednn_places(major));
  const auto answer = ask_in_child([&] {
    apply_baseline_environment(device);
    return describe(major);
  });
  if (!answer) {
    facts.error = "loading it: " + answer.error().message;
    return facts;
  }
  const auto lines = split(*answer, '\n');
  facts.found = lines.size() > 1 && lines[0] == "found";
  (facts.found ? facts.version : facts.error) = lines.size() > 1 ? std::string(lines[1]) : *answer;
  for (std::size_t i = 2; i < lines.size(); ++i) {
    const auto parts = words(lines[i]);
    if (parts.size() < 2) continue;
    facts.pairs.push_back({std::string(parts[0]), std::string(parts[1]),
                           parts.size() > 2 ? std::string(parts[2]) : std::string{}});
  }
  return facts;
}

const OnednnFacts& facts_of(int major, const Device& device) {
  static const OnednnFacts two = look_at_onednn(2, device), three = look_at_onednn(3, device);
  return major == 2 ? two : three;
}

// Whether the facts about plain squares leave open what happens to this one.
bool is_unusual(const Problem& p) {
  return p.a_stride() != p.a_cols() || p.b_stride() != p.b_cols() || p.c_stride() != p.n ||
         p.batch != 1 || p.alpha != AlphaClass::one || p.beta != BetaClass::zero;
}

// The implementation chosen for exactly this problem, asked in a child; an Error if none.
Result<std::string> implementation_for(int major, const Problem& p, const Device& device) {
  const auto answer = ask_in_child([&]() -> std::string {
    apply_baseline_environment(device);
    const auto api = OnednnApi::open(major);
    if (!api) return "error\n" + api.error().message;
    const auto engine = api->engine();
    if (!engine) return "error\n" + engine.error().message;
    tw_cpu_gemm_args args{};
    args.lda = p.a_stride(), args.ldb = p.b_stride(), args.ldc = p.c_stride();
    args.stride_a = p.a_rows() * args.lda;
    args.stride_b = p.b_rows() * args.ldb;
    args.stride_c = p.c_rows() * args.ldc;
    args.alpha = p.alpha == AlphaClass::any ? 0.5F : 1;
    args.beta = p.beta == BetaClass::zero ? 0 : p.beta == BetaClass::one ? 1 : 0.25F;
    const auto made = p.is_gemm() ? api->matmul(engine->get(), product(p, args))
                                  : api->operation(engine->get(), p, args);
    return made ? "made\n" + made->implementation : "error\n" + made.error().message;
  });
  if (!answer) return tl::unexpected(answer.error());
  const auto lines = split(*answer, '\n');
  if (lines.size() == 2 && lines[0] == "made") return std::string(lines[1]);
  return fail(ErrorCode::environment, lines.size() == 2 ? std::string(lines[1]) : *answer);
}

Availability look(int major, const Problem& p, const Device& device) {
  const OnednnFacts& facts = facts_of(major, device);
  if (!facts.found) return {"", facts.error + (major == 2 ? kInstall : kInstallCurrent)};
  if (const std::string set = rigging_variable(); !set.empty()) {
    return {facts.version, fmt::format("{0} is set and would cripple it; unset {0}", set)};
  }
  if (is_empty(p)) return {facts.version, "the product is empty: nothing to time"};
  if (!p.is_gemm()) {
    const auto exact = implementation_for(major, p, device);
    if (!exact) return {facts.version, exact.error().message};
    if (!is_reference_loop(*exact)) return {facts.version, ""};
    return {facts.version, fmt::format("{} has only its reference loop ({}) for this operation",
                                       facts.version, *exact)};
  }
  const auto pair = std::ranges::find_if(facts.pairs, [&](const OnednnFacts::Pair& one) {
    return one.in == name_of(p.in) && one.out == name_of(p.out);
  });
  if (pair == facts.pairs.end() || pair->implementation.empty()) {
    return {facts.version, fmt::format("{} has no {} x {} -> {} matmul on this CPU", facts.version,
                                       name_of(p.in), name_of(p.in), name_of(p.out))};
  }
  std::string chosen = pair->implementation;
  if (is_unusual(p)) {
    const auto exact = implementation_for(major, p, device);
    if (!exact) return {facts.version, exact.error().message};
    chosen = *exact;
  }
  if (is_reference_loop(chosen)) {
    return {facts.version,
            fmt::format("{} has only its reference loop ({}) for this problem on this CPU",
                        facts.version, chosen)};
  }
  return {facts.version, ""};
}

class Onednn final : public Baseline {
 public:
  Onednn(OnednnApi api, OnednnHandle engine, OnednnHandle stream, const Problem& problem,
         int threads)
      : api_(std::move(api)),
        engine_(std::move(engine)),
        stream_(std::move(stream)),
        p_(problem),
        threads_(threads),
        set_threads_(api_.library().find<void(int)>("omp_set_num_threads")) {}

  [[nodiscard]] bool has_openmp() const { return set_threads_ != nullptr; }

  // Makes the worker threads exist before a lockdown forbids new ones.
  Status start_pool() {
    use_threads();
    using Region = void(void (*)(void*), void*, unsigned threads, unsigned flags);
    if (auto* parallel = api_.library().find<Region>("GOMP_parallel"); parallel != nullptr) {
      parallel([](void*) {}, nullptr, static_cast<unsigned>(threads_), 0);
      return {};
    }
    // TBB and SYCL have no such call; they start workers one by one while there is work. How many
    // is up to the affinity that PoolScope gives this thread.
    constexpr std::int64_t kSize = 512;
    const auto primitive =
        api_.matmul(engine_.get(), square(ElementType::f32, ElementType::f32, kSize));
    if (!primitive) return tl::unexpected(primitive.error());
    std::vector<float> a(kSize * kSize), b(a), c(a);
    for (int i = 0; i < 8; ++i) {
      if (auto s = api_.execute(*primitive, stream_.get(), a.data(), b.data(), c.data()); !s) {
        return s;
      }
    }
    return {};
  }

  Status prepare(const tw_cpu_gemm_args& args) override {
    if (auto fits = check_sizes(args, p_); !fits) return fits;
    const auto found = primitive_for(args);
    if (!found) return tl::unexpected(found.error());
    if (p_.is_gemm()) return {};
    return api_.make_ready(**found, stream_.get(), p_, args);
  }

  Status run(const tw_cpu_gemm_args& args) override {
    const auto found = primitive_for(args);
    if (!found) return tl::unexpected(found.error());
    use_threads();
    return api_.execute(**found, stream_.get(), args.a, args.b, args.c);
  }

 private:
  struct Key {
    float alpha, beta;
    std::int64_t stride_a, stride_b, stride_c;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Made {
    Key key;
    OnednnApi::Primitive primitive;
  };

  // Of the calling thread, since OpenMP keeps the number per thread.
  void use_threads() const {
    if (set_threads_ != nullptr) set_threads_(threads_);
  }

  Result<OnednnApi::Primitive*> primitive_for(const tw_cpu_gemm_args& args) {
    const Key key{args.alpha, args.beta, args.stride_a, args.stride_b, args.stride_c};
    for (Made& one : made_) {
      if (one.key == key) return &one.primitive;
    }
    if (auto fits = check_sizes(args, p_); !fits) return tl::unexpected(fits.error());
    use_threads();
    auto made = p_.is_gemm() ? api_.matmul(engine_.get(), product(p_, args))
                             : api_.operation(engine_.get(), p_, args);
    if (!made) return tl::unexpected(made.error());
    if (is_reference_loop(made->implementation)) {
      return fail(ErrorCode::environment,
                  fmt::format("{} has only its reference loop ({}) for these strides",
                              api_.version(), made->implementation));
    }
    made_.push_back({key, std::move(*made)});
    return &made_.back().primitive;
  }

  OnednnApi api_;
  OnednnHandle engine_, stream_;
  Problem p_;
  int threads_;
  void (*set_threads_)(int);
  std::list<Made> made_;  // addresses stay
};

Result<std::unique_ptr<Baseline>> make(int major, const Problem& problem, const Device& device,
                                       int threads) {
  if (is_empty(problem)) return fail(ErrorCode::usage, "the product is empty: nothing to time");
  PoolScope scope(team_cpus(device, threads));
  auto api = OnednnApi::open(major);
  if (!api) return tl::unexpected(api.error());
  auto engine = api->engine();
  if (!engine) return tl::unexpected(engine.error());
  auto stream = api->stream(engine->get());
  if (!stream) return tl::unexpected(stream.error());
  auto made = std::make_unique<Onednn>(std::move(*api), std::move(*engine), std::move(*stream),
                                       problem, threads);
  if (!made->has_openmp()) scope.leave_shared();
  if (auto s = made->start_pool(); !s) return tl::unexpected(s.error());
  return made;
}

}  // namespace

Availability look_onednn(const Problem& p, const Device& d) {
  return look(2, p, d);
}
Availability look_onednn_current(const Problem& p, const Device& d) {
  return look(3, p, d);
}
Result<std::unique_ptr<Baseline>> make_onednn(const Problem& p, const Device& d, int threads) {
  return make(2, p, d, threads);
}
Result<std::unique_ptr<Baseline>> make_onednn_current(const Problem& p, const Device& d,
                                                      int threads) {
  return make(3, p, d, threads);
}

}  // namespace tilewright
