// SPDX-License-Identifier: Apache-2.0
// See mask.h. A text is written by phases; family_walk.h knows what a program may go on with.
#include "learn/mask.h"

#include "learn/family_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <tuple>

namespace tilewright {
namespace {

int id(std::string_view word) {
  const auto found = find_word(word);
  assert(found && "words of the mask are in the vocabulary");
  return *found;
}

std::vector<int> ids(std::initializer_list<std::string_view> words) {
  std::vector<int> out;
  for (const std::string_view word : words) out.push_back(id(word));
  std::ranges::sort(out);
  return out;
}

// Token ids of a family's values, by decision and value.
using ValueTokens = std::vector<std::vector<int>>;

ValueTokens value_tokens(const Family& family) {
  ValueTokens tokens;
  for (const Decision& decision : family.decisions) {
    auto& row = tokens.emplace_back();
    for (const std::string_view value : decision.values) {
      row.push_back(id(fmt::format("{}={}", decision.key, value)));
    }
  }
  return tokens;
}

}  // namespace

struct TokenMask::Impl {
  std::mutex mutex;               // guards what the walks and the masks below find out
  std::vector<FamilyWalk> walks;  // one per family, in the order of families()
  std::vector<ValueTokens> tokens;
  std::vector<int> open_families;  // indices of those with a legal program
  std::vector<int> family_tokens, remark_tokens;
  const std::vector<int> last_remark{marks().analysis_end}, mark{marks().program}, end{marks().end},
      nothing;
  const std::vector<int> directions = ids({"up", "down", "other"});
  const std::vector<int> judgements = ids({"good", "bad", "even"});

  // Of a list: the programs in the order of their family and choices, and the masks known.
  bool listed = false;
  std::vector<std::pair<std::size_t, Choices>> list;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<int>> list_masks;
  // Tokens instead of values, kept by the address of the walk's own answer.
  std::map<std::pair<const std::vector<Choice>*, std::size_t>, std::vector<int>> walk_masks;

  Impl(const Problem& problem, const Device& device) {
    for (const Family* family : families()) {
      walks.emplace_back(*family, problem, device);
      tokens.push_back(value_tokens(*family));
    }
  }

  void close() {
    remark_tokens = {marks().analysis_end, id("d:family")};
    for (const int f : open_families) {
      const Family& family = *families()[static_cast<std::size_t>(f)];
      family_tokens.push_back(id(family.name));
      for (const Decision& decision : family.decisions) {
        remark_tokens.push_back(id(fmt::format("d:{}", decision.key)));
      }
    }
    std::ranges::sort(family_tokens);
    std::ranges::sort(remark_tokens);
    const auto again = std::ranges::unique(remark_tokens);
    remark_tokens.erase(again.begin(), again.end());
  }

  // Of programs [first, last) of the list, which agree up to decision `i`.
  const std::vector<int>& listed_tokens(std::size_t family, std::size_t i, std::size_t first,
                                        std::size_t last) {
    auto [known, fresh] = list_masks.try_emplace({i, first, last});
    if (fresh) {
      for (std::size_t p = first; p < last; ++p) {
        const auto value = static_cast<std::size_t>(list[p].second.at(i));
        known->second.push_back(tokens[family][i][value]);
      }
      std::ranges::sort(known->second);
      const auto again = std::ranges::unique(known->second);
      known->second.erase(again.begin(), again.end());
    }
    return known->second;
  }

  const std::vector<int>& walked_tokens(std::size_t family, std::size_t i, Choices choices) {
    const std::vector<Choice>& values = walks[family].next(choices, i);
    auto [known, fresh] = walk_masks.try_emplace({&values, family});
    if (fresh) {
      for (const Choice value : values) {
        known->second.push_back(tokens[family][i][static_cast<std::size_t>(value)]);
      }
      std::ranges::sort(known->second);
    }
    return known->second;
  }

