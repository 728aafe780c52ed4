// SPDX-License-Identifier: Apache-2.0
// The command line as a script sees it: exit codes, messages, what is printed where.
#include "cli/program_run.h"
#include "cuda_libraries.h"

#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kScalar =
    "cpu isa=scalar form=direct threads=1 mr=2 nr=4 kc=0 nc=0 packa=none unroll=1 prefetch=0 "
    "order=nm sizes=runtime";

struct Expectation {
  const char* name;
  std::vector<std::string> arguments;
  int exit_code;
  std::vector<std::string> output;  // substrings of stdout and stderr together
};

void PrintTo(const Expectation& expectation, std::ostream* out) {
  *out << expectation.name;
}

class ExitCode : public ::testing::TestWithParam<Expectation> {};

TEST_P(ExitCode, AndMessage) {
  const Place place;
  const Completion completion = run_in(place, GetParam().arguments);
  EXPECT_EQ(completion.exit_code, GetParam().exit_code) << completion.output;
  for (const std::string& text : GetParam().output) {
    EXPECT_THAT(completion.output, HasSubstr(text));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Usage, ExitCode,
    ::testing::Values(
        Expectation{"help", {"--help"}, 0, {"Examples:", "tilewright tune", "doctor"}},
        Expectation{"version", {"version"}, 0, {"tilewright 0."}},
        Expectation{"nothing", {}, 2, {"subcommand"}},
        Expectation{"unknown_subcommand", {"tuna"}, 2, {}},
        Expectation{"bad_problem", {"tune", "12e3x4x4"}, 2, {"12e3"}},
        Expectation{"bad_budget",
                    {"tune", "8x8x8", "--budget", "soon"},
                    2,
                    {"--budget: cannot read 'soon'", "1h30m"}},
        Expectation{"bad_mode", {"tune", "8x8x8", "--mode", "fast"}, 2, {"'fast'", "offline"}},
        Expectation{"bad_policy",
                    {"--skip-self-check", "tune", "8x8x8", "--policy", "magic"},
                    2,
                    {"'magic'", "evolve"}},
        Expectation{"bad_format", {"bench", "8x8x8", "--format", "xml"}, 2, {"xml"}},
        Expectation{"no_problem", {"bench"}, 2, {"no problem was given", "--suite"}},
        Expectation{"bad_part",
                    {"bench", "8x8x8", "--part", "3/2"},
                    2,
                    {"--part: '3/2' is no part I/N", "1/2 and 2/2"}},
        Expectation{"unknown_suite", {"tune", "--suite", "@grid"}, 2, {"'@grid'", "grid1000"}},
        Expectation{"bad_accumulator", {"tune", "8x8x8", "--acc", "f64"}, 2, {"--acc", "f64"}},
        Expectation{
            "wall_on_a_cpu", {"bench", "8x8x8", "--mode", "wall"}, 2, {"--mode wall", "CUDA"}},
        Expectation{"sustained_on_a_cpu",
                    {"bench", "8x8x8", "--mode", "sustained"},
                    2,
                    {"--mode sustained", "CUDA"}},
        Expectation{"no_search_of_sustained",
                    {"table", "8x8x8", "--file", "few.txt", "--mode", "sustained"},
                    2,
                    {"--mode sustained"}},
        Expectation{"chained_on_a_cpu",
                    {"bench", "8x8x8", "--mode", "chained"},
                    2,
                    {"--mode chained", "CUDA"}},
        Expectation{"no_search_of_chains",
                    {"tune", "8x8x8", "--mode", "chained"},
                    2,
                    {"'chained' is no mode to search in"}},
        Expectation{"report_without_suite", {"report"}, 2, {"--suite"}},
        Expectation{"report_without_database",
                    {"report", "--suite", "demo"},
                    2,
                    {"tuning.db does not exist"}},
        Expectation{"missing_file", {"tune", "nowhere.csv"}, 2, {"nowhere.csv"}},
        Expectation{"gen", {"gen", kScalar}, 0, {"direct<Scalar, Problem, kPlan>"}},
        Expectation{"gen_full", {"gen", kScalar, "--full"}, 0, {"struct DirectPlan"}},
        Expectation{"gen_launch", {"gen", kScalar, "--launch"}, 0, {"\"symbol\":\"tw_kernel\""}},
        Expectation{"gen_typo", {"gen", "cpu isa=avx9"}, 2, {"isa=avx9", "scalar|avx2"}},
        Expectation{"explain_legal", {"explain", kScalar}, 0, {"legal for gemm"}},
        Expectation{"explain_illegal",
                    {"explain", kScalar, "--problem", "8x64x64 f16 nt"},
                    1,
                    {"form-layout", "B is stored n x k"}},
        Expectation{"explain_problem", {"explain", "8x64x64"}, 0, {"legal programs"}},
        Expectation{"explain_f16_accumulator",
                    {"explain", "8x64x64 f16 acc=f16 nn"},
                    0,
                    {"0 legal programs", "accumulates in f32 only"}},
        Expectation{"no_compiler",
                    {"verify", "8x8x8", "--program", kScalar, "--cxx", "no-such-compiler"},
                    3,
                    {"no-such-compiler"}},
        Expectation{"no_runner",
                    {"verify", "8x8x8", "--program", kScalar, "--runner", "/no/such/runner"},
                    3,
                    {"/no/such/runner"}},
        Expectation{"no_cuda_device", {"bench", "8x8x8", "--device", "cuda:65536"}, 3, {"CUDA"}},
        Expectation{"unknown_device", {"gen", kScalar, "--device", "gpu"}, 2, {"'gpu'", "cuda:N"}},
        Expectation{"device_number", {"gen", kScalar, "--device", "cuda:x"}, 2, {"cuda:x"}},
        Expectation{
            "described_device_explain",
            {"explain", "8x1024x3584", "--device", TILEWRIGHT_SOURCE_DIR "/devices/h200.json"},
            0,
            {"the device is not a CPU"}},
        Expectation{"described_device_runs_nothing",
                    {"tune", "8x8x8", "--device", TILEWRIGHT_SOURCE_DIR "/devices/h200.json"},
                    2,
                    {"a described device can run nothing"}},
        Expectation{"described_device_missing",
                    {"explain", "8x8x8", "--device", "nowhere.json"},
                    2,
                    {"nowhere.json"}},
        Expectation{"no_database", {"db", "stats"}, 2, {"tuning.db does not exist"}}),
    [](const auto& param) { return std::string(param.param.name); });

// A cache for a GPU that is not here: filled once, found again, and what cannot be done is named.
TEST(Compile, FillsACacheForADeviceThatIsNotHere) {
  use_test_libraries();
  const Place place;
  const std::vector<std::string> arguments = {
      "compile",     "64x64x64",           "--count",
      "2",           "--device",           TILEWRIGHT_SOURCE_DIR "/devices/h200.json",
      "--cache-dir", place.file("carried")};
  const Completion first = run_in(place, arguments);
  if (first.exit_code == 3) GTEST_SKIP() << first.output;  // no CUDA compiler
  EXPECT_EQ(first.exit_code, 0) << first.output;
  // Two programs and the checker's own kernels.
  EXPECT_THAT(first.output, HasSubstr("3 kernels: 3 compiled, 0 were in the cache, 0 failed"));
  const Completion again = run_in(place, arguments);
  EXPECT_THAT(again.output, HasSubstr("3 kernels: 0 compiled, 3 were in the cache, 0 failed"));
}

// CASES C21: a machine without a GPU says what it lacks, and its report describes the device in
// use.
TEST(Doctor, SaysWhatIsMissingAndDescribesTheDevice) {
  const Place place;
  Command command = command_in(place, {"doctor", "--format", "json"});
  command.environment.emplace_back("TILEWRIGHT_LIBCUDA=/nonexistent/libcuda.so.1");
  const auto report = run(command);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->exit_code, 0);
  EXPECT_THAT(report->output, AllOf(HasSubstr("no CUDA driver: /nonexistent/libcuda.so.1"),
                                    HasSubstr("the CPU works without"), HasSubstr("\"NVRTC\""),
                                    HasSubstr("\"cuBLASLt\""), HasSubstr("\"kind\": \"cpu\"")));
  ASSERT_TRUE(write_file_atomically(place.file("here.json"), report->output));
  const Completion gen = run_in(place, {"gen", kScalar, "--device", "here.json"});
  EXPECT_EQ(gen.exit_code, 0) << gen.output;
}

