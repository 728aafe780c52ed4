// SPDX-License-Identifier: Apache-2.0
// Kernels that cheat or break, from source text to the end of timing: each must be caught, and by
// the rule meant for it (tests/cases/redteam.txt). The inspection of binaries would refuse those
// with state before they run, so it is off at first; then it must refuse exactly those.
#include "compile/compile.h"
#include "execute/session.h"
#include "generate/generate.h"
#include "verify/verify.h"

#include "base/file.h"
#include "base/scratch_folder.h"
#include "base/text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {
namespace {

constexpr const char* kFolder = TILEWRIGHT_SOURCE_DIR "/tests/redteam/";
// K is a multiple of 16 and the row stride of A larger, so that reading past K stays in the row.
constexpr const char* kProblem = "gemm 66x70x160 f16 acc=f32 nn lda=176 ldc=90";

constexpr int kCallsBeforeTiming = 40;

struct Case {
  std::string fixture, rule, inspection;
  Outcome outcome = Outcome::ok;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.fixture;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto text = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/redteam.txt");
  if (!text) return list;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const auto fields = split(line, '|');
    if (fields.size() != 5) return {};
    const auto field = [&](std::size_t i) {
      const std::string_view word = trim(fields[i]);
      return std::string(word == "-" ? "" : word);
    };
    const auto outcome = outcome_from(field(1));
    if (!outcome) return {};
    list.push_back({field(0), field(2), field(3), *outcome});
  }
  return list;
}

class RedTeam : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    scratch = std::make_unique<ScratchFolder>();
    device = std::make_unique<Device>(detect_cpu());
  }
  static void TearDownTestSuite() {
    scratch.reset();
    device.reset();
  }

  static CompileResult build(const std::string& fixture, bool inspect) {
    CompileOptions options;
    options.cache_directory = scratch->path();
    options.refuse_writable_state = inspect;
    auto compiler = Compiler::create(options);
    EXPECT_TRUE(compiler) << (compiler ? "" : compiler.error().message);
    // The binary must outlive its compiler.
    static std::vector<std::unique_ptr<Compiler>> kept;
    kept.push_back(std::make_unique<Compiler>(std::move(*compiler)));
    Launch launch;
    if (const auto json = read_file(kFolder + fixture + ".json")) {
      auto parsed = launch_from_json(*json);
      EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
      launch = *parsed;
    }
    const auto text = read_file(kFolder + fixture + ".cc");
    EXPECT_TRUE(text) << fixture;
    Source source = foreign_source(text ? *text : "", launch, *device);
    source.headers.emplace_back("redteam/plain.h", *read_file(std::string(kFolder) + "plain.h"));
    return kept.back()->compile(source);
  }

  // Proof, timing with its checks, replay: the first finding that is not ok, or the last.
  static Finding gate(Worker& worker, const Binary& binary, Verdict* verdict) {
    const Problem problem = *parse_problem(kProblem);
    const auto workspace = workspace_bytes(binary.launch, problem);
    EXPECT_TRUE(workspace) << (workspace ? "" : workspace.error().message);
    auto arena = Arena::create(problem, 3, *workspace);
    EXPECT_TRUE(arena) << (arena ? "" : arena.error().message);
    auto opened = worker.open(*arena, &binary, {"reference"});
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    if (!opened || !opened->session) return opened ? opened->finding : Finding{};
    Session& session = *opened->session;
    HostVerifier verifier(*arena, {});
    *verdict = verifier.prove(session, false, true);
    if (!verdict->finding.ok()) return verdict->finding;
    // Timing starts after as many calls whatever the proof needed: two fixtures count them.
    for (int call = verdict->checks; call < kCallsBeforeTiming; ++call) {
      if (Finding finding = session.call("candidate", 0); !finding.ok()) return finding;
    }
    verifier.arm();
    for (int round = 0; round < 3; ++round) {
      verifier.refresh();
      if (Finding finding = session.reprepare(); !finding.ok()) return finding;
      std::vector<Burst> plan(2);
      plan[0].contestant = "reference";
      plan[1].contestant = "candidate";
      plan[0].calls = plan[1].calls = 4;
      plan[1].first_set = round % 3;
      TimingReply reply = session.time(plan);
      if (!reply.finding.ok()) return reply.finding;
      if (Finding finding = verifier.check_timed({0, 1, 2}); !finding.ok()) return finding;
    }
    return verifier.replay(session);
  }

  static std::unique_ptr<ScratchFolder> scratch;
  static std::unique_ptr<Device> device;
};
std::unique_ptr<ScratchFolder> RedTeam::scratch;
std::unique_ptr<Device> RedTeam::device;

TEST_P(RedTeam, IsCaughtByTheRuleMeantForIt) {
  const Case& c = GetParam();
  const CompileResult built = build(c.fixture, false);
  ASSERT_TRUE(built.binary) << built.finding.rule << ": " << built.finding.detail;
  WorkerOptions options;
  options.runner = TILEWRIGHT_BINARY_DIR "/bin/tilewright-runner";
  // Long enough for a busy machine, unless the kernel is known to hang.
  options.call_limit = std::chrono::milliseconds(c.outcome == Outcome::run_timeout ? 1000 : 60000);
  auto worker = Worker::start(options, *device);
  ASSERT_TRUE(worker) << worker.error().message;
  if (c.rule == "forbidden-syscall" && !worker->facts().missing.empty()) {
    GTEST_SKIP() << worker->facts().missing;
  }
  Verdict verdict;
  const Finding finding = gate(*worker, *built.binary, &verdict);
  EXPECT_EQ(name_of(finding.outcome), name_of(c.outcome)) << finding.rule << ": " << finding.detail;
  EXPECT_EQ(finding.rule, c.rule) << finding.detail;
  if (c.outcome == Outcome::ok) {
    EXPECT_GT(verdict.checks, 15);
    EXPECT_LE(verdict.max_bound_ratio, 1);
    EXPECT_TRUE(verdict.repeatable);
    return;
  }
  EXPECT_FALSE(finding.detail.empty());
  if (c.outcome == Outcome::wrong) return;
  // What ended the session left the worker as good as new for the next candidate.
  const CompileResult next = build("honest", true);
  ASSERT_TRUE(next.binary) << next.finding.detail;
  const Finding after = gate(*worker, *next.binary, &verdict);
  EXPECT_TRUE(after.ok()) << after.rule << ": " << after.detail;
}

TEST_P(RedTeam, IsRefusedUnrunIfItHasStateOrImports) {
  const Case& c = GetParam();
  const CompileResult built = build(c.fixture, true);
  EXPECT_EQ(built.finding.rule, c.inspection) << built.finding.detail;
  EXPECT_EQ(built.binary.has_value(), c.inspection.empty());
  if (!c.inspection.empty()) {
    EXPECT_EQ(name_of(built.finding.outcome), "cheat");
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, RedTeam, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return c.param.fixture; });

TEST(RedTeamTable, NamesEveryFixture) {
  std::map<std::string, int> seen;
  for (const Case& c : cases()) ++seen[c.fixture];
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".cc" || name.ends_with("_test")) continue;
    ++files;
    EXPECT_EQ(seen[name], 1) << name;
  }
  EXPECT_EQ(files, static_cast<int>(cases().size()));
  EXPECT_GE(files, 25);
}

}  // namespace
}  // namespace tilewright
