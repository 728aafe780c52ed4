// SPDX-License-Identifier: Apache-2.0
// The runner protocol: every value survives the line, and no bytes are too odd for the parsers.
#include "execute/protocol.h"

#include "base/rng.h"
#include "execute/channel.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Request round_trip(const RequestBody& body) {
  const Request sent{std::numeric_limits<std::uint64_t>::max(), "00ff\"\\\n", body};
  const std::string line = to_line(sent);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  auto got = parse_request(line);
  EXPECT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->sequence, sent.sequence);
  EXPECT_EQ(got->nonce, sent.nonce);
  EXPECT_EQ(got->body.index(), body.index());
  return *got;
}

template <class T>
T same(const T& body) {
  return std::get<T>(round_trip(body).body);
}

TEST(ProtocolTest, RequestsSurviveTheLine) {
  EXPECT_EQ(same(HelloRequest{}), HelloRequest{});
  EXPECT_EQ(same(ReapRequest{123, 456}), (ReapRequest{123, 456}));
  EXPECT_EQ(same(LoadRequest{}), LoadRequest{});
  EXPECT_EQ(same(CallRequest{"openblas", 3, 0.1F, -0.0F}),
            (CallRequest{"openblas", 3, 0.1F, -0.0F}));
  EXPECT_EQ(same(SizesRequest{1, 2, std::int64_t{1} << 40}),
            (SizesRequest{1, 2, std::int64_t{1} << 40}));
  EXPECT_EQ(same(ReprepareRequest{}), ReprepareRequest{});
  EXPECT_EQ(same(SyncRequest{}), SyncRequest{});
  EXPECT_EQ(same(ProfileRequest{"candidate", 3}), (ProfileRequest{"candidate", 3}));
  const std::vector<Burst> plan = {{"candidate", 4, 1, true, 12.5, 99, 0.002},
                                   {"onednn"},
                                   {"cublas", 9, 0, false, 0, 0, 0, true}};
  EXPECT_EQ(same(TimeRequest{plan}).plan, plan);
  EXPECT_TRUE(same(TimeRequest{}).plan.empty());
}

TEST(ProtocolTest, WhatCudaAddsIsAbsentFromACpusLines) {
  EXPECT_THAT(to_line(Request{1, "n", TimeRequest{{{"onednn", 4}}}}),
              HasSubstr(R"(["onednn",4,0,false,0.0,0,0.0])"));
  EXPECT_THAT(to_line(Request{1, "n", OpenRequest{}}), Not(HasSubstr("arena")));
  Reply reply;
  reply.samples = {{0, 0.5, 2, 1}};
  EXPECT_THAT(to_line(reply), HasSubstr("[[0,0.5,2,1]]"));
}

TEST(ProtocolTest, ScalarsThatJsonDoesNotKnowSurvive) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(same(CallRequest{"x", 0, infinity, -infinity}).beta, -infinity);
  EXPECT_TRUE(std::isnan(same(CallRequest{"x", 0, std::nanf(""), 0}).alpha));
  EXPECT_TRUE(std::signbit(same(CallRequest{"x", 0, 1, -0.0F}).beta));
}

TEST(ProtocolTest, OpenSurvivesTheLine) {
  OpenRequest open;
  open.problem = "gemm 1x2x3 f16 acc=f32 nn";
  open.device = R"({"name":"Prozessor \u00e4"})";
  open.launch = "{}";
  open.layout = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  open.baselines = {"onednn", "reference"};
  open.cpus = {0, 7};
  open.memory_limit = 1ULL << 40;
  const OpenRequest got = same(open);
  EXPECT_EQ(got.problem, open.problem);
  EXPECT_EQ(got.device, open.device);
  EXPECT_EQ(got.launch, open.launch);
  EXPECT_EQ(got.baselines, open.baselines);
  EXPECT_EQ(got.cpus, open.cpus);
  EXPECT_EQ(got.memory_limit, open.memory_limit);
  EXPECT_EQ(got.layout.bytes, 1);
  EXPECT_EQ(got.layout.sets, 2);
  EXPECT_EQ(got.layout.set_stride, 3);
  EXPECT_EQ(got.layout.c_baseline, 7);
  EXPECT_EQ(got.layout.workspace, 8);
  EXPECT_EQ(got.layout.workspace_bytes, 9);
  open.arena = "00ff";
  open.workspace_in_use = 5;
  open.workspace_zeroed = 4;
  open.algorithms = {"", "cublasLt 13.1.0 00ff"};
  open.rivals = {"{}", R"({"target":"cuda"})"};
  const OpenRequest cuda = same(open);
  EXPECT_EQ(cuda.arena, "00ff");
  EXPECT_EQ(cuda.workspace_in_use, 5);
  EXPECT_EQ(cuda.workspace_zeroed, 4);
  EXPECT_EQ(cuda.algorithms, open.algorithms);
  EXPECT_EQ(cuda.rivals, open.rivals);
}

