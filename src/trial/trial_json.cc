// SPDX-License-Identifier: Apache-2.0
// A trial as one line of JSON, from tables of fields: a new field is one line here.
//
// Reading is strict about types and lenient about presence: unknown fields are ignored, missing
// ones keep their default, a field of the wrong type is an error that names it. JSON has no NaN and
// no infinity, which a failed proof may well report, so these are the words "nan", "inf", "-inf".
#include "trial/trial.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <class Owner, class T>
struct Field {
  const char* key;
  T Owner::* member;
  bool required = false;
};

constexpr Field<Trial, std::string> kTexts[] = {
    {"problem", &Trial::problem, true},
    {"program", &Trial::program, true},
    {"device", &Trial::device, true},
    {"rule", &Trial::rule},
    {"detail", &Trial::detail},
    {"mode", &Trial::mode},
    {"binary_hash", &Trial::binary_hash},
    {"policy", &Trial::policy},
    {"stage", &Trial::stage},
    {"run", &Trial::run},
    {"split", &Trial::split},
    {"compiler", &Trial::compiler},
    {"libraries", &Trial::libraries},
    {"host", &Trial::host},
};
constexpr Field<Trial, double> kNumbers[] = {
    {"time_us", &Trial::time_us},
    {"latency_us", &Trial::latency_us},
    {"spread", &Trial::spread},
    {"noise", &Trial::noise},
    {"max_abs_error", &Trial::max_abs_error},
    {"max_bound_ratio", &Trial::max_bound_ratio},
    {"norm_ratio", &Trial::norm_ratio},
    {"compile_seconds", &Trial::compile_seconds},
    {"total_seconds", &Trial::total_seconds},
    {"proof_seconds", &Trial::proof_seconds},
    {"timing_seconds", &Trial::timing_seconds},
};
constexpr Field<Trial, int> kIntegers[] = {
    {"program_language", &Trial::program_language},
    {"device_headers", &Trial::device_headers},
};
constexpr Field<Trial, std::uint64_t> kSeeds[] = {{"seed", &Trial::seed}};
constexpr Field<Trial, std::int64_t> kTimes[] = {{"unix_ms", &Trial::unix_ms}};
constexpr Field<Trial, bool> kFlags[] = {{"repeatable", &Trial::repeatable}};
constexpr Field<Trial, bool> kRareFlags[] = {{"cut_short", &Trial::cut_short}};

constexpr Field<BaselineTime, double> kBaselineNumbers[] = {
    {"time_us", &BaselineTime::time_us},       {"ratio_low", &BaselineTime::ratio_low},
    {"ratio", &BaselineTime::ratio},           {"ratio_high", &BaselineTime::ratio_high},
    {"latency_us", &BaselineTime::latency_us},
};
constexpr Field<BaselineTime, std::string> kBaselineTexts[] = {
    {"comparison", &BaselineTime::comparison},
    {"choice", &BaselineTime::choice},
};
constexpr Field<BaselineTime, bool> kBaselineFlags[] = {{"headline", &BaselineTime::headline}};
// Not written where there is none, as the flags above that are rare: other lines stay as they were.
constexpr Field<BaselineTime, std::string> kBaselineExact[] = {
    {"algorithm", &BaselineTime::algorithm}};

constexpr Field<CubinNotes, int> kCubinIntegers[] = {{"registers", &CubinNotes::registers}};
constexpr Field<CubinNotes, std::int64_t> kCubinBytes[] = {
    {"spill_bytes", &CubinNotes::spill_bytes}};
constexpr Field<CubinNotes, bool> kCubinFlags[] = {
    {"wgmma_serialized", &CubinNotes::wgmma_serialized}};

constexpr Field<Conditions, double> kConditionNumbers[] = {
    {"sm_mhz", &Conditions::sm_mhz},
    {"watts", &Conditions::watts},
    {"celsius", &Conditions::celsius},
};
constexpr Field<Conditions, std::string> kConditionTexts[] = {{"throttle", &Conditions::throttle}};

