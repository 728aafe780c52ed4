// SPDX-License-Identifier: Apache-2.0
// Suites: many problems from one argument, a CSV file or a list that came with the program.
#pragma once

#include "base/error.h"
#include "problem/problem.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct SuiteEntry {
  Problem problem;
  std::string label;  // from the columns `model` and `layer`, or empty
  int line = 0;       // where it stood, 0 if not from a file
};

struct BadRow {
  int line = 0;
  std::string reason;
};

struct Suite {
  std::string name;
  std::vector<SuiteEntry> entries;  // duplicates removed, first place kept
  std::vector<BadRow> bad;          // each row that was refused, and why
  std::vector<BadRow> notes;        // rows accepted with a remark, such as a duplicate
};

// CSV with a header (case and order free): `problem`, a whole text a row, or m,n,k and optionally
// batch, dtype, out, acc, layout, lda, ldb, ldc, alpha, beta, model, layer; other columns are
// ignored, an empty cell means the default. BOM, CRLF, blank lines, lines that start with '#',
// "quoted" fields and trailing commas are fine. A row is refused for another number of fields than
// the header has, for anything that is not a plain whole number below 2^40, and for a size of zero:
// that is a legal problem (as a single argument it is accepted), but a suite is for work, and a
// zero in a list is a mistake. An Error only if there is no usable header; bad rows are listed in
// `bad`.
[[nodiscard]] Result<Suite> parse_csv(std::string_view text, std::string name);
[[nodiscard]] std::string to_csv(const Suite& suite);

// One argument of a command line:
//   4096x4096x4096  64_4096_64  'gemm 128x64x64 bf16 acc=f32 nt'   one problem
//   64:1024:64x512,1024x4096   64:4096:*2x64x64                    ranges and lists, crossed
//                                                (first:last:step, first:last:*factor; 100,000 at
//                                                most)
//   @grid1000  @llm  @demo                                         suites that came with us
//   path/to/file.csv  -                                            a file, standard input
[[nodiscard]] Result<Suite> read_suite(const std::string& argument);
[[nodiscard]] std::vector<std::string> builtin_suites();

// The same problems in an order that follows from the seed alone, on every machine: what a stopped
// run has done is a fair sample then.
[[nodiscard]] std::vector<Problem> shuffled(std::vector<Problem> problems, std::uint64_t seed);
// "I/N", I from 1 to N: every N-th problem from the I-th on. All parts together are the whole.
[[nodiscard]] Result<std::vector<Problem>> part_of(const std::vector<Problem>& problems,
                                                   std::string_view part);

}  // namespace tilewright
