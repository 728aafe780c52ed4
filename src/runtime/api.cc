// SPDX-License-Identifier: Apache-2.0
// The C functions of tilewright.h: the one place where Failures and exceptions become status codes.
//
// A call passes three gates before a backend sees it: the handle, the description (call.h), the
// operands. What is refused has written nothing.
#include "runtime/call.h"
#include "runtime/handle.h"
#include "runtime/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace {

using namespace tilewright::runtime;

// Plain bytes: they need no destructor when a thread ends after the library was unloaded, and no
// memory when there is none left.
thread_local std::array<char, 1024> last_error{};

tw_status failed(tw_status status, std::string_view message) noexcept {
  constexpr std::string_view kCut = "...";
  const std::size_t room = last_error.size() - 1;
  const std::size_t length = std::min(message.size(), room);
  // message may be what the caller got from tw_last_error().
  std::memmove(last_error.data(), message.data(), length);
  if (message.size() > room) std::ranges::copy(kCut, last_error.end() - 1 - kCut.size());
  last_error[length] = '\0';
  return status;
}

tw_status failed(const Failure& failure) noexcept {
  return failed(failure.status, failure.message);
}

// Runs `body`, which returns a tw_status; no exception leaves.
template <class Body>
tw_status guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failed(TW_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return failed(TW_FAILED, error.what());
  } catch (...) {
    return failed(TW_FAILED, "an unknown exception");
  }
}

constexpr std::string_view kNoHandle = "handle=NULL: tw_create makes one";

constexpr std::array<const char*, 8> kStatusNames = {
    "TW_OK",        "TW_INVALID",      "TW_ALIASED",       "TW_UNSUPPORTED",
    "TW_NO_DEVICE", "TW_NOT_PREPARED", "TW_OUT_OF_MEMORY", "TW_FAILED"};

}  // namespace

extern "C" {

void tw_gemm_desc_init(tw_gemm_desc* desc, tw_type type, int64_t m, int64_t n, int64_t k) {
  if (desc == nullptr) return;
  *desc = {};
  desc->size = sizeof *desc;
  desc->in = desc->out = type;
  desc->m = m;
  desc->n = n;
  desc->k = k;
  desc->batch = 1;
  desc->lda = desc->ldb = desc->ldc = TW_PACKED;
  desc->stride_a = desc->stride_b = desc->stride_c = TW_PACKED;
}

void tw_options_init(tw_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->size = sizeof *options;
  options->device = TW_DEVICE_AUTO;
}

tw_status tw_create(tw_handle* handle, const tw_options* options) {
  return guarded([&] {
    if (handle == nullptr) return failed(TW_INVALID, "handle=NULL: it receives the new handle");
    *handle = nullptr;
    const auto known = checked(options);
    if (!known) return failed(known.error());
    const auto opened = open_handle(*known);
    if (!opened) return failed(opened.error());
    *handle = *opened;
    return TW_OK;
  });
}

void tw_destroy(tw_handle handle) {
  guarded([&] {
    if (handle != nullptr && handle->recorder) handle->recorder->save();
    delete handle;
    return TW_OK;
  });
}

tw_status tw_prepare(tw_handle handle, const tw_gemm_desc* desc, void* stream) {
  return guarded([&] {
    if (handle == nullptr) return failed(TW_INVALID, kNoHandle);
    const auto call = checked(desc);
    if (!call) return failed(call.error());
    if (call->empty()) return TW_OK;
    const auto done = handle->backend->prepare(*call, stream);
    return done ? TW_OK : failed(done.error());
  });
}

tw_status tw_gemm(tw_handle handle, const tw_gemm_desc* desc, float alpha, const void* a,
                  const void* b, float beta, void* c, const void* bias, void* stream) {
  return guarded([&] {
    if (handle == nullptr) return failed(TW_INVALID, kNoHandle);
    const auto call = checked(desc);
    if (!call) return failed(call.error());
    if (call->empty()) {
      handle->count(Origin::empty);
      return TW_OK;
    }
    const Operands operands{alpha, beta, a, b, c, bias};
    if (const auto fine = check_operands(*call, operands); !fine) return failed(fine.error());
    if (handle->recorder) handle->recorder->note(problem_of(*call, alpha, beta));
    const auto origin = handle->backend->run(*call, operands, stream);
    if (!origin) return failed(origin.error());
    handle->count(*origin);
    return TW_OK;
  });
}

tw_status tw_explain(tw_handle handle, const tw_gemm_desc* desc, char* text, size_t bytes,
                     size_t* needed) {
  return guarded([&] {
    if (handle == nullptr) return failed(TW_INVALID, kNoHandle);
    if (text == nullptr && bytes != 0) {
      return failed(TW_INVALID, fmt::format("text=NULL, but bytes={}", bytes));
    }
    const auto call = checked(desc);
    if (!call) return failed(call.error());
    std::string lines;
    if (call->empty()) {
      lines =
          fmt::format("nothing to compute: m={} n={} batch={}\n", call->m, call->n, call->batch);
    } else {
      auto explained = handle->backend->explain(*call);
      if (!explained) return failed(explained.error());
      lines = *std::move(explained);
    }
    if (!handle->remark.empty()) lines += handle->remark + "\n";
    if (needed != nullptr) *needed = lines.size() + 1;
    if (bytes != 0) {
      const std::size_t length = std::min(lines.size(), bytes - 1);
      std::memcpy(text, lines.data(), length);
      text[length] = '\0';
    }
    return TW_OK;
  });
}

tw_status tw_get_counts(tw_handle handle, tw_counts* counts) {
  return guarded([&] {
    if (handle == nullptr) return failed(TW_INVALID, kNoHandle);
    if (counts == nullptr) return failed(TW_INVALID, "counts=NULL");
    *counts = {.exact = handle->counted(Origin::exact),
               .nearest = handle->counted(Origin::nearest),
               .built_in = handle->counted(Origin::built_in),
               .vendor = handle->counted(Origin::vendor),
               .empty = handle->counted(Origin::empty)};
    return TW_OK;
  });
}

const char* tw_last_error(void) {
  return last_error.data();
}

const char* tw_status_name(int status) {
  const auto index = static_cast<std::size_t>(status);  // negative: very large
  return index < kStatusNames.size() ? kStatusNames[index] : "unknown status";
}

const char* tw_version(void) {
  return TW_VERSION;
}

}  // extern "C"
