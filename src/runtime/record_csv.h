// SPDX-License-Identifier: Apache-2.0
// Problems and how often each was asked for, as a CSV file that many processes add to.
//
//   # tilewright record: problems that programs asked for, and how often
//   m,n,k,dtype,layout,acc,out,batch,lda,ldb,ldc,alpha,beta,calls
//
// `tilewright tune` reads it as it reads any CSV (problem/suite.h); it ignores `calls`.
#pragma once

#include "base/error.h"
#include "problem/problem.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace tilewright::runtime {

// By the text of the problem.
struct Asked {
  Problem problem;
  std::uint64_t calls = 0;
};
using AskedProblems = std::map<std::string, Asked>;

void add(AskedProblems& sum, const Problem& problem, std::uint64_t calls);

// The most frequent first.
[[nodiscard]] std::string to_csv(const AskedProblems& problems);
// Refuses what to_csv did not write.
[[nodiscard]] Result<AskedProblems> parse_record(std::string_view text);

// Adds to what the file has, under a lock that other processes respect: nothing is lost, and a
// reader sees the old file or the new. Waits for others for two seconds at most. A file that holds
// something else is left alone and an Error.
[[nodiscard]] Status add_to_file(const std::filesystem::path& file, const AskedProblems& problems);

}  // namespace tilewright::runtime
