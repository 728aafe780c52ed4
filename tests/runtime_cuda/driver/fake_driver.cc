// SPDX-License-Identifier: Apache-2.0
// A CUDA driver of two devices whose memory is this machine's: for tests of the library round its
// kernels. A "kernel" computes the product that its arguments describe, in f64, and finds fault
// with whatever a device would not forgive: misaligned addresses, a map of nothing, a dirty head of
// the workspace, a context that is not current. Entry points return a CUresult
// (device/cuda/driver.h).
#include "driver/fake_kernels.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

using namespace tilewright;
using namespace tilewright::cuda;

namespace {

constexpr Code kInvalidValue = 1, kInvalidContext = 201, kNotFound = 500, kMisaligned = 716;
constexpr int kDevices = 2;

FakeState& state() {
  static FakeState one;
  return one;
}
// What a thread has set. Not thread_local: this is a library that is opened late, and LeakSanitizer
// of GCC 12 does not find its way through such storage.
struct OfThread {
  ContextHandle context = nullptr;
  int capture_mode = 0;
};
OfThread& of_thread() {
  static std::mutex mutex;
  static std::map<std::thread::id, OfThread> all;
  const std::scoped_lock lock(mutex);
  return all[std::this_thread::get_id()];
}
ContextHandle context_of(DeviceId id) {
  return reinterpret_cast<ContextHandle>(static_cast<std::uintptr_t>(id + 1));
}

void fault(const std::string& what) {
  const std::scoped_lock lock(state().mutex);
  state().faults.push_back(what);
}

// A kernel of a module.
struct Loaded {
  FakeCubin cubin;
  ContextHandle context;
};
struct LoadedModule {
  std::vector<Loaded> kernels;
};

using Work = FakeState::Work;
// Guarded by state().mutex: what streams have captured so far; the last capture that ended.
std::map<Stream, std::vector<Work>> capturing;
std::vector<Work> recorded;

std::size_t bytes_of_word(const std::string& word) {
  if (word.starts_with("map")) return 128;
  return word == "alpha" || word == "beta" || word == "activation" || word.starts_with("i32:") ? 4
                                                                                               : 8;
}

// Now, or when the capture of the stream is replayed; the device's clock goes on by what it takes.
Code enqueue(Stream stream, Work work, double microseconds) {
  FakeState& s = state();
  Work timed = [&s, microseconds, work = std::move(work)] {
    s.clock_us = s.clock_us + microseconds;
    return work();
  };
  {
    const std::scoped_lock lock(s.mutex);
    if (const auto found = capturing.find(stream); found != capturing.end()) {
      found->second.push_back(std::move(timed));
      return kSuccess;
    }
  }
  return timed();
}

}  // namespace

extern "C" {

FakeState* tw_fake_state() {
  state().enqueue = enqueue;
  return &state();
}

Code cuInit(unsigned) {
  return kSuccess;
}
Code cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
Code cuGetErrorName(Code code, const char** name) {
  *name = code == kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == kMisaligned     ? "CUDA_ERROR_MISALIGNED_ADDRESS"
          : code == kInvalidContext ? "CUDA_ERROR_INVALID_CONTEXT"
                                    : "CUDA_ERROR_OTHER";
  return kSuccess;
}
Code cuGetErrorString(Code, const char** text) {
  *text = "as the fake driver says";
  return kSuccess;
}
Code cuDeviceGetCount(int* count) {
  *count = kDevices;
  return kSuccess;
}
Code cuDeviceGet(DeviceId* id, int ordinal) {
  *id = ordinal;
  return kSuccess;
}
Code cuDeviceGetName(char* name, int length, DeviceId id) {
  std::strncpy(name, id == 0 ? "NVIDIA H200" : "NVIDIA A100-SXM4-80GB",
               static_cast<std::size_t>(length));
  return kSuccess;
}
Code cuDeviceTotalMem_v2(std::size_t* bytes, DeviceId) {
  *bytes = std::size_t{80} << 30;
  return kSuccess;
}
Code cuDeviceGetAttribute(int* value, int attribute, DeviceId id) {
  const std::map<int, int> known = {{kMultiprocessors, id == 0 ? 132 : 108},
                                    {kSharedBytesPerBlockOptIn, id == 0 ? 232448 : 166912},
                                    {kSharedBytesPerMultiprocessor, id == 0 ? 233472 : 167936},
                                    {kMemoryClockKilohertz, 3000000},
                                    {kMemoryBusBits, 6144},
                                    {kCapabilityMajor, id == 0 ? 9 : 8}};
  const auto found = known.find(attribute);
  *value = found == known.end() ? 0 : found->second;
  return kSuccess;
}
Code cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceId id) {
  *context = context_of(id);
  return kSuccess;
}
Code cuCtxGetCurrent(ContextHandle* context) {
  *context = of_thread().context;
  return kSuccess;
}
Code cuCtxSetCurrent(ContextHandle context) {
  ++state().sets;
  of_thread().context = context;
  return kSuccess;
}
Code cuCtxSynchronize() {
  ++state().waits;
  return kSuccess;
}

