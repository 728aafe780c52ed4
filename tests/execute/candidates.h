// SPDX-License-Identifier: Apache-2.0
// Candidates for the tests of this folder: C++ text to a loaded session in one line. They are
// compiled without Compiler, because its inspection would refuse most of them - here we look at
// what happens when one slips through.
#pragma once

#include "base/element.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "execute/session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tilewright {

// One scratch folder per process, gone at the end.
inline const std::filesystem::path& scratch() {
  struct Folder {
    std::filesystem::path path;
    Folder() {
      std::string name = (std::filesystem::temp_directory_path() / "tw-execute-XXXXXX").string();
      if (mkdtemp(name.data()) != nullptr) path = name;
    }
    ~Folder() {
      std::error_code ignored;
      if (!path.empty()) std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

inline constexpr std::string_view kPrelude = R"(
#include "launch/cpu_abi.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define KERNEL extern "C" void tw_kernel(const tw_cpu_gemm_args* x, const tw_cpu_team* team)
)";

// The body of a right f32 -> f32 kernel for nn, whose rows are dealt out to the team.
inline constexpr std::string_view kPlain = R"(
static void plain(const tw_cpu_gemm_args* x, const tw_cpu_team* team) {
  const unsigned short* a = (const unsigned short*)x->a;
  const unsigned short* b = (const unsigned short*)x->b;
  float* c = (float*)x->c;
  for (int64_t p = 0; p < x->batch; ++p)
    for (int64_t i = team->thread; i < x->m; i += team->threads)
      for (int64_t j = 0; j < x->n; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < x->k; ++k) {
          unsigned u = (unsigned)a[p * x->stride_a + i * x->lda + k] << 16;
          unsigned v = (unsigned)b[p * x->stride_b + k * x->ldb + j] << 16;
          float f, g;
          memcpy(&f, &u, 4);
          memcpy(&g, &v, 4);
          sum += f * g;
        }
        float* to = &c[p * x->stride_c + i * x->ldc + j];
        *to = x->alpha * sum + (x->beta == 0 ? 0.0f : x->beta * *to);
      }
}
)";

inline Binary build(std::string_view text, int threads = 1) {
  Binary binary;
  const std::string source = std::string(kPrelude) + std::string(kPlain) + std::string(text);
  binary.hash = hash128(source);
  binary.launch.threads = threads;
  binary.path = scratch() / (binary.hash + ".so");
  if (std::filesystem::exists(binary.path)) return binary;
  const auto file = scratch() / (binary.hash + ".cc");
  std::ofstream(file) << source;
  Command command;
  command.argv = {"g++",
                  "-std=c++20",
                  "-O1",
                  "-w",
                  "-fPIC",
                  "-shared",
                  "-I",
                  TILEWRIGHT_SOURCE_DIR "/src",
                  file.string(),
                  "-o",
                  binary.path.string()};
  const auto completion = run(command);
  EXPECT_TRUE(completion && completion->exit_code == 0)
      << (completion ? completion->output : completion.error().message);
  return binary;
}

inline WorkerOptions test_options() {
  WorkerOptions options;
  options.runner = TILEWRIGHT_BINARY_DIR "/bin/tilewright-runner";
  return options;
}

inline Problem test_problem(const std::string& text = "gemm 12x20x16 bf16 acc=f32 nn out=f32") {
  auto problem = parse_problem(text);
  EXPECT_TRUE(problem) << (problem ? "" : problem.error().message);
  return *problem;
}

// Small whole numbers, so that every f32 sum is exact.
inline void fill(const Arena& arena) {
  const Problem& p = arena.problem();
  for (int set = 0; set < arena.layout().sets; ++set) {
    const auto write = [set](std::span<std::byte> to, std::int64_t rows, std::int64_t cols,
                             std::int64_t stride, int salt) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
          const auto value = static_cast<double>((i * 7 + j * 3 + salt + set) % 5 - 2);
          store(ElementType::bf16, to.data(), i * stride + j, value);
        }
      }
    };
    write(arena.a(set), p.batch * p.a_rows(), p.a_cols(), p.a_stride(), 1);
    write(arena.b(set), p.batch * p.b_rows(), p.b_cols(), p.b_stride(), 2);
  }
}

// A * B of set `set` for nn, element (i, j) of batch p.
inline double product(const Arena& arena, int set, std::int64_t batch, std::int64_t i,
                      std::int64_t j, std::int64_t depth) {
  const Problem& p = arena.problem();
  double sum = 0;
  for (std::int64_t k = 0; k < depth; ++k) {
    sum += load(ElementType::bf16, arena.a(set).data(), (batch * p.m + i) * p.a_stride() + k) *
           load(ElementType::bf16, arena.b(set).data(), (batch * p.k + k) * p.b_stride() + j);
  }
  return sum;
}

}  // namespace tilewright
