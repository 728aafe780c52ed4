// SPDX-License-Identifier: Apache-2.0
// The rules of the source tree as pure functions: a map of the folders (src/README.md) and a tree
// go in, complaints come out, so that invented trees can prove that a breach is found.
// layers_test.cc applies them to the real tree.
#pragma once

#include "base/text.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::layers {

// src/README.md: who may include whom, in the order of the table, and the folders it describes.
struct Map {
  std::vector<std::string> order;
  std::map<std::string, std::set<std::string>> edges;
  std::vector<std::string> described;
};

// Path from the root, such as "src/base/text.cc" -> content.
using Tree = std::map<std::string, std::string>;
using Complaints = std::vector<std::string>;

inline Map parse_map(const std::string& readme) {
  Map map;
  for (const std::string_view line : split(readme, '\n')) {
    if (line.starts_with("- **")) {  // - **folder**: what it is
      map.described.emplace_back(line.substr(4, line.find("**", 4) - 4));
    }
    const std::vector<std::string_view> cells = split(line, '|');  // | folder | may include |
    if (cells.size() != 4 || !cells[0].empty()) continue;
    const std::string folder(trim(cells[1]));
    if (folder == "folder" || folder.starts_with("---")) continue;
    map.order.push_back(folder);
    for (const std::string_view target : words(cells[2])) map.edges[folder].emplace(target);
  }
  return map;
}

// Sound in itself: each edge points to an earlier row, and table and descriptions name the same
// folders in the same order, each once. Then no chain of includes between folders can be a cycle.
inline Complaints check_map(const Map& map) {
  Complaints complaints;
  std::set<std::string> earlier;
  for (const std::string& folder : map.order) {
    if (const auto edges = map.edges.find(folder); edges != map.edges.end()) {
      for (const std::string& target : edges->second) {
        if (!earlier.contains(target)) {
          complaints.push_back(folder + " -> " + target + ": the target is no earlier row");
        }
      }
    }
    if (!earlier.insert(folder).second) complaints.push_back(folder + ": two rows");
  }
  if (map.order.empty()) complaints.push_back("the table has no rows");
  if (map.described != map.order) {
    complaints.push_back("the folders described are not the rows of the table, in their order");
  }
  return complaints;
}

// The folder of src/ that a path lies in, or empty.
inline std::string folder_of(std::string_view path) {
  static constexpr std::string_view kRoot = "src/";
  if (!path.starts_with(kRoot)) return {};
  path.remove_prefix(kRoot.size());
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string{} : std::string(path.substr(0, slash));
}

inline bool is_cpp(std::string_view path) {
  return path.ends_with(".cc") || path.ends_with(".h") || path.ends_with(".hpp");
}

// What an #include with quotes names, or empty.
inline std::string_view quoted_include(std::string_view line) {
  line = trim(line);
  for (const std::string_view part : {std::string_view("#"), std::string_view("include")}) {
    if (!line.starts_with(part)) return {};
    line = trim(line.substr(part.size()));
  }
  if (!line.starts_with('"')) return {};
  return line.substr(1, line.find('"', 1) - 1);
}

// Each include of a folder's file follows an edge; the folders of src/ and the rows are one set.
// An include without a slash names a neighbour in the same folder and needs no edge.
inline Complaints check_includes(const Map& map, const Tree& tree) {
  const std::set<std::string> rows(map.order.begin(), map.order.end());
  Complaints complaints;
  std::set<std::string> present;
  for (const auto& [path, content] : tree) {
    const std::string from = folder_of(path);
    if (from.empty() || !is_cpp(path)) continue;
    if (present.insert(from).second && !rows.contains(from)) {
      complaints.push_back("src/" + from + ": no row in the table");
    }
    const auto edges = map.edges.find(from);
    int number = 0;
    for (const std::string_view line : split(content, '\n')) {
      ++number;
      const std::string target(quoted_include(line));
      const std::size_t slash = target.find('/');
      if (slash == std::string::npos) continue;
      const std::string to = target.substr(0, slash);
      if (to == from || (edges != map.edges.end() && edges->second.contains(to))) continue;
      complaints.push_back(path + ":" + std::to_string(number) + ": includes " + target +
                           (rows.contains(to) ? ", but " + from + " -> " + to + " is no edge"
                                              : ", which is in no folder of src/"));
    }
  }
  for (const std::string& row : rows) {
    if (!present.contains(row)) complaints.push_back(row + ": a row without a folder");
  }
  return complaints;
}

inline constexpr std::size_t kMaxLines = 500;

// Measured output, golden text and seeds are data: they are as long as they are.
inline bool is_data(std::string_view path) {
  return std::ranges::any_of(
      std::vector<std::string_view>{"tests/cases/", "tests/golden/", "tests/fuzz/corpus/"},
      [&](std::string_view folder) { return path.starts_with(folder); });
}

// Names that say that their thing has no owner yet, also as a part: test_utils.h, cache_manager.cc.
inline bool is_ownerless(std::string_view path) {
  static constexpr std::array<std::string_view, 6> kNames = {"util", "utils",   "common",
                                                             "core", "manager", "misc"};
  std::string parts(path);
  std::ranges::replace_if(
      parts, [](char c) { return c == '/' || c == '_' || c == '-' || c == '.'; }, ' ');
  return std::ranges::any_of(
      words(parts), [](std::string_view part) { return std::ranges::count(kNames, part) > 0; });
}

// No file past kMaxLines, each named for what it owns.
inline Complaints check_files(const Tree& tree) {
  Complaints complaints;
  for (const auto& [path, content] : tree) {
    if (is_ownerless(path)) complaints.push_back(path + ": a name without an owner");
    if (is_data(path)) continue;
    const auto lines = static_cast<std::size_t>(std::ranges::count(content, '\n'));
    if (lines > kMaxLines) {
      complaints.push_back(path + ": " + std::to_string(lines) + " lines, at most " +
                           std::to_string(kMaxLines) + ": which second thing does it do?");
    }
  }
  return complaints;
}

// The type that a line at the left margin begins to define, or nothing.
inline std::string_view defined_type(std::string_view line) {
  if (!line.ends_with('{')) return {};
  std::vector<std::string_view> all = words(line);
  if (all.size() < 3 || line.starts_with(' ')) return {};
  std::size_t at = 0;
  if (all[at] == "enum") ++at;
  if (all[at] != "struct" && all[at] != "class") return {};
  ++at;
  if (all[at].starts_with("alignas(")) ++at;
  const std::string_view name = all[at];
  // A specialisation, or a member that is defined outside.
  return name.find_first_of("<:") == std::string_view::npos ? name : std::string_view{};
}

// Two headers that define a type of one name in one namespace: the linker would take either's
// destructor for both. (The device headers of candidates are never linked with each other.)
inline Complaints check_types(const Tree& tree) {
  Complaints complaints;
  std::map<std::string, std::string> defined;  // namespace::name -> path
  for (const auto& [path, content] : tree) {
    if (!path.starts_with("src/") || !path.ends_with(".h")) continue;
    if (path.find("/device/") != std::string::npos && path.starts_with("src/generate/")) continue;
    std::string space;
    for (const std::string_view line : split(content, '\n')) {
      if (line.starts_with("namespace ")) space = line.substr(10, line.find(" {") - 10);
      const std::string_view name = defined_type(line);
      if (name.empty()) continue;
      const auto [place, fresh] = defined.emplace(space + "::" + std::string(name), path);
      if (!fresh && place->second != path) {
        complaints.push_back(path + ": " + std::string(name) + " is also defined in " +
                             place->second);
      }
    }
  }
  return complaints;
}

}  // namespace tilewright::layers
