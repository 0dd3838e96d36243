// bench/kernels.cpp
//
// Times all CPU kernels of the ops that have more than one, on the shapes of AlexNet and ResNet at batch 32, including
// 1x1 and strided convolutions, and f32 dense layers of 1 to 256 rows. The order of the lists in device/cpu/speeds.h
// comes from these times. Each kernel gets its operands in the layouts that it wants. Prints the shortest time and the
// median, and the bytes of operands and results per second of the shortest.
//
//   build/bench_kernels [repetitions, 15] [what an op and its first shape begin with: "dense [128,9216]"]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bench/kernel_run.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/cpu_device.h"

namespace {

using namespace ridgeline;
using bench::KernelRun;
using Integers = std::vector<std::int64_t>;

struct Case {
  std::string op;
  std::vector<Shape> inputs;
  Attributes attributes;
};

std::vector<Case> cases() {
  const Attributes window{{"kernel", Integers{3, 3}}, {"stride", Integers{2, 2}}};
  std::vector<Case> list;
  for (const Shape& image : {Shape{32, 55, 55, 64}, Shape{32, 27, 27, 192}, Shape{32, 112, 112, 64}}) {
    const Shape pooled{image[0], (image[1] - 3) / 2 + 1, (image[2] - 3) / 2 + 1, image[3]};
    Attributes backward = window;
    backward.set("input", image.dims());
    list.push_back({"max_pool", {image}, window});
    list.push_back({"max_pool_bwd", {pooled, pooled}, backward});
    list.push_back({"avg_pool", {image}, window});
    list.push_back({"avg_pool_bwd", {pooled}, backward});
  }
  for (const Shape& x : {Shape{32, 56, 56, 64}, Shape{32, 28, 28, 512}, Shape{32, 7, 7, 2048}}) {
    const Shape c{x[3]};
    list.push_back({"batch_norm_train", {x, c, c, c, c}, {}});
    list.push_back({"batch_norm_bwd", {x, x, c, c, c}, {}});
    list.push_back({"batch_norm_eval", {x, c, c, c, c}, {}});
  }
  const Shape weights[] = {{4096, 9216}, {4096, 4096}, {1000, 4096}, {1000, 2048}, {4096, 25088}};
  for (const std::int64_t rows : {1, 4, 8, 12, 16, 32, 64, 128, 256}) {
    for (const Shape& w : weights) {
      const Shape x{rows, w[1]}, y{rows, w[0]};
      list.push_back({"dense", {x, w}, {}});
      list.push_back({"dense_bwd_data", {y, w}, {}});
      list.push_back({"dense_bwd_weights", {x, y}, {{"bias", true}}});
    }
  }
  struct Convolution {
    std::int64_t side, channels, filters, taps, stride;
  };
  for (const Convolution& l : {Convolution{56, 64, 256, 1, 1},
                               {56, 256, 64, 1, 1},
                               {28, 128, 512, 1, 1},
                               {28, 512, 128, 1, 1},
                               {14, 256, 1024, 1, 1},
                               {14, 1024, 256, 1, 1},
                               {7, 512, 2048, 1, 1},
                               {7, 2048, 512, 1, 1},
                               {56, 256, 512, 1, 2},
                               {28, 512, 1024, 1, 2},
                               {56, 128, 128, 3, 2},
                               {14, 512, 512, 3, 2}}) {
    const std::int64_t side = (l.side - 1) / l.stride + 1;
    const Shape x{32, l.side, l.side, l.channels}, w{l.filters, l.taps, l.taps, l.channels};
    const Shape y{32, side, side, l.filters};
    const Attributes window{{"stride", Integers(2, l.stride)}, {"pad", Integers(4, l.taps / 2)}};
    Attributes data = window, weights = window;
    data.set("input", x.dims());
    weights.set("kernel", Integers(2, l.taps));
    list.push_back({"conv2d", {x, w}, window});
    list.push_back({"conv2d_bwd_data", {y, w}, data});
    list.push_back({"conv2d_bwd_weights", {x, y}, weights});
  }
  list.push_back({"lrn", {{32, 55, 55, 64}}, {}});
  list.push_back({"lrn_bwd", {{32, 55, 55, 64}, {32, 55, 55, 64}}, {}});
  return list;
}

// Whether operand or result i has the layout that the kernel prefers, as parameters and their gradients have.
bool free_input(const std::string& op, std::size_t i) {
  return i == 1 && (op == "conv2d" || op == "dense" || op == "conv2d_bwd_data" || op == "dense_bwd_data");
}
bool free_output(const std::string& op, std::size_t i) { return i == 0 && op == "conv2d_bwd_weights"; }

void measure(CpuDevice& device, const Case& c, int repetitions) {
  Node node;
  node.op = c.op;
  node.name = "measured";
  node.attributes = complete_attributes(op_def(c.op), c.attributes);
  std::vector<ValueType> types;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    types.push_back({c.op == "max_pool_bwd" && i == 1 ? DType::u8 : DType::f32, c.inputs[i]});
  }
  KernelRequest request{op_def(c.op), node, {}, {}};
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  double bytes = 0;
  SampleRandom random(philox_key(1, c.op), 0, 0);
  for (const ValueType& type : types) {
    request.inputs.push_back({type, {}, free_input(c.op, request.inputs.size())});
    memory.push_back(device.allocate(type.bytes()));
    inputs.push_back(memory.back()->address());
    bytes += static_cast<double>(type.bytes());
    for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
      if (type.dtype == DType::u8)
        static_cast<std::uint8_t*>(inputs.back())[i] = static_cast<std::uint8_t>(random.bits() % 9);
      else
        static_cast<float*>(inputs.back())[i] = uniform_float(random.bits()) + 0.1f;
    }
  }
  for (const ValueType& type : infer_types(op_def(c.op), types, node.attributes, node.name)) {
    request.outputs.push_back({type, {}, free_output(c.op, request.outputs.size())});
    memory.push_back(device.allocate(type.bytes()));
    outputs.push_back(memory.back()->address());
    std::memset(outputs.back(), 0, type.bytes());
    bytes += static_cast<double>(type.bytes());
  }
  std::vector<KernelRun> runs;
  for (const KernelEntry& entry : device.kernels(c.op)) {
    if (entry.provider == Provider::reference) continue;
    KernelChoice choice = entry.make(request);
    if (std::holds_alternative<Refusal>(choice)) continue;
    runs.push_back(
        bench::prepare(device, request, std::move(std::get<std::unique_ptr<Kernel>>(choice)), inputs, outputs));
  }
  // Runs the kernels alternately, so that other load on the machine affects all equally.
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (KernelRun& run : runs) {
      const auto begin = std::chrono::steady_clock::now();
      device.stream().run(*run.kernel, {run.inputs.data(), run.outputs.data(), run.scratch});
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      run.times.push_back(took.count());
    }
  }
  for (KernelRun& run : runs) {
    std::sort(run.times.begin(), run.times.end());
    const double best = run.times.front(), median = run.times[run.times.size() / 2];
    std::printf("%-18s %-18s %-44s %8.3f ms %8.3f %7.1f GB/s\n", c.op.c_str(), c.inputs[0].to_string().c_str(),
                run.kernel->name.c_str(), best * 1e3, median * 1e3, bytes / best / 1e9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::atoi(argv[1]) : 15;
  const std::string ops = argc > 2 ? argv[2] : "";
  if (repetitions < 1) {
    std::fprintf(stderr, "usage: bench_kernels [repetitions, at least 1] [what an op and its shape begin with]\n");
    return 2;
  }
  CpuDevice device(std::nullopt);
  const ComputeScope team(usable_threads(0));
  std::printf("%d threads\n", compute_threads());
  for (const Case& c : cases()) {
    if ((c.op + " " + c.inputs[0].to_string()).starts_with(ops)) measure(device, c, repetitions);
  }
}
