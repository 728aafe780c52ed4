// SPDX-License-Identifier: Apache-2.0
// Device kernels that cheat or break, from source text to the end of timing: each must be caught,
// and by the rule meant for it (tests/cases/redteam_cuda.txt). As on a CPU (tests/redteam) the
// inspection of binaries is off at first, and must then refuse exactly those with state. Without a
// device only what the compiler and the inspection say is tested.
#include "compile/compile.h"
#include "compile/cuda_toolchain.h"
#include "device/cuda/detect.h"
#include "execute/cuda/cuda_worker.h"
#include "generate/generate.h"
#include "launch/cuda/call.h"
#include "measure/measure.h"
#include "verify/cuda/cuda_verifier.h"

#include "base/file.h"
#include "base/scratch_folder.h"
#include "base/text.h"
#include "cuda_libraries.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {
namespace {

constexpr const char* kFolder = TILEWRIGHT_SOURCE_DIR "/tests/gpu/redteam/";
constexpr const char* kTable = TILEWRIGHT_SOURCE_DIR "/tests/cases/redteam_cuda.txt";
// K is a multiple of 16 and the row stride of A larger, so that reading past K stays in the row.
constexpr const char* kProblem = "gemm 66x70x160 f16 acc=f32 nn lda=176 ldc=90";
constexpr int kSets = 3;
constexpr int kCallsBeforeTiming = 40;

struct Case {
  std::string fixture, what, rule, quick, inspection, problem;
  Outcome outcome = Outcome::ok;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.fixture;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto text = read_file(kTable);
  if (!text) return list;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const auto fields = split(line, '|');
    if (fields.size() != 8) return {};
    const auto field = [&](std::size_t i) {
      const std::string_view word = trim(fields[i]);
      return std::string(word == "-" ? "" : word);
    };
    const auto outcome = outcome_from(field(2));
    if (!outcome) return {};
    const std::string problem = field(6).empty() ? kProblem : field(6);
    list.push_back({field(0), field(1), field(3), field(4), field(5), problem, *outcome});
  }
  return list;
}

std::string text_of(const Finding& finding) {
  return std::string(name_of(finding.outcome)) + ", rule '" + finding.rule + "': " + finding.detail;
}

// What a fixture is to the compiler, for a device.
Source source_of(const std::string& fixture, const Device& device) {
  Launch launch;
  launch.target = "cuda";
  launch.cuda.threads = 256;
  launch.threads = 256;
  launch.cuda.arguments = {"a",     "b",     "c",     "workspace", "alpha",   "beta",
                           "i32:M", "i32:N", "i32:K", "i64:lda",   "i64:ldb", "i64:ldc"};
  if (const auto json = read_file(kFolder + fixture + ".json")) {
    auto parsed = launch_from_json(*json);
    EXPECT_TRUE(parsed) << fixture << ": " << (parsed ? "" : parsed.error().message);
    if (parsed) launch = *parsed;
  }
  const auto text = read_file(kFolder + fixture + ".cu");
  EXPECT_TRUE(text) << fixture;
  Source source = foreign_source(text ? *text : "", launch, device);
  for (const char* name : {"plain.cuh", "tiles.cuh"}) {
    const auto header = read_file(std::string(kFolder) + name);
    EXPECT_TRUE(header) << name;
    source.headers.emplace_back(std::string("redteam/") + name, header ? *header : "");
  }
  return source;
}

Result<Compiler> compiler_in(const std::filesystem::path& cache, bool inspect) {
  CompileOptions options;
  options.needs = "cuda";
  options.cache_directory = cache;
  options.refuse_writable_state = inspect;
  return Compiler::create(options);
}