  void narrow_to_family(std::size_t family, std::size_t& first, std::size_t& last) const {
    const auto range =
        std::ranges::equal_range(list, family, {}, [](const auto& p) { return p.first; });
    first = static_cast<std::size_t>(range.begin() - list.begin());
    last = static_cast<std::size_t>(range.end() - list.begin());
  }
  void narrow_to_value(std::size_t i, Choice value, std::size_t& first, std::size_t& last) const {
    const auto range =
        std::ranges::equal_range(list.begin() + static_cast<std::ptrdiff_t>(first),
                                 list.begin() + static_cast<std::ptrdiff_t>(last), value, {},
                                 [i](const auto& p) { return p.second.at(i); });
    first = static_cast<std::size_t>(range.begin() - list.begin());
    last = static_cast<std::size_t>(range.end() - list.begin());
  }
};

TokenMask::TokenMask(const Problem& problem, const Device& device)
    : impl_(std::make_unique<Impl>(problem, device)) {
  for (std::size_t f = 0; f < impl_->walks.size(); ++f) {
    if (impl_->walks[f].any()) impl_->open_families.push_back(static_cast<int>(f));
  }
  impl_->close();
}

TokenMask::TokenMask(const Problem& problem, const Device& device, std::span<const Program> only)
    : impl_(std::make_unique<Impl>(problem, device)) {
  impl_->listed = true;
  for (const Program& program : only) {
    if (!is_legal(program, problem, device)) continue;
    const auto family = std::ranges::find(families(), &program.family());
    impl_->list.emplace_back(static_cast<std::size_t>(family - families().begin()),
                             program.choices());
  }
  std::ranges::sort(impl_->list, [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return std::ranges::lexicographical_compare(a.second.raw(), b.second.raw());
  });
  const auto again = std::ranges::unique(impl_->list);
  impl_->list.erase(again.begin(), again.end());
  for (const auto& [family, choices] : impl_->list) {
    const int f = static_cast<int>(family);
    if (impl_->open_families.empty() || impl_->open_families.back() != f) {
      impl_->open_families.push_back(f);
    }
  }
  impl_->close();
}

TokenMask::~TokenMask() = default;
TokenMask::TokenMask(TokenMask&&) noexcept = default;
TokenMask& TokenMask::operator=(TokenMask&&) noexcept = default;

bool TokenMask::any() const {
  return !impl_->open_families.empty();
}

MaskState TokenMask::begin(bool analysis) const {
  MaskState state;
  state.phase_ = analysis ? MaskState::Phase::remark : MaskState::Phase::family;
  return state;
}

std::span<const int> TokenMask::legal(const MaskState& state) const {
  using Phase = MaskState::Phase;
  if (!any()) return {};
  switch (state.phase_) {
    case Phase::remark:
      return state.remarks_ < kMostRemarks ? impl_->remark_tokens : impl_->last_remark;
    case Phase::direction:
      return impl_->directions;
    case Phase::judgement:
      return impl_->judgements;
    case Phase::mark:
      return impl_->mark;
    case Phase::family:
      return impl_->family_tokens;
    case Phase::decision: {
      const std::scoped_lock lock(impl_->mutex);
      return impl_->listed
                 ? impl_->listed_tokens(state.family_, state.decision_, state.first_, state.last_)
                 : impl_->walked_tokens(state.family_, state.decision_, *state.choices_);
    }
    case Phase::end:
      return impl_->end;
    case Phase::done:
      break;
  }
  return impl_->nothing;
}

bool TokenMask::advance(MaskState& state, int token) const {
  using Phase = MaskState::Phase;
  if (!std::ranges::binary_search(legal(state), token)) return false;
  switch (state.phase_) {
    case Phase::remark:
      state.phase_ = token == marks().analysis_end ? Phase::mark : Phase::direction;
      return true;
    case Phase::direction:
      state.phase_ = Phase::judgement;
      return true;
    case Phase::judgement:
      ++state.remarks_;
      state.phase_ = Phase::remark;
      return true;
    case Phase::mark:
      state.phase_ = Phase::family;
      return true;
    case Phase::family: {
      const Family* family = find_family(text_words()[static_cast<std::size_t>(token)]);
      state.family_ =
          static_cast<std::size_t>(std::ranges::find(families(), family) - families().begin());
      state.choices_.emplace(*family);
      state.decision_ = 0;
      if (impl_->listed) impl_->narrow_to_family(state.family_, state.first_, state.last_);
      break;
    }
    case Phase::decision: {
      const std::vector<int>& row = impl_->tokens[state.family_][state.decision_];
      const auto value = static_cast<Choice>(std::ranges::find(row, token) - row.begin());
      state.choices_->set(state.decision_, value);
      if (impl_->listed) {
        impl_->narrow_to_value(state.decision_, value, state.first_, state.last_);
      }
      ++state.decision_;
      break;
    }
    case Phase::end:
      state.phase_ = Phase::done;
      return true;
    case Phase::done:
      return false;
  }
  impl_->walks[state.family_].skip_absent(*state.choices_, state.decision_);
  const bool whole = state.decision_ == families()[state.family_]->decisions.size();
  state.phase_ = whole ? Phase::end : Phase::decision;
  return true;
}

}  // namespace tilewright
