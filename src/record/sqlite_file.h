// SPDX-License-Identifier: Apache-2.0
// One SQLite file of ours: told apart from foreign, newer and broken ones before anything is
// written, opened for reading even where nothing may be written, and exceptions turned into Errors.
// Internal to this folder; database.cc is built on it.
#pragma once

#include "base/error.h"
#include "record/database.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>

namespace tilewright {

// What stands in the file's header ("TWdb") and tells our databases from anyone else's.
inline constexpr int kApplicationId = 0x54576462;

[[nodiscard]] Result<std::unique_ptr<SQLite::Database>> open_sqlite(
    const std::filesystem::path& path, Database::Access access);

// The Error that stands for an exception of SQLite: refused for a broken file, environment for a
// full disk, missing rights or a lock that was not released.
[[nodiscard]] Error error_of(const std::filesystem::path& path, const SQLite::Exception& exception);

// Locks are held for milliseconds. SQLite's own waiting does not cover recovery after a crash and
// the switch to WAL, where it reports busy at once; so there is a second, outer wait.
class LockWait {
 public:
  // True if `exception` says "busy" and it is worth another try, after a pause.
  [[nodiscard]] bool again(const SQLite::Exception& exception);

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds pause_{1};
};

// Runs `body`, which must be one transaction or read only, until it is not stopped by a lock.
template <class Body>
[[nodiscard]] auto attempt(const std::filesystem::path& path, Body&& body) -> decltype(body()) {
  LockWait wait;
  while (true) {
    try {
      return body();
    } catch (const SQLite::Exception& exception) {
      if (!wait.again(exception)) return tl::unexpected(error_of(path, exception));
    } catch (const std::exception& exception) {
      return fail(ErrorCode::internal,
                  "database " + path.string() + ": unexpected " + exception.what());
    }
  }
}

}  // namespace tilewright
