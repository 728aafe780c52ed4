// SPDX-License-Identifier: Apache-2.0
// What the tests of proofs on a device share: the device with the checker's kernels, and a kernel
// that is a function here, working on a copy of the operands in host memory.
#pragma once

#include "verify/both/drawing.h"
#include "verify/cuda/cuda_ground.h"
#include "verify/cuda/cuda_verifier.h"
#include "verify/faults.h"
#include "verify/timed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

namespace tilewright {

// The device, its context, and the checker's kernels, compiled once for all tests here.
class CudaProof : public ::testing::Test {
 protected:
#ifdef TILEWRIGHT_EMULATED_CUDA  // tests/fakecuda/driver/emulated_kernels.cc
  static Result<std::unique_ptr<KernelBench>> ready_bench() {
    std::string image(64, '\0');
    for (const char* name : kKernelNames) image += std::string(name) + "\n";
    return KernelBench::load(*context, image);
  }
#else
  static Result<std::unique_ptr<KernelBench>> ready_bench() {
    const int capability = 10 * context->attribute(cuda::kCapabilityMajor) +
                           context->attribute(cuda::kCapabilityMinor);
    return KernelBench::open(*context, *compiler, capability);
  }
#endif

  static void SetUpTestSuite() {
#ifdef TILEWRIGHT_EMULATED_CUDA
    setenv("TILEWRIGHT_LIBCUDA", TILEWRIGHT_EMULATED_CUDA, 1);
#endif
    auto opened = cuda::Context::open(0);
    if (!opened) {
      why_not = opened.error().message;
      return;
    }
    std::string name = (std::filesystem::temp_directory_path() / "tw-gpu-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    CompileOptions options;
#ifdef TILEWRIGHT_EMULATED_CUDA
    options.needs = "";
#else
    options.needs = "cuda";
#endif
    options.cache_directory = folder;
    auto made = Compiler::create(options);
    if (!made) {
      why_not = made.error().message;
      return;
    }
    context = std::make_unique<cuda::Context>(std::move(*opened));
    compiler = std::make_unique<Compiler>(std::move(*made));
    auto ready = ready_bench();
    ASSERT_TRUE(ready) << ready.error().message;
    bench = std::move(*ready);
  }
  static void TearDownTestSuite() {
    bench.reset();
    compiler.reset();
    context.reset();
    std::error_code ignored;
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }
  void SetUp() override {
    if (!bench) GTEST_SKIP() << why_not;
  }
  void TearDown() override {
    if (bench) {
      EXPECT_TRUE(bench->trouble().ok()) << bench->trouble().detail;
    }
  }

  static DeviceArena arena_on(const Problem& p, int sets, std::int64_t workspace = 256) {
    auto made = DeviceArena::create(*context, p, sets, workspace);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return std::move(*made);
  }

  static std::unique_ptr<cuda::Context> context;
  static std::unique_ptr<Compiler> compiler;
  static std::unique_ptr<KernelBench> bench;
  static std::string why_not;
  static std::filesystem::path folder;
};
inline std::unique_ptr<cuda::Context> CudaProof::context;
inline std::unique_ptr<Compiler> CudaProof::compiler;
inline std::unique_ptr<KernelBench> CudaProof::bench;
inline std::string CudaProof::why_not;
inline std::filesystem::path CudaProof::folder;

// A host arena that is filled from the device before a call and copied back after it, guards,
// gaps and workspace included.
class Mirror {
 public:
  explicit Mirror(const DeviceArena& device)
      : device_(device),
        host_(arena_of(device.problem(), device.layout().sets, device.layout().workspace_bytes)) {}

  template <class Work>
  Finding call(const Work& work) {
    for_each([&](std::byte* here, cuda::Pointer there, std::size_t bytes) {
      return device_.context().driver().MemcpyDtoH(here, there, bytes);
    });
    work(host_);
    for_each([&](std::byte* here, cuda::Pointer there, std::size_t bytes) {
      return device_.context().driver().MemcpyHtoD(there, here, bytes);
    });
    return {};
  }
  // A caller of `work(arena, set, alpha, beta)`.
  template <class Work>
  Caller caller(const Work& work) {
    Caller made;
    made.call = [this, work](int set, float alpha, float beta) {
      return call([&](const Arena& arena) { work(arena, set, alpha, beta); });
    };
    return made;
  }
  Caller honest() {
    Caller made = caller([](const Arena& arena, int set, float alpha, float beta) {
      honest_call(arena, set, alpha, beta);
    });
    made.call_sizes = [this](const Extent& e) {
      return call(
          [&](const Arena& arena) { honest_call(arena, 0, 1, timed_beta(arena.problem()), e); });
    };
    return made;
  }

 private:
  template <class Copy>
  void for_each(const Copy& copy) {
    // With some of the guard before and behind it.
    const auto piece = [&](std::span<std::byte> here, cuda::Pointer there) {
      const std::size_t around = kGuardBytes;
      ASSERT_EQ(copy(here.data() - around, there - around, here.size() + 2 * around), 0);
    };
    for (int set = 0; set < device_.layout().sets; ++set) {
      piece(host_.a(set), device_.a(set));
      piece(host_.b(set), device_.b(set));
      for (const Owner owner : {Owner::candidate, Owner::baseline}) {
        piece(host_.c(set, owner), device_.c(set, owner));
      }
    }
    piece(host_.workspace(), device_.workspace());
  }

  const DeviceArena& device_;
  Arena host_;
};

inline std::string text_of(const Finding& finding) {
  return finding.rule + ": " + finding.detail;
}

}  // namespace tilewright
