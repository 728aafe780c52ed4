// SPDX-License-Identifier: Apache-2.0
// The rules of a proof, each a few calls of the kernel. verify.h names them, docs/verification.md
// says why each is there, proof.cc is their order.
//
// A Caller is what is proven: in production a Session, in the tests of this folder a function, so
// that every rule can be tried on a planted fault without compiling anything. The Ground is where
// its operands lie: the rules are the same on every device.
#pragma once

#include "base/outcome.h"
#include "verify/bounds.h"
#include "verify/ground.h"
#include "verify/verify.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace tilewright {

struct Caller {
  std::function<Finding(int set, float alpha, float beta)> call;
  std::function<Finding(const Extent&)> call_sizes;  // empty: these sizes only
};

class Proof {
 public:
  // `seed` of the fresh data.
  Proof(Ground& ground, Caller caller, std::uint64_t seed);

  [[nodiscard]] Verdict full();
  [[nodiscard]] Verdict quick();
  // Bounds alone, for a baseline.
  [[nodiscard]] Verdict bounds_only();

 private:
  struct Step {
    const char* rule;
    int set = 0;
    Fill fill = Fill::nan;
    float alpha = 1;
    float beta = 0;
    bool keep_data = false;  // the operands are in place already
  };

  // One checked call. False ends the proof; the finding is in verdict_.
  bool check(const Step& step, const FeedPointer& data);
  bool judge(const Step& step, const Feed& data);
  // Notes a finding and says whether the proof may go on.
  bool passed(Finding finding);
  [[nodiscard]] Finding call(int set, float alpha, float beta);
  [[nodiscard]] Finding diagnose(const Step& step, const Feed& data, const Mismatch& mismatch);
  [[nodiscard]] Step step(const char* rule, Fill fill, int set = 0) const;

  bool no_results();
  bool exact_rules();
  bool changed_element();
  bool fresh_bound(Depth depth);
  bool poison_and_repeat();
  bool workspace();
  bool bait();
  bool fresh_address();
  bool other_bounds();
  bool alpha_beta();
  bool alpha_zero(float beta);
  bool ragged();

  Ground& ground_;
  const Problem& problem_;
  Caller caller_;
  std::uint64_t seed_;
  Verdict verdict_;
  FeedPointer fresh_;     // this proof's normal data
  FeedPointer previous_;  // what the last call worked on
  float base_beta_ = 0;
  std::uint32_t calls_ = 0;
};

}  // namespace tilewright
