#include "ridgeline/device/cpu/winograd/convolution.h"

#include <algorithm>

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::device::winograd {
namespace {

// All rules with alpha <= 8: beyond, the error grows faster than the speed.
constexpr Rule kRules[] = {{2, 3}, {4, 3}, {5, 3}, {6, 3}, {2, 5}, {4, 5}};

Images images_of(const Shape& shape) { return {shape[0], shape[1], shape[2], shape[3]}; }

std::string pair_text(const std::array<std::int64_t, 2>& pair) {
  return std::to_string(pair[0]) + "x" + std::to_string(pair[1]);
}

std::optional<Refusal> refuse_geometry(const Window& window, std::int64_t groups, Pass pass) {
  if (groups != 1) return Refusal{std::to_string(groups) + " groups: Winograd kernels take one"};
  if (window.stride[0] != window.stride[1] || (window.stride[0] > 1 && pass == Pass::backward_data)) {
    return Refusal{"stride " + pair_text(window.stride) + ": this Winograd kernel takes 1x1"};
  }
  const std::int64_t blocks = (window.kernel[0] + window.stride[0] - 1) / window.stride[0];
  if (window.kernel[0] != window.kernel[1] || (blocks != 3 && blocks != 5)) {
    return Refusal{"a " + pair_text(window.kernel) + " kernel of stride " + std::to_string(window.stride[0]) +
                   ": Winograd kernels take 3x3 and 5x5 strides"};
  }
  if (window.dilation[0] != 1 || window.dilation[1] != 1) {
    return Refusal{"dilation " + pair_text(window.dilation) + ": Winograd kernels take 1x1"};
  }
  return std::nullopt;
}

std::optional<Refusal> refuse_types(Pass pass, const ValueType& x, const ValueType& w, const ValueType& y) {
  if (pass == Pass::backward_weights) {
    if (w.dtype == DType::f32) return std::nullopt;
    return Refusal{"bf16 gradients of weights: Winograd kernels give f32"};
  }
  if (x.dtype == y.dtype) return std::nullopt;
  return Refusal{"f32 results of bf16 operands: Winograd kernels give the type that they read"};
}

// Direct products in the time of one on f32.
double direct_rate(DType dtype) { return dtype == DType::bf16 ? bf16_products_rate() : 1; }

// Time in units of one multiply-add at the vector units' peak, for one thread: estimates that decide which rule is used
// and whether any. The constants are fitted to the measurements in docs/device-winograd.md.
class Estimate {
 public:
  static double direct(const Convolution& c, Pass pass) {
    double share = kDirectShare;
    if (pass == Pass::backward_weights) {
      share = kDirectWeightsShare;
      if (c.image.channels < kFewChannels) share = std::min(0.5, kTapShare * static_cast<double>(c.taps * c.taps));
    }
    return static_cast<double>(c.result.count * c.result.height * c.result.width * c.taps * c.taps) *
           static_cast<double>(c.image.channels * c.filters()) / share;
  }
  static double winograd(const Convolution& convolution, Rule rule, Pass pass) {
    const Correlation c = convolution.correlation(pass);
    // A vector of transformed elements costs what some vectors of multiply-adds cost, whatever the vector's length.
    const double transform = kTransform * static_cast<double>(lanes());
    const double weights = (pass == Pass::forward ? kForwardWeights : kWeights) * static_cast<double>(lanes());
    const auto tiles = static_cast<double>(Tiles(c, rule).total() * rule.positions());
    const double products = tiles * static_cast<double>(c.in.channels * c.out.channels) / kProductShare;
    const std::int64_t read = convolution.stride > 1 ? 2 : 1;  // gathered first
    const double pixels = tiles * static_cast<double>(read * c.in.channels + c.out.channels) * transform;
    return products + pixels + static_cast<double>(rule.positions() * c.in.channels * c.out.channels) * weights;
  }

 private:
  // What the library's direct convolutions, and our products, reach of the peak. Its weight gradients of images of few
  // channels, as a model's first layer has, gain by the number of taps: 0.09 with 3x3, 0.5 with 11x11.
  static constexpr double kDirectShare = 0.95;
  static constexpr double kDirectWeightsShare = 0.65;
  static constexpr std::int64_t kFewChannels = 8;
  static constexpr double kTapShare = 0.01;
  static constexpr double kProductShare = 0.8;
  // Multiply-adds in the time of one transformed element of a tile or of the weights, a lane.
  static constexpr double kTransform = 2;
  static constexpr double kForwardWeights = 5;
  static constexpr double kWeights = 3;
};

// The rule with the least estimate; of equals the one with the smaller tiles and error.
Rule choose_rule(const Convolution& convolution, Pass pass, int wanted_m) {
  const std::int64_t taps = convolution.correlation(pass).taps;
  Rule best;
  for (const Rule rule : kRules) {
    if (rule.r != taps || (wanted_m != 0 && rule.m != wanted_m)) continue;
    if (best.m == 0 || Estimate::winograd(convolution, rule, pass) < Estimate::winograd(convolution, best, pass))
      best = rule;
  }
  return best;
}

// Estimates are not exact: what they call faster by less than this may be slower.
constexpr double kLeastGain = 1.15;

std::string decimal(double number) {
  const auto tenths = static_cast<std::int64_t>(number * 10 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace

Correlation Convolution::correlation(Pass pass) const {
  if (pass == Pass::backward_data) return {result, image, taps, taps - 1 - top, taps - 1 - left};
  if (stride == 1) return {image, result, taps, top, left};
  const std::int64_t wide = blocks().wide();
  return {{image.count, result.height + wide - 1, result.width + wide - 1, channels()}, result, wide, 0, 0};
}

std::variant<Task, Refusal> task_of(const KernelRequest& request, Pass pass, const ValueType& x, const ValueType& w,
                                    const ValueType& y, const Wish& wish) {
  const Window window = window_of(request.def.name, request.node.attributes, w.shape[1], w.shape[2]);
  if (auto refusal = refuse_geometry(window, request.node.attributes.integer("groups"), pass)) return *refusal;
  if (auto refusal = refuse_types(pass, x, w, y)) return *refusal;
  for (const ValueType* type : {&x, &w, &y}) {
    if (auto refusal = refuse_empty(*type)) return *refusal;
  }
  if (window.stride[0] > 1 && (x.shape[1] < window.kernel[0] || x.shape[2] < window.kernel[1])) {
    return Refusal{"an image of " + std::to_string(x.shape[1]) + "x" + std::to_string(x.shape[2]) +
                   " is smaller than the " + pair_text(window.kernel) +
                   " kernel: what its padding leaves would be lost among rounding errors"};
  }
  const Convolution convolution{images_of(x.shape), images_of(y.shape),   window.kernel[0],
                                window.stride[0],   window.pad_before[0], window.pad_before[1]};
  const Rule rule = choose_rule(convolution, pass, wish.m);
  if (rule.m == 0) return Refusal{"no Winograd rule with tiles of " + std::to_string(wish.m)};
  const double direct = Estimate::direct(convolution, pass) / direct_rate(x.dtype);
  const double gain = direct / Estimate::winograd(convolution, rule, pass);
  if (wish.only_where_faster && gain < kLeastGain) {
    return Refusal{"Winograd would take " + decimal(1 / gain) +
                   " of a direct convolution's time: too few channels or tiles"};
  }
  return Task{convolution, rule};
}

double multiplications_share(const Task& task, Pass pass) {
  const Convolution& convolution = task.convolution;
  const Correlation c = convolution.correlation(pass);
  const auto tiles = static_cast<double>(Tiles(c, task.rule).total() * task.rule.positions());
  const Images& y = convolution.result;
  const auto pixels = static_cast<double>(y.count * y.height * y.width * convolution.taps * convolution.taps);
  return tiles * static_cast<double>(c.in.channels * c.out.channels) /
         (pixels * static_cast<double>(convolution.image.channels * convolution.filters()));
}

std::string kernel_name(const KernelRequest& request, Rule rule) {
  const std::string m = std::to_string(rule.m), r = std::to_string(rule.r);
  return own_name(std::string(request.def.name) + " winograd F(" + m + "x" + m + "," + r + "x" + r + ")");
}

}  // namespace ridgeline::device::winograd
