// SPDX-License-Identifier: Apache-2.0
// A CUDA driver whose device is this machine's memory: for tests of everything round a kernel
// (processes, shared operands, graphs, faults) where there is no device.
//
// Device memory is memfds, addresses are this process's, work happens when it is enqueued. A
// "cubin" is 64 bytes, of which the first four are ELF's, and a text: one kernel a line, its name
// and the sizes of its parameters. What a kernel does is told by its name (behaviours below).
// Entry points return a CUresult; the signatures are those of device/cuda/driver.h.
#include "device/cuda/driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace tilewright::cuda;

// Where there is one (emulated_kernels.cc), it runs a kernel of this name on this machine and says
// whether it knew it.
extern "C" [[gnu::weak]] bool tw_emulate(const char* name, const LaunchConfig* config,
                                         void** arguments);

namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<Code()>;

constexpr Code kInvalidValue = 1, kNotFound = 500, kIllegalAddress = 700, kOutOfResources = 701;
constexpr std::size_t kPage = std::size_t{2} << 20;

struct Kernel {
  std::string name;
  std::vector<std::size_t> sizes;
};
struct Loaded {
  std::vector<Kernel> kernels;
};
struct Recorded {
  std::vector<Work> work;
};

struct Device {
  Code sticky = kSuccess;
  bool hanging = false;
  Recorded* capture = nullptr;
  const volatile std::uint32_t* gate = nullptr;  // what the stream waits for
  std::uint32_t awaited = 0;
  std::map<Event, Clock::time_point> events;
  std::uintptr_t next_event = 1;
};
Device& device() {
  static Device one;
  return one;
}

Code run(Work work) {
  Device& d = device();
  if (d.sticky != kSuccess) return d.sticky;
  if (d.capture != nullptr) {
    d.capture->work.push_back(std::move(work));
    return kSuccess;
  }
  return work();
}

// Marks and calls, a line each, in the file of TILEWRIGHT_FAKE_PROFILER if there is one.
void trace(const char* what) {
  const char* const path = std::getenv("TILEWRIGHT_FAKE_PROFILER");
  if (path != nullptr) std::ofstream(path, std::ios::app) << what << "\n";
}

// tw_count counts its calls in the first word of its second argument (C) and adds the workspace's
// first word to the next; an argument list (a, c, workspace, i32 M).
Code count(const std::vector<std::uint64_t>& values) {
  trace("call");
  auto* const c = reinterpret_cast<std::uint32_t*>(values[1]);
  const auto* const workspace = reinterpret_cast<const std::uint32_t*>(values[2]);
  c[0] += 1;
  c[1] += *workspace;
  c[2] = static_cast<std::uint32_t>(values[3]);
  return kSuccess;
}
Code hang(const std::vector<std::uint64_t>&) {
  device().hanging = true;
  return kSuccess;
}
Code stray(const std::vector<std::uint64_t>&) {
  device().sticky = kIllegalAddress;
  return kSuccess;
}
Code refuse(const std::vector<std::uint64_t>&) {
  return kOutOfResources;
}

struct Behaviour {
  const char* name;
  Code (*run)(const std::vector<std::uint64_t>& values);
};
constexpr Behaviour kBehaviours[] = {
    {"tw_count", count}, {"tw_hang", hang}, {"tw_stray", stray}, {"tw_refuse", refuse}};

Code wait() {
  const Device& d = device();
  const bool held = d.gate != nullptr && *d.gate < d.awaited;
  while (d.hanging || held) std::this_thread::sleep_for(std::chrono::seconds(1));
  return device().sticky;
}

}  // namespace

extern "C" {

Code cuInit(unsigned) {
  return kSuccess;
}
Code cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
Code cuGetErrorName(Code code, const char** name) {
  *name = code == kIllegalAddress   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == kOutOfResources ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                    : "CUDA_ERROR_OTHER";
  return kSuccess;
}
Code cuGetErrorString(Code, const char** text) {
  *text = "as the fake driver says";
  return kSuccess;
}
Code cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}
Code cuDeviceGet(DeviceId* id, int) {
  *id = 0;
  return kSuccess;
}
Code cuDeviceGetAttribute(int* value, int attribute, DeviceId) {
  const std::map<int, int> known = {{kMultiprocessors, 4},
                                    {kVirtualMemory, 1},
                                    {kFileDescriptorHandles, 1},
                                    {kSharedBytesPerBlockOptIn, 232448},
                                    {kCapabilityMajor, 9}};
  const auto found = known.find(attribute);
  *value = found == known.end() ? 0 : found->second;
  return kSuccess;
}
Code cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceId) {
  *context = reinterpret_cast<ContextHandle>(&device());
  return kSuccess;
}
Code cuCtxSynchronize() {
  return wait();
}

