// bench/tiles.cpp
//
// Times the bf16 tile kernels and the kernel library's bf16 kernels alternately, on the layers of AlexNet, ResNet and
// VGG; the order in device/cpu/speeds.h comes from these times. The library is called through its own interface and
// gets the layouts that it prefers. Prints for each layer and pass the median time of both, their ratio, and the share
// of the tile peak that each reaches; the peak is measured on random numbers in the first-level cache (on zeros it is
// higher).
//
//   build/bench_tiles [--repetitions=5] [--batch=N] [--layer=TEXT] [--pass=fwd|blocks|bwd_d|bwd_w] [--library=no]
//       [--tiles=dots]
//
// --tiles=dots: use bf16 dot products instead of tile registers.
// --batch replaces every layer's batch, --layer and --pass choose those whose name contains the text.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/layer_options.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/conversion_kernel.h"
#include "ridgeline/device/cpu/cpu_device.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"
#include "ridgeline/device/cpu/tiles/peak.h"

namespace {

using namespace ridgeline;
using device::tiles::Tiles;
using Integers = std::vector<std::int64_t>;
using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

// A dense layer has size 0: `batch` rows, `channels` inputs, `filters` outputs.
struct Layer {
  std::string name;
  std::int64_t batch, size, channels, filters, taps, pad, stride = 1;
  bool dense() const { return size == 0; }
  std::int64_t out() const { return dense() ? 0 : (size + 2 * pad - taps) / stride + 1; }
  double flops() const {
    const double pixels = dense() ? 1 : static_cast<double>(out() * out() * taps * taps);
    return 2.0 * static_cast<double>(batch * channels * filters) * pixels;
  }
};

const Layer kLayers[] = {
    {"alexnet conv1", 128, 224, 3, 64, 11, 2, 4},
    {"alexnet conv2", 128, 27, 64, 192, 5, 2},
    {"alexnet conv3", 128, 13, 192, 384, 3, 1},
    {"alexnet conv4", 128, 13, 384, 256, 3, 1},
    {"alexnet conv5", 128, 13, 256, 256, 3, 1},
    {"alexnet fc6", 128, 0, 9216, 4096, 1, 0},
    {"alexnet fc7", 128, 0, 4096, 4096, 1, 0},
    {"alexnet fc8", 128, 0, 4096, 1000, 1, 0},
    {"resnet conv1", 32, 224, 3, 64, 7, 3, 2},
    {"resnet 56 3x3", 32, 56, 64, 64, 3, 1},
    {"resnet 56 3x3/2", 32, 56, 64, 128, 3, 1, 2},
    {"resnet 56 1x1/2", 32, 56, 64, 128, 1, 0, 2},
    {"resnet 28 3x3", 32, 28, 128, 128, 3, 1},
    {"resnet 14 3x3", 32, 14, 256, 256, 3, 1},
    {"resnet 7 3x3", 32, 7, 512, 512, 3, 1},
    {"resnet50 56 1x1 64-256", 32, 56, 64, 256, 1, 0},
    {"resnet50 56 1x1 256-64", 32, 56, 256, 64, 1, 0},
    {"resnet50 28 1x1 128-512", 32, 28, 128, 512, 1, 0},
    {"resnet50 28 1x1 512-128", 32, 28, 512, 128, 1, 0},
    {"resnet50 14 1x1 256-1024", 32, 14, 256, 1024, 1, 0},
    {"resnet50 14 1x1 1024-256", 32, 14, 1024, 256, 1, 0},
    {"resnet50 7 1x1 512-2048", 32, 7, 512, 2048, 1, 0},
    {"resnet50 28 1x1/2 512-1024", 32, 28, 512, 1024, 1, 0, 2},
    {"vgg 224", 32, 224, 3, 64, 3, 1},
    {"vgg 112", 32, 112, 64, 128, 3, 1},
    {"vgg 56a", 32, 56, 128, 256, 3, 1},
    {"vgg 56b", 32, 56, 256, 256, 3, 1},
    {"vgg 28a", 32, 28, 256, 512, 3, 1},
    {"vgg 28b", 32, 28, 512, 512, 3, 1},
    {"vgg 14", 32, 14, 512, 512, 3, 1},
    {"vgg fc6", 32, 0, 25088, 4096, 1, 0},
};

enum class Pass { forward, backward_data, backward_weights };

struct Operation {
  const char* name;
  Pass pass;
  const char* convolution;
  const char* dense;
  KernelChoice (*make_convolution)(const KernelRequest&, Tiles);
  KernelChoice (*make_dense)(const KernelRequest&, Tiles);
};

const Operation kOperations[] = {
    {"fwd", Pass::forward, "conv2d", "dense", device::tiles::make_forward, device::tiles::make_dense_forward},
    {"blocks", Pass::forward, "conv2d", nullptr, device::tiles::make_blocks_forward, nullptr},
    {"bwd_d", Pass::backward_data, "conv2d_bwd_data", "dense_bwd_data", device::tiles::make_backward_data,
     device::tiles::make_dense_backward_data},
    {"bwd_w", Pass::backward_weights, "conv2d_bwd_weights", "dense_bwd_weights", device::tiles::make_backward_weights,
     device::tiles::make_dense_backward_weights},
};

struct Options : bench::LayerOptions {
  Options() : LayerOptions{.repetitions = 5} {}
  bool alone = false;  // without the library
  bool dots = false;   // dot products instead of tile registers
  Tiles tiles() const { return dots ? Tiles::dots : Tiles::amx; }
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Sums of uniform numbers; `relu` leaves half of them zero.
void fill(void* data, const ValueType& type, double scale, bool relu, std::uint64_t seed) {
  parallel_for(type.shape.elements(), 1024, [&](std::int64_t begin, std::int64_t end) {
    SampleRandom random(philox_key(seed, "tiles"), 0, static_cast<std::uint64_t>(begin));
    for (std::int64_t i = begin; i < end; ++i) {
      const double v = random.uniform(-1, 1) + random.uniform(-1, 1);
      const auto value = static_cast<float>(relu && v < 0 ? 0 : v * scale);
      if (type.dtype == DType::bf16) {
        static_cast<bfloat16*>(data)[i] = to_bfloat16(value);
      } else {
        static_cast<float*>(data)[i] = value;
      }
    }
  });
}

struct Operands {
  ValueType x, w, y, b;
  explicit Operands(const Layer& l)
      : x{DType::bf16, l.dense() ? Shape{l.batch, l.channels} : Shape{l.batch, l.size, l.size, l.channels}},
        w{DType::bf16, l.dense() ? Shape{l.filters, l.channels} : Shape{l.filters, l.taps, l.taps, l.channels}},
        y{DType::bf16, l.dense() ? Shape{l.batch, l.filters} : Shape{l.batch, l.out(), l.out(), l.filters}},
        b{DType::f32, {l.filters}} {}
};

class Ours {
 public:
  Ours(CpuDevice& device, const Layer& layer, const Operation& operation, Tiles tiles) : device_(device) {
    const Operands o(layer);
    const OpDef& def = op_def(layer.dense() ? operation.dense : operation.convolution);
    Node node;
    node.op = def.name;
    node.name = "measured";
    Attributes attributes;
    if (!layer.dense()) {
      attributes.set("pad", Integers(4, layer.pad));
      attributes.set("stride", Integers(2, layer.stride));
    }
    KernelRequest request{def, node, {}, {}};
    ValueType dw = o.w;
    dw.dtype = DType::f32;
    switch (operation.pass) {
      case Pass::forward:
        attributes.set("activation", std::string("relu"));
        request.inputs = {{o.x, {}, false}, {o.w, {}, false}, {o.b, {}, false}};
        request.outputs = {{o.y, {}, false}};
        break;
      case Pass::backward_data:
        if (!layer.dense()) attributes.set("input", o.x.shape.dims());
        request.inputs = {{o.y, {}, false}, {o.w, {}, false}};
        request.outputs = {{o.x, {}, false}};
        break;
      case Pass::backward_weights:
        if (!layer.dense()) attributes.set("kernel", Integers(2, layer.taps));
        attributes.set("bias", true);
        request.inputs = {{o.x, {}, false}, {o.y, {}, false}};
        request.outputs = {{dw, {}, false}, {o.b, {}, false}};
        break;
    }
    node.attributes = complete_attributes(def, attributes);
    KernelChoice choice =
        layer.dense() ? operation.make_dense(request, tiles) : operation.make_convolution(request, tiles);
    if (const auto* refusal = std::get_if<Refusal>(&choice)) {
      std::printf("%s %s refused: %s\n", layer.name.c_str(), operation.name, refusal->reason.c_str());
      return;
    }
    kernel_ = std::move(std::get<std::unique_ptr<Kernel>>(choice));
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const ValueType& type = request.inputs[i].type;
      const bool image = type.shape.rank() == o.y.shape.rank() && i == 0;
      memory_.push_back(device.allocate(type.bytes()));
      fill(memory_.back()->address(), type, image ? 1 : 0.02, image || operation.pass == Pass::backward_weights, i + 1);
      void* address = memory_.back()->address();
      if (i < kernel_->input_layouts.size() && !kernel_->input_layouts[i].plain()) {
        const auto convert = make_conversion_kernel(type, Layout(), kernel_->input_layouts[i]);
        memory_.push_back(device.allocate(kernel_->input_layouts[i].bytes(type)));
        void* packed = memory_.back()->address();
        for (int run = 0; run < 2; ++run) {
          const double begin = now();
          convert->run({&address, &packed, nullptr});
          conversion_seconds = now() - begin;
        }
        address = packed;
      }
      inputs_.push_back(address);
    }
    for (const KernelOperand& output : request.outputs) {
      memory_.push_back(device.allocate(output.type.bytes()));
      outputs_.push_back(memory_.back()->address());
    }
    memory_.push_back(device.allocate(kernel_->scratch_bytes));
  }
  bool taken() const { return kernel_ != nullptr; }
  void run() { device_.stream().run(*kernel_, {inputs_.data(), outputs_.data(), memory_.back()->address()}); }
  double conversion_seconds = 0;