class RedTeamCuda : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    use_test_libraries();
    auto context = cuda::Context::open(0);
    if (!context) {
      why_not = "no CUDA device: " + context.error().message;
      return;
    }
    auto device = detect_cuda(0);
    if (!device) {
      why_not = device.error().message;
      return;
    }
    auto scratch = std::make_unique<ScratchFolder>();
    auto loose = compiler_in(scratch->path(), false);
    auto strict = compiler_in(scratch->path(), true);
    if (!loose || !strict) {
      why_not = "no CUDA compiler: " + (loose ? strict : loose).error().message;
      return;
    }
    auto worker = CudaWorker::start({}, *device);
    if (!worker) {
      why_not = worker.error().message;
      return;
    }
    scratch_ = std::move(scratch);
    context_.emplace(std::move(*context));
    device_ = *device;
    loose_.emplace(std::move(*loose));
    strict_.emplace(std::move(*strict));
    worker_.emplace(std::move(*worker));
  }
  static void TearDownTestSuite() {
    worker_.reset();
    strict_.reset();
    loose_.reset();
    context_.reset();
    scratch_.reset();
  }
  void SetUp() override {
    if (!worker_) GTEST_SKIP() << why_not;
  }

  // The operands and the verifier that a candidate meets, as the tuner's rig makes them.
  struct Stand {
    std::unique_ptr<DeviceArena> arena;
    std::unique_ptr<CudaVerifier> verifier;
  };
  static std::optional<Stand> stand_for(const Binary& binary, const std::string& text) {
    const Problem problem = *parse_problem(text);
    const int sms = device_.cuda.multiprocessors;
    const std::int64_t slots = slots_bound(binary.launch, problem, device_.cuda);
    const auto bytes = workspace_bytes(binary.launch, problem, sms, slots);
    const auto zeroed = zeroed_bytes(binary.launch, problem, sms, slots);
    EXPECT_TRUE(bytes && zeroed) << (bytes ? zeroed : bytes).error().message;
    if (!bytes || !zeroed) return std::nullopt;
    auto arena = DeviceArena::create(*context_, problem, kSets, *bytes);
    EXPECT_TRUE(arena) << (arena ? "" : arena.error().message);
    if (!arena) return std::nullopt;
    Stand stand;
    stand.arena = std::make_unique<DeviceArena>(std::move(*arena));
    stand.arena->use_workspace(*bytes, *zeroed);
    auto verifier = CudaVerifier::create(*stand.arena, device_, *strict_, {});
    EXPECT_TRUE(verifier) << (verifier ? "" : verifier.error().message);
    if (!verifier) return std::nullopt;
    stand.verifier = std::move(*verifier);
    stand.verifier->arm();
    return stand;
  }

  // The screening proof alone, in a session of its own.
  static Finding screen(Stand& stand, const Binary& binary) {
    auto opened = worker_->open(*stand.arena, &binary, {});
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    if (!opened || !opened->session) return opened ? opened->finding : Finding{};
    return stand.verifier->prove(*opened->session, true, true).finding;
  }

  // Proof, timing with its checks, replay: the first finding that is not ok, or the last.
  static Finding gate(Stand& stand, const Binary& binary, Verdict* verdict) {
    auto opened = worker_->open(*stand.arena, &binary, {});
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    if (!opened || !opened->session) return opened ? opened->finding : Finding{};
    Session& session = *opened->session;
    CudaVerifier& verifier = *stand.verifier;
    *verdict = verifier.prove(session, false, true);
    if (!verdict->finding.ok()) return verdict->finding;
    // Timing starts after as many calls whatever the proof needed: two fixtures count them.
    for (int call = verdict->checks; call < kCallsBeforeTiming; ++call) {
      if (Finding finding = session.call("candidate", 0); !finding.ok()) return finding;
    }
    verifier.arm();
    MeasureOptions options = options_for(device_, Mode::offline);
    options.burst_seconds = 0.002;
    TimedChecks checks;
    checks.before_round = [&] { verifier.refresh(); };
    checks.after_round = [&](const std::vector<int>& ran) { return verifier.check_timed(ran); };
    const Timing timing = measure(session, kSets, {}, options, checks);
    // A restless machine is not what is tested here; a verifier in trouble is.
    const bool restless =
        timing.finding.outcome == Outcome::noisy && timing.finding.rule != "verifier";
    if (!timing.finding.ok() && !restless) return timing.finding;
    return verifier.replay(session);
  }

  static std::string why_not;
  static std::unique_ptr<ScratchFolder> scratch_;
  static std::optional<cuda::Context> context_;
  static Device device_;
  static std::optional<Compiler> loose_, strict_;
  static std::optional<CudaWorker> worker_;
};
std::string RedTeamCuda::why_not;
std::unique_ptr<ScratchFolder> RedTeamCuda::scratch_;
std::optional<cuda::Context> RedTeamCuda::context_;
Device RedTeamCuda::device_;
std::optional<Compiler> RedTeamCuda::loose_;
std::optional<Compiler> RedTeamCuda::strict_;
std::optional<CudaWorker> RedTeamCuda::worker_;