Code cuModuleLoadData(Module* module, const void* image) {
  ++state().loads;
  if (of_thread().context == nullptr) return kInvalidContext;
  std::istringstream words(static_cast<const char*>(image) + 64);
  auto* const loaded = new LoadedModule{{Loaded{{}, of_thread().context}}};
  FakeCubin& c = loaded->kernels.front().cubin;
  words >> c.symbol >> c.in >> c.out >> c.a >> c.b >> c.vector_a >> c.vector_b >> c.vector_c;
  for (std::string word; words >> word;) {
    if (word.starts_with("program:")) {
      c.program = word.substr(word.find(':') + 1);
    } else if (word == "|") {
      loaded->kernels.push_back({{}, of_thread().context});
      words >> loaded->kernels.back().cubin.symbol;
    } else {
      loaded->kernels.back().cubin.arguments.push_back(word);
    }
  }
  *module = reinterpret_cast<Module>(loaded);
  return kSuccess;
}
Code cuModuleUnload(Module module) {
  auto* const loaded = reinterpret_cast<LoadedModule*>(module);
  if (of_thread().context != loaded->kernels.front().context) fault("unloaded in another context");
  delete loaded;
  return kSuccess;
}
Code cuModuleGetFunction(Function* function, Module module, const char* name) {
  for (Loaded& kernel : reinterpret_cast<LoadedModule*>(module)->kernels) {
    if (kernel.cubin.symbol != name) continue;
    *function = reinterpret_cast<Function>(&kernel);
    return kSuccess;
  }
  return kNotFound;
}
Code cuFuncGetAttribute(int* value, int, Function) {
  *value = 0;
  return kSuccess;
}
Code cuFuncGetParamInfo(Function function, std::size_t index, std::size_t*, std::size_t* size) {
  const auto& words = reinterpret_cast<Loaded*>(function)->cubin.arguments;
  if (index >= words.size()) return kInvalidValue;
  *size = bytes_of_word(words[index]);
  return kSuccess;
}
Code cuLaunchKernelEx(const LaunchConfig* config, Function function, void** arguments, void**) {
  const auto& loaded = *reinterpret_cast<Loaded*>(function);
  FakeState& s = state();
  ++s.launches;
  if (s.launch_code != 0) return s.launch_code;
  if (of_thread().context != loaded.context) return kInvalidContext;
  if (config->grid_x > 2147483647U || config->grid_y > 65535 || config->grid_z > 65535) {
    return kInvalidValue;
  }
  const double microseconds = s.cost ? s.cost(loaded.cubin) : 1;
  if (!s.compute && !s.keep) return enqueue(config->stream, [] { return kSuccess; }, microseconds);
  Values values;
  std::vector<std::uint64_t> in_order;
  std::map<std::string, EncodedMap> maps;
  for (std::size_t i = 0; i < loaded.cubin.arguments.size(); ++i) {
    const std::string& word = loaded.cubin.arguments[i];
    if (word.starts_with("map")) {
      std::memcpy(&maps[word], arguments[i], sizeof(EncodedMap));
    } else {
      std::uint64_t value = 0;
      std::memcpy(&value, arguments[i], bytes_of_word(word));
      values[word] = value;
      in_order.push_back(value);
    }
  }
  if (s.keep) {
    FakeLaunch kept{loaded.cubin.symbol,
                    of_thread().context,
                    config->stream,
                    {config->grid_x, config->grid_y, config->grid_z},
                    values};
    const std::scoped_lock lock(s.mutex);
    s.kept.push_back(kept);
  }
  if (!s.compute) return enqueue(config->stream, [] { return kSuccess; }, microseconds);
  // Slices of K are CTAs of their own in z: those of a cluster, or of a head's counters.
  unsigned entries = config->grid_z;
  if (config->attribute_count > 0 && config->attributes[0].value.cluster.z > 1) {
    entries /= config->attributes[0].value.cluster.z;
  } else if (loaded.cubin.arguments.size() > 4 && loaded.cubin.arguments[4] != "i32:0" &&
             !loaded.cubin.arguments[0].starts_with("map")) {
    entries /= 8;  // split_k of the core set
  }
  const bool copies = loaded.cubin.symbol == "tw_repack";
  Work work = [copies, in_order, cubin = loaded.cubin, values, maps, entries] {
    return copies ? repack(in_order) : product(cubin, values, maps, entries, fault);
  };
  return enqueue(config->stream, std::move(work), microseconds);
}
Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function, int threads, std::size_t) {
  *blocks = 2048 / threads;
  return kSuccess;
}
Code cuOccupancyMaxActiveClusters(int* clusters, Function, const LaunchConfig*) {
  *clusters = 16;
  return kSuccess;
}