 private:
  CpuDevice& device_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<void*> inputs_, outputs_;
};

// The same with the library, each operand in the layout that it prefers; activations in our layout.
class Library {
 public:
  Library(CpuDevice& device, const Layer& layer, const Operation& operation)
      : device_(device), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    try {
      if (layer.dense()) {
        make_dense(layer, operation.pass);
      } else {
        make_convolution(layer, operation.pass);
      }
    } catch (const dnnl::error& error) {
      std::printf("%s %s: the library refuses: %s\n", layer.name.c_str(), operation.name, error.what());
    }
  }
  bool taken() const { return primitive_.get(true) != nullptr; }
  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  void add(int id, const dnnl::memory::desc& desc, double scale, bool relu) {
    memory_.push_back(device_.allocate(desc.get_size()));
    const bool narrow = desc.get_data_type() == Type::bf16;
    const ValueType type{narrow ? DType::bf16 : DType::f32,
                         {static_cast<std::int64_t>(desc.get_size()) / (narrow ? 2 : 4)}};
    fill(memory_.back()->address(), type, scale, relu, static_cast<std::uint64_t>(id));
    arguments_[id] = dnnl::memory(desc, engine_, memory_.back()->address());
  }
  static dnnl::primitive_attr relu() {
    dnnl::primitive_attr attributes;
    dnnl::post_ops after;
    after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(after);
    return attributes;
  }
  template <class Forward, class Data, class Weights, class Make>
  void choose(Pass pass, const Make& make) {
    if (pass == Pass::forward) {
      const auto pd = make.forward(true);
      primitive_ = Forward(pd);
      add(DNNL_ARG_SRC, pd.src_desc(), 1, true);
      add(DNNL_ARG_WEIGHTS, pd.weights_desc(), 0.02, false);
      add(DNNL_ARG_BIAS, pd.bias_desc(), 0.1, false);
      add(DNNL_ARG_DST, pd.dst_desc(), 0, false);
    } else if (pass == Pass::backward_data) {
      const auto pd = make.data();
      primitive_ = Data(pd);
      add(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), 1, true);
      add(DNNL_ARG_WEIGHTS, pd.weights_desc(), 0.02, false);
      add(DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), 0, false);
    } else {
      const auto pd = make.weights();
      primitive_ = Weights(pd);
      add(DNNL_ARG_SRC, pd.src_desc(), 1, true);
      add(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), 0.02, true);
      add(DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc(), 0, false);
      add(DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc(), 0, false);
    }
  }
  void make_convolution(const Layer& l, Pass pass) {
    using Desc = dnnl::memory::desc;
    struct {
      dnnl::engine engine;
      Desc x, w, dw, b, y;
      Dims stride, none, pad;
      dnnl::convolution_forward::primitive_desc forward(bool activation) const {
        return {engine,
                dnnl::prop_kind::forward_training,
                dnnl::algorithm::convolution_direct,
                x,
                w,
                b,
                y,
                stride,
                none,
                pad,
                pad,
                activation ? relu() : dnnl::primitive_attr()};
      }
      dnnl::convolution_backward_data::primitive_desc data() const {
        return {engine, dnnl::algorithm::convolution_direct, x, w, y, stride, none, pad, pad, forward(false)};
      }
      dnnl::convolution_backward_weights::primitive_desc weights() const {
        return {engine, dnnl::algorithm::convolution_direct, x, dw, b, y, stride, none, pad, pad, forward(false)};
      }
    } make{engine_,
           {{l.batch, l.channels, l.size, l.size}, Type::bf16, Tag::nhwc},
           {{l.filters, l.channels, l.taps, l.taps}, Type::bf16, Tag::any},
           {{l.filters, l.channels, l.taps, l.taps}, Type::f32, Tag::any},
           {{l.filters}, Type::f32, Tag::a},
           {{l.batch, l.filters, l.out(), l.out()}, Type::bf16, Tag::nhwc},
           {l.stride, l.stride},
           {0, 0},
           {l.pad, l.pad}};
    choose<dnnl::convolution_forward, dnnl::convolution_backward_data, dnnl::convolution_backward_weights>(pass, make);
  }
  void make_dense(const Layer& l, Pass pass) {
    using Desc = dnnl::memory::desc;
    struct {
      dnnl::engine engine;
      Desc x, w, dw, b, y;
      dnnl::inner_product_forward::primitive_desc forward(bool activation) const {
        return {engine, dnnl::prop_kind::forward_training, x, w, b, y, activation ? relu() : dnnl::primitive_attr()};
      }
      dnnl::inner_product_backward_data::primitive_desc data() const { return {engine, x, w, y, forward(false)}; }
      dnnl::inner_product_backward_weights::primitive_desc weights() const {
        return {engine, x, dw, b, y, forward(false)};
      }
    } make{engine_,
           {{l.batch, l.channels}, Type::bf16, Tag::ab},
           {{l.filters, l.channels}, Type::bf16, Tag::any},
           {{l.filters, l.channels}, Type::f32, Tag::any},
           {{l.filters}, Type::f32, Tag::a},
           {{l.batch, l.filters}, Type::bf16, Tag::ab}};
    choose<dnnl::inner_product_forward, dnnl::inner_product_backward_data, dnnl::inner_product_backward_weights>(pass,
                                                                                                                 make);
  }

  CpuDevice& device_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

