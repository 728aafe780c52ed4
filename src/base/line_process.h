// SPDX-License-Identifier: Apache-2.0
// A child process that answers lines: one line to its standard input, one line back from its
// standard output. For programs that carry what ours must not link; its standard error is a log.
#pragma once

#include "base/error.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct LineProgram {
  std::vector<std::string> argv;         // argv[0] is a path
  std::vector<std::string> environment;  // "KEY=value" where our own has no such variable
  std::filesystem::path log;             // gets its standard error; empty: nobody does
};

class LineProcess {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LineProcess>> start(const LineProgram& program);
  // Closes its input, waits a moment and kills it. It should end by itself at the end of its input,
  // which it also sees when this process dies.
  ~LineProcess();
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  // The answer to one line (neither holds a line break). An Error of code environment if the
  // program ended, said nothing within the limit or too much; after it, nothing can be asked.
  [[nodiscard]] Result<std::string> ask(std::string_view line, std::chrono::milliseconds limit);

 private:
  LineProcess(int pid, int socket, std::string name);
  [[nodiscard]] tl::unexpected<Error> lost(const std::string& how);
  int pid_, socket_;
  std::string name_, rest_;
};

// A program that is installed with this one: `asked` if not empty, else what the variable names,
// else beside this program or in ../bin from there, else in PATH. `hint` says how to get it.
[[nodiscard]] Result<std::filesystem::path> find_companion(const std::string& name,
                                                           const char* variable,
                                                           const std::filesystem::path& asked,
                                                           const std::string& hint);

}  // namespace tilewright
