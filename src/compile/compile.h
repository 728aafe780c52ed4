// SPDX-License-Identifier: Apache-2.0
// Source -> Binary: a compiler under limits, behind a content-addressed cache. For C++ that is the
// host compiler, for CUDA tilewright-nvrtc (NVRTC in a process of its own) or nvcc.
//
// Shared objects are found again only with the compiler that made them. Cubins are found by text,
// flags and launch alone, so that a cache can be filled on a machine without a GPU and carried to a
// GPU host without a compiler; Binary::compiler says what made them.
#pragma once

#include "base/error.h"
#include "base/outcome.h"
#include "base/subprocess.h"
#include "compile/inspect_cubin.h"
#include "generate/generate.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Binary {
  std::filesystem::path path;  // shared object or cubin; stays valid while its Compiler lives
  std::string hash;            // of everything that decided it: text, headers, flags, compiler
  Launch launch;
  std::string log;       // what the compiler printed
  std::string compiler;  // the version of what made it, maybe elsewhere and long ago
  bool from_cache = false;
  double compile_seconds = 0;   // 0 if from the cache
  std::int64_t text_bytes = 0;  // size of the machine code section
  CubinFacts cubin;             // of a CUDA kernel, by its log
};

// Either a binary or the finding:
//   illegal          language, launch-symbol, header-name    what cannot be written down
//   compile_error    compiler, memory, output-size, object, no-symbol
//   compile_timeout  time
//   cheat            writable-state, constructor, imports     refused by inspection (inspect.h)
//   compile_error    cancelled, disk, environment             no verdict: see blames_candidate()
struct CompileResult {
  std::optional<Binary> binary;
  Finding finding;
};

// False for a finding about this machine or this run, such as a full disk: it must not be recorded
// as something known of the candidate.
[[nodiscard]] bool blames_candidate(const Finding& finding);

struct CompileOptions {
  std::string compiler;  // path or name; empty: TILEWRIGHT_CXX, else g++, c++
  // nvcc or tilewright-nvrtc; empty: TILEWRIGHT_CUDA_COMPILER, else tilewright-nvrtc, nvcc
  std::string cuda_compiler;
  // The language without whose compiler create() fails: "c++", "cuda" or "" for none. What is in
  // the cache needs no compiler; what must be compiled and has none is a finding `environment`.
  std::string needs = "c++";
  std::filesystem::path
      cache_directory;  // empty: cache_home(); unusable: works without, says so once
  std::int64_t cache_cap_bytes = std::int64_t{2} << 30;  // least recently used entries go first
  std::chrono::milliseconds limit{60000};
  // A kernel has no business with state between calls: a shared object with writable objects, TLS
  // or undefined symbols beyond memcpy and friends is refused. Off only to test later defences.
  bool refuse_writable_state = true;
  // Told once that the cache cannot be used, and once of each damaged entry. One call at a time.
  std::function<void(const std::string&)> warn;
};

class Compiler {
 public:
  // An Error of code environment if there is no compiler for options.needs, with how to get one.
  [[nodiscard]] static Result<Compiler> create(CompileOptions options);
  ~Compiler();
  Compiler(Compiler&&) noexcept;
  Compiler& operator=(Compiler&&) noexcept;

  // Thread-safe; concurrent processes may share the cache. `supervision` lets the caller pause
  // compilers while something is being timed, or cancel.
  [[nodiscard]] CompileResult compile(const Source& source, const Supervision& supervision = {});
  // First line of the C++ compiler's `--version`; empty if there is none.
  [[nodiscard]] const std::string& version() const;
  // The same for a language, or why it cannot be compiled here.
  [[nodiscard]] Result<std::string> version_for(std::string_view language) const;

 private:
  struct State;
  explicit Compiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
