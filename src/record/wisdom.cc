// SPDX-License-Identifier: Apache-2.0
// The text of wisdom, written and read. wisdom.h shows it; read next: wisdom_union.cc, which makes
// and joins wisdom.
//
// Reading accepts exactly what writing produces, but for a device line of a later version with more
// fields. The hash at the end makes a file that was cut,
// damaged or edited a refusal instead of a wrong answer; it is no signature, so whoever uses a
// program from a file must still check that it is legal for the problem.
#include "record/wisdom.h"

#include "base/hash.h"
#include "base/text.h"
#include "problem/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <tuple>

namespace tilewright {
namespace {

constexpr std::string_view kMagic = "tilewright-wisdom ";
constexpr std::string_view kDevice = "device ";
constexpr std::string_view kEntry = "entry ";
constexpr std::string_view kHash = "hash ";
constexpr std::string_view kSeparator = " | ";
constexpr std::string_view kNoReference = "none";
constexpr std::size_t kLongestLine = 1 << 16;

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '+' || c == '/';
  });
}

// `family key=value key=value`, single blanks.
bool is_program_shape(std::string_view text) {
  const auto parts = split(text, ' ');
  if (parts.size() < 2 || !is_word(parts[0])) return false;
  return std::all_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
    const auto pair = split(part, '=');
    return pair.size() == 2 && is_word(pair[0]) && is_word(pair[1]);
  });
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (text[i] < '0' || text[i] > '9') return false;
  }
  const auto number = [&](std::size_t at, std::size_t length) {
    return parse_integer(text.substr(at, length)).value_or(0);
  };
  return std::chrono::year_month_day(std::chrono::year(static_cast<int>(number(0, 4))),
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

tl::unexpected<Error> refuse(std::size_t line, const std::string& reason,
                             const char* hint = "export it again, or get a fresh copy") {
  return fail(ErrorCode::refused, fmt::format("wisdom line {}: {}", line, reason), hint);
}

// A number as fmt prints it, and no other spelling.
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (fmt::format("{}", value) != text) return std::nullopt;
  return value;
}

// The words of the third part in their order; `verified` has one value, since nothing that was
// proven in part is ever exported.
constexpr std::array<std::string_view, 6> kKeys = {
    "time_us=", "vs=", "ratio=", "verified=", "mode=", "date="};

std::string entry_text(const WisdomEntry& entry) {
  return fmt::format("{}{}{}{}{}time_us={} vs={} ratio={} verified=full mode={} date={}\n", kEntry,
                     entry.problem, kSeparator, entry.program, kSeparator, entry.time_us,
                     entry.reference.empty() ? kNoReference : entry.reference, entry.ratio,
                     entry.mode, entry.date);
}

// Errors here lack the line number, which the caller has.
Result<WisdomEntry> parse_entry(std::string_view line) {
  const auto bad = [](std::string reason) { return fail(ErrorCode::refused, std::move(reason)); };
  if (!line.starts_with(kEntry)) return bad("does not begin with 'entry '");
  line.remove_prefix(kEntry.size());
  const auto first = line.find(kSeparator);
  const auto second =
      first == std::string_view::npos ? first : line.find(kSeparator, first + kSeparator.size());
  if (second == std::string_view::npos) return bad("an entry has three parts between ' | '");
  WisdomEntry entry;
  entry.problem = line.substr(0, first);
  entry.program = line.substr(first + kSeparator.size(), second - first - kSeparator.size());
  const auto facts = split(line.substr(second + kSeparator.size()), ' ');
  std::array<std::string_view, kKeys.size()> values;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    if (i >= facts.size() || !facts[i].starts_with(kKeys[i])) {
      return bad(fmt::format("'{}' is missing from its place", kKeys[i]));
    }
    values[i] = facts[i].substr(kKeys[i].size());
  }
  if (facts.size() != kKeys.size()) return bad("something follows the date");
  const auto time_us = parse_number(values[0]);
  const auto ratio = parse_number(values[2]);
  if (!time_us) return bad(fmt::format("time_us={} is no number", values[0]));
  if (!ratio) return bad(fmt::format("ratio={} is no number", values[2]));
  if (values[3] != "full") return bad(fmt::format("verified={} is not 'full'", values[3]));
  entry.time_us = *time_us;
  if (values[1] != kNoReference) entry.reference = values[1];
  if (values[1].empty()) return bad("vs= has no value");
  entry.ratio = *ratio;
  entry.mode = values[4];
  entry.date = values[5];
  if (auto s = check(entry); !s) return tl::unexpected(s.error());
  return entry;
}

