// SPDX-License-Identifier: Apache-2.0
// The protocol with the torch process: invented peers (shell scripts in the place of Python) answer
// well, badly, late and not at all; the real program without torch says so.
#include "baseline/cuda/torch_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

Problem problem_of(std::string_view text) {
  return parse_problem(text).value();
}

class TorchPeerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tilewright_torch_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // An interpreter that runs `script` whatever it is given.
  std::string fake(const std::string& script) const {
    const fs::path path = folder_ / "python";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  static Result<TorchPeer> start(const std::string& python,
                                 milliseconds limit = milliseconds{5000}) {
    return TorchPeer::start({.python = python, .start_limit = limit, .limit = limit});
  }
  fs::path folder_;
};

constexpr const char* kHello = R"(echo '{"ready": true, "torch": "9.1", "cuda": "13.0"}')";

TEST_F(TorchPeerTest, TalksOneLineAtATime) {
  auto peer = start(fake(std::string(kHello) + R"(
    read open; echo "$open" >&2; echo '{"ok": true}'
    read time; echo '{"calls": 4, "seconds": [1e-6, 2e-6], "host_seconds": []}'
    read wall; echo '{"calls": 4, "seconds": [5e-6], "host_seconds": [3e-6]}'
    read check; echo '{"worst": 0.25}')"));
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->library(), "torch 9.1 (CUDA 13.0)");
  ASSERT_TRUE(peer->open(problem_of("64x64x64 f16"), 2));
  const auto device = peer->time(4, 2, TorchMode::device);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_THAT(device->seconds, ElementsAre(1e-6, 2e-6));
  const auto wall = peer->time(4, 1, TorchMode::wall);
  ASSERT_TRUE(wall) << wall.error().message;
  EXPECT_THAT(wall->host_seconds, ElementsAre(3e-6));
  EXPECT_EQ(peer->check().value(), 0.25);
  const BaselineInfo info = torch_baseline(peer, problem_of("64x64x64 f16"));
  EXPECT_TRUE(info.available) << info.why_not;
  EXPECT_FALSE(info.headline);
  EXPECT_THAT(torch_baseline(peer, problem_of("64x64x64 f16 acc=f16")).why_not, HasSubstr("f32"));
}

TEST_F(TorchPeerTest, SaysWhatTheOperationIs) {
  struct Case {
    const char* problem;
    const char* fields;  // among those that are sent
  };
  constexpr Case kCases[] = {
      {"64x32x16 bf16 nt", R"({"op": "gemm", "m": 64, "n": 32, "k": 16, "type": "bf16",
                               "a_transposed": false, "b_transposed": true, "batch": 1})"},
      {"transpose 64x32 f16", R"({"op": "transpose", "m": 64, "n": 32})"},
      {"reduce 64x32 f16 fn=max", R"({"op": "reduce", "function": "max", "m": 64, "n": 32})"},
      {"map 64x32 bf16 fn=gelu", R"({"op": "map", "function": "gelu", "type": "bf16"})"},
      {"softmax 64x32 f16", R"({"op": "softmax", "n": 32})"},
      {"layernorm 64x32 f16", R"({"op": "layernorm", "n": 32})"},
      {"conv2d 2x9x11x16 3x5x24 f16 stride=2 pad=1",
       R"({"op": "conv2d", "images": 2, "height": 9, "width": 11, "channels": 16,
           "filter_height": 3, "filter_width": 5, "filters": 24, "stride": 2, "pad": 1})"}};
  const fs::path heard = folder_ / "heard";
  for (const Case& one : kCases) {
    const Problem problem = problem_of(one.problem);
    EXPECT_EQ(torch_why_not(problem), "") << one.problem;
    auto peer = start(fake(std::string(kHello) + "\nread open; echo \"$open\" > " + heard.string() +
                           "; echo '{\"ok\": true}'"));
    ASSERT_TRUE(peer) << one.problem;
    ASSERT_TRUE(peer->open(problem, 3)) << one.problem;
    const auto sent = nlohmann::json::parse(std::ifstream(heard));
    EXPECT_EQ(sent.at("sets"), 3);
    const auto fields = nlohmann::json::parse(one.fields);
    for (const auto& [key, value] : fields.items()) {
      EXPECT_EQ(sent.at(key), value) << one.problem << " " << key;
    }
  }
}

