// SPDX-License-Identifier: Apache-2.0
// For who writes kernels: emulates one program on one problem, without a GPU.
//
//   emulate "sm90 schedule=..." "300x200x520 f16 acc=f32 nn" [seeds [sms]]
//
// Prints what is wrong for each seed; exit code 0 if nothing is. Device: an H200 with `sms` SMs.
#include "base/scratch_folder.h"
#include "device/invented_gpu.h"
#include "emulate/emulate.h"
#include "program/program.h"

#include <fmt/format.h>

#include <cstdlib>

int main(int argc, char** argv) {
  using namespace tilewright;
  if (argc < 3) {
    fmt::print(stderr, "emulate PROGRAM PROBLEM [SEEDS [SMS]]\n");
    return 2;
  }
  const auto program = parse_program(argv[1]);
  const auto problem = parse_problem(argv[2]);
  const int seeds = argc > 3 ? std::atoi(argv[3]) : 8;
  Device device = invented_h200();
  device.cuda.multiprocessors = argc > 4 ? std::atoi(argv[4]) : 4;
  if (!program || !problem) {
    fmt::print(stderr, "{}\n", !program ? program.error().message : problem.error().message);
    return 2;
  }
  const auto source = generate(*program, *problem, device);
  if (!source) {
    fmt::print(stderr, "{}\n", source.error().message);
    return 2;
  }
  const ScratchFolder folder;
  const auto kernel = Emulated::compile(*source, folder.path());
  if (!kernel) {
    fmt::print(stderr, "{}\n", kernel.error().message);
    return 2;
  }
  int wrong = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    EmulatedCall call;
    call.problem = *problem;
    call.sizes = {problem->m, problem->n, problem->k};
    call.alpha = problem->alpha == AlphaClass::one ? 1.0F : 2.0F;
    call.beta = problem->beta == BetaClass::zero  ? 0.0F
                : problem->beta == BetaClass::one ? 1.0F
                                                  : -1.0F;
    call.sms = device.cuda.multiprocessors;
    call.seed = static_cast<std::uint64_t>(seed);
    const std::string what = kernel->run(call);
    if (what.empty()) continue;
    ++wrong;
    fmt::print("seed {}: {}\n", seed, what);
  }
  fmt::print("{} of {} seeds wrong\n", wrong, seeds);
  return wrong == 0 ? 0 : 1;
}
