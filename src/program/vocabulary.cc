// SPDX-License-Identifier: Apache-2.0
// Look-ups in the tables of vocabulary.h, and the registry of families.
#include "program/vocabulary.h"

#include "base/text.h"
#include "problem/operations.h"
#include "program/family_cpu.h"
#include "program/family_cpu_general.h"
#include "program/family_cuda.h"
#include "program/family_cuda_general.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cassert>

namespace tilewright {

std::optional<std::size_t> Family::find(std::string_view key) const {
  const auto it = std::ranges::find(decisions, key, &Decision::key);
  if (it == decisions.end()) return std::nullopt;
  return static_cast<std::size_t>(it - decisions.begin());
}

bool Family::computes(Op op) const {
  return std::ranges::find(ops, op) != ops.end();
}

Rule operation_rule(std::vector<Op> ops) {
  std::vector<std::string_view> names;
  for (const Op op : ops) names.push_back(operation_of(op).name);
  std::string what = fmt::format("{}", fmt::join(names, ", "));
  return {"operation",
          {},
          [ops = std::move(ops), what = std::move(what)](
              const Choices&, const Problem& p, const Device&) -> std::optional<std::string> {
            if (std::ranges::find(ops, p.op) != ops.end()) return std::nullopt;
            return fmt::format("this family computes {}, not {}", what, operation_of(p.op).name);
          }};
}

std::string_view Choices::word(std::string_view key) const {
  const auto index = family_->find(key);
  assert(index && "a rule names a decision that its family does not have");
  const Choice value = values_[*index];
  if (value < 0) return {};
  return family_->decisions[*index].values[static_cast<std::size_t>(value)];
}

std::int64_t Choices::number(std::string_view key) const {
  return parse_integer(word(key)).value_or(0);
}

std::span<const Family* const> families() {
  static const std::array<const Family*, 8> all = {
      &cpu_family(),           &sm80_family(),       &sm90_family(),      &cpu_rows_family(),
      &cpu_transpose_family(), &cpu_conv2d_family(), &cuda_rows_family(), &cuda_transpose_family()};
  return all;
}

const Family* find_family(std::string_view name) {
  for (const Family* family : families()) {
    if (family->name == name) return family;
  }
  return nullptr;
}

std::span<const std::string> vocabulary() {
  static const std::vector<std::string> tokens = [] {
    std::vector<std::string> all;
    const auto add = [&all](bool of_gemm) {
      for (const Family* family : families()) {
        if (family->computes(Op::gemm) == of_gemm) all.emplace_back(family->name);
      }
      for (const Family* family : families()) {
        if (family->computes(Op::gemm) != of_gemm) continue;
        for (const Decision& decision : family->decisions) {
          for (const std::string_view value : decision.values) {
            std::string token = std::string(decision.key) + "=" + std::string(value);
            if (std::ranges::find(all, token) == all.end()) all.push_back(std::move(token));
          }
        }
      }
    };
    add(true);
    all.emplace_back(kEndToken);
    add(false);
    return all;
  }();
  return tokens;
}

}  // namespace tilewright
