// SPDX-License-Identifier: Apache-2.0
// See record_csv.h. The lock is on the file itself. Since writing replaces the file, who waited for
// the lock may hold that of a file which is no longer there, and tries again.
#include "runtime/record_csv.h"

#include "base/file.h"
#include "base/text.h"
#include "problem/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine =
    "# tilewright record: problems that programs asked for, and how often";
constexpr std::string_view kCalls = "calls";
constexpr std::chrono::seconds kPatience{2};

std::string header() {
  return fmt::format("{},{}", fmt::join(problem_fields(), ","), kCalls);
}

class LockedFile {
 public:
  // Creates the file if there is none.
  static Result<LockedFile> open(const fs::path& path) {
    const auto failed = [&](const char* step) {
      return fail(ErrorCode::environment, fmt::format("cannot {} '{}': {}", step, path.string(),
                                                      std::generic_category().message(errno)));
    };
    const auto end = std::chrono::steady_clock::now() + kPatience;
    do {
      LockedFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
      if (file.fd_ < 0) return failed("open");
      if (::flock(file.fd_, LOCK_EX | LOCK_NB) == 0) {
        struct stat held{}, named{};
        if (::fstat(file.fd_, &held) != 0) return failed("look at");
        if (::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
            held.st_dev == named.st_dev) {
          return file;
        }
        continue;  // it was replaced while we waited
      }
      if (errno != EWOULDBLOCK && errno != EINTR) return failed("lock");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } while (std::chrono::steady_clock::now() < end);
    return fail(ErrorCode::environment,
                fmt::format("'{}' stays locked by another process", path.string()));
  }

  LockedFile(LockedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  LockedFile& operator=(LockedFile&&) = delete;
  ~LockedFile() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit LockedFile(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace

void add(AskedProblems& sum, const Problem& problem, std::uint64_t calls) {
  Asked& asked = sum[to_text(problem)];
  asked.problem = problem;
  asked.calls += calls;
}

std::string to_csv(const AskedProblems& problems) {
  std::vector<AskedProblems::const_iterator> rows;
  for (auto row = problems.begin(); row != problems.end(); ++row) rows.push_back(row);
  std::ranges::sort(rows, [](const auto& a, const auto& b) {
    return a->second.calls != b->second.calls ? a->second.calls > b->second.calls
                                              : a->first < b->first;
  });
  std::string text = fmt::format("{}\n{}\n", kFirstLine, header());
  for (const auto& row : rows) {
    for (const auto field : problem_fields()) text += field_text(row->second.problem, field) + ",";
    text += fmt::format("{}\n", row->second.calls);
  }
  return text;
}

Result<AskedProblems> parse_record(std::string_view text) {
  const auto refuse = [](std::size_t line, std::string_view what) {
    return fail(ErrorCode::refused, fmt::format("line {}: {}", line, what));
  };
  AskedProblems problems;
  if (text.empty()) return problems;
  const auto lines = split(text, '\n');
  const auto columns = problem_fields();
  if (lines.size() < 3 || lines[0] != kFirstLine || lines[1] != header() || !lines.back().empty()) {
    return refuse(1, "not a file that `tilewright record` wrote");
  }
  for (std::size_t i = 2; i + 1 < lines.size(); ++i) {
    const auto cells = split(lines[i], ',');
    if (cells.size() != columns.size() + 1) return refuse(i + 1, "another number of columns");
    Problem problem;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      if (const auto wrong = set_field(problem, columns[column], cells[column])) {
        return refuse(i + 1, wrong->what);
      }
    }
    const auto calls = parse_integer(cells.back());
    if (!calls || *calls < 0) return refuse(i + 1, "the number of calls is none");
    if (const auto fine = check(problem); !fine) return refuse(i + 1, fine.error().message);
    add(problems, problem, static_cast<std::uint64_t>(*calls));
  }
  return problems;
}

Status add_to_file(const fs::path& file, const AskedProblems& problems) {
  const auto lock = LockedFile::open(file);
  if (!lock) return tl::unexpected(lock.error());
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  auto sum = parse_record(*text);
  if (!sum) {
    return fail(sum.error().code, fmt::format("'{}': {}", file.string(), sum.error().message),
                "name a new file");
  }
  for (const auto& [key, asked] : problems) add(*sum, asked.problem, asked.calls);
  return write_file_atomically(file, to_csv(*sum));
}

}  // namespace tilewright::runtime
