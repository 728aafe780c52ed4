// SPDX-License-Identifier: Apache-2.0
// Operands of a device judged on the host: the host's verifier, and contestants that compute where
// the device's memory lies.
#include "execute/cuda/mirror.h"

#include "fakecuda/fake_cuda.h"
#include "verify/operation.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

enum class Fault { none, wrong, beyond };

class ComputingSession final : public Session {
 public:
  ComputingSession(const DeviceArena& arena, Fault fault) : arena_(arena), fault_(fault) {}

  Finding call(const std::string& contestant, int set, float, float) override {
    const Problem& p = arena_.problem();
    const DeviceOperands at =
        device_operands(arena_.layout(), arena_.base(), set,
                        contestant == "candidate" ? Owner::candidate : Owner::baseline);
    const auto view = [](cuda::Pointer start, ElementType type, std::int64_t rows,
                         std::int64_t cols, std::int64_t stride) {
      return Strided{
          reinterpret_cast<std::byte*>(start), type, rows, cols, 1, stride, rows * stride};
    };
    const Strided c = view(at.c, p.out, p.c_rows(), p.c_cols(), p.c_stride());
    std::vector<double> want(static_cast<std::size_t>(c.rows * c.cols));
    std::vector<float> magnitude(want.size());
    compute_rows(p, view(at.a, p.in, p.a_rows(), p.a_cols(), p.a_stride()),
                 view(at.b, p.in, p.b_rows(), p.b_cols(), p.b_stride()), whole(p), 0, c.rows,
                 want.data(), magnitude.data());
    if (fault_ == Fault::wrong) want.back() = 2;
    for (std::int64_t row = 0; row < c.rows; ++row) {
      for (std::int64_t j = 0; j < c.cols; ++j) {
        store(c.type, c.row(0, row), j, want[static_cast<std::size_t>(row * c.cols + j)]);
      }
    }
    if (fault_ == Fault::beyond) store(c.type, c.row(0, c.rows - 1), c.cols, 1);
    return {};
  }
  Finding call_sizes(std::int64_t, std::int64_t, std::int64_t) override { return {}; }
  TimingReply time(const std::vector<Burst>&) override { return {}; }
  Finding reprepare() override { return {}; }

 private:
  const DeviceArena& arena_;
  Fault fault_;
};

Finding proof_of(const std::string& problem, Fault fault) {
  auto context = cuda::Context::open(0);
  EXPECT_TRUE(context) << context.error().message;
  auto arena = DeviceArena::create(*context, parse_problem(problem).value(), 3, 256);
  EXPECT_TRUE(arena) << arena.error().message;
  auto mirror = OperandMirror::create(*arena);
  EXPECT_TRUE(mirror) << mirror.error().message;
  HostVerifier verifier((*mirror)->arena(), {.seed = 3});
  const auto session = (*mirror)->mirrored(std::make_unique<ComputingSession>(*arena, fault));
  return verifier.prove(*session, false, false).finding;
}

TEST(OperandMirror, WhatADeviceComputesIsJudged) {
  for (const char* problem : {"softmax 12x40 f16 ldc=44", "layernorm 9x33 bf16",
                              "transpose 17x30 f16", "reduce 31x20 f16 fn=sum"}) {
    const Finding right = proof_of(problem, Fault::none);
    EXPECT_TRUE(right.ok()) << problem << ": " << right.rule << ": " << right.detail;
    EXPECT_EQ(proof_of(problem, Fault::wrong).outcome, Outcome::wrong) << problem;
    EXPECT_EQ(proof_of(problem, Fault::beyond).outcome, Outcome::out_of_bounds) << problem;
  }
}

}  // namespace
}  // namespace tilewright