TEST_F(TorchPeerTest, PassesOnWhatItComplainsOf) {
  auto peer = start(fake(std::string(kHello) + R"(
    read open; echo '{"error": "OutOfMemoryError: 40 GiB"}')"));
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->open(problem_of("64x64x64 f16"), 2).error().message, "OutOfMemoryError: 40 GiB");
}

TEST_F(TorchPeerTest, RefusesAnswersThatAreNone) {
  for (const char* answer :
       {"nonsense", "[1]", "{}", R"({"seconds": [1e-6, 0], "host_seconds": []})",
        R"({"seconds": [1e-6], "host_seconds": []})",
        R"({"seconds": [1e-6, "2"], "host_seconds": []})"}) {
    auto peer = start(fake(std::string(kHello) + "\nread time; echo '" + answer + "'"));
    ASSERT_TRUE(peer) << answer;
    const auto samples = peer->time(4, 2, TorchMode::device);
    ASSERT_FALSE(samples) << answer;
    EXPECT_THAT(samples.error().message, HasSubstr("answered"));
  }
}

TEST_F(TorchPeerTest, ASilentProcessIsKilled) {
  const auto peer = start(fake("exec sleep 600"), milliseconds{200});
  ASSERT_FALSE(peer);
  EXPECT_THAT(peer.error().message, HasSubstr("no answer within 200 ms"));
}

TEST_F(TorchPeerTest, ADyingProcessLeavesItsLastWords) {
  const auto peer = start(fake("echo first >&2; echo 'Segmentation fault' >&2; exit 1"));
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().message, "the process ended without an answer: Segmentation fault");
  auto later = start(fake(std::string(kHello) + "\nexit 0"));
  ASSERT_TRUE(later);
  EXPECT_FALSE(later->time(1, 1, TorchMode::device));
  EXPECT_FALSE(later->time(1, 1, TorchMode::device));  // and is not waited for again
}

TEST_F(TorchPeerTest, NoPythonIsAReason) {
  const auto peer = start((folder_ / "absent").string());
  const BaselineInfo info = torch_baseline(peer, problem_of("64x64x64 f16"));
  EXPECT_FALSE(info.available);
  EXPECT_THAT(info.why_not, HasSubstr("absent"));
  EXPECT_THAT(info.why_not, HasSubstr("TILEWRIGHT_PYTHON"));
}

TEST_F(TorchPeerTest, TheProgramSaysWhatItLacks) {
  if (std::system("python3 -c 'import sys; assert sys.version_info >= (3, 10)' 2>&1") != 0) {
    GTEST_SKIP() << "no Python 3.10 here";
  }
  // A torch that sees no device, found before any real one.
  std::ofstream(folder_ / "torch.py") << "__version__ = '0.0'\n"
                                         "print('a library that prints')\n"
                                         "class cuda:\n"
                                         "    is_available = staticmethod(lambda: False)\n";
  auto peer = start(fake("export PYTHONPATH=" + folder_.string() + "\nexec python3 \"$@\""),
                    milliseconds{20'000});
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().message, "torch 0.0 sees no CUDA device");
  std::ofstream(folder_ / "torch.py") << "raise ImportError('invented')\n";
  peer = start(fake("export PYTHONPATH=" + folder_.string() + "\nexec python3 \"$@\""),
               milliseconds{20'000});
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().message, "Python has no usable torch: invented");
}

TEST(TorchWhyNot, NamesWhatTorchCannot) {
  EXPECT_EQ(torch_why_not(problem_of("64x64x64 bf16 nt batch=3")), "");
  EXPECT_THAT(torch_why_not(problem_of("64x64x64 f16 out=f32")), HasSubstr("type"));
  EXPECT_THAT(torch_why_not(problem_of("64x64x64 f16 beta=one")), HasSubstr("beta"));
  EXPECT_THAT(torch_why_not(problem_of("64x64x64 f16 lda=72")), HasSubstr("packed"));
  EXPECT_THAT(torch_why_not(problem_of("softmax 64x64 f16 lda=72")), HasSubstr("packed"));
  EXPECT_THAT(torch_why_not(problem_of("reduce 64x64 f16 fn=sum out=f32")), HasSubstr("type"));
}

}  // namespace
}  // namespace tilewright