TEST(ProtocolTest, RepliesSurviveTheLine) {
  Reply reply;
  reply.sequence = 7;
  reply.nonce = "n";
  EXPECT_EQ(*parse_reply(to_line(reply)), reply);
  reply.failure = "dlopen";
  reply.detail = "a \"quoted\" text";
  reply.samples = {{0, 1e-7 / 3, 64, 2}, {1, 0.1, 1, 0}, {2, 1e-6, 1, 0, 9e-6}};
  reply.uncounted_seconds = 0.25;
  reply.prime_seconds = {1.5, 2.5};
  reply.choices = {"algo 66", ""};
  reply.algorithms = {"", "cublasLt 13.1.0 00ff"};
  reply.pid = 42;
  reply.status = 139;
  reply.killed = true;
  reply.strays = 1;
  reply.isolation = {"seccomp"};
  reply.missing = "rlimits: why";
  EXPECT_EQ(*parse_reply(to_line(reply)), reply);
}

TEST(ProtocolTest, TextThatIsNotUtf8DoesNotThrow) {
  Reply reply;
  reply.detail = "caf\xe9";
  const auto got = parse_reply(to_line(reply));
  ASSERT_TRUE(got);
  EXPECT_THAT(got->detail, HasSubstr("caf"));
}

TEST(ProtocolTest, RefusesWhatIsOff) {
  const char* const requests[] = {
      "",
      "{",
      "[]",
      "null",
      "7",
      "{}",
      R"({"seq":1,"nonce":"a"})",
      R"({"seq":1,"nonce":"a","verb":"destroy"})",
      R"({"seq":-1,"nonce":"a","verb":"sync"})",
      R"({"seq":1.5,"nonce":"a","verb":"sync"})",
      R"({"seq":1,"nonce":2,"verb":"sync"})",
      R"({"seq":99999999999999999999,"nonce":"a","verb":"sync"})",
      R"({"seq":1,"nonce":"a","verb":"reap","pid":1})",
      R"({"seq":1,"nonce":"a","verb":"call","contestant":"x","set":3000000000,"alpha_bits":0,"beta_bits":0})",
      R"({"seq":1,"nonce":"a","verb":"time","plan":[["x",1]]})",
      R"({"seq":1,"nonce":"a","verb":"time","plan":[["x",1,0,false,1e999,0,0]]})",
      R"({"seq":1,"nonce":"a","verb":"time","plan":[["x",1,0,false,0,0,0,1]]})",
      R"({"seq":1,"nonce":"a","verb":"time","plan":{"x":1}})"};
  for (const char* line : requests) EXPECT_FALSE(parse_request(line)) << line;
  const char* const replies[] = {"",
                                 "trap 3",
                                 "{}",
                                 R"({"seq":1})",
                                 R"({"seq":1,"nonce":"a","samples":[[0,1e-3,1]]})",
                                 R"({"seq":1,"nonce":"a","samples":[[0,"1",1,0]]})",
                                 R"({"seq":1,"nonce":"a","samples":[[0,1e-3,1,0,"1"]]})",
                                 R"({"seq":1,"nonce":"a","choices":["x",1]})",
                                 R"({"seq":1,"nonce":"a","samples":7})",
                                 R"({"seq":1,"nonce":"a","killed":1})",
                                 R"({"seq":1,"nonce":"a","detail":null})"};
  for (const char* line : replies) EXPECT_FALSE(parse_reply(line)) << line;
}

