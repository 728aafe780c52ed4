// SPDX-License-Identifier: Apache-2.0
// A source becomes a binary that computes, once; what cannot become one says why, in time, and
// leaves nothing behind. Case C19 of the public record.
#include "compile/compile.h"

#include "base/rng.h"
#include "compile/candidates.h"
#include "launch/cpu_abi.h"
#include "program/family_cpu.h"
#include "program/space.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// A variable of the environment with another value for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = ::getenv(name)) old_ = old;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

class Compile : public ::testing::Test {
 protected:
  CompileOptions options() { return caching_in(folder_.path() / "cache"); }
  Compiler compiler(const CompileOptions& options) {
    auto made = Compiler::create(options);
    if (!made) throw std::runtime_error(made.error().message);
    return *std::move(made);
  }
  // A compiler whose every compilation runs `body` of a shell script.
  Compiler scripted(const std::string& body) {
    auto with = options();
    with.compiler = script(folder_.path(), "scripted", body);
    return compiler(with);
  }
  std::size_t scratch_folders() { return count_in(folder_.path() / "cache/v1/scratch"); }

  ScratchFolder folder_;
};

// Loads the binary and calls it with one int to write to.
int result_of(const Binary& binary) {
  void* library = ::dlopen(binary.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return -1;
  auto* kernel = reinterpret_cast<tw_cpu_gemm_fn>(::dlsym(library, binary.launch.symbol.c_str()));
  int result = -2;
  tw_cpu_gemm_args args{};
  args.c = &result;
  tw_cpu_team team{};
  if (kernel != nullptr) kernel(&args, &team);
  ::dlclose(library);
  return result;
}

TEST_F(Compile, TheBinaryComputesAndComesFromTheCacheNextTime) {
  auto first = compiler(options());
  EXPECT_THAT(first.version(), Not(HasSubstr("\n")));
  const auto made = first.compile(numbered(42));
  ASSERT_TRUE(made.binary) << made.finding.detail;
  EXPECT_FALSE(made.binary->from_cache);
  EXPECT_GT(made.binary->compile_seconds, 0);
  EXPECT_EQ(made.binary->hash.size(), 32U);
  EXPECT_EQ(result_of(*made.binary), 42);
  EXPECT_EQ(scratch_folders(), 0U);

  auto second = compiler(options());
  const auto again = second.compile(numbered(42));
  ASSERT_TRUE(again.binary) << again.finding.detail;
  EXPECT_TRUE(again.binary->from_cache);
  EXPECT_EQ(again.binary->compile_seconds, 0);
  EXPECT_EQ(again.binary->path, made.binary->path);
  EXPECT_EQ(again.binary->text_bytes, made.binary->text_bytes);
  EXPECT_EQ(result_of(*again.binary), 42);
}

TEST_F(Compile, AnEntryHoldsAllThatMadeIt) {
  auto cpp = compiler(options());
  const auto made = cpp.compile(numbered(5));
  ASSERT_TRUE(made.binary);
  const fs::path entry = made.binary->path.parent_path();
  EXPECT_EQ(entry, folder_.path() / "cache/v1/cpu" / made.binary->hash);
  EXPECT_EQ(*read_file(entry / "kernel.cc"), numbered(5).text);
  EXPECT_EQ(*read_file(entry / "include/launch/cpu_abi.h"), numbered(5).headers[0].second);
  EXPECT_EQ(*read_file(entry / "build.log"), made.binary->log);
  EXPECT_THAT(*read_file(entry / "meta.json"), HasSubstr(made.binary->hash));
}

TEST_F(Compile, EverythingThatDecidesIsInTheKey) {
  auto with = options();
  with.compiler = quick_compiler();
  auto cpp = compiler(with);
  std::vector<Source> variants(8, numbered(1));
  variants[1].text += "\n";
  variants[2].flags = {"-DUNUSED"};
  variants[3].headers[0].second += "\n";
  variants[4].headers.emplace_back("another.h", "");
  variants[5].launch.threads = 2;
  variants[6].launch.workspace = "64";
  variants[7].flags = {"-DUNUSED", "-DALSO"};
  std::set<std::string> hashes;
  for (const auto& variant : variants) {
    const auto made = cpp.compile(variant);
    ASSERT_TRUE(made.binary) << made.finding.detail;
    EXPECT_FALSE(made.binary->from_cache);
    hashes.insert(made.binary->hash);
  }
  auto loose = with;
  loose.refuse_writable_state = false;
  hashes.insert(compiler(loose).compile(variants[0]).binary->hash);
  auto other = with;
  other.compiler = script(folder_.path(), "other", "exec '" + with.compiler + "' \"$@\"");
  hashes.insert(compiler(other).compile(variants[0]).binary->hash);
  EXPECT_EQ(hashes.size(), variants.size() + 2);
}

// What the environment says about headers is in no key, so it must not matter either.
TEST_F(Compile, EqualSourcesGiveEqualBytesAnywhere) {
  const Source source = source_of(
      "namespace { struct Local { int f(int x) { return x * 3; } }; }\n"
      "#if __has_include(<stray.h>)\n#error a header that no key covers\n#endif\n"
      "KERNEL { const char* stamp = __FILE__ __DATE__ __TIME__; Local l;\n"
      "  *(int*)a->c = l.f((int)a->m) + stamp[a->n & 7]; (void)t; }");
  std::vector<std::string> bytes;
  for (const char* name : {"one", "another-place"}) {
    const fs::path stray = folder_.path() / "stray";
    ASSERT_TRUE(write_file_atomically(stray / "stray.h", "\n"));
    const Variable path("CPATH", bytes.empty() ? nullptr : stray.c_str());
    const Variable path_for_cpp("CPLUS_INCLUDE_PATH", bytes.empty() ? nullptr : stray.c_str());
    auto cpp = compiler(caching_in(folder_.path() / name));
    const auto made = cpp.compile(source);
    ASSERT_TRUE(made.binary) << made.finding.detail;
    bytes.push_back(*read_file(made.binary->path));
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST_F(Compile, GeneratedProgramsPassTheirOwnGate) {
  auto cpp = compiler(options());
  Device device = detect_cpu();
  device.isa = {"avx2", "avx512bf16", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma"};
  Rng rng(7);
  for (const char* text : {"gemm 64x48x32 f16 acc=f32 nn", "gemm 96x64x80 bf16 acc=f32 nt"}) {
    const Problem problem = *parse_problem(text);
    const auto program = Space(cpu_family(), problem, device).sample(rng);
    ASSERT_TRUE(program) << text;
    const auto source = generate(*program, problem, device);
    ASSERT_TRUE(source) << source.error().message;
    const auto made = cpp.compile(*source);
    EXPECT_TRUE(made.binary && !blames_candidate(made.finding))
        << program->text() << ": " << made.finding.rule << ": " << made.finding.detail;
  }
}

TEST_F(Compile, AnErrorIsReportedByItsFirstLines) {
  auto cpp = compiler(options());
  const auto result = cpp.compile(source_of("KERNEL { undeclared_thing(a, t); }"));
  EXPECT_FALSE(result.binary);
  EXPECT_EQ(result.finding.outcome, Outcome::compile_error);
  EXPECT_EQ(result.finding.rule, "compiler");
  EXPECT_THAT(result.finding.detail, HasSubstr("undeclared_thing"));
  EXPECT_THAT(result.finding.detail, HasSubstr("kernel.cc:"));
  // Errors are not kept: the next try is a try.
  EXPECT_EQ(count_in(folder_.path() / "cache/v1/cpu"), 0U);
  EXPECT_EQ(scratch_folders(), 0U);
}

TEST_F(Compile, FindingsAreTextEvenIfTheCandidateIsNot) {
  auto cpp = compiler(options());
  const auto result = cpp.compile(source_of("#error \xff\xfe\x01 caf\xc3\xa9\nKERNEL {}"));
  ASSERT_EQ(result.finding.outcome, Outcome::compile_error);
  for (const char c : result.finding.detail) EXPECT_TRUE(c >= ' ' && c <= '~') << int{c};
}

TEST_F(Compile, SourcesThatCannotBeWrittenDownAreIllegal) {
  auto cpp = compiler(options());
  const auto rule_of = [&](const Source& source) {
    const auto result = cpp.compile(source);
    EXPECT_EQ(result.finding.outcome, Outcome::illegal);
    return result.finding.rule;
  };
  for (const char* symbol : {"", "9lives", "a b", "x; global: *", "tw_kernel;};"}) {
    Source source = numbered(1);
    source.launch.symbol = symbol;
    EXPECT_EQ(rule_of(source), "launch-symbol") << symbol;
  }
  for (const char* name : {"", "/etc/x.h", "../x.h", "a/../../x.h", "a//b.h", "./x.h", "x\n.h"}) {
    Source source = numbered(1);
    source.headers.emplace_back(name, "");
    EXPECT_EQ(rule_of(source), "header-name") << name;
  }
  Source source = numbered(1);
  source.language = "fortran";
  EXPECT_EQ(rule_of(source), "language");
}

// C19: a compiler that never returns is killed with what it started.
TEST_F(Compile, ACompilerThatNeverReturnsIsKilledWithItsChildren) {
  const std::string child = (folder_.path() / "child").string();
  auto with = options();
  // Long enough for a shell to start on a busy machine.
  with.limit = std::chrono::seconds(3);
  with.compiler = script(folder_.path(), "endless",
                         "sleep 1000 & echo $! > '" + child +
                             "'\n"
                             "echo 'kernel.cc:1: error: thinking'\nwait");
  auto cpp = compiler(with);
  const auto result = cpp.compile(numbered(1));
  EXPECT_EQ(result.finding.outcome, Outcome::compile_timeout);
  EXPECT_THAT(result.finding.detail, HasSubstr("thinking"));
  const auto pid = static_cast<pid_t>(std::stol(*read_file(child)));
  // A signal is sent, not yet delivered, when kill() returns; and a process that ended remains as a
  // zombie until init takes it.
  const auto alive = [pid] {
    const auto state = read_file(fmt::format("/proc/{}/stat", pid));
    return state && state->find(") Z") == std::string::npos &&
           state->find(") X") == std::string::npos;
  };
  for (int i = 0; i < 1000 && alive(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(alive());
  EXPECT_EQ(scratch_folders(), 0U);
}

TEST_F(Compile, CancelStopsACompilerAndIsNoVerdict) {
  auto cpp = scripted("sleep 1000");
  std::atomic<int> asked = 0;
  const auto result = cpp.compile(numbered(1), {[&] { return ++asked > 2; }, {}});
  EXPECT_EQ(result.finding.rule, "cancelled");
  EXPECT_FALSE(blames_candidate(result.finding));
  EXPECT_FALSE(result.finding.ok());
  const auto before = cpp.compile(numbered(1), {[] { return true; }, {}});
  EXPECT_EQ(before.finding.rule, "cancelled");
  EXPECT_EQ(scratch_folders(), 0U);
}

TEST_F(Compile, MisbehavingCompilersAreFindings) {
  struct Behaviour {
    std::string body, rule, detail;
  };
  for (const auto& [body, rule, detail] : {
           Behaviour{"exit 0", "object", "wrote nothing"},
           {"echo rubbish > kernel.so", "object", "no ELF header"},
           {": > kernel.so", "object", "no ELF header"},
           {"exit 3", "compiler", "status 3"},
           {"kill -SEGV $$", "compiler", "signal 11"},
           {"echo 'cc1plus: out of memory allocating 65536 bytes'; exit 1", "memory", "65536"},
           {"echo 'cannot write: No space left on device'; exit 1", "disk", "No space"},
           {"yes 'kernel.cc:1: error: again' | head -c 9000000; exit 1", "compiler", "again"},
           {"rm -rf \"$PWD\"; exit 1", "compiler", "status 1"},
       }) {
    SCOPED_TRACE(body);
    auto cpp = scripted(body);
    const auto result = cpp.compile(numbered(1));
    EXPECT_FALSE(result.binary);
    EXPECT_EQ(result.finding.outcome, Outcome::compile_error);
    EXPECT_EQ(result.finding.rule, rule);
    EXPECT_EQ(blames_candidate(result.finding), rule != "disk");
    EXPECT_THAT(result.finding.detail, HasSubstr(detail));
    EXPECT_LT(result.finding.detail.size(), 1000U);
  }
}

// One line of assembly asks for a terabyte. The limit on files stops it, not the disk.
TEST_F(Compile, ACandidateCannotFillTheDisk) {
  auto cpp = compiler(options());
  const auto result = cpp.compile(
      source_of("__asm__(\".section .rodata\\n .zero 1099511627776\\n .text\\n\"); KERNEL {}"));
  EXPECT_EQ(result.finding.outcome, Outcome::compile_error);
  EXPECT_EQ(result.finding.rule, "output-size") << result.finding.detail;
  EXPECT_EQ(scratch_folders(), 0U);
}

TEST_F(Compile, WithoutACompilerItSaysHowToGetOne) {
  const auto error_of = [&](const std::string& name) {
    auto with = options();
    with.compiler = name;
    const auto made = Compiler::create(with);
    EXPECT_FALSE(made) << name;
    if (made) return Error{};
    EXPECT_EQ(made.error().code, ErrorCode::environment);
    EXPECT_THAT(made.error().hint, HasSubstr("apt install g++"));
    EXPECT_THAT(made.error().hint, HasSubstr("TILEWRIGHT_CXX"));
    return made.error();
  };
  EXPECT_THAT(error_of("no-such-g++").message, HasSubstr("no-such-g++"));
  EXPECT_THAT(error_of("/nowhere/g++").message, HasSubstr("/nowhere/g++"));
  EXPECT_THAT(error_of("false").message, HasSubstr("status 1"));
  const fs::path silent = folder_.path() / "silent";
  ASSERT_TRUE(write_file_atomically(silent, "#!/bin/sh\n"));
  fs::permissions(silent, fs::perms::owner_all);
  EXPECT_THAT(error_of(silent.string()).message, HasSubstr("printed nothing"));
  {
    const Variable variable("TILEWRIGHT_CXX", "my-own-cxx");
    EXPECT_THAT(error_of("").message, HasSubstr("'my-own-cxx' (from TILEWRIGHT_CXX)"));
  }
  const Variable variable("TILEWRIGHT_CXX", nullptr);
  const Variable path("PATH", "/nowhere");
  EXPECT_THAT(error_of("").message, HasSubstr("neither g++ nor c++ is in PATH"));
}

TEST_F(Compile, TheCompilerIsTheOneAskedFor) {
  const std::string named = script(folder_.path(), "named", "exit 1");
  const std::string spaced = script(folder_.path(), "with blank", "exit 1");
  const Variable variable("TILEWRIGHT_CXX", named.c_str());
  EXPECT_EQ(compiler(options()).version(), "named 1.0");
  auto with = options();
  with.compiler = spaced;  // the option goes before the variable; a blank is no separator here
  EXPECT_EQ(compiler(with).version(), "with blank 1.0");
  with.compiler = "env " + named;  // a launcher and a compiler
  EXPECT_EQ(compiler(with).version(), "named 1.0");
}

TEST_F(Compile, ThreadsShareOneCompiler) {
  auto with = options();
  with.compiler = quick_compiler();
  auto cpp = compiler(with);
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int number = 0; number < 12; ++number) {
          const auto made = cpp.compile(numbered(number));
          good += made.binary && fs::exists(made.binary->path);
        }
      });
    }
  }
  EXPECT_EQ(good, 8 * 12);
  EXPECT_EQ(count_in(folder_.path() / "cache/v1/cpu"), 12U);
  EXPECT_EQ(scratch_folders(), 0U);
}

TEST_F(Compile, LooseLinksTheLibrariesThatRedTeamsNeed) {
  auto with = options();
  with.refuse_writable_state = false;
  auto cpp = compiler(with);
  const auto made = cpp.compile(
      source_of("#include <thread>\n#include <vector>\nstatic std::vector<int> log;\n"
                "KERNEL { std::thread([] { log.push_back(9); }).join(); *(int*)a->c = log.back();"
                " (void)t; }"));
  ASSERT_TRUE(made.binary) << made.finding.detail;
  EXPECT_EQ(result_of(*made.binary), 9);
}

}  // namespace
}  // namespace tilewright
