// SPDX-License-Identifier: Apache-2.0
// The CUDA backend on a driver made of host memory: results over shapes, strides, alignments and
// epilogues; what a call may and may not ask of the driver; what is said when something is missing.
#include "runtime_cuda/fake_cuda.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

cuda::Stream stream(std::uintptr_t number) {
  return reinterpret_cast<cuda::Stream>(number);
}

Case random_case(Rng& rng) {
  Case c;
  Call& call = c.call;
  const auto size = [&rng](std::uint64_t most) {
    return static_cast<std::int64_t>(rng.below(8) == 0 ? rng.below(2) : 1 + rng.below(most));
  };
  const bool tidy = rng.below(3) == 0;  // rows that are multiples of 16 bytes
  const auto rounded = [&](std::int64_t v) { return tidy ? (v + 7) / 8 * 8 : v; };
  call.m = size(40);
  call.n = rounded(size(40));
  call.k = rounded(size(48));
  call.batch = rng.below(3) == 0 ? size(5) : 1;
  call.in = rng.below(2) == 0 ? ElementType::f16 : ElementType::bf16;
  call.out = rng.below(3) == 0 ? ElementType::f32 : call.in;
  call.a_transposed = rng.below(2) == 0;
  call.b_transposed = rng.below(2) == 0;
  if (tidy && call.a_transposed) call.m = rounded(call.m);
  call.activation = static_cast<tw_activation>(rng.below(4));
  call.mode = static_cast<tw_mode>(rng.below(3));
  const auto pad = [&](std::int64_t columns) {
    const auto more = static_cast<std::int64_t>(rng.below(3) == 0 ? rng.below(9) : 0);
    return columns + (tidy ? more / 8 * 8 : more);
  };
  call.lda = rng.below(12) == 0 ? 0 : pad(call.a_columns());
  call.ldb = rng.below(12) == 0 ? 0 : pad(call.b_columns());
  call.ldc = pad(call.n);
  call.stride_a = rng.below(6) == 0 ? 0 : call.a_rows() * call.lda;
  call.stride_b = rng.below(6) == 0 ? 0 : call.b_rows() * call.ldb;
  call.stride_c = call.m * call.ldc;
  std::array<int, 3> shift{};
  for (int& s : shift) s = tidy && rng.below(2) == 0 ? 0 : static_cast<int>(rng.below(9));
  c.fill(rng, shift, rng.below(2) == 0);
  constexpr std::array<float, 4> kScales = {1, 0, 0.5F, -2};
  c.operands.alpha = kScales[rng.below(4)];
  c.operands.beta = rng.below(2) == 0 ? 0 : kScales[rng.below(4)];
  if (c.operands.alpha == 0 || call.k == 0) c.operands.a = c.operands.b = nullptr;
  return c;
}

