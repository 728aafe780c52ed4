// SPDX-License-Identifier: Apache-2.0
// See wisdom_files.h.
#include "runtime/wisdom_files.h"

#include "base/file.h"
#include "base/text.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;

// <prefix>/share/tilewright of the library or program that this code is in: beside lib/,
// lib/<triple>/ or bin/.
fs::path installed_share() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&installed_share), &info) == 0) return {};
  std::error_code ignored;
  const fs::path file = fs::canonical(info.dli_fname, ignored);
  for (fs::path folder = file.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::path share = folder / "share" / "tilewright"; fs::is_directory(share, ignored)) {
      return share;
    }
  }
  return {};
}

class Reader {
 public:
  explicit Reader(const Device& device) : device_(device) {}

  void read(const fs::path& file) {
    auto wisdom = load_wisdom(file, device_);
    if (!wisdom) {
      const Error& error = wisdom.error();
      known_.warnings.push_back("wisdom left out: " + error.message +
                                (error.hint.empty() ? "" : " (" + error.hint + ")"));
      return;
    }
    known_.files.push_back(file.string());
    for (WisdomEntry& entry : wisdom->entries) {
      if (seen_.emplace(entry.problem, entry.mode).second) {
        known_.entries.push_back(std::move(entry));
      }
    }
  }

  KnownWisdom take() { return std::move(known_); }

 private:
  const Device& device_;
  KnownWisdom known_;
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

std::vector<fs::path> installed_places(std::string_view kind) {
  std::vector<fs::path> places;
  std::string variable = "TILEWRIGHT_";
  for (const char c : kind) variable += static_cast<char>(c - 'a' + 'A');
  if (const char* listed = std::getenv(variable.c_str())) {
    for (const auto part : split(listed, ':')) {
      if (!part.empty()) places.emplace_back(part);
    }
  }
  if (const auto home = data_home_to_read()) places.push_back(*home / kind);
  places.push_back(fs::path("/etc/tilewright") / kind);
  if (const fs::path share = installed_share(); !share.empty()) places.push_back(share / kind);
  return places;
}

KnownWisdom known_wisdom(const Options& options, const Device& device) {
  Reader reader(device);
  if (!options.wisdom.empty()) {
    reader.read(options.wisdom);
  } else if (options.installed_wisdom) {
    for (const fs::path& place : installed_places("wisdom")) {
      std::error_code ignored;
      const fs::path file =
          fs::is_directory(place, ignored) ? place / (device.fingerprint() + ".txt") : place;
      if (fs::is_regular_file(file, ignored)) reader.read(file);
    }
  }
  return reader.take();
}

void warn(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fprintf(stderr, "tilewright: %s\n", line.c_str());
}

}  // namespace tilewright::runtime
