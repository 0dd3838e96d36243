// bench/winograd.cpp
//
// Times the Winograd convolutions and the kernel library's alternately, on the 3x3 and 5x5 layers of AlexNet, ResNet
// and VGG; the rule in device/cpu/winograd/convolution.cpp comes from these times. Prints for each layer and pass the
// median time of both, the ratio of the medians and of the shortest times, and the share of the FMA peak that each
// reaches in its shortest time, counting the multiplications of the direct convolution (so Winograd can exceed 100 %).
//
//   build/bench_winograd [--repetitions=9] [--batch=N] [--layer=TEXT] [--pass=fwd|bwd_d|bwd_w] [--rules=all]
//                        [--clock=cpu] [--cold]
//
// --batch replaces the batch size of every layer; --layer and --pass select names that contain the text; --rules=all
// times every division into tiles, not only the chosen one; --clock=cpu measures the processor time of all threads
// instead of wall time (for one thread on a busy machine); --cold writes 400 MB before each run, so that images come
// from memory as in a training step.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "bench/kernel_run.h"
#include "bench/layer_options.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/device/cpu/peak.h"
#include "ridgeline/device/cpu/winograd/convolution.h"

namespace {

using namespace ridgeline;
using bench::KernelRun;
using device::winograd::Pass;
using device::winograd::Wish;
using Integers = std::vector<std::int64_t>;

struct Layer {
  std::string name;
  std::int64_t batch, size, channels, filters, taps, pad;
  std::int64_t stride = 1;
};

const Layer kLayers[] = {
    {"alexnet conv1", 128, 224, 3, 64, 11, 2, 4},
    {"alexnet conv2", 128, 27, 64, 192, 5, 2},
    {"alexnet conv3", 128, 13, 192, 384, 3, 1},
    {"alexnet conv4", 128, 13, 384, 256, 3, 1},
    {"alexnet conv5", 128, 13, 256, 256, 3, 1},
    {"resnet 56", 32, 56, 64, 64, 3, 1},
    {"resnet 28", 32, 28, 128, 128, 3, 1},
    {"resnet 14", 32, 14, 256, 256, 3, 1},
    {"resnet 7", 32, 7, 512, 512, 3, 1},
    {"vgg 112", 16, 112, 64, 128, 3, 1},
    {"vgg 56a", 16, 56, 128, 256, 3, 1},
    {"vgg 56b", 16, 56, 256, 256, 3, 1},
    {"vgg 28a", 16, 28, 256, 512, 3, 1},
    {"vgg 28b", 16, 28, 512, 512, 3, 1},
    {"vgg 14", 16, 14, 512, 512, 3, 1},
    {"vgg 224", 16, 224, 3, 64, 3, 1},
    {"cifar 32", 128, 32, 16, 16, 3, 1},
    {"cifar 16", 128, 16, 32, 32, 3, 1},
    {"cifar 8", 128, 8, 64, 64, 3, 1},
};

struct Options : bench::LayerOptions {
  Options() : LayerOptions{.repetitions = 9} {}
  bool all_rules = false;
  bool cpu_time = false;
  bool cold = false;
};

struct Operation {
  const char* name;
  const char* op;
  Pass pass;
  KernelChoice (*ours)(const KernelRequest&, const Wish&);
};

const Operation kOperations[] = {
    {"fwd", "conv2d", Pass::forward, device::winograd::make_forward},
    {"bwd_d", "conv2d_bwd_data", Pass::backward_data, device::winograd::make_backward_data},
    {"bwd_w", "conv2d_bwd_weights", Pass::backward_weights, device::winograd::make_backward_weights},
};

// Normally distributed numbers; `relu` makes half of them zero.
void fill(float* data, std::int64_t n, double scale, bool relu, std::uint64_t seed) {
  parallel_for(n, 1024, [&](std::int64_t begin, std::int64_t end) {
    SampleRandom random(philox_key(seed, "winograd"), 0, static_cast<std::uint64_t>(begin));
    for (std::int64_t i = begin; i < end; ++i) {
      const double v = random.uniform(-1, 1) + random.uniform(-1, 1) + random.uniform(-1, 1);
      data[i] = static_cast<float>(relu && v < 0 ? 0 : v * scale);
    }
  });
}

double median(KernelRun& run) {
  std::sort(run.times.begin(), run.times.end());
  return run.times[run.times.size() / 2];
}
double shortest(const KernelRun& run) { return *std::min_element(run.times.begin(), run.times.end()); }

double now(const Options& options) {
  if (!options.cpu_time) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void measure(CpuDevice& device, const Layer& layer, const Operation& operation, const Options& options, double peak) {
  const ValueType x{DType::f32, {layer.batch, layer.size, layer.size, layer.channels}};
  const ValueType w{DType::f32, {layer.filters, layer.taps, layer.taps, layer.channels}};
  const std::int64_t size = (layer.size + 2 * layer.pad - layer.taps) / layer.stride + 1;
  const ValueType y{DType::f32, {layer.batch, size, size, layer.filters}};
  const ValueType b{DType::f32, {layer.filters}};
  Node node;
  node.op = operation.op;
  node.name = "measured";
  Attributes attributes{{"pad", Integers(4, layer.pad)}, {"stride", Integers(2, layer.stride)}};
  if (operation.pass == Pass::forward) attributes.set("activation", std::string("relu"));
  if (operation.pass == Pass::backward_data) attributes.set("input", x.shape.dims());
  if (operation.pass == Pass::backward_weights) {
    attributes.set("kernel", Integers(2, layer.taps));
    attributes.set("bias", true);
  }
  node.attributes = complete_attributes(op_def(operation.op), attributes);

  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<void*> inputs, outputs;
  KernelRequest request{op_def(operation.op), node, {}, {}};
  const auto operand = [&](const ValueType& type, double scale, bool relu) {
    request.inputs.push_back({type, {}, &type == &w});  // the kernel chooses the layout of the weights
    memory.push_back(device.allocate(type.bytes()));
    inputs.push_back(memory.back()->address());
    fill(static_cast<float*>(inputs.back()), type.shape.elements(), scale, relu, memory.size());
  };
  const auto result = [&](const ValueType& type) {
    request.outputs.push_back({type, {}, &type == &w});
    memory.push_back(device.allocate(type.bytes()));
    outputs.push_back(memory.back()->address());
    std::memset(outputs.back(), 0, type.bytes());
  };
  switch (operation.pass) {
    case Pass::forward: operand(x, 1, true), operand(w, 0.02, false), operand(b, 0.1, false), result(y); break;
    case Pass::backward_data: operand(y, 0.01, true), operand(w, 0.02, false), result(x); break;
    case Pass::backward_weights: operand(x, 1, true), operand(y, 0.01, true), result(w), result(b); break;
  }

  std::vector<KernelRun> runs;
  const auto add = [&](KernelChoice choice) {
    if (const auto* refusal = std::get_if<Refusal>(&choice)) {
      std::printf("%-14s %-5s refused: %s\n", layer.name.c_str(), operation.name, refusal->reason.c_str());
      return false;
    }
    runs.push_back(
        bench::prepare(device, request, std::move(std::get<std::unique_ptr<Kernel>>(choice)), inputs, outputs));
    return true;
  };
  const auto all = device::library_kernels();
  const auto entry = std::find_if(all.begin(), all.end(), [&](const KernelEntry& e) { return e.op == operation.op; });
  if (!add(entry->factory(request))) return;
  if (options.all_rules) {
    for (int m = 2; m <= 6; ++m) {
      for (const int n : m > 4 ? std::vector{0, 4} : std::vector{0}) {
        if (std::holds_alternative<Refusal>(operation.ours(request, {m, false, n}))) continue;
        add(operation.ours(request, {m, false, n}));
      }
    }
  } else {
    add(operation.ours(request, {0, false}));
  }
  std::vector<char> other(options.cold ? 400'000'000 : 0);
  for (int repetition = -1; repetition < options.repetitions; ++repetition) {  // the first is a warm-up
    for (KernelRun& run : runs) {
      std::fill(other.begin(), other.end(), static_cast<char>(repetition));
      const double begin = now(options);
      device.stream().run(*run.kernel, {run.inputs.data(), run.outputs.data(), run.scratch});
      if (repetition >= 0) run.times.push_back(now(options) - begin);
    }
  }
  const double flops = 2.0 * static_cast<double>(y.shape.elements()) * static_cast<double>(w.shape.elements()) /
                       static_cast<double>(layer.filters);
  const double library = median(runs[0]);
  const bool taken = std::holds_alternative<std::unique_ptr<Kernel>>(operation.ours(request, {}));
  for (std::size_t i = 1; i < runs.size(); ++i) {
    KernelRun& run = runs[i];
    const std::string& name = run.kernel->name;
    const std::size_t at = name.find("F(");
    const double ours = median(run);
    std::printf(
        "%-14s %-5s %-11s %8.2f ms  oneDNN %8.2f ms  ratio %5.2f, of the shortest %5.2f  of the peak %4.0f %% and "
        "%3.0f %%  "
        "scratch %5.1f MB%s\n",
        layer.name.c_str(), operation.name, name.substr(at, name.find(')') - at + 1).c_str(), ours * 1e3, library * 1e3,
        library / ours, shortest(runs[0]) / shortest(run), 100 * flops / shortest(run) / 1e9 / peak,
        100 * flops / shortest(runs[0]) / 1e9 / peak, static_cast<double>(run.kernel->scratch_bytes) / 1e6,
        taken ? "" : "  left to the library");
  }
  std::fflush(stdout);
}

int usage() {
  std::fprintf(stderr,
               "usage: bench_winograd [--repetitions=9] [--batch=N] [--layer=TEXT] [--pass=fwd|bwd_d|bwd_w] "
               "[--rules=all] [--clock=cpu] [--cold]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!bench::read_options(
          argc, argv, options,
          {{"--rules=all", &options.all_rules}, {"--clock=cpu", &options.cpu_time}, {"--cold", &options.cold}}))
    return usage();
  CpuDevice device(std::nullopt);
  const ComputeScope team(usable_threads(0));
  const double peak = device::measure_f32_rate().best;
  std::printf("%d threads, FMA peak %.0f GFLOP/s\n", compute_threads(), peak);
  for (Layer layer : kLayers) {
    if (!bench::contains(layer.name, options.layer)) continue;
    if (options.batch > 0) layer.batch = options.batch;
    for (const Operation& operation : kOperations) {
      if (!bench::contains(operation.name, options.pass)) continue;
      measure(device, layer, operation, options, peak);
    }
  }
}
