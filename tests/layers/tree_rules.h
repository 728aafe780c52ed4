// SPDX-License-Identifier: Apache-2.0
// The rules of the source tree as pure functions: a map of the folders (src/README.md) and a tree
// go in, complaints come out, so that invented trees can prove that a breach is found.
// layers_test.cc applies them to the real tree.
#pragma once

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
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
  static const std::regex row(R"(\| *([a-z_0-9]+) *\|([^|]*)\| *)");
  static const std::regex description(R"(- \*\*([a-z_0-9]+)\*\*: .+)");
  Map map;
  std::istringstream lines(readme);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, description)) map.described.push_back(match[1]);
    if (!std::regex_match(line, match, row) || match[1] == "folder") continue;
    std::istringstream targets(match[2]);
    map.order.push_back(match[1]);
    for (std::string target; targets >> target;) map.edges[match[1]].insert(target);
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

// Each include of a folder's file follows an edge; the folders of src/ and the rows are one set.
// An include without a slash names a neighbour in the same folder and needs no edge.
inline Complaints check_includes(const Map& map, const Tree& tree) {
  static const std::regex include(R"rx([ \t]*#[ \t]*include[ \t]*"([^"]+)".*)rx");
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
    std::istringstream lines(content);
    std::smatch match;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (!std::regex_match(line, match, include)) continue;
      const std::string target = match[1];
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

// No file past kMaxLines; no name that says that its thing has no owner yet.
inline Complaints check_files(const Tree& tree) {
  static const std::regex ownerless(R"((^|.*[/_.-])(utils?|common|core|manager|misc)([/_.-].*|$))");
  Complaints complaints;
  for (const auto& [path, content] : tree) {
    if (std::regex_match(path, ownerless)) complaints.push_back(path + ": a name without an owner");
    if (is_data(path)) continue;
    const auto lines = static_cast<std::size_t>(std::ranges::count(content, '\n'));
    if (lines > kMaxLines) {
      complaints.push_back(path + ": " + std::to_string(lines) + " lines, at most " +
                           std::to_string(kMaxLines) + ": which second thing does it do?");
    }
  }
  return complaints;
}

}  // namespace tilewright::layers
