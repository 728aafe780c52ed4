// SPDX-License-Identifier: Apache-2.0
// Compiles an emulated kernel. See emulate.h.
#include "base/file.h"
#include "base/subprocess.h"
#include "emulate/emulate.h"

#include <fmt/format.h>

#include <chrono>

namespace tilewright {
namespace {

constexpr std::string_view kEnd = R"(
extern "C" int emulated_threads() { return Kernel::kThreads; }
)";
// How one kernel is called, and the sizes of its parameters.
constexpr std::string_view kEntry = R"(
extern "C" void {symbol}_call(void** arguments) {{
  decltype(emulated_kernel({symbol}))::call({symbol}, arguments);
}}
extern "C" int {symbol}_size(int argument) {{
  return decltype(emulated_kernel({symbol}))::size(argument);
}}
)";

std::string apply(std::string& text, const Mutation& mutation) {
  std::size_t at = text.find(mutation.from);
  if (at == std::string::npos) {
    return fmt::format("'{}' does not stand in {}", mutation.from, mutation.header);
  }
  for (; at != std::string::npos; at = text.find(mutation.from, at + mutation.to.size())) {
    text.replace(at, mutation.from.size(), mutation.to);
  }
  return "";
}

}  // namespace

Result<Emulated> Emulated::compile(const Source& source, const std::filesystem::path& folder,
                                   const std::vector<Mutation>& mutations) {
  const std::filesystem::path own =
      std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "tests/emulate/headers";
  auto headers = source.headers;
  std::string main = source.text;
  for (const Mutation& mutation : mutations) {
    std::string* text = mutation.header.empty() ? &main : nullptr;
    for (auto& [name, content] : headers) {
      if (name.ends_with("/" + mutation.header)) text = &content;
    }
    if (text == nullptr) return fail(ErrorCode::usage, "no header " + mutation.header);
    if (std::string wrong = apply(*text, mutation); !wrong.empty()) {
      return fail(ErrorCode::usage, wrong);
    }
  }
  auto text = emulated_text(main);
  if (!text) return tl::unexpected(text.error());
  for (const auto& [name, content] : headers) {
    const std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    if (auto written = write_file_atomically(path, content); !written)
      return tl::unexpected(written.error());
  }
  text->append(kEnd);
  std::vector<std::string> symbols = {source.launch.symbol};
  for (const LaunchStep& step : source.launch.cuda.before) symbols.push_back(step.symbol);
  for (const std::string& symbol : symbols) {
    text->append(fmt::format(kEntry, fmt::arg("symbol", symbol)));
  }
  if (auto written = write_file_atomically(folder / "kernel.cc", *text); !written) {
    return tl::unexpected(written.error());
  }
  Emulated out;
  out.launch_ = source.launch;
  out.object_ = folder / "kernel.so";
  Command command;
  // Undefined behaviour that shows in plain C++ (an index of registers, a misaligned vector) traps.
  command.argv = {TILEWRIGHT_HOST_CXX,
                  "-std=c++20",
                  "-O1",
                  "-w",
                  "-fPIC",
                  "-shared",
                  "-fno-strict-aliasing",
                  "-fsanitize=alignment,bounds,shift",
                  "-fsanitize-undefined-trap-on-error",
                  "-include",
                  (own / "emulated_cuda.h").string(),
                  "-I" + own.string(),
                  "-I.",
                  "kernel.cc",
                  "-o",
                  "kernel.so"};
  if (source.launch.cuda.chained) command.argv.emplace_back("-DTW_CHAINED");
  command.directory = folder;
  command.limit = std::chrono::minutes(5);
  auto done = tilewright::run(command);
  if (!done) return tl::unexpected(done.error());
  if (done->exit_code != 0) return fail(ErrorCode::refused, done->output);
  return out;
}

}  // namespace tilewright
