// SPDX-License-Identifier: Apache-2.0
// Whether this process is a child that was forked since. A page that the kernel wipes in a child
// (madvise(2), MADV_WIPEONFORK, Linux 4.14) says so for the price of one load, without a handler
// that would outlive the library; where there is no such page, the process id does.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace tilewright::runtime::cpu {

class ForkMark {
 public:
  ForkMark() : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), process_(getpid()) {
    void* page = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (madvise(page, bytes_, MADV_WIPEONFORK) != 0) {
      munmap(page, bytes_);
      return;
    }
    mark_ = new (page) std::atomic<unsigned char>(1);
  }
  ~ForkMark() {
    if (mark_ != nullptr) munmap(mark_, bytes_);
  }
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  [[nodiscard]] bool forked() const {
    if (mark_ == nullptr) return getpid() != process_;
    return mark_->load(std::memory_order_relaxed) == 0;
  }

 private:
  std::size_t bytes_;
  pid_t process_;
  std::atomic<unsigned char>* mark_ = nullptr;
};

}  // namespace tilewright::runtime::cpu