// Line 1 and the hash line: is this a whole file that we can read? Returns the lines between.
Result<std::vector<std::string_view>> check_frame(std::string_view text) {
  const auto line_end = text.find('\n');
  const std::string_view head = text.substr(0, line_end);
  if (!head.starts_with(kMagic)) {
    return refuse(1, "does not begin with 'tilewright-wisdom'", "it is another kind of file");
  }
  const auto version = parse_integer(head.substr(kMagic.size()));
  if (version != kWisdomVersion) {
    return refuse(1,
                  fmt::format("version '{:.40}', this program reads {}", head.substr(kMagic.size()),
                              kWisdomVersion),
                  "use the tilewright that wrote it");
  }
  // parse_integer is lenient about leading zeros.
  if (head != fmt::format("{}{}", kMagic, kWisdomVersion)) return refuse(1, "is misspelt");
  auto lines = split(text, '\n');
  const std::size_t count = lines.size() - 1;
  if (!lines.back().empty()) return refuse(lines.size(), "does not end: the file was cut short");
  lines.pop_back();
  if (!lines.back().starts_with(kHash)) {
    return refuse(count, "is not the hash that ends a file: it was cut short");
  }
  const std::string_view above = text.substr(0, text.size() - lines.back().size() - 1);
  if (lines.back().substr(kHash.size()) != hash128(above)) {
    return refuse(count, "is not the hash of the lines above: the file was changed or damaged");
  }
  lines.pop_back();
  lines.erase(lines.begin());
  return lines;
}

}  // namespace

Status check(const WisdomEntry& entry) {
  const auto bad = [](std::string reason) { return fail(ErrorCode::refused, std::move(reason)); };
  const auto problem = parse_problem(entry.problem);
  if (!problem) return bad(problem.error().message);
  if (to_text(*problem) != entry.problem) {
    return bad(
        fmt::format("problem '{}' is not as we write it: '{}'", entry.problem, to_text(*problem)));
  }
  if (auto s = check(*problem); !s) return bad(s.error().message);
  if (!is_program_shape(entry.program)) {
    return bad(fmt::format("program '{:.80}' is not 'family key=value ...'", entry.program));
  }
  if (!(entry.time_us > 0) || std::isinf(entry.time_us)) {
    return bad(fmt::format("time_us={} is no time", entry.time_us));
  }
  const bool has_reference = !entry.reference.empty();
  if (has_reference && (!is_word(entry.reference) || entry.reference == kNoReference)) {
    return bad(fmt::format("vs={:.80} is no name of a baseline", entry.reference));
  }
  const bool has_ratio = entry.ratio > 0 && std::isfinite(entry.ratio);
  if (has_reference ? !has_ratio : entry.ratio != 0 || std::signbit(entry.ratio)) {
    return bad(fmt::format("ratio={} does not go with vs={}", entry.ratio,
                           has_reference ? std::string_view(entry.reference) : kNoReference));
  }
  if (!is_word(entry.mode)) return bad(fmt::format("mode={:.80} is no word", entry.mode));
  if (!is_date(entry.date)) return bad(fmt::format("date={:.80} is not YYYY-MM-DD", entry.date));
  return {};
}

std::string to_text(const Wisdom& wisdom) {
  std::string text =
      fmt::format("{}{}\n{}{}\n", kMagic, kWisdomVersion, kDevice, to_json(wisdom.device));
  for (const WisdomEntry& entry : wisdom.entries) text += entry_text(entry);
  return text + fmt::format("{}{}\n", kHash, hash128(text));
}

Result<Wisdom> parse_wisdom(std::string_view text) {
  const auto lines = check_frame(text);
  if (!lines) return tl::unexpected(lines.error());
  Wisdom wisdom;
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const std::size_t number = i + 2;  // line 1 is gone
    const std::string_view line = (*lines)[i];
    if (line.size() > kLongestLine) {
      return refuse(number, fmt::format("has {} bytes, more than {}", line.size(), kLongestLine));
    }
    if (i == 0) {
      if (!line.starts_with(kDevice)) return refuse(number, "does not begin with 'device '");
      auto device = device_from_json(line.substr(kDevice.size()));
      if (!device) return refuse(number, device.error().message);
      wisdom.device = std::move(*device);
      continue;
    }
    auto entry = parse_entry(line);
    if (!entry) return refuse(number, entry.error().message);
    if (!wisdom.entries.empty()) {
      const WisdomEntry& last = wisdom.entries.back();
      if (std::tie(last.problem, last.mode) >= std::tie(entry->problem, entry->mode)) {
        return refuse(number, "is not sorted after the line above, or repeats it");
      }
    }
    wisdom.entries.push_back(std::move(*entry));
  }
  if (lines->empty()) return refuse(2, "does not begin with 'device '");
  return wisdom;
}

}  // namespace tilewright
