// SPDX-License-Identifier: Apache-2.0
// Source -> Binary: look in the cache, else compile in a scratch folder, inspect, and give the
// folder its name. Read next: language.h (C++ and CUDA), toolchain.h (what the compiler is told),
// inspect.h (what is refused), cache.h (how processes share).
#include "compile/compile.h"

#include "base/file.h"
#include "base/hash.h"
#include "compile/cache.h"
#include "compile/diagnostics.h"
#include "compile/language.h"
#include "compile/toolchain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// What a compiler may take. The largest generated kernels need about 0.3 GB and 1 MB; a candidate
// from outside may ask for terabytes with one line of assembly.
constexpr std::size_t kMemory = std::size_t{4} << 30;
// A program under a sanitizer reserves terabytes of addresses, and tilewright-nvrtc is ours.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr std::size_t kLargestFile = std::size_t{256} << 20;
constexpr std::size_t kLogBytes = 64 << 10;

constexpr std::string_view kPrivatePrefix = "tilewright-private-";

// The rules that a source must pass before anything is written.
std::optional<Finding> refused(const Source& source) {
  const auto illegal = [](std::string_view rule, std::string detail) {
    return Finding{Outcome::illegal, std::string(rule), plain(detail)};
  };
  if (find_language(source.language) == nullptr) {
    return illegal("language", fmt::format("no compiler here for '{}'", source.language));
  }
  // The name goes into the linker's script.
  const std::string& symbol = source.launch.symbol;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (symbol.empty() || (symbol[0] >= '0' && symbol[0] <= '9') ||
      !std::all_of(symbol.begin(), symbol.end(), is_word)) {
    return illegal("launch-symbol", fmt::format("'{}' is not a C identifier", symbol));
  }
  for (const auto& [name, content] : source.headers) {
    if (!is_plain_name(name)) {
      return illegal("header-name", fmt::format("'{}' is not a relative name", name));
    }
  }
  return std::nullopt;
}

// Each field with its length, so that no two sources run together into one text.
std::string key_of(const Source& source, const std::string& version,
                   const std::vector<std::string>& flags) {
  std::string text;
  const auto add = [&](std::string_view field) {
    text += fmt::format("{}:", field.size());
    text += field;
  };
  add(std::to_string(kCacheFormat));
  add(version);
  add(std::to_string(flags.size()));
  for (const auto& flag : flags) add(flag);
  add(source.language);
  add(source.text);
  add(std::to_string(source.headers.size()));
  for (const auto& [name, content] : source.headers) {
    add(name);
    add(content);
  }
  add(to_json(source.launch));
  return hash128(text);
}

Status write_source(const fs::path& folder, const Source& source, const EntryKind& kind) {
  if (auto status = put(folder, kind.source, source.text); !status) return status;
  if (kind.exports) {
    auto status = put(folder, kExportsFile, export_list(source.launch));
    if (!status) return status;
  }
  for (const auto& [name, content] : source.headers) {
    auto status = put(folder / kHeaderFolder, name, content);
    if (!status) return status;
  }
  return {};
}

Finding unable(const Error& error) {
  return {Outcome::compile_error, "environment",
          plain(error.hint.empty() ? error.message
                                   : fmt::format("{} ({})", error.message, error.hint))};
}

// How a compiler that did not deliver ended.
std::optional<Finding> failure(const Completion& done, const std::string& log,
                               std::chrono::milliseconds limit) {
  if (done.cancelled) return Finding{Outcome::compile_error, "cancelled", "stopped on request"};
  const std::string errors = first_errors(log);
  if (done.timed_out) {
    return Finding{
        Outcome::compile_timeout, "time",
        fmt::format("no result after {} s{}{}", std::chrono::duration<double>(limit).count(),
                    errors.empty() ? "" : ": ", errors)};
  }
  if (done.signal == 0 && done.exit_code == 0) return std::nullopt;
  std::string how = done.signal != 0 ? fmt::format("the compiler ended by signal {}", done.signal)
                                     : fmt::format("status {}", done.exit_code);
  return Finding{Outcome::compile_error, std::string(failure_rule(log)),
                 errors.empty() ? how : errors};
}