TEST_F(CudaBackendTest, AnyProductIsServed) {
  for (const int device : {0, 1}) {
    const auto backend = open(device);
    ASSERT_NE(backend, nullptr);
    Rng rng(11, static_cast<std::uint64_t>(device));
    for (int i = 0; i < 800; ++i) {
      Case c = random_case(rng);
      if (rng.below(2) == 0) {
        const auto prepared = backend->prepare(c.call, stream(rng.below(5)));
        ASSERT_TRUE(prepared) << prepared.error().message;
      }
      expect_right(*backend, c, stream(rng.below(5)), std::to_string(i) + ": ");
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
}

TEST_F(CudaBackendTest, APreparedCallAsksForNothing) {
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  Rng rng(3);
  FakeState& s = fake();
  for (Call call : {packed(8, 64, 512), packed(64, 64, 64), packed(33, 17, 65)}) {
    for (const tw_mode mode : {TW_FASTEST, TW_DETERMINISTIC, TW_BATCH_INVARIANT}) {
      call.mode = mode;
      ASSERT_TRUE(backend->prepare(call, stream(7)));
      const int allocations = s.allocations, loads = s.loads, waits = s.waits;
      for (int i = 0; i < 6; ++i) {
        Case c;
        c.call = call;
        c.fill(rng, {i, 0, i}, i % 2 == 1);
        expect_right(*backend, c, stream(7));
      }
      EXPECT_EQ(allocations, s.allocations);
      EXPECT_EQ(loads, s.loads);
      EXPECT_EQ(waits, s.waits);
    }
  }
}

TEST_F(CudaBackendTest, RunsOnItsDeviceAndStreamAndPutsTheCallersBack) {
  const auto first = open(0), second = open(1);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  cuda::ContextHandle current = nullptr;
  const cuda::Driver& driver = **cuda::driver();
  const auto mine = reinterpret_cast<cuda::ContextHandle>(std::uintptr_t{1});
  driver.CtxSetCurrent(mine);
  fake().keep = true;
  Rng rng(4);
  Case c;
  c.call = packed(16, 16, 16);
  c.fill(rng);
  expect_right(*second, c, stream(9));
  driver.CtxGetCurrent(&current);
  EXPECT_EQ(current, mine);
  ASSERT_EQ(fake().kept.size(), 1U);
  EXPECT_EQ(fake().kept[0].context, reinterpret_cast<cuda::ContextHandle>(std::uintptr_t{2}));
  EXPECT_EQ(fake().kept[0].stream, stream(9));
  const int sets = fake().sets;
  expect_right(*first, c, stream(9));
  EXPECT_EQ(fake().sets, sets);  // it was current already
  driver.CtxSetCurrent(nullptr);
  expect_right(*first, c, stream(9));
  driver.CtxGetCurrent(&current);
  EXPECT_EQ(current, nullptr);
}

TEST_F(CudaBackendTest, MemoryOfAnotherDeviceIsRefused) {
  const auto backend = open(0);
  ASSERT_NE(backend, nullptr);
  Rng rng(5);
  Case c;
  c.call = packed(16, 16, 16);
  c.fill(rng, {0, 0, 0}, true);
  for (const auto& [name, address] :
       std::initializer_list<std::pair<const char*, const void*>>{{"a", c.operands.a},
                                                                  {"b", c.operands.b},
                                                                  {"c", c.operands.c},
                                                                  {"bias", c.bias.data()}}) {
    fake().elsewhere = reinterpret_cast<cuda::Pointer>(address);
    const auto refused = backend->run(c.call, c.operands, nullptr);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().status, TW_INVALID);
    EXPECT_THAT(refused.error().message, HasSubstr(std::string(name) + "=0x"));
    EXPECT_THAT(refused.error().message, HasSubstr("CUDA device 1, the handle's is 0"));
    EXPECT_EQ(c.c, c.before);
  }
  fake().elsewhere = reinterpret_cast<cuda::Pointer>(c.operands.a);
  c.operands.alpha = 0;  // then A is not read
  expect_right(*backend, c);
}

// On a device without clusters a long K is split through the workspace.
TEST_F(CudaBackendTest, WorkspacesBelongToStreams) {
  const auto backend = open(1);
  ASSERT_NE(backend, nullptr);
  const Call call = packed(16, 64, 65536 / 8);
  EXPECT_THAT(backend->explain(call).value(), HasSubstr("reduce=workspace"));
  fake().keep = true;
  Rng rng(6);
  Case c;
  c.call = call;
  c.fill(rng);
  std::vector<std::uint64_t> seen;
  for (const std::uintptr_t number : {5, 6, 5, 0, 7}) {
    expect_right(*backend, c, stream(number));
    const auto& values = fake().kept.back().values;
    seen.push_back(values.contains("workspace") ? values.at("workspace") : 0);
  }
  EXPECT_NE(seen[0], 0U);
  EXPECT_NE(seen[1], 0U);
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[3], 0U);  // two streams have one, as options say
  EXPECT_EQ(seen[4], 0U);
  c.call.mode = TW_DETERMINISTIC;  // the same on every stream
  expect_right(*backend, c, stream(5));
  EXPECT_EQ(fake().kept.back().values.at("workspace"), 0U);
}