Code cuModuleLoadData(Module* module, const void* image) {
  std::istringstream lines(static_cast<const char*>(image) + 64);
  auto* const loaded = new Loaded;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Kernel kernel;
    words >> kernel.name;
    for (std::size_t size = 0; words >> size;) kernel.sizes.push_back(size);
    loaded->kernels.push_back(std::move(kernel));
  }
  *module = reinterpret_cast<Module>(loaded);
  return device().sticky;
}
Code cuModuleUnload(Module module) {
  delete reinterpret_cast<Loaded*>(module);
  return kSuccess;
}
Code cuModuleGetFunction(Function* function, Module module, const char* name) {
  for (Kernel& kernel : reinterpret_cast<Loaded*>(module)->kernels) {
    if (kernel.name != name) continue;
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
  const auto& sizes = reinterpret_cast<Kernel*>(function)->sizes;
  if (index >= sizes.size()) return kInvalidValue;
  *size = sizes[index];
  return kSuccess;
}
Code cuLaunchKernelEx(const LaunchConfig* config, Function function, void** arguments, void**) {
  const auto& kernel = *reinterpret_cast<Kernel*>(function);
  if (tw_emulate != nullptr && tw_emulate(kernel.name.c_str(), config, arguments)) return kSuccess;
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < kernel.sizes.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, arguments[i], std::min(kernel.sizes[i], sizeof value));
    values.push_back(value);
  }
  if (kernel.name == "tw_attributes") {  // into C: how many the launch has, and which
    auto* out = reinterpret_cast<std::uint32_t*>(values[1]);
    *out++ = config->attribute_count;
    for (unsigned i = 0; i < config->attribute_count; ++i) {
      *out++ = static_cast<std::uint32_t>(config->attributes[i].id);
    }
    return kSuccess;
  }
  for (const Behaviour& behaviour : kBehaviours) {
    if (kernel.name != behaviour.name) continue;
    return run([values, act = behaviour.run] { return act(values); });
  }
  return kNotFound;
}
Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function, int threads, std::size_t) {
  *blocks = 2048 / threads;
  return kSuccess;
}
Code cuOccupancyMaxActiveClusters(int* clusters, Function, const LaunchConfig*) {
  *clusters = 2;
  return kSuccess;
}

Code cuMemAlloc_v2(Pointer* address, std::size_t bytes) {
  *address = reinterpret_cast<Pointer>(std::malloc(bytes));
  return kSuccess;
}
Code cuMemFree_v2(Pointer address) {
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
Code cuMemAllocHost_v2(void** address, std::size_t bytes) {
  *address = std::malloc(bytes);
  return kSuccess;
}
Code cuMemFreeHost(void* address) {
  std::free(address);
  return kSuccess;
}
Code cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, Stream) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return device().sticky;
}
Code cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return device().sticky;
}
Code cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, Stream) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return device().sticky;
}
Code cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return device().sticky;
}
Code cuDeviceTotalMem_v2(std::size_t* bytes, DeviceId) {
  *bytes = std::size_t{1} << 34;
  return kSuccess;
}
Code cuMemsetD8Async(Pointer to, unsigned char value, std::size_t bytes, Stream) {
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return device().sticky;
}

Code cuMemGetAllocationGranularity(std::size_t* bytes, const AllocationProperties*, int) {
  *bytes = kPage;
  return kSuccess;
}
Code cuMemAddressReserve(Pointer* address, std::size_t bytes, std::size_t, Pointer,
                         unsigned long long) {
  void* const got = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = reinterpret_cast<Pointer>(got);
  return got == MAP_FAILED ? kInvalidValue : kSuccess;
}
Code cuMemAddressFree(Pointer address, std::size_t bytes) {
  return munmap(reinterpret_cast<void*>(address), bytes);
}
Code cuMemCreate(MemoryHandle* handle, std::size_t bytes, const AllocationProperties*,
                 unsigned long long) {
  const int fd = memfd_create("fake-device-memory", MFD_CLOEXEC);
  *handle = static_cast<MemoryHandle>(fd);
  return bytes % kPage == 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? kSuccess
                                                                             : kInvalidValue;
}
Code cuMemRelease(MemoryHandle handle) {
  return close(static_cast<int>(handle));
}
Code cuMemMap(Pointer address, std::size_t bytes, std::size_t, MemoryHandle handle,
              unsigned long long) {
  void* const got = mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                         static_cast<int>(handle), 0);
  return got == MAP_FAILED ? kInvalidValue : kSuccess;
}
Code cuMemUnmap(Pointer address, std::size_t bytes) {
  return mprotect(reinterpret_cast<void*>(address), bytes, PROT_NONE);
}
Code cuMemSetAccess(Pointer address, std::size_t bytes, const AccessDescription*, std::size_t) {
  return mprotect(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE);
}
Code cuMemExportToShareableHandle(void* handle, MemoryHandle memory, int, unsigned long long) {
  const int fd = dup(static_cast<int>(memory));
  std::memcpy(handle, &fd, sizeof fd);
  return fd < 0 ? kInvalidValue : kSuccess;
}
Code cuMemImportFromShareableHandle(MemoryHandle* memory, void* handle, int) {
  const int fd = dup(static_cast<int>(reinterpret_cast<std::intptr_t>(handle)));
  *memory = static_cast<MemoryHandle>(fd);
  return fd < 0 ? kInvalidValue : kSuccess;
}