Result<OwnedFolder> private_folder() {
  std::error_code error;
  fs::path temporary = fs::temp_directory_path(error);
  if (error) temporary = "/tmp";
  remove_dead(temporary, kPrivatePrefix);
  return OwnedFolder::make(temporary, kPrivatePrefix, 0700);
}

// What is known of a binary in `folder`; no seconds if it was there.
CompileResult known(const Language& language, const Source& source, const fs::path& folder,
                    const std::string& key, Entry entry, std::int64_t text_bytes,
                    std::optional<double> seconds) {
  Binary binary;
  binary.path = folder / language.entry.object;
  binary.hash = key;
  binary.launch = source.launch;
  if (language.name == "cuda") binary.cubin = parse_ptxas_log(entry.log, source.launch.symbol);
  binary.log = std::move(entry.log);
  binary.compiler = std::move(entry.compiler);
  binary.from_cache = !seconds;
  binary.compile_seconds = seconds.value_or(0);
  binary.text_bytes = text_bytes;
  return {std::move(binary), {}};
}

constexpr std::array<std::string_view, 3> kNoVerdicts = {"cancelled", "disk", "environment"};

}  // namespace

bool blames_candidate(const Finding& finding) {
  return !finding.ok() &&
         std::find(kNoVerdicts.begin(), kNoVerdicts.end(), finding.rule) == kNoVerdicts.end();
}

struct Compiler::State {
  // A compiler that is looked for when it is needed first, and once.
  struct Lazy {
    std::once_flag once;
    std::optional<Result<Toolchain>> found;
  };
  CompileOptions options;
  Lazy host, cuda;
  std::optional<OwnedFolder> private_root;  // outlives the cache in it
  std::unique_ptr<Cache> cache;

  [[nodiscard]] Status open_cache();
  [[nodiscard]] const Result<Toolchain>& toolchain(const Language& language);
  [[nodiscard]] CompileResult make(const Source& source, const Language& language,
                                   const std::string& key, const Toolchain& tools,
                                   const Supervision& supervision);
};

const Result<Toolchain>& Compiler::State::toolchain(const Language& language) {
  Lazy& lazy = language.name == "c++" ? host : cuda;
  std::call_once(lazy.once, [&] { lazy.found.emplace(language.find(options)); });
  return *lazy.found;
}

Status Compiler::State::open_cache() {
  Result<fs::path> root = options.cache_directory;
  if (root->empty()) root = cache_home();
  Error reason;
  if (root) {
    auto opened = Cache::open(*root, options.cache_cap_bytes, options.warn);
    if (opened) {
      cache = *std::move(opened);
      return {};
    }
    reason = opened.error();
  } else {
    reason = root.error();
  }
  auto folder = private_folder();
  if (!folder) return tl::unexpected(folder.error());
  private_root = *std::move(folder);
  auto opened = Cache::open(private_root->path(), options.cache_cap_bytes, options.warn);
  if (!opened) return tl::unexpected(opened.error());
  cache = *std::move(opened);
  if (options.warn) {
    options.warn(fmt::format("compile cache: {}; compiling without a lasting cache{}{}",
                             reason.message, reason.hint.empty() ? "" : " - ", reason.hint));
  }
  return {};
}

