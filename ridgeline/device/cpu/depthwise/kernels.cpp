#include <algorithm>
#include <memory>
#include <utility>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/depthwise/layer.h"
#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/device/cpu/speeds.h"
#include "ridgeline/device/cpu/sum/column_sums.h"

namespace ridgeline::device::depthwise {
namespace {

// [c][tap] to [tap][c].
void pack_weights(const Layer& layer, const float* weights, float* to) {
  for (std::int64_t c = 0; c < layer.c; ++c) {
    for (std::int64_t t = 0; t < layer.taps(); ++t) to[t * layer.c + c] = weights[c * layer.taps() + t];
  }
}

class Forward final : public Kernel {
 public:
  Forward(const Layer& layer, const KernelRequest& request)
      : layer_(layer),
        bias_(request.inputs.size() >= 3),
        addend_(request.inputs.size() == 4),
        relu_(request.node.attributes.string("activation") == "relu") {
    Scratch scratch;
    scratch.reserve(layer_.taps() * layer_.c);
    scratch_bytes = scratch.bytes();
  }

  void run(const KernelArguments& a) override {
    float* const weights = static_cast<float*>(a.scratch);
    pack_weights(layer_, input<float>(a, 1), weights);
    for_each_item(layer_.n * layer_.oh * layer_.blocks(), [&](std::int64_t item, int) {
      const std::int64_t row = item / layer_.blocks(), first = item % layer_.blocks() * kBlock;
      const std::int64_t at = row * layer_.ow * layer_.c + first;
      Line line;
      layer_.taps_of_result(row, input<float>(a, 0), first, line);
      run_line(line, {.to = output<float>(a, 0) + at,
                      .step = layer_.c,
                      .weights = weights + first,
                      .weight_channels = layer_.c,
                      .bias = bias_ ? input<float>(a, 2) + first : nullptr,
                      .addend = addend_ ? input<float>(a, 3) + at : nullptr,
                      .relu = relu_});
    });
  }

 private:
  Layer layer_;
  bool bias_, addend_, relu_;
};

// The pixels of a row of the image that lie a stride apart meet the same taps: each set of them is a line.
class BackwardData final : public Kernel {
 public:
  explicit BackwardData(const Layer& layer) : layer_(layer) {
    Scratch scratch;
    scratch.reserve(layer_.taps() * layer_.c);
    scratch_bytes = scratch.bytes();
  }

  void run(const KernelArguments& a) override {
    float* const weights = static_cast<float*>(a.scratch);
    pack_weights(layer_, input<float>(a, 1), weights);
    const std::int64_t lines = std::min(layer_.window.stride[1], layer_.w);
    for_each_item(layer_.n * layer_.h * layer_.blocks(), [&](std::int64_t item, int) {
      const std::int64_t row = item / layer_.blocks(), first = item % layer_.blocks() * kBlock;
      Line line;
      for (std::int64_t column = 0; column < lines; ++column) {
        layer_.taps_of_image(row, column, input<float>(a, 0), first, line);
        run_line(line, {.to = output<float>(a, 0) + (row * layer_.w + column) * layer_.c + first,
                        .step = layer_.window.stride[1] * layer_.c,
                        .weights = weights + first,
                        .weight_channels = layer_.c});
      }
    });
  }

 private:
  Layer layer_;
};

// Rows of all images are divided into parts by the shape alone; the sums of the parts are added in order.
class BackwardWeights final : public Kernel {
 public:
  BackwardWeights(const Layer& layer, bool bias) : layer_(layer), bias_(bias) {
    Scratch scratch;
    scratch.reserve(parts_.count * layer_.blocks() * part_floats());
    scratch_bytes = scratch.bytes();
  }

  void run(const KernelArguments& a) override {
    float* const sums = static_cast<float*>(a.scratch);
    for_each_item(parts_.count * layer_.blocks(), [&](std::int64_t item, int) {
      const std::int64_t part = item / layer_.blocks(), first = item % layer_.blocks() * kBlock;
      float* const to = sums + item * part_floats();
      std::fill_n(to, part_floats(), 0.0f);
      Line line;
      for (std::int64_t row = parts_.begin(part); row < parts_.end(part); ++row) {
        layer_.taps_of_result(row, input<float>(a, 0), first, line);
        add_line(line,
                 {.dy = input<float>(a, 1) + row * layer_.ow * layer_.c + first, .dy_step = layer_.c, .sums = to});
      }
    });
    for_each_item(layer_.blocks(), [&](std::int64_t block, int) { add_parts(sums, block, output<float>(a, 0)); });
    if (bias_)
      sum_columns(input<float>(a, 1), layer_.c, layer_.n * layer_.oh * layer_.ow, layer_.c, output<float>(a, 1));
  }

 private:
  static constexpr std::int64_t kMostParts = 32;
  static constexpr std::int64_t kLeastRows = 8;  // of a part

  std::int64_t part_floats() const { return layer_.taps() * kBlock; }

  void add_parts(const float* sums, std::int64_t block, float* dw) const {
    const std::int64_t first = block * kBlock, channels = std::min(kBlock, layer_.c - first);
    for (std::int64_t tap = 0; tap < layer_.taps(); ++tap) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const float* const of_part = sums + block * part_floats() + tap * channels + c;
        double sum = 0;
        for (std::int64_t part = 0; part < parts_.count; ++part)
          sum += static_cast<double>(of_part[part * layer_.blocks() * part_floats()]);
        dw[(first + c) * layer_.taps() + tap] = static_cast<float>(sum);
      }
    }
  }

  Layer layer_;
  bool bias_;
  Chunks parts_{layer_.n * layer_.oh, kLeastRows, kMostParts};
};

KernelChoice named(std::unique_ptr<Kernel> kernel, const KernelRequest& request) {
  kernel->name = own_name("depthwise " + request.def.name);
  return kernel;
}

}  // namespace

KernelChoice make_forward(const KernelRequest& request) {
  const auto layer = layer_of(request, request.inputs[0].type, request.inputs[1].type, request.outputs[0].type);
  if (const auto* refusal = std::get_if<Refusal>(&layer)) return *refusal;
  return named(std::make_unique<Forward>(std::get<Layer>(layer), request), request);
}

KernelChoice make_backward_data(const KernelRequest& request) {
  if (request.inputs.size() > 2) return Refusal{"a gate"};
  const auto layer = layer_of(request, request.outputs[0].type, request.inputs[1].type, request.inputs[0].type);
  if (const auto* refusal = std::get_if<Refusal>(&layer)) return *refusal;
  return named(std::make_unique<BackwardData>(std::get<Layer>(layer)), request);
}

KernelChoice make_backward_weights(const KernelRequest& request) {
  const auto layer = layer_of(request, request.inputs[0].type, request.outputs[0].type, request.inputs[1].type);
  if (const auto* refusal = std::get_if<Refusal>(&layer)) return *refusal;
  return named(std::make_unique<BackwardWeights>(std::get<Layer>(layer), request.outputs.size() == 2), request);
}

double backward_weights_share(const KernelRequest& request) {
  const Shape& weights = request.outputs[0].type.shape;
  const bool large = weights[1] * weights[2] >= speeds::kLeastDepthwiseTaps &&
                     request.node.attributes.integer("groups") == weights[0] && weights[3] == 1;
  return large ? 1 : speeds::kDepthwiseWeights.elsewhere;
}

}  // namespace ridgeline::device::depthwise