template <class T>
ordered_json to_value(const T& value) {
  return value;
}
ordered_json to_value(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

// Each `read` returns what the value should have been, or nullptr if it was that.
const char* read(const json& value, std::string& out) {
  if (!value.is_string()) return "a string";
  out = value.get<std::string>();
  return nullptr;
}
const char* read(const json& value, bool& out) {
  if (!value.is_boolean()) return "true or false";
  out = value.get<bool>();
  return nullptr;
}
const char* read(const json& value, double& out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) {
    out = value.get<double>();
  } else if (value == "nan") {
    out = std::numeric_limits<double>::quiet_NaN();
  } else if (value == "inf" || value == "-inf") {
    out = value == "inf" ? kInfinity : -kInfinity;
  } else {
    return "a number";
  }
  return nullptr;
}
template <class T>
const char* read_integer(const json& value, T& out, const char* wanted) {
  if (!value.is_number_integer()) return wanted;
  // Signed and unsigned JSON integers are kept apart by the parser; compare each as it is.
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (!std::in_range<T>(number)) return wanted;
    out = static_cast<T>(number);
  } else {
    const auto number = value.get<std::int64_t>();
    if (!std::in_range<T>(number)) return wanted;
    out = static_cast<T>(number);
  }
  return nullptr;
}
const char* read(const json& value, int& out) {
  return read_integer(value, out, "an integer of 32 bits");
}
const char* read(const json& value, std::int64_t& out) {
  return read_integer(value, out, "an integer of 64 bits");
}
const char* read(const json& value, std::uint64_t& out) {
  return read_integer(value, out, "an integer from 0 to 2^64-1");
}

std::string shortened(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return text;
}

tl::unexpected<Error> bad_field(const std::string& where, const char* key, const json& value,
                                const char* wanted) {
  return fail(ErrorCode::usage,
              fmt::format("{}: field \"{}\" is {}, not {}", where, key, shortened(value), wanted));
}

template <class Owner, class T, std::size_t kCount>
void write_fields(ordered_json& object, const Owner& owner,
                  const Field<Owner, T> (&fields)[kCount]) {
  for (const auto& field : fields) object[field.key] = to_value(owner.*field.member);
}

template <class Owner, class T, std::size_t kCount>
Status read_fields(const json& object, Owner& owner, const Field<Owner, T> (&fields)[kCount],
                   const std::string& where) {
  for (const auto& field : fields) {
    const auto found = object.find(field.key);
    if (found == object.end()) {
      if (!field.required) continue;
      return fail(ErrorCode::usage, fmt::format("{}: field \"{}\" is missing", where, field.key));
    }
    const char* wanted = read(*found, owner.*field.member);
    if (wanted != nullptr) return bad_field(where, field.key, *found, wanted);
  }
  return {};
}

Status read_baselines(const json& object, Trial& trial) {
  const auto found = object.find("baselines");
  if (found == object.end()) return {};
  if (!found->is_object()) return bad_field("trial", "baselines", *found, "an object");
  for (const auto& [name, value] : found->items()) {
    const std::string where = fmt::format("trial: baseline \"{}\"", name);
    if (!value.is_object()) return bad_field("trial: baselines", name.c_str(), value, "an object");
    BaselineTime& baseline = trial.baselines[name];
    if (auto s = read_fields(value, baseline, kBaselineNumbers, where); !s) return s;
    if (auto s = read_fields(value, baseline, kBaselineTexts, where); !s) return s;
    if (auto s = read_fields(value, baseline, kBaselineFlags, where); !s) return s;
    if (auto s = read_fields(value, baseline, kBaselineExact, where); !s) return s;
  }
  return {};
}

// Parts that not every trial has: an absent one is no key, so lines of a CPU stay as they were.
ordered_json part_json(const CubinNotes& notes) {
  ordered_json part;
  write_fields(part, notes, kCubinIntegers);
  write_fields(part, notes, kCubinBytes);
  write_fields(part, notes, kCubinFlags);
  return part;
}
ordered_json part_json(const Conditions& conditions) {
  ordered_json part;
  write_fields(part, conditions, kConditionNumbers);
  write_fields(part, conditions, kConditionTexts);
  return part;
}

Status read_part(const json& value, CubinNotes& notes, const std::string& where) {
  if (auto s = read_fields(value, notes, kCubinIntegers, where); !s) return s;
  if (auto s = read_fields(value, notes, kCubinBytes, where); !s) return s;
  return read_fields(value, notes, kCubinFlags, where);
}
Status read_part(const json& value, Conditions& conditions, const std::string& where) {
  if (auto s = read_fields(value, conditions, kConditionNumbers, where); !s) return s;
  return read_fields(value, conditions, kConditionTexts, where);
}