TEST(ProtocolTest, TrapLines) {
  EXPECT_EQ(parse_trap("trap 56"), 56);
  EXPECT_EQ(parse_trap("trap 0"), 0);
  for (const char* line : {"trap", "trap ", "trap -1", "trap 1 ", "trap 1x", "trap 100001", "56"}) {
    EXPECT_EQ(parse_trap(line), std::nullopt) << line;
  }
}

// Random bytes, and real lines with random damage: an Error or a value, never a crash; and what is
// accepted prints and parses to itself.
TEST(ProtocolTest, AnyBytesAreAnAnswerOrAnError) {
  Rng rng(20);
  Reply timed;
  timed.nonce = "e";
  timed.samples = {{0, 1e-3, 2, 0}};
  const std::string seeds[] = {
      to_line(Request{1, "ab", TimeRequest{{{"candidate", 4, 1, true, 12.5, 99, 0.002}}}}),
      to_line(Request{2, "cd", CallRequest{"candidate", 1, 1, 0}}), to_line(timed)};
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string line;
    if (rng.below(4) == 0) {
      line.resize(rng.below(40));
      for (char& c : line) c = static_cast<char>(rng.below(256));
    } else {
      line = seeds[rng.below(3)];
      for (std::uint64_t edits = rng.below(4); edits > 0; --edits) {
        const std::size_t at = rng.below(line.size());
        switch (rng.below(3)) {
          case 0:
            line[at] = static_cast<char>(rng.below(256));
            break;
          case 1:
            line.erase(at, 1 + rng.below(3));
            break;
          default:
            line.insert(at, line.substr(rng.below(line.size()), 1 + rng.below(4)));
        }
        if (line.empty()) break;
      }
    }
    if (auto request = parse_request(line)) {
      ++accepted;
      const std::string printed = to_line(*request);
      auto again = parse_request(printed);
      ASSERT_TRUE(again) << line;
      EXPECT_EQ(to_line(*again), printed);
    }
    if (auto reply = parse_reply(line)) {
      ++accepted;
      const auto again = parse_reply(to_line(*reply));
      ASSERT_TRUE(again) << line;
      EXPECT_EQ(*again, *reply);
    }
    static_cast<void>(parse_trap(line));
  }
  EXPECT_GT(accepted, 1000);  // the damage is light enough to test the accepting side too
}

TEST(ProtocolTest, DeepNestingIsNoStackOverflow) {
  EXPECT_FALSE(parse_reply(std::string(200000, '[')));
  EXPECT_FALSE(parse_request(R"({"seq":1,"nonce":)" + std::string(200000, '[')));
}

TEST(ChannelTest, LinesAndDescriptorsArrive) {
  auto [left, right] = channel_pair();
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  ASSERT_TRUE(left.send("one", std::span(&pipe_ends[1], 1)));
  ASSERT_TRUE(left.send("two"));
  std::string line;
  std::vector<int> fds;
  ASSERT_EQ(right.receive(line, std::chrono::seconds(5), &fds), Channel::Got::line);
  EXPECT_EQ(line, "one");
  ASSERT_EQ(fds.size(), 1U);
  ASSERT_EQ(right.receive(line, std::chrono::seconds(5)), Channel::Got::line);
  EXPECT_EQ(line, "two");
  EXPECT_FALSE(right.has_more());
  EXPECT_EQ(write(fds[0], "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
  for (const int fd : {pipe_ends[0], pipe_ends[1], fds[0]}) close(fd);
  EXPECT_EQ(right.receive(line, std::chrono::milliseconds(20)), Channel::Got::timeout);
  left.reset();
  EXPECT_EQ(right.receive(line), Channel::Got::closed);
  EXPECT_FALSE(right.send("to nobody"));
}

TEST(ChannelTest, ALineHasALargestLength) {
  auto [left, right] = channel_pair();
  EXPECT_FALSE(left.send(std::string(kMaxLineBytes, 'x')));
  const pid_t writer = fork();
  if (writer == 0) {  // bytes without end
    right.reset();
    const std::string block(1 << 16, 'x');
    while (write(left.fd(), block.data(), block.size()) > 0) {
    }
    _exit(0);
  }
  left.reset();
  std::string line;
  EXPECT_EQ(right.receive(line, std::chrono::seconds(60)), Channel::Got::overlong);
  right.reset();  // ends the writer
  EXPECT_EQ(waitpid(writer, nullptr, 0), writer);
}

}  // namespace
}  // namespace tilewright
