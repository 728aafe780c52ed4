// SPDX-License-Identifier: Apache-2.0
// A profile as JSON. What is not known is absent, and a value that is no finite number is not
// known.
#include "trial/profile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace tilewright {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

tl::unexpected<Error> bad(const char* field, const char* wanted) {
  return fail(ErrorCode::usage, fmt::format("profile: field \"{}\" is not {}", field, wanted));
}

}  // namespace

std::string to_json(const Profile& profile) {
  ordered_json object;
  object["tool"] = profile.tool;
  if (!profile.limit.empty()) object["limit"] = profile.limit;
  if (!profile.stall.empty()) object["stall"] = profile.stall;
  object["kernels"] = profile.kernels;
  ordered_json& values = object["values"] = ordered_json::object();
  for (const auto& [name, value] : profile.values) {
    if (std::isfinite(value)) values[name] = value;
  }
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Profile> profile_from_json(std::string_view line) {
  const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return bad("", "a JSON object");
  Profile profile;
  for (const auto& [key, member] : {std::pair{"tool", &Profile::tool},
                                    {"limit", &Profile::limit},
                                    {"stall", &Profile::stall}}) {
    const auto found = object.find(key);
    if (found == object.end()) continue;
    if (!found->is_string()) return bad(key, "a string");
    profile.*member = found->get<std::string>();
  }
  if (const auto kernels = object.find("kernels"); kernels != object.end()) {
    if (!kernels->is_array()) return bad("kernels", "a list of strings");
    for (const json& kernel : *kernels) {
      if (!kernel.is_string()) return bad("kernels", "a list of strings");
      profile.kernels.push_back(kernel.get<std::string>());
    }
  }
  if (const auto values = object.find("values"); values != object.end()) {
    if (!values->is_object()) return bad("values", "an object of numbers");
    for (const auto& [name, value] : values->items()) {
      if (!value.is_number()) return bad("values", "an object of numbers");
      profile.values[name] = value.get<double>();
    }
  }
  return profile;
}

}  // namespace tilewright
