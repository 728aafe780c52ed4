// SPDX-License-Identifier: Apache-2.0
// tilewright-nvrtc: NVRTC as a compiler process.
//
//   tilewright-nvrtc [options of NVRTC] -o kernel.cubin kernel.cu
//   tilewright-nvrtc --version
//
// NVRTC is a library, and what a candidate makes it do (hang, crash, take all memory) would happen
// to us. In a process of its own it is held by the limits that hold any compiler. The log goes to
// stderr. Exit codes: 0 done, 1 the text was refused, 2 usage, 3 no NVRTC or no file.
#include "base/file.h"
#include "device/cuda/libraries.h"

#include <fmt/format.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tilewright::Error;
using tilewright::ErrorCode;
using tilewright::Result;

// As NVRTC's ABI has them (NVRTC documentation, nvrtc.h).
using Code = int;
using Program = struct Program_*;
struct Nvrtc {
  Code (*Version)(int* major, int* minor) = nullptr;
  const char* (*GetErrorString)(Code) = nullptr;
  Code (*CreateProgram)(Program*, const char* text, const char* name, int headers,
                        const char* const* contents, const char* const* names) = nullptr;
  Code (*CompileProgram)(Program, int count, const char* const* options) = nullptr;
  Code (*GetProgramLogSize)(Program, std::size_t*) = nullptr;
  Code (*GetProgramLog)(Program, char*) = nullptr;
  Code (*GetCUBINSize)(Program, std::size_t*) = nullptr;
  Code (*GetCUBIN)(Program, char*) = nullptr;
  int major = 0, minor = 0;
};

Result<Nvrtc> open_nvrtc() {
  const Result<void*> library = tilewright::cuda::open_library("nvrtc");
  if (!library) return tl::unexpected(library.error());
  Nvrtc n;
  const char* missing = nullptr;
  const auto find = [&]<class Entry>(Entry& entry, const char* name) {
    entry = reinterpret_cast<Entry>(dlsym(*library, name));
    if (entry == nullptr) missing = name;
  };
  find(n.Version, "nvrtcVersion");
  find(n.GetErrorString, "nvrtcGetErrorString");
  find(n.CreateProgram, "nvrtcCreateProgram");
  find(n.CompileProgram, "nvrtcCompileProgram");
  find(n.GetProgramLogSize, "nvrtcGetProgramLogSize");
  find(n.GetProgramLog, "nvrtcGetProgramLog");
  find(n.GetCUBINSize, "nvrtcGetCUBINSize");
  find(n.GetCUBIN, "nvrtcGetCUBIN");
  if (missing != nullptr || n.Version(&n.major, &n.minor) != 0) {
    return tilewright::fail(
        ErrorCode::environment,
        fmt::format("this NVRTC lacks {}", missing == nullptr ? "a version" : missing),
        "11.1 or newer is needed");
  }
  return n;
}

struct Arguments {
  std::string source, output;
  std::vector<std::string> options;
  bool version = false;
};

Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--version") {
      arguments.version = true;
    } else if (word == "-o" && i + 1 < argc) {
      arguments.output = argv[++i];
    } else if (word.starts_with("-")) {
      arguments.options.emplace_back(word);
    } else if (arguments.source.empty()) {
      arguments.source = word;
    } else {
      return tilewright::fail(ErrorCode::usage,
                              fmt::format("two sources: {}, {}", arguments.source, word));
    }
  }
  if (!arguments.version && (arguments.source.empty() || arguments.output.empty())) {
    return tilewright::fail(ErrorCode::usage, "a source and -o OUTPUT are needed",
                            "tilewright-nvrtc --gpu-architecture=sm_80 -o kernel.cubin kernel.cu");
  }
  return arguments;
}

// What NVRTC printed, without the terminating zero.
std::string log_of(const Nvrtc& n, Program program) {
  std::size_t bytes = 0;
  if (n.GetProgramLogSize(program, &bytes) != 0 || bytes <= 1) return {};
  std::string log(bytes, '\0');
  if (n.GetProgramLog(program, log.data()) != 0) return {};
  log.resize(bytes - 1);
  return log;
}

Result<std::string> compile(const Nvrtc& n, const Arguments& arguments) {
  const Result<std::string> text = tilewright::read_file(arguments.source);
  if (!text) return tilewright::fail(ErrorCode::environment, text.error().message);
  const auto failed = [&](Code status) {
    return tilewright::fail(ErrorCode::negative,
                            fmt::format("error: {}", n.GetErrorString(status)));
  };
  Program program = nullptr;
  if (const Code status =
          n.CreateProgram(&program, text->c_str(), arguments.source.c_str(), 0, nullptr, nullptr);
      status != 0) {
    return failed(status);
  }
  std::vector<const char*> options;
  for (const std::string& option : arguments.options) options.push_back(option.c_str());
  if (n.major >= 12) options.push_back("--std=c++20");
  options.push_back("--ptxas-options=-v");  // registers and spills go to the log
  const Code compiled = n.CompileProgram(program, static_cast<int>(options.size()), options.data());
  std::fputs(log_of(n, program).c_str(), stderr);
  if (compiled != 0) return failed(compiled);
  std::size_t bytes = 0;
  if (const Code status = n.GetCUBINSize(program, &bytes); status != 0) return failed(status);
  if (bytes == 0) {  // compute_80 instead of sm_80: only PTX was made
    return tilewright::fail(ErrorCode::negative,
                            "error: no cubin; --gpu-architecture must be of the form sm_80");
  }
  std::string cubin(bytes, '\0');
  if (const Code status = n.GetCUBIN(program, cubin.data()); status != 0) return failed(status);
  return cubin;
}

int report(const Error& error) {
  fmt::print(stderr, "tilewright-nvrtc: {}{}{}\n", error.message, error.hint.empty() ? "" : "; ",
             error.hint);
  return static_cast<int>(error.code);
}

int run(int argc, char** argv) {
  const Result<Arguments> arguments = parse(argc, argv);
  if (!arguments) return report(arguments.error());
  const Result<Nvrtc> nvrtc = open_nvrtc();
  if (!nvrtc) return report(nvrtc.error());
  if (arguments->version) {
    fmt::print("NVRTC {}.{}\n", nvrtc->major, nvrtc->minor);
    return 0;
  }
  const Result<std::string> cubin = compile(*nvrtc, *arguments);
  if (!cubin) return report(cubin.error());
  // Written plainly, in a folder that is ours: what a full disk or a limit cuts short is an error.
  std::FILE* file = std::fopen(arguments->output.c_str(), "wb");
  const bool written =
      file != nullptr && std::fwrite(cubin->data(), 1, cubin->size(), file) == cubin->size();
  if (file == nullptr || std::fclose(file) != 0 || !written) {
    return report({ErrorCode::environment, fmt::format("cannot write {}", arguments->output), ""});
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  std::fflush(nullptr);
  // Without NVRTC's destructors: what they free is gone in any case, and they take time.
  std::_Exit(code);
}
