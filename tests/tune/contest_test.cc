// SPDX-License-Identifier: Apache-2.0
// Several candidates in turn: who is timed, what their trials say, and what becomes of a fault. The
// device and its libraries are invented; execute/cuda has the session that holds several.
#include "tune/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kLibrary = "cublas";

// What the invented device does, and what was asked of it.
struct Script {
  std::map<std::string, double> seconds;  // of a call, by contestant
  Finding opened, timed;                  // how a session of several begins, and how it ends
  bool holds_several = true;
  std::vector<std::string> loaded;  // hashes of the candidates
  std::map<std::string, int> bursts;
};

class InventedSession final : public Session {
 public:
  explicit InventedSession(Script& script) : script_(script) {}
  Finding call(const std::string&, int, float, float) override { return {}; }
  Finding call_sizes(std::int64_t, std::int64_t, std::int64_t) override { return {}; }
  Finding reprepare() override { return {}; }
  TimingReply time(const std::vector<Burst>& plan) override {
    TimingReply reply;
    reply.finding = script_.timed;
    for (const Burst& burst : plan) {
      ++script_.bursts[burst.contestant];
      Sample sample;
      sample.contestant = burst.contestant;
      sample.seconds = script_.seconds.at(burst.contestant);
      sample.calls = burst.calls;
      reply.samples.push_back(sample);
    }
    return reply;
  }

 private:
  Script& script_;
};

class Believer final : public Verifier {
 public:
  Verdict prove(Session&, bool, bool) override { return {}; }
  Verdict prove_baseline(Session&, const std::string&) override { return {}; }
  void arm() override {}
  void refresh() override {}
  Finding check_timed(const std::vector<int>&) override { return {}; }
  Finding replay(Session&) override { return {}; }
};

class InventedStand final : public Stand {
 public:
  explicit InventedStand(Script& script) : script_(script) {}
  Status use(const Launch*) override { return {}; }
  Result<Opened> open(const Binary*, const std::vector<std::string>&) override {
    return Opened{std::make_unique<InventedSession>(script_), {}, {"algorithm 1"}, {"01"}};
  }
  Result<std::optional<Opened>> open_all(std::span<const Binary> candidates,
                                         const std::vector<std::string>&) override {
    if (!script_.holds_several) return std::nullopt;
    for (const Binary& binary : candidates) script_.loaded.push_back(binary.hash);
    Opened opened;
    opened.finding = script_.opened;
    if (script_.opened.ok()) opened.session = std::make_unique<InventedSession>(script_);
    return std::optional<Opened>(std::move(opened));
  }
  Verifier& verifier() override { return verifier_; }
  int sets() const override { return 2; }

 private:
  Script& script_;
  Believer verifier_;
};

class InventedRig final : public Rig {
 public:
  explicit InventedRig(Script& script) : script_(script) {}
  Result<std::unique_ptr<Stand>> stand(const Problem&, Mode, std::uint64_t) override {
    return std::make_unique<InventedStand>(script_);
  }
  std::vector<BaselineInfo> baselines(const Problem&) const override {
    BaselineInfo library;
    library.name = kLibrary;
    library.library = "cuBLAS";
    library.available = true;
    return {library};
  }
  std::optional<UnpairedTime> time_unpaired(std::string_view, const Problem&, Mode, int) override {
    return std::nullopt;
  }
  std::optional<Conditions> conditions() const override { return std::nullopt; }

 private:
  Script& script_;
};

class Contest : public testing::Test {
 protected:
  Contest() {
    device_.kind = DeviceKind::cuda;
    device_.name = "invented";
    script_.seconds = {
        {kLibrary, 2e-3}, {"candidate", 3e-3}, {rival_name(1), 1e-3}, {rival_name(2), 4e-3}};
    plan_ = contest_plan(device_, Mode::offline, kLibrary);
    plan_.measure.warm_seconds = 0;
  }

  std::vector<Trial> contest() {
    auto bench = Workbench::create(problem_, device_, rig_, gate_, Mode::offline, 7);
    EXPECT_TRUE(bench);
    script_.bursts.clear();
    std::vector<CompileResult> built(3);
    for (std::size_t i = 0; i < built.size(); ++i) {
      built[i].binary.emplace();
      built[i].binary->hash = std::string(1, static_cast<char>('a' + i));
    }
    return (*bench)->contest(built, plan_, remark_).value();
  }

  Problem problem_ = parse_problem("gemm 4096x4096x4096 f16 acc=f32 nn").value();
  Device device_;
  Script script_;
  InventedRig rig_{script_};
  QuietGate gate_;
  EvaluationPlan plan_;
  std::string remark_;
};

TEST_F(Contest, EachIsTimedInTurnAndComparedWithTheLibraryOfItsRounds) {
  const std::vector<Trial> trials = contest();
  EXPECT_THAT(remark_, IsEmpty());
  EXPECT_EQ(script_.loaded, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_THAT(trials, SizeIs(3));
  const double times[] = {3000, 1000, 4000};
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial& trial = trials[i];
    EXPECT_EQ(trial.stage, "contest");
    EXPECT_EQ(trial.outcome, Outcome::ok);
    EXPECT_EQ(trial.binary_hash, script_.loaded[i]);
    EXPECT_NEAR(trial.time_us, times[i], 1e-6);
    const BaselineTime& library = trial.baselines.at(kLibrary);
    EXPECT_NEAR(library.time_us, 2000, 1e-6);
    EXPECT_NEAR(library.ratio, 2000 / times[i], 1e-9);
    EXPECT_NEAR(library.ratio_low, 2000 / times[i], 1e-9);
    EXPECT_TRUE(library.headline);
    EXPECT_NEAR(trial.speedup(), 2000 / times[i], 1e-9);
  }
  // There and back in each round, besides calibration and what does not count.
  for (const auto& [name, bursts] : script_.bursts) {
    EXPECT_GE(bursts, 2 * plan_.measure.rounds) << name;
    EXPECT_LE(bursts, 3 * plan_.measure.rounds + 2) << name;
  }
  EXPECT_THAT(script_.bursts, SizeIs(4)) << "and nobody against itself";
}

TEST_F(Contest, WithoutALibraryTimesStandAlone) {
  plan_.baselines.clear();
  const std::vector<Trial> trials = contest();
  ASSERT_THAT(trials, SizeIs(3));
  EXPECT_NEAR(trials[1].time_us, 1000, 1e-6);
  EXPECT_THAT(trials[1].baselines, IsEmpty());
}

TEST_F(Contest, WhereAProcessHoldsOneCandidateThereIsNone) {
  script_.holds_several = false;
  EXPECT_THAT(contest(), IsEmpty());
  EXPECT_THAT(remark_, IsEmpty());
}

TEST_F(Contest, AFaultIsRemarkedAndDecidesNothing) {
  script_.opened = {Outcome::launch_error, "cubin", "no such symbol"};
  EXPECT_THAT(contest(), IsEmpty());
  EXPECT_THAT(remark_, HasSubstr("no such symbol"));
  script_.opened = {};
  script_.timed = {Outcome::run_timeout, "call-limit", "rival.2 did not return"};
  EXPECT_THAT(contest(), IsEmpty());
  EXPECT_THAT(remark_, HasSubstr("rival.2 did not return"));
}

}  // namespace
}  // namespace tilewright
