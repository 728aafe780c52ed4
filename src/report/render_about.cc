// SPDX-License-Identifier: Apache-2.0
// The file beside a file of rows: on what, with what, when and how it was measured.
#include "report/render.h"
#include "report/suite_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <limits>
#include <set>
#include <utility>

namespace tilewright {
namespace {

using nlohmann::json;

// What trials may differ in, named once each.
constexpr std::pair<const char*, std::string Trial::*> kSources[] = {
    {"libraries", &Trial::libraries},
    {"compilers", &Trial::compiler},
    {"hosts", &Trial::host},
    {"runs", &Trial::run},
};

std::string utc(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The state of the device over all trials that tell.
json conditions_of(const std::vector<Trial>& trials) {
  constexpr double kMost = std::numeric_limits<double>::max();
  int known = 0;
  double least_mhz = kMost, most_mhz = 0, most_watts = 0, most_celsius = 0;
  std::map<std::string, int> throttle;
  for (const Trial& trial : trials) {
    for (const std::optional<Conditions>* moment : {&trial.before, &trial.after}) {
      if (!*moment) continue;
      const Conditions& c = **moment;
      ++known;
      if (c.sm_mhz > 0) least_mhz = std::min(least_mhz, c.sm_mhz);
      most_mhz = std::max(most_mhz, c.sm_mhz);
      most_watts = std::max(most_watts, c.watts);
      most_celsius = std::max(most_celsius, c.celsius);
      if (!c.throttle.empty()) ++throttle[c.throttle];
    }
  }
  if (known == 0) return nullptr;
  return {{"readings", known},
          {"sm_mhz_least", least_mhz == kMost ? json() : json(least_mhz)},
          {"sm_mhz_most", most_mhz},
          {"watts_most", most_watts},
          {"celsius_most", most_celsius},
          {"throttle", throttle}};
}

}  // namespace

std::string render_about(const SuiteReport& report, const std::string& device,
                         const Context& context) {
  json out = envelope("about", context);
  out["suite"] = report.suite;
  out["counts"] = counts_of(report);
  json hardware = json::parse(device, nullptr, /*allow_exceptions=*/false);
  out["hardware"] = hardware.is_object() ? std::move(hardware) : json();
  std::map<std::string, std::set<std::string>> sets;
  std::map<std::string, int> by_mode;
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (const Trial& trial : report.used) {
    ++by_mode[trial.mode];
    for (const auto& [name, field] : kSources) {
      if (const std::string& value = trial.*field; !value.empty()) sets[name].insert(value);
    }
    sets["program_language"].insert(fmt::format("{}", trial.program_language));
    sets["device_headers"].insert(fmt::format("{}", trial.device_headers));
    first = std::min(first, trial.unix_ms);
    last = std::max(last, trial.unix_ms);
  }
  for (const auto& [name, values] : sets) out[name] = values;
  out["counts"]["modes"] = by_mode;
  if (!report.used.empty()) {
    out["measured_from"] = utc(first);
    out["measured_to"] = utc(last);
  }
  out["conditions"] = conditions_of(report.used);
  return json_text(out, false);
}

}  // namespace tilewright
