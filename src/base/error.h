// SPDX-License-Identifier: Apache-2.0
// What can go wrong for a reason that a user can act on, as a value.
//
// Result<T> carries either a T or an Error. An Error names the argument and the value at fault, and
// where it can the next thing to type. What goes wrong with a *candidate* is not an Error but an
// Outcome (outcome.h): it is counted and stored. Assertions are for our own mistakes only.
#pragma once

#include <tl/expected.hpp>

#include <string>
#include <utility>

namespace tilewright {

// The kinds of error that a command line distinguishes; the value is the process exit code.
enum class ErrorCode {
  negative = 1,     // a negative answer: verification failed, a regression was found
  usage = 2,        // the command line, the configuration or an input text is off
  environment = 3,  // no compiler, driver or device; a directory that cannot be written
  exhausted = 4,    // the budget was spent without one valid program
  refused = 5,      // a file that this command was asked to read was refused
  internal = 70,    // our mistake
  interrupted = 130,
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // one line: what, with the argument's name and value
  std::string hint;     // may be empty: what to do about it
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message,
                                                std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint)});
}

}  // namespace tilewright
