// SPDX-License-Identifier: Apache-2.0
// Program -> Source: short text that instantiates reviewed device headers.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "launch/launch.h"
#include "problem/problem.h"
#include "program/program.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

// Version of the device headers: raised by any change that can alter speed or results. It is part
// of the cache key (by content) and of every trial (by this number).
inline constexpr int kDeviceHeadersVersion = 9;

struct Source {
  std::string text;                // the translation unit
  std::string language = "c++";    // or "cuda"
  std::vector<std::string> flags;  // the text needs: -mavx512f, --gpu-architecture=
  // Headers that the text includes, by the name it uses, with their content.
  std::vector<std::pair<std::string, std::string>> headers;
  Launch launch;
};

// plain: the problem and nothing else; what is searched, proven and timed. served (CUDA): besides,
// a bias and an activation chosen by each call, for kernels of the runtime library; the problem
// must have alpha=any beta=any. chained (sm80 and sm90 programs of gemm, devices from 9.0 on): as
// plain, but starts while the kernel before it on its stream still runs (device/chain.cuh).
enum class Form { plain, served, chained };

// `program` must be legal for (problem, device): check with refusals() first.
[[nodiscard]] Result<Source> generate(const Program& program, const Problem& problem,
                                      const Device& device, Form form = Form::plain);

// One self-contained file: the headers in include order, then the text.
[[nodiscard]] std::string self_contained(const Source& source);

// A candidate from outside (a person, an LLM): source text and launch file, given the same device
// headers and the flags of the widest isa of `device`.
[[nodiscard]] Source foreign_source(std::string text, Launch launch, const Device& device);

}  // namespace tilewright