CompileResult Compiler::State::make(const Source& source, const Language& language,
                                    const std::string& key, const Toolchain& tools,
                                    const Supervision& supervision) {
  if (supervision.cancel && supervision.cancel()) {
    return {std::nullopt, {Outcome::compile_error, "cancelled", "stopped on request"}};
  }
  auto scratch = cache->scratch();
  if (!scratch) return {std::nullopt, unable(scratch.error())};
  const fs::path folder = scratch->path();
  if (auto status = write_source(folder, source, language.entry); !status) {
    return {std::nullopt, unable(status.error())};
  }
  const fs::path temporary = folder / "tmp";
  std::error_code error;
  fs::create_directory(temporary, error);

  Command command;
  command.argv = tools.program;
  const auto flags = language.arguments(source, tools, options.refuse_writable_state);
  command.argv.insert(command.argv.end(), flags.begin(), flags.end());
  command.directory = folder;
  command.environment = environment(temporary);
  command.environment.insert(command.environment.end(), tools.environment.begin(),
                             tools.environment.end());
  command.limit = options.limit;
  command.output_cap = kLogBytes;
  if (language.name == "c++" || !kSanitized) command.memory_limit = kMemory;
  command.file_limit = kLargestFile;
  const auto done = run(command, supervision);
  if (!done) return {std::nullopt, unable(done.error())};
  std::string log = plain(done->output);
  if (done->output_dropped != 0) log += fmt::format("\n({} bytes more)\n", done->output_dropped);
  if (auto finding = failure(*done, log, options.limit)) return {std::nullopt, *std::move(finding)};

  const auto object = read_file(folder / language.entry.object);
  if (!object) {
    return {std::nullopt,
            {Outcome::compile_error, "object", "the compiler reported success, but wrote nothing"}};
  }
  auto inspection = language.inspect(*object, source.launch.symbol, options.refuse_writable_state);
  if (!inspection.finding.ok()) return {std::nullopt, std::move(inspection.finding)};

  fs::remove_all(temporary, error);
  if (auto status = put(folder, kLogFile, log); !status) {
    return {std::nullopt, unable(status.error())};
  }
  const double seconds = std::chrono::duration<double>(done->wall).count();
  const fs::path home = cache->add(
      *std::move(scratch), {key, tools.version, to_json(source.launch), seconds}, language.entry);
  return known(language, source, home, key, {{}, std::move(log), tools.version},
               inspection.text_bytes, seconds);
}

Result<Compiler> Compiler::create(CompileOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  if (const std::string& needs = state->options.needs; !needs.empty()) {
    const Language* language = find_language(needs);
    if (language == nullptr) {
      return fail(ErrorCode::internal, fmt::format("no compiler here for '{}'", needs));
    }
    const auto& tools = state->toolchain(*language);
    if (!tools) return tl::unexpected(tools.error());
  }
  if (auto status = state->open_cache(); !status) return tl::unexpected(status.error());
  return Compiler(std::move(state));
}

CompileResult Compiler::compile(const Source& source, const Supervision& supervision) {
  if (auto finding = refused(source)) return {std::nullopt, *std::move(finding)};
  const Language& language = *find_language(source.language);
  const bool strict = state_->options.refuse_writable_state;
  std::string key;
  if (language.version_in_key) {
    const auto& tools = state_->toolchain(language);
    if (!tools) return {std::nullopt, unable(tools.error())};
    key = key_of(source, tools->version, language.arguments(source, *tools, strict));
  } else {
    key = key_of(source, "", source.flags);
  }
  if (auto entry = state_->cache->find(key, language.entry)) {
    // Looked at again, since it costs microseconds and the rules may have grown meanwhile.
    auto inspection = language.inspect(entry->object, source.launch.symbol, strict);
    if (!inspection.finding.ok()) return {std::nullopt, std::move(inspection.finding)};
    return known(language, source, state_->cache->folder_of(key, language.entry), key,
                 *std::move(entry), inspection.text_bytes, std::nullopt);
  }
  const auto& tools = state_->toolchain(language);
  if (!tools) return {std::nullopt, unable(tools.error())};
  return state_->make(source, language, key, *tools, supervision);
}

const std::string& Compiler::version() const {
  static const std::string none;
  const auto& tools = state_->toolchain(*find_language("c++"));
  return tools ? tools->version : none;
}

Result<std::string> Compiler::version_for(std::string_view language) const {
  const Language* row = find_language(language);
  if (row == nullptr) {
    return fail(ErrorCode::internal, fmt::format("no compiler here for '{}'", language));
  }
  const auto& tools = state_->toolchain(*row);
  if (!tools) return tl::unexpected(tools.error());
  return tools->version;
}

Compiler::Compiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Compiler::~Compiler() = default;
Compiler::Compiler(Compiler&&) noexcept = default;
Compiler& Compiler::operator=(Compiler&&) noexcept = default;

}  // namespace tilewright