TEST(Verify, ProvesAProgramAndPrintsWhich) {
  const Place place;
  const Completion completion = run_in(place, {"verify", "7x13x19 f16 nn", "--program", kScalar});
  EXPECT_EQ(completion.exit_code, 0) << completion.output;
  EXPECT_THAT(completion.output, AllOf(HasSubstr("proven"), HasSubstr(kScalar)));
}

TEST(Verify, RefusesAWrongKernelFromOutside) {
  const Place place;
  ASSERT_TRUE(write_file_atomically(place.file("zeros.cc"), R"(
#include "launch/cpu_abi.h"
extern "C" __attribute__((visibility("default")))
void tw_kernel(const tw_cpu_gemm_args* args, const tw_cpu_team* team) {
  if (team->thread != 0) return;
  for (long i = 0; i < args->m; ++i)
    for (long j = 0; j < args->n; ++j)
      static_cast<unsigned short*>(args->c)[i * args->ldc + j] = 0;
}
)"));
  ASSERT_TRUE(write_file_atomically(place.file("zeros.launch.json"),
                                    R"({"target":"cpu","symbol":"tw_kernel","threads":1})"));
  const Completion completion =
      run_in(place, {"verify", "16x16x32 f16 nn", "--source", "zeros.cc"});
  EXPECT_EQ(completion.exit_code, 1) << completion.output;
  EXPECT_THAT(completion.output, HasSubstr("wrong"));
}

// CASES C16: each bad row with line and reason, good rows processed, exit code 2.
TEST(Suites, BadRowsAreNamedAndGoodOnesProcessed) {
  const Place place;
  ASSERT_TRUE(write_file_atomically(
      place.file("mixed.csv"), "m,n,k,dtype\n8,8,8,f16\n12e3,8,8,f16\n-4,8,8,f16\n9,9,9,bf16\n"));
  const Completion completion = run_in(place, {"verify", "mixed.csv"});
  EXPECT_EQ(completion.exit_code, 2) << completion.output;
  EXPECT_THAT(completion.output, AllOf(HasSubstr("3: refused"), HasSubstr("4: refused"),
                                       HasSubstr("gemm 8x8x8 f16"), HasSubstr("gemm 9x9x9 bf16")));
  const Completion strict = run_in(place, {"verify", "mixed.csv", "--strict"});
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_THAT(strict.output, Not(HasSubstr("proven")));
}

TEST(Configuration, EachValueSaysWhereItCameFrom) {
  const Place place;
  ASSERT_TRUE(write_file_atomically(place.file("config/tilewright/config.toml"),
                                    "[tune]\npolicy = \"random\"\nseed = 7\n"));
  ASSERT_TRUE(write_file_atomically(place.file("tilewright.toml"), "[tune]\nseed = 8\n"));
  const Completion completion = run_in(place, {"config", "show", "--threads", "1"});
  EXPECT_EQ(completion.exit_code, 0) << completion.output;
  EXPECT_THAT(completion.output, HasSubstr("tune.policy = \"random\"  # from " +
                                           place.file("config/tilewright/config.toml")));
  EXPECT_THAT(completion.output, HasSubstr("tune.seed = \"8\"  # from tilewright.toml"));
  EXPECT_THAT(completion.output, HasSubstr("execute.threads = \"1\"  # from --threads"));
  EXPECT_THAT(completion.output, HasSubstr("# from TILEWRIGHT_DB"));
}

TEST(Configuration, AnUnknownKeyIsAnErrorWithTheNearestKnown) {
  const Place place;
  ASSERT_TRUE(write_file_atomically(place.file("tilewright.toml"), "[tune]\npolicie = \"x\"\n"));
  const Completion completion = run_in(place, {"config", "show"});
  EXPECT_EQ(completion.exit_code, 2);
  EXPECT_THAT(completion.output, AllOf(HasSubstr("tilewright.toml:2"), HasSubstr("tune.policie"),
                                       HasSubstr("tune.policy")));
}

TEST(Files, ADatabaseOrWisdomFileThatIsNoneIsRefusedAndLeftAlone) {
  const Place place;
  const std::string garbage = "this is neither a database nor wisdom\n";
  ASSERT_TRUE(write_file_atomically(place.file("garbage"), garbage));
  EXPECT_EQ(run_in(place, {"db", "stats", "--db", "garbage"}).exit_code, 5);
  EXPECT_EQ(run_in(place, {"wisdom", "check", "garbage"}).exit_code, 5);
  EXPECT_EQ(read_file(place.file("garbage")).value(), garbage);
}

// CASES C08: no writable home; the cache is done without, a database must be named.
TEST(Files, WorksWithoutAWritableHome) {
  const Place place;
  Command command = command_in(place, {"verify", "8x8x8 f16 nn", "--program", kScalar});
  command.environment = {"HOME=/", "XDG_CACHE_HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME="};
  const auto completion = run(command);
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->exit_code, 0) << completion->output;
}

}  // namespace
}  // namespace tilewright