TEST_F(CudaBackendTest, TheFirstCallMayBeCaptured) {
  for (const int device : {0, 1}) {
    const auto backend = open(device);
    ASSERT_NE(backend, nullptr);
    const cuda::Driver& driver = **cuda::driver();
    Rng rng(7);
    Case c;
    c.call = packed(16, 64, 8192);
    c.fill(rng);
    FakeState& s = fake();
    const int allocations = s.allocations, loads = s.loads, waits = s.waits;
    driver.StreamBeginCapture(stream(3), 0);
    ASSERT_TRUE(backend->run(c.call, c.operands, stream(3)));
    driver.StreamEndCapture(stream(3), nullptr);
    EXPECT_EQ(c.c, c.before);  // nothing has run
    EXPECT_EQ(allocations, s.allocations);
    EXPECT_EQ(loads, s.loads);
    EXPECT_EQ(waits, s.waits);
    for (int replay = 0; replay < 3; ++replay) {
      store(c.call.in, const_cast<void*>(c.operands.a), replay, 3.25);
      ASSERT_EQ(driver.GraphLaunch(nullptr, stream(3)), cuda::kSuccess);
      EXPECT_EQ(c.wrong(), "");
    }
  }
}

TEST_F(CudaBackendTest, LargeProductsAreSeveralLaunches) {
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  fake().compute = false;
  fake().keep = true;
  const auto at = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  Operands o;
  o.a = at(std::uint64_t{1} << 40);
  o.b = at(std::uint64_t{2} << 40);
  o.c = at(std::uint64_t{3} << 40);
  Call call = packed(5, 3, 7, 200000);
  call.mode = TW_DETERMINISTIC;
  ASSERT_TRUE(backend->run(call, o, nullptr));
  std::uint64_t entries = 0;
  for (const FakeLaunch& one : fake().kept) {
    EXPECT_LE(one.grid[2], 65535U);
    EXPECT_EQ(one.values.at("a"), (std::uint64_t{1} << 40) + entries * 5 * 7 * 2);
    EXPECT_EQ(one.values.at("c"), (std::uint64_t{3} << 40) + entries * 5 * 3 * 2);
    entries += one.grid[2];
  }
  EXPECT_EQ(entries, 200000U);
  fake().kept.clear();
  call = packed(3, (std::int64_t{1} << 29) + 17, 64);
  call.mode = TW_DETERMINISTIC;
  ASSERT_TRUE(backend->run(call, o, nullptr));
  std::uint64_t columns = 0;
  for (const FakeLaunch& one : fake().kept) {
    EXPECT_EQ(one.values.at("c"), (std::uint64_t{3} << 40) + columns * 2);
    columns += one.values.at("i32:N");
  }
  EXPECT_EQ(columns, (std::uint64_t{1} << 29) + 17);
  call = packed(1, 1, std::int64_t{1} << 31);
  const auto refused = backend->run(call, o, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, TW_UNSUPPORTED);
  EXPECT_THAT(refused.error().message, HasSubstr("k=2147483648"));
}

TEST_F(CudaBackendTest, BatchInvariantMeansOneProgramForAnyRows) {
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  for (const bool transposed : {false, true}) {
    std::string first;
    for (const std::int64_t m : {1, 7, 64, 1000, 20000}) {
      Call call = packed(m, 512, 8192);
      call.mode = TW_BATCH_INVARIANT;
      call.a_transposed = transposed;
      if (transposed) call.lda = m;
      const std::string text = backend->explain(call).value();
      const std::size_t begin = text.find("\n  sm"), end = text.find('\n', begin + 1);
      const std::string program = text.substr(begin, end - begin);
      if (first.empty()) first = program;
      EXPECT_EQ(program, first) << m;
      EXPECT_THAT(text, Not(HasSubstr("of workspace")));
    }
  }
}