template <class Part>
void write_part(ordered_json& object, const char* key, const std::optional<Part>& part) {
  if (part) object[key] = part_json(*part);
}
template <class Part>
Status read_optional(const json& object, const char* key, std::optional<Part>& part) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (!found->is_object()) return bad_field("trial", key, *found, "an object");
  return read_part(*found, part.emplace(), fmt::format("trial: {}", key));
}

Status read_header(const json& object) {
  const auto found = object.find("schema_version");
  if (found == object.end()) {
    return fail(ErrorCode::usage, "trial: field \"schema_version\" is missing");
  }
  int version = 0;
  if (const char* wanted = read(*found, version); wanted != nullptr) {
    return bad_field("trial", "schema_version", *found, wanted);
  }
  if (version < 1 || version > kTrialSchemaVersion) {
    return fail(ErrorCode::refused,
                fmt::format("trial: schema_version is {}, this program reads 1 to {}", version,
                            kTrialSchemaVersion),
                "read it with the newer tilewright that wrote it");
  }
  return {};
}

}  // namespace

std::string to_json(const Trial& trial) {
  ordered_json object;
  object["schema_version"] = kTrialSchemaVersion;
  object["outcome"] = name_of(trial.outcome);
  write_fields(object, trial, kTexts);
  write_fields(object, trial, kNumbers);
  write_fields(object, trial, kFlags);
  if (trial.cut_short) write_fields(object, trial, kRareFlags);
  write_fields(object, trial, kIntegers);
  write_fields(object, trial, kSeeds);
  write_fields(object, trial, kTimes);
  ordered_json& baselines = object["baselines"] = ordered_json::object();
  for (const auto& [name, baseline] : trial.baselines) {
    ordered_json& entry = baselines[name];
    write_fields(entry, baseline, kBaselineNumbers);
    write_fields(entry, baseline, kBaselineTexts);
    write_fields(entry, baseline, kBaselineFlags);
    if (!baseline.algorithm.empty()) write_fields(entry, baseline, kBaselineExact);
  }
  write_part(object, "cubin", trial.cubin);
  write_part(object, "before", trial.before);
  write_part(object, "after", trial.after);
  if (trial.profile) object["profile"] = ordered_json::parse(to_json(*trial.profile));
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Trial> trial_from_json(std::string_view line) {
  const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return fail(ErrorCode::usage,
                fmt::format("trial: {} bytes that are no JSON object", line.size()));
  }
  if (auto s = read_header(object); !s) return tl::unexpected(s.error());
  Trial trial;
  const auto outcome = object.find("outcome");
  if (outcome == object.end()) {
    return fail(ErrorCode::usage, "trial: field \"outcome\" is missing");
  }
  const auto known =
      outcome->is_string() ? outcome_from(outcome->get<std::string>()) : std::nullopt;
  if (!known) return bad_field("trial", "outcome", *outcome, "the name of an outcome");
  trial.outcome = *known;
  if (auto s = read_fields(object, trial, kTexts, "trial"); !s) return tl::unexpected(s.error());
  if (auto s = read_fields(object, trial, kNumbers, "trial"); !s) return tl::unexpected(s.error());
  if (auto s = read_fields(object, trial, kFlags, "trial"); !s) return tl::unexpected(s.error());
  if (auto s = read_fields(object, trial, kRareFlags, "trial"); !s) {
    return tl::unexpected(s.error());
  }
  if (auto s = read_fields(object, trial, kIntegers, "trial"); !s) return tl::unexpected(s.error());
  if (auto s = read_fields(object, trial, kSeeds, "trial"); !s) return tl::unexpected(s.error());
  if (auto s = read_fields(object, trial, kTimes, "trial"); !s) return tl::unexpected(s.error());
  if (auto s = read_baselines(object, trial); !s) return tl::unexpected(s.error());
  if (auto s = read_optional(object, "cubin", trial.cubin); !s) return tl::unexpected(s.error());
  if (auto s = read_optional(object, "before", trial.before); !s) return tl::unexpected(s.error());
  if (auto s = read_optional(object, "after", trial.after); !s) return tl::unexpected(s.error());
  if (const auto profile = object.find("profile"); profile != object.end()) {
    auto read = profile_from_json(profile->dump(-1, ' ', false, json::error_handler_t::replace));
    if (!read) return tl::unexpected(read.error());
    trial.profile = *std::move(read);
  }
  return trial;
}

}  // namespace tilewright
