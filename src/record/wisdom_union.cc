// SPDX-License-Identifier: Apache-2.0
// Wisdom joined, and loaded for a device. One rule decides everywhere: per problem and mode the
// faster entry stays, and between equal times the order of the texts, so that joining in any order
// gives one result.
#include "base/file.h"
#include "record/wisdom.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

namespace tilewright {
namespace {

using Winners = std::map<std::pair<std::string, std::string>, WisdomEntry>;  // (problem, mode)

bool is_faster(const WisdomEntry& a, const WisdomEntry& b) {
  return std::tie(a.time_us, a.program, a.reference, a.ratio, a.date) <
         std::tie(b.time_us, b.program, b.reference, b.ratio, b.date);
}

void add(Winners& winners, const WisdomEntry& entry) {
  const auto [place, is_new] = winners.try_emplace({entry.problem, entry.mode}, entry);
  if (!is_new && is_faster(entry, place->second)) place->second = entry;
}

Wisdom collect(const Device& device, Winners winners) {
  Wisdom wisdom{.device = device, .entries = {}};
  for (auto& [key, entry] : winners) wisdom.entries.push_back(std::move(entry));
  return wisdom;
}

}  // namespace

Wisdom fastest_of(const Device& device, const std::vector<WisdomEntry>& entries) {
  Winners winners;
  for (const WisdomEntry& entry : entries) add(winners, entry);
  return collect(device, std::move(winners));
}

Result<Wisdom> merge(const Wisdom& a, const Wisdom& b) {
  if (a.device.fingerprint() != b.device.fingerprint()) {
    return fail(ErrorCode::refused,
                fmt::format("wisdom of two devices cannot be merged: {} and {}",
                            a.device.fingerprint(), b.device.fingerprint()),
                "keep one file per device");
  }
  Winners winners;
  for (const Wisdom* wisdom : {&a, &b}) {
    for (const WisdomEntry& entry : wisdom->entries) add(winners, entry);
  }
  return collect(a.device, std::move(winners));
}

Result<Wisdom> load_wisdom(const std::filesystem::path& path, const Device& device) {
  const auto text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  auto wisdom = parse_wisdom(*text);
  if (!wisdom) {
    Error error = wisdom.error();
    error.message = path.string() + ": " + error.message;
    return tl::unexpected(std::move(error));
  }
  // Names are for people: one silicon is sold under several, and one name covers several silicons.
  if (wisdom->device.fingerprint() != device.fingerprint()) {
    return fail(ErrorCode::refused,
                fmt::format("{}: wisdom for {} ({}), not for this {} ({})", path.string(),
                            wisdom->device.name, wisdom->device.fingerprint(), device.name,
                            device.fingerprint()),
                "`tilewright tune` makes wisdom for this device");
  }
  return wisdom;
}

}  // namespace tilewright