template <class Subject>
double once(Subject& subject) {
  const double begin = now();
  subject.run();
  return now() - begin;
}

void measure(CpuDevice& device, const Layer& layer, const Operation& operation, const Options& options, double peak) {
  Ours ours(device, layer, operation, options.tiles());
  if (!ours.taken()) return;
  std::optional<Library> library;
  if (!options.alone) library.emplace(device, layer, operation);
  const bool both = library && library->taken();
  std::vector<double> a, b;
  for (int repetition = -1; repetition < options.repetitions; ++repetition) {  // the first is a warm-up
    const double mine = once(ours), theirs = both ? once(*library) : 0;
    if (repetition < 0) continue;
    a.push_back(mine);
    b.push_back(theirs);
  }
  const auto median = [](std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  const double mine = median(a), theirs = median(b);
  const auto share = [&](double seconds) { return 100 * layer.flops() / seconds / 1e9 / peak; };
  std::printf("%-26s %-6s %7.2f ms (weights' tiles %5.2f)", layer.name.c_str(), operation.name, mine * 1e3,
              ours.conversion_seconds * 1e3);
  if (both) std::printf("  oneDNN %7.2f ms  ratio %5.2f", theirs * 1e3, theirs / mine);
  std::printf("  of the peak %3.0f %%", share(mine));
  if (both) std::printf(" and %3.0f %%", share(theirs));
  std::printf("\n");
  std::fflush(stdout);
}

int usage() {
  std::fprintf(stderr,
               "usage: bench_tiles [--repetitions=5] [--batch=N] [--layer=TEXT] [--pass=fwd|blocks|bwd_d|bwd_w] "
               "[--library=no] [--tiles=dots]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!bench::read_options(argc, argv, options, {{"--library=no", &options.alone}, {"--tiles=dots", &options.dots}}))
    return usage();
  if (device::active_isa() < (options.dots ? device::Isa::avx512_bf16 : device::Isa::amx)) {
    std::printf("the instruction set in force is %s: nothing to measure\n",
                std::string(device::name_of(device::active_isa())).c_str());
    return 0;
  }
  CpuDevice device(std::nullopt);
  const ComputeScope team(usable_threads(0));
  const double peak = device::tiles::measure_tile_peak(options.tiles());
  std::printf("%d threads, tile peak on random numbers %.0f GFLOP/s\n", compute_threads(), peak);
  for (Layer layer : kLayers) {
    if (!bench::contains(layer.name, options.layer)) continue;
    if (options.batch > 0) layer.batch = options.batch;
    for (const Operation& operation : kOperations) {
      if (!bench::contains(operation.name, options.pass)) continue;
      if (operation.dense == nullptr && (layer.stride == 1 || layer.channels >= 32)) continue;  // strided first layers
      if (layer.channels == 3 && operation.pass == Pass::backward_data) continue;               // not needed
      measure(device, layer, operation, options, peak);
    }
  }
}