Code cuStreamCreate(Stream* stream, unsigned) {
  *stream = reinterpret_cast<Stream>(&device());
  return kSuccess;
}
Code cuStreamSynchronize(Stream) {
  return wait();
}
// Work runs at once nevertheless; whoever waits for it before it is released waits for ever.
Code cuStreamWaitValue32_v2(Stream, Pointer address, std::uint32_t value, unsigned) {
  device().gate = reinterpret_cast<const std::uint32_t*>(address);
  device().awaited = value;
  return device().sticky;
}
Code cuStreamBeginCapture_v2(Stream, int) {
  device().capture = new Recorded;
  return device().sticky;
}
Code cuStreamEndCapture(Stream, Graph* graph) {
  *graph = reinterpret_cast<Graph>(device().capture);
  device().capture = nullptr;
  return device().sticky;
}
Code cuGraphInstantiateWithFlags(GraphExec* made, Graph graph, unsigned long long) {
  *made = reinterpret_cast<GraphExec>(new Recorded(*reinterpret_cast<Recorded*>(graph)));
  return kSuccess;
}
Code cuGraphLaunch(GraphExec graph, Stream) {
  for (const Work& work : reinterpret_cast<Recorded*>(graph)->work) {
    if (const Code code = run(work); code != kSuccess) return code;
  }
  return kSuccess;
}
Code cuGraphExecDestroy(GraphExec graph) {
  delete reinterpret_cast<Recorded*>(graph);
  return kSuccess;
}
Code cuGraphDestroy(Graph graph) {
  delete reinterpret_cast<Recorded*>(graph);
  return kSuccess;
}
Code cuEventCreate(Event* event, unsigned) {
  *event = reinterpret_cast<Event>(device().next_event++);
  return kSuccess;
}
Code cuEventRecord(Event event, Stream) {
  device().events[event] = Clock::now();
  return device().sticky;
}
Code cuProfilerStart() {
  trace("start");
  return kSuccess;
}
Code cuProfilerStop() {
  trace("stop");
  return kSuccess;
}
Code cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(device().events[end] - device().events[start])
          .count();
  return kSuccess;
}

// What the tests do not look at.
Code cuDeviceGetName() {
  return kSuccess;
}
Code cuDeviceGetUuid_v2() {
  return kSuccess;
}
Code cuDeviceGetPCIBusId() {
  return kSuccess;
}
Code cuDevicePrimaryCtxRelease_v2() {
  return kSuccess;
}
Code cuCtxSetCurrent() {
  return kSuccess;
}
Code cuCtxGetCurrent() {
  return kSuccess;
}
Code cuPointerGetAttribute() {
  return kSuccess;
}
Code cuStreamIsCapturing() {
  return kSuccess;
}
Code cuFuncSetAttribute() {
  return kSuccess;
}
Code cuMemGetInfo_v2() {
  return kSuccess;
}
Code cuMemcpyDtoDAsync_v2() {
  return kSuccess;
}
Code cuMemsetD32Async() {
  return kSuccess;
}
Code cuStreamDestroy_v2() {
  return kSuccess;
}
Code cuStreamQuery() {
  return kSuccess;
}
Code cuThreadExchangeStreamCaptureMode() {
  return kSuccess;
}
Code cuGraphUpload() {
  return kSuccess;
}
Code cuEventDestroy_v2() {
  return kSuccess;
}
Code cuEventQuery() {
  return kSuccess;
}
Code cuEventSynchronize() {
  return kSuccess;
}
Code cuTensorMapEncodeTiled() {
  return kSuccess;
}

}  // extern "C"
