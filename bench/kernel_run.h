// bench/kernel_run.h
//
// A kernel with its own memory: operands in the layouts that it wants, and scratch memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ridgeline/device/conversion_kernel.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::bench {

struct KernelRun {
  std::unique_ptr<Kernel> kernel;
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  void* scratch = nullptr;
  std::vector<double> times;  // time of its runs

  void* allocate(CpuDevice& device, std::size_t bytes) {
    memory.push_back(device.allocate(bytes));
    return memory.back()->address();
  }
};

inline Layout wanted(const std::vector<Layout>& layouts, std::size_t at) {
  return at < layouts.size() ? layouts[at] : Layout();
}

// The kernel with operands in the layouts that it wants, converted from plain ones, and memory for its results.
inline KernelRun prepare(CpuDevice& device, const KernelRequest& request, std::unique_ptr<Kernel> kernel,
                         const std::vector<void*>& plain, const std::vector<void*>& results) {
  KernelRun run{std::move(kernel), {}, plain, results};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const Layout layout = wanted(run.kernel->input_layouts, i);
    if (layout.plain()) continue;
    const ValueType& type = request.inputs[i].type;
    const auto convert = make_conversion_kernel(type, Layout(), layout);
    void* const from = plain[i];
    run.inputs[i] = run.allocate(device, layout.bytes(type));
    void* const scratch = run.allocate(device, convert->scratch_bytes);
    device.stream().run(*convert, {&from, &run.inputs[i], scratch});
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Layout layout = wanted(run.kernel->output_layouts, i);
    if (!layout.plain()) run.outputs[i] = run.allocate(device, layout.bytes(request.outputs[i].type));
  }
  run.scratch = run.allocate(device, run.kernel->scratch_bytes);
  return run;
}

}  // namespace ridgeline::bench
