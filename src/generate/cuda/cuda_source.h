// SPDX-License-Identifier: Apache-2.0
// Programs of the families `sm80` and `sm90` as source: a template of generate/cuda/device,
// instantiated, and the launch that goes with it.
#pragma once

#include "generate/generate.h"

namespace tilewright {

// Without headers (generate.cc adds them). `program` is legal.
[[nodiscard]] Source sm80_source(const Program& program, const Problem& problem,
                                 const Device& device, Form form);
[[nodiscard]] Source sm90_source(const Program& program, const Problem& problem,
                                 const Device& device, Form form);

// A program of one of the families of family_cuda_general.h.
[[nodiscard]] Source cuda_general_source(const Program& program, const Problem& problem,
                                         const Device& device);

// Compiler flags for `device`: its own architecture, with what is specific to it.
[[nodiscard]] std::vector<std::string> cuda_flags(const Device& device);

// What the generators of both families share.
namespace cuda_text {

// ".member = value" of a configuration, in the order of its declaration.
class Fields {
 public:
  void number(std::string_view member, std::int64_t value);
  void flag(std::string_view member, bool value);
  void word(std::string_view member, std::string_view enumeration, std::string_view word);
  void nested(std::string_view member, const Fields& inner);
  void type(std::string_view member, ElementType type);
  // Eight to a line or so, ready to stand between braces.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> fields_;
};

[[nodiscard]] bool is_scaled(const Problem& problem);
// static_m, static_n, static_k, if the program says so: in the text and in the launch.
void add_sizes(Fields& fields, Source& source, const Program& program, const Problem& problem);
// "// sm90 ..." and the problem, in lines of at most 100 columns.
[[nodiscard]] std::string heading(const Program& program, const Problem& problem);
// The workspace of reduce=workspace, reduce=spread (split_k.cuh) and grid=stream (stream_k.cuh): a
// head of counters, then partial tiles. `tiles` counts those of all batch entries, `holders` are a
// CTA's threads with sums. And the kernel's argument that says how large the head is.
[[nodiscard]] std::string head_argument(const Program& program, const std::string& tiles,
                                        std::int64_t holders);
void add_workspace(Source& source, const Program& program, const std::string& tiles,
                   std::int64_t holders);
// What Form::served adds to a kernel's parameters, to what it passes on, and to its launch.
[[nodiscard]] std::string_view served_parameters(Form form);
[[nodiscard]] std::string_view served_values(Form form);
void add_served(Launch& launch, Form form);

}  // namespace cuda_text
}  // namespace tilewright
