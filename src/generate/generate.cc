// SPDX-License-Identifier: Apache-2.0
// Picks the generator of a program's family, and carries the headers that its text includes.
#include "generate/generate.h"

#include "base/embedded.h"
#include "base/text.h"
#include "generate/cpu/cpu_source.h"
#include "generate/cuda/cuda_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace tilewright {

std::span<const EmbeddedFile> device_headers();  // src/CMakeLists.txt embeds them

namespace {

constexpr int kFirstChained = 90;  // compute capability with griddepcontrol

std::vector<std::string_view> includes_of(std::string_view text) {
  std::vector<std::string_view> out;
  constexpr std::string_view kInclude = "#include \"";
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(kInclude)) continue;
    const std::string_view rest = line.substr(kInclude.size());
    out.push_back(rest.substr(0, rest.find('"')));
  }
  return out;
}

// Appends the headers that `text` needs, each after those that it includes itself.
void collect_headers(std::string_view text,
                     std::vector<std::pair<std::string, std::string>>& into) {
  for (const std::string_view name : includes_of(text)) {
    const auto known = [&](const auto& header) { return header.first == name; };
    if (std::ranges::any_of(into, known)) continue;
    const auto all = device_headers();
    const auto header = std::ranges::find(all, name, &EmbeddedFile::name);
    if (header == all.end()) continue;  // the compiler will say that it does not exist
    collect_headers(header->text, into);
    into.emplace_back(header->name, header->text);
  }
}

// One generator for each family.
Source source_of(const Program& program, const Problem& problem, const Device& device, Form form) {
  const std::string_view family = program.family().name;
  if (family == "sm90") return sm90_source(program, problem, device, form);
  if (family == "sm80") return sm80_source(program, problem, device, form);
  if (!problem.is_gemm()) {
    return device.kind == DeviceKind::cuda ? cuda_general_source(program, problem, device)
                                           : cpu_general_source(program, problem);
  }
  return cpu_source(program, problem);
}

}  // namespace

Result<Source> generate(const Program& program, const Problem& problem, const Device& device,
                        Form form) {
  const std::vector<Refusal> refused = refusals(program, problem, device);
  if (!refused.empty()) {
    return fail(ErrorCode::usage, fmt::format("illegal program: {}: {}", refused.front().rule,
                                              refused.front().reason));
  }
  if (form == Form::served &&
      (device.kind != DeviceKind::cuda || problem.alpha != AlphaClass::any ||
       problem.beta != BetaClass::any)) {
    return fail(ErrorCode::usage, fmt::format("a served kernel is a CUDA kernel of a problem with "
                                              "alpha=any beta=any, not of '{}'",
                                              to_text(problem)));
  }
  if (form == Form::chained && !(program.family().name.starts_with("sm") && problem.is_gemm() &&
                                 device.cuda.capability >= kFirstChained)) {
    return fail(ErrorCode::usage,
                fmt::format("a chained kernel multiplies matrices on a CUDA device of compute "
                            "capability 9.0 or later; asked for '{}' on {}",
                            to_text(problem), device.fingerprint()));
  }
  Source source = source_of(program, problem, device, form);
  if (form == Form::chained) {
    source.flags.emplace_back("--define-macro=TW_CHAINED");
    source.launch.cuda.chained = true;
  }
  collect_headers(source.text, source.headers);
  return source;
}

std::string self_contained(const Source& source) {
  std::string out;
  const auto append = [&](std::string_view text) {
    for (const std::string_view line : split(text, '\n')) {
      if (line.starts_with("#include \"") || line == "#pragma once") continue;
      out.append(line).push_back('\n');
    }
  };
  for (const auto& [name, text] : source.headers) {
    out.append(fmt::format("// ---- {} ----\n", name));
    append(text);
  }
  append(source.text);
  return out;
}

Source foreign_source(std::string text, Launch launch, const Device& device) {
  Source source;
  if (launch.target == "cuda") {
    source.language = "cuda";
    source.flags = cuda_flags(device);
  } else {
    source.flags = widest_flags(device);
  }
  source.text = std::move(text);
  source.launch = std::move(launch);
  collect_headers(source.text, source.headers);
  return source;
}

}  // namespace tilewright