TEST_P(RedTeamCuda, IsCaughtByTheRuleMeantForIt) {
  const Case& c = GetParam();
  SCOPED_TRACE(c.fixture + ": " + c.what);
  const CompileResult built = loose_->compile(source_of(c.fixture, device_));
  ASSERT_TRUE(built.binary) << text_of(built.finding);
  auto stand = stand_for(*built.binary, c.problem);
  ASSERT_TRUE(stand);
  const Finding screened = screen(*stand, *built.binary);
  EXPECT_EQ(screened.rule, c.quick) << "quick proof: " << text_of(screened);
  Verdict verdict;
  const Finding finding = gate(*stand, *built.binary, &verdict);
  EXPECT_EQ(name_of(finding.outcome), name_of(c.outcome)) << "gate: " << text_of(finding);
  EXPECT_EQ(finding.rule, c.rule) << "gate: " << text_of(finding);
  if (c.outcome == Outcome::ok) {
    EXPECT_GT(verdict.checks, 15);
    EXPECT_LE(verdict.checks, kCallsBeforeTiming);
    EXPECT_LE(verdict.max_bound_ratio, 1);
    EXPECT_TRUE(verdict.repeatable);
    return;
  }
  EXPECT_FALSE(finding.detail.empty());
  if (c.outcome == Outcome::wrong) return;
  // What ended the session left the device as good as new for the next candidate, on the same
  // operands as far as they serve it.
  const CompileResult next = strict_->compile(source_of("honest", device_));
  ASSERT_TRUE(next.binary) << text_of(next.finding);
  stand->arena->use_workspace(0, 0);
  const Finding after = gate(*stand, *next.binary, &verdict);
  EXPECT_TRUE(after.ok()) << "the next candidate: " << text_of(after);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, RedTeamCuda, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return c.param.fixture; });

// Needs no device: every text compiles, and the inspection refuses those with state unrun.
TEST(RedTeamCudaText, CompilesAndIsRefusedIfItHasState) {
  use_test_libraries();
  if (const auto found = find_cuda_toolchain(""); !found) GTEST_SKIP() << found.error().message;
  const ScratchFolder scratch;
  auto loose = compiler_in(scratch.path(), false);
  auto strict = compiler_in(scratch.path(), true);
  ASSERT_TRUE(loose && strict);
  Device device;
  device.kind = DeviceKind::cuda;
  device.cuda.capability = 80;
  for (const Case& c : cases()) {
    const Source source = source_of(c.fixture, device);
    const CompileResult built = loose->compile(source);
    EXPECT_TRUE(built.binary) << c.fixture << ": " << text_of(built.finding);
    const CompileResult inspected = strict->compile(source);
    EXPECT_EQ(inspected.finding.rule, c.inspection)
        << c.fixture << ": " << text_of(inspected.finding);
    EXPECT_EQ(inspected.binary.has_value(), c.inspection.empty()) << c.fixture;
    if (!c.inspection.empty()) {
      EXPECT_EQ(name_of(inspected.finding.outcome), "cheat") << c.fixture;
    }
    // The usual sizes can be asked of every launch.
    if (!built.binary) continue;
    const auto problem = parse_problem(c.problem);
    ASSERT_TRUE(problem) << c.problem;
    EXPECT_TRUE(workspace_bytes(built.binary->launch, *problem)) << c.fixture;
  }
}

TEST(RedTeamCudaTable, NamesEveryFixture) {
  std::map<std::string, int> seen;
  for (const Case& c : cases()) ++seen[c.fixture];
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".json") {
      EXPECT_EQ(seen.count(name), 1U) << name << ".json";
    }
    if (entry.path().extension() != ".cu") continue;
    ++files;
    EXPECT_EQ(seen[name], 1) << name;
  }
  EXPECT_EQ(files, static_cast<int>(cases().size()));
  EXPECT_GE(files, 40);
}

}  // namespace
}  // namespace tilewright
