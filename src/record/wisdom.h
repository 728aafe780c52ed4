// SPDX-License-Identifier: Apache-2.0
// Wisdom: the winners of a database as a small text file that people pass on.
//
//   tilewright-wisdom 1
//   device {"kind":"cpu",...}
//   entry <problem> | <program> | time_us=12.3 vs=onednn ratio=1.18 verified=full mode=offline
//     date=2026-11-29   (on the same line)
//   hash <xxh3-128 of all bytes above>
//
// One entry is one line. `|` separates and is never escaped: neither the text of a problem nor that
// of a program can hold one (check() below). Without a headline baseline it says `vs=none ratio=0`.
// Numbers are the shortest that read back the same, entries are sorted, lines end in a line feed:
// one wisdom has one text.
//
// A file is checked whole before any of it is used: version, hash, device, every entry. A bad file
// is a miss with one warning, never fatal; merging is a union in which the faster entry stays.
//
// Only export_wisdom (wisdom_export.cc) needs a database: who just reads wisdom links none.
#pragma once

#include "base/error.h"
#include "device/device.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class Database;

inline constexpr int kWisdomVersion = 1;

struct WisdomEntry {
  std::string problem, program, mode;
  double time_us = 0;
  std::string reference;  // the fastest headline baseline
  double ratio = 0;       // its time / ours
  std::string date;       // YYYY-MM-DD
  friend bool operator==(const WisdomEntry&, const WisdomEntry&) = default;
};

struct Wisdom {
  Device device;
  std::vector<WisdomEntry> entries;  // sorted by (problem, mode); one each
};

// The canonical text of a problem, the shape of a program (`family key=value ...`; whether it is
// legal is for its reader to say), a time above 0, a date of the calendar.
[[nodiscard]] Status check(const WisdomEntry& entry);

// Every entry must pass check().
[[nodiscard]] std::string to_text(const Wisdom& wisdom);
// An Error of code refused names the line and the reason.
[[nodiscard]] Result<Wisdom> parse_wisdom(std::string_view text);
// Of several entries of one problem and mode the faster.
[[nodiscard]] Wisdom fastest_of(const Device& device, const std::vector<WisdomEntry>& entries);
// The fastest program of each problem and mode that was proven and timed in full (stages final and
// bench), by the yardstick that its trials have (trial/yardstick.h). Sources from outside are left
// out: a text file cannot carry them.
[[nodiscard]] Result<Wisdom> export_wisdom(const Database& database, const Device& device);
// Union; both must be of one device.
[[nodiscard]] Result<Wisdom> merge(const Wisdom& a, const Wisdom& b);
// The file for a device, or the reason why it does not count here.
[[nodiscard]] Result<Wisdom> load_wisdom(const std::filesystem::path& path, const Device& device);

}  // namespace tilewright