TEST_F(CudaBackendTest, TheRuleTellsTinyFromLarge) {
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  EXPECT_THAT(backend->explain(packed(8192, 8192, 8192)).value(), HasSubstr("built in: expected"));
  const auto best = [&](const Call& call) {
    const std::string text = backend->explain(call).value();
    return text.substr(0, text.find("else"));
  };
  EXPECT_THAT(best(packed(8192, 8192, 8192)), HasSubstr("tile_m=128"));
  EXPECT_THAT(best(packed(64, 64, 64)), HasSubstr("form=direct"));
  EXPECT_THAT(best(packed(16, 4096, 16384)), HasSubstr("sm90"));
  EXPECT_THAT(best(packed(8191, 8191, 8191)), HasSubstr("sm80 form=tile"));
}

TEST_F(CudaBackendTest, WithoutKernelsThereIsNoDevice) {
  const auto backend = open_cuda(options_, 0);
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().status, TW_NO_DEVICE);
  EXPECT_THAT(backend.error().message, HasSubstr("tilewright bundle --core"));
  EXPECT_EQ(open_cuda(options_, 7).error().status, TW_NO_DEVICE);
}

TEST_F(CudaBackendTest, ADamagedBundleIsAMiss) {
  std::string bytes = core(0);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] + 1);
  write("damaged.twk", bytes);
  write("empty.twk", "");
  write("other.twk", core(1));
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(open_cuda(options_, 0));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("damaged.twk"));
  EXPECT_THAT(said, HasSubstr("empty.twk"));
  EXPECT_THAT(said, HasSubstr("8.0, this device has 9.0"));
  ::testing::internal::CaptureStderr();
  EXPECT_NE(open(0), nullptr);
  ::testing::internal::GetCapturedStderr();
}

TEST_F(CudaBackendTest, FailuresOfTheDriverAreStatuses) {
  fake().out_of_memory = true;
  write("core.twk", core(0));
  const auto poor = open_cuda(options_, 0);
  ASSERT_FALSE(poor);
  EXPECT_EQ(poor.error().status, TW_OUT_OF_MEMORY);
  EXPECT_THAT(poor.error().message, HasSubstr("workspace_bytes=8388608"));
  fake().out_of_memory = false;
  const auto backend = open(0);
  ASSERT_NE(backend, nullptr);
  Rng rng(8);
  Case c;
  c.call = packed(16, 16, 16);
  c.fill(rng);
  fake().launch_code = 700;
  const auto failed = backend->run(c.call, c.operands, nullptr);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, TW_FAILED);
  EXPECT_THAT(failed.error().message, HasSubstr("launching"));
}

TEST_F(CudaBackendTest, ThreadsShareIt) {
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Rng rng(20, t % 2);  // pairs of threads meet the same descriptions
      for (int i = 0; i < 150; ++i) {
        Case c = random_case(rng);
        if (i % 3 == 0 && !backend->prepare(c.call, stream(t + 3))) ++wrong;
        if (!backend->run(c.call, c.operands, stream(t + 3)) || !c.wrong().empty()) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

// Not a limit: what a call costs besides the driver, for people to read.
TEST_F(CudaBackendTest, HostCostIsShown) {
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  fake().compute = false;
  alignas(256) static std::array<std::byte, 1024> memory{};
  Operands o;
  o.a = o.b = memory.data();
  o.c = memory.data() + 512;
  for (const Call& call : {packed(4096, 4096, 4096), packed(64, 64, 64)}) {
    ASSERT_TRUE(backend->prepare(call, nullptr));
    constexpr int kCalls = 50000;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) ASSERT_TRUE(backend->run(call, o, nullptr));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%lld^3: %.0f ns a call\n", static_cast<long long>(call.m), 1e9 * seconds / kCalls);
  }
  const auto start = std::chrono::steady_clock::now();
  constexpr int kSizes = 500;
  for (int m = 1; m <= kSizes; ++m) ASSERT_TRUE(backend->prepare(packed(m, 4096, 4096), nullptr));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.1f us for the first call of a description\n", 1e6 * seconds / kSizes);
}

}  // namespace
}  // namespace tilewright::runtime
