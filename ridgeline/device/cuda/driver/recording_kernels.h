// ridgeline/device/cuda/driver/recording_kernels.h
//
// Inside of the recording driver: modules, functions and launches.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "ridgeline/device/cuda/driver/recording_streams.h"

namespace ridgeline::cuda::recorded {

class RecordingKernels : public RecordingStreams {
 public:
  using RecordingStreams::RecordingStreams;

  Result module_load(ModuleHandle* module, std::span<const unsigned char> image) override {
    const Guard guard(*this, "a new module");
    if (guard.code != 0) return guard.code;
    auto state = std::make_shared<ModuleState>();
    constexpr unsigned char kSharedObject[] = {0x7f, 'E', 'L', 'F', 2, 1};
    constexpr std::size_t kMachine = 18;  // where an ELF header has it; 62: x86-64
    if (image.size() > 64 && std::equal(std::begin(kSharedObject), std::end(kSharedObject), image.begin()) &&
        image[kMachine] == 62) {
      state->library = open_image(image);
      if (state->library == nullptr) return problem(result::kInvalidImage, dlerror());
    } else if (image.empty()) {
      return problem(result::kInvalidImage, "an empty image");
    }
    *module = modules_.add(std::move(state));
    return result::kSuccess;
  }
  Result module_unload(ModuleHandle module) override {
    const Guard guard(*this, {}, true);
    if (guard.code != 0) return guard.code;
    work_.finish_all();  // functions of the module may be waiting
    return modules_.remove(module) ? result::kSuccess : bad_handle("module");
  }
  Result module_function(FunctionHandle* function, ModuleHandle module, const char* name) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    const ModuleState* m = modules_.find(module);
    if (m == nullptr) return bad_handle("module");
    auto state = std::make_shared<FunctionState>();
    state->name = name;
    if (m->library != nullptr) {
      if (void* found = dlsym(m->library, name)) state->run = reinterpret_cast<HostKernelFunction*>(found);
    } else {
      for (const HostKernel& kernel : options_.kernels) {
        if (kernel.name == name) state->run = kernel.run;
      }
    }
    if (!state->run) return problem(result::kNotFound, fmt::format("no host version of kernel '{}'", name));
    *function = functions_.add(std::move(state));
    return result::kSuccess;
  }
  Result function_get(int* value, FunctionAttribute attribute, FunctionHandle function) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    const FunctionState* f = functions_.find(function);
    if (f == nullptr) return bad_handle("function");
    switch (attribute) {
      case FunctionAttribute::max_threads_per_block: *value = kMaxThreads; break;
      case FunctionAttribute::registers: *value = 32; break;
      case FunctionAttribute::max_dynamic_shared_bytes: *value = static_cast<int>(f->shared_limit); break;
      default: *value = 0;
    }
    return result::kSuccess;
  }
  Result function_set(FunctionHandle function, FunctionAttribute attribute, int value) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    FunctionState* f = functions_.find(function);
    if (f == nullptr) return bad_handle("function");
    if (attribute != FunctionAttribute::max_dynamic_shared_bytes || value < 0 || value > static_cast<int>(kMaxShared))
      return problem(result::kInvalidValue,
                     fmt::format("attribute {} of a function = {}", static_cast<int>(attribute), value));
    f->shared_limit = static_cast<unsigned>(value);
    return result::kSuccess;
  }
  Result function_occupancy(int* blocks, FunctionHandle function, int threads, std::size_t shared_bytes) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    if (functions_.find(function) == nullptr) return bad_handle("function");
    const int by_threads = 2048 / std::max(threads, 1);
    const int by_memory = shared_bytes == 0 ? 32 : static_cast<int>(233472 / (shared_bytes + 1024));
    *blocks = std::min({32, by_threads, by_memory});
    return result::kSuccess;
  }

  Result launch(const Launch& l, StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    const std::shared_ptr<FunctionState> f = functions_.share(l.function);
    if (s == nullptr) return bad_handle("stream");
    if (f == nullptr) return bad_handle("function");
    if (std::string why = refused_shape(l, *f); !why.empty()) return problem(result::kInvalidValue, why);
    WorkNode work{.name = std::string(l.name)};
    const auto* first = static_cast<const unsigned char*>(l.parameters);
    std::vector<unsigned char> parameters(first, first + l.parameter_bytes);
    for (const PointerMember& member : l.pointers) {
      const DeviceAddress address = address_in(parameters, member.offset);
      if (address == 0) continue;
      std::string why;
      if (memory_.translate(address, member.bytes, &why) == nullptr)
        return problem(result::kInvalidValue,
                       fmt::format("'{}', parameter at byte {}: {}", l.name, member.offset, why));
      work.touches.push_back({address, member.bytes, member.touch});
    }
    if (const std::string why = unlisted(parameters, l.pointers); !why.empty())
      return problem(result::kInvalidValue, fmt::format("'{}': {}", l.name, why));
    work.run = [this, f, grid = l.grid, block = l.block, shared = l.shared_bytes, parameters,
                pointers = std::vector(l.pointers.begin(), l.pointers.end())] {
      alignas(16) std::array<unsigned char, kMaxParameterBytes> own;
      std::memcpy(own.data(), parameters.data(), parameters.size());
      for (const PointerMember& member : pointers) {
        const DeviceAddress address = address_in(parameters, member.offset);
        if (address == 0) continue;
        void* real = host(address, member.bytes);
        std::memcpy(own.data() + member.offset, &real, sizeof real);
      }
      f->run(grid, block, shared, own.data());
    };
    return give(*s, std::move(work));
  }
  Result library_call(const LibraryCall& call, StreamHandle stream) override {
    const Guard guard(*this);
    if (guard.code != 0) return guard.code;
    LateWork::Stream* s = streams_.find(stream);
    if (s == nullptr) return bad_handle("stream");
    for (const TouchedRange& range : call.touches) {
      std::string why;
      if (memory_.translate(range.address, range.bytes, &why) == nullptr)
        return problem(result::kInvalidValue, fmt::format("'{}': {}", call.name, why));
    }
    return give(*s,
                {.name = call.name, .touches = call.touches, .run = [this, touches = call.touches, run = call.host] {
                   std::vector<void*> addresses;
                   for (const TouchedRange& range : touches) addresses.push_back(host(range.address, range.bytes));
                   run(addresses);
                 }});
  }

 private:
  static DeviceAddress address_in(const std::vector<unsigned char>& parameters, std::size_t offset) {
    DeviceAddress address;
    std::memcpy(&address, parameters.data() + offset, sizeof address);
    return address;
  }
  // A device address among the parameters that is not in the list of pointers.
  std::string unlisted(const std::vector<unsigned char>& parameters, std::span<const PointerMember> pointers) const {
    for (std::size_t offset = 0; offset + sizeof(DeviceAddress) <= parameters.size(); offset += sizeof(DeviceAddress)) {
      if (std::any_of(pointers.begin(), pointers.end(), [&](const PointerMember& p) { return p.offset == offset; }))
        continue;
      if (memory_.holds(address_in(parameters, offset)))
        return fmt::format("the parameter at byte {} is a device address that is not listed", offset);
    }
    return {};
  }
  static std::string refused_shape(const Launch& l, const FunctionState& f) {
    if (l.grid.count() == 0 || l.block.count() == 0) return fmt::format("'{}': an empty grid or block", l.name);
    if (l.block.count() > kMaxThreads) return fmt::format("'{}': {} threads in a block", l.name, l.block.count());
    if (l.grid.x > 0x7fffffff || l.grid.y > 65535 || l.grid.z > 65535)
      return fmt::format("'{}': a grid of {} x {} x {}", l.name, l.grid.x, l.grid.y, l.grid.z);
    if (l.shared_bytes > f.shared_limit)
      return fmt::format("'{}': {} bytes of shared memory, {} are allowed", l.name, l.shared_bytes, f.shared_limit);
    if (l.parameter_bytes > kMaxParameterBytes)
      return fmt::format("'{}': {} bytes of parameters", l.name, l.parameter_bytes);
    for (const PointerMember& p : l.pointers) {
      if (p.offset + sizeof(DeviceAddress) > l.parameter_bytes)
        return fmt::format("'{}': a pointer at byte {} of {}", l.name, p.offset, l.parameter_bytes);
    }
    return {};
  }
  static void* open_image(std::span<const unsigned char> image) {
    const int file = memfd_create("kernels", MFD_CLOEXEC);
    if (file < 0) return nullptr;
    std::size_t written = 0;
    while (written < image.size()) {
      const ssize_t part = write(file, image.data() + written, image.size() - written);
      if (part <= 0) break;
      written += static_cast<std::size_t>(part);
    }
    void* library = dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
    close(file);
    return library;
  }
};

}  // namespace ridgeline::cuda::recorded