Code cuMemAlloc_v2(Pointer* address, std::size_t bytes) {
  ++state().allocations;
  if (state().out_of_memory) return kOutOfMemory;
  *address = reinterpret_cast<Pointer>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return kSuccess;
}
Code cuMemFree_v2(Pointer address) {
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
Code cuPointerGetAttribute(void* value, int attribute, Pointer address) {
  const bool there = address != 0 && address == state().elsewhere;
  const int answer = attribute == kPointerDevice       ? (there                                  ? 1
                                                          : of_thread().context == context_of(0) ? 0
                                                                                                 : 1)
                     : attribute == kPointerMemoryType ? static_cast<int>(kDeviceMemory)
                                                       : 0;
  std::memcpy(value, &answer, sizeof answer);
  return kSuccess;
}
Code cuMemsetD8Async(Pointer to, unsigned char value, std::size_t bytes, Stream) {
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return kSuccess;
}
Code cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, Stream) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}
Code cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, std::size_t bytes, Stream) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return kSuccess;
}
Code cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = state().free_bytes;
  *total = std::size_t{80} << 30;
  return kSuccess;
}
Code cuStreamCreate(Stream* stream, unsigned) {
  static std::atomic<std::uintptr_t> next = 1000;
  *stream = reinterpret_cast<Stream>(next++);
  return kSuccess;
}
Code cuStreamDestroy_v2(Stream) {
  return kSuccess;
}
Code cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, of_thread().capture_mode);
  return kSuccess;
}
// An event is the time at which it was recorded.
Code cuEventCreate(Event* event, unsigned) {
  *event = reinterpret_cast<Event>(new double(0));
  return kSuccess;
}
Code cuEventDestroy_v2(Event event) {
  delete reinterpret_cast<double*>(event);
  return kSuccess;
}
Code cuEventRecord(Event event, Stream) {
  *reinterpret_cast<double*>(event) = state().clock_us;
  return kSuccess;
}
Code cuEventSynchronize(Event) {
  ++state().waits;
  return kSuccess;
}
Code cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  *milliseconds = static_cast<float>(
      1e-3 * (*reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(start)));
  return kSuccess;
}
Code cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}
Code cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}
Code cuStreamSynchronize(Stream) {
  ++state().waits;
  return state().wait_code;
}
Code cuStreamWaitValue32_v2(Stream, Pointer, std::uint32_t, unsigned) {
  return kSuccess;
}
Code cuStreamIsCapturing(Stream stream, int* status) {
  const std::scoped_lock lock(state().mutex);
  *status = capturing.contains(stream) ? 1 : 0;
  return kSuccess;
}
Code cuStreamBeginCapture_v2(Stream stream, int) {
  const std::scoped_lock lock(state().mutex);
  capturing[stream].clear();
  return kSuccess;
}
Code cuStreamEndCapture(Stream stream, Graph* graph) {
  const std::scoped_lock lock(state().mutex);
  recorded = capturing[stream];
  capturing.erase(stream);
  if (graph != nullptr) *graph = reinterpret_cast<Graph>(new std::vector<Work>(recorded));
  return kSuccess;
}
Code cuGraphInstantiateWithFlags(GraphExec* made, Graph graph, unsigned long long) {
  *made = reinterpret_cast<GraphExec>(
      new std::vector<Work>(*reinterpret_cast<std::vector<Work>*>(graph)));
  return kSuccess;
}
Code cuGraphDestroy(Graph graph) {
  delete reinterpret_cast<std::vector<Work>*>(graph);
  return kSuccess;
}
Code cuGraphExecDestroy(GraphExec made) {
  delete reinterpret_cast<std::vector<Work>*>(made);
  return kSuccess;
}
Code cuGraphUpload(GraphExec, Stream) {
  return kSuccess;
}
// No graph: what the last capture has.
Code cuGraphLaunch(GraphExec made, Stream) {
  std::vector<Work> work;
  {
    const std::scoped_lock lock(state().mutex);
    work = made == nullptr ? recorded : *reinterpret_cast<std::vector<Work>*>(made);
  }
  for (const Work& each : work) {
    if (const Code code = each(); code != kSuccess) return code;
  }
  return kSuccess;
}
Code cuTensorMapEncodeTiled(TensorMap* map, int, std::uint32_t, void* address,
                            const std::uint64_t* dimensions, const std::uint64_t* strides,
                            const std::uint32_t*, const std::uint32_t*, int, int, int, int) {
  ++state().maps;
  const EncodedMap encoded{reinterpret_cast<std::uint64_t>(address),
                           dimensions[0],
                           dimensions[1],
                           dimensions[2],
                           strides[0],
                           strides[1]};
  const bool bad = encoded.address == 0 || encoded.address % 16 != 0 || strides[0] % 16 != 0 ||
                   strides[1] % 16 != 0 || dimensions[0] == 0 || dimensions[1] == 0;
  if (bad) return kInvalidValue;
  std::memcpy(map, &encoded, sizeof encoded);
  return kSuccess;
}

}  // extern "C"
