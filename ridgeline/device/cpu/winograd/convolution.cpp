#include "ridgeline/device/cpu/winograd/convolution.h"

#include <algorithm>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/cpu/speeds.h"
#include "ridgeline/device/cpu/winograd/cut.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::device::winograd {
namespace {

namespace costs = speeds::winograd;

// Rules that read at most 8 pixels a side: beyond, the error grows faster than the speed.
constexpr Sizes kSizes[] = {{2, 2, 3}, {4, 4, 3}, {5, 5, 3}, {6, 6, 3}, {5, 4, 3}, {6, 4, 3}, {2, 2, 5}, {4, 4, 5}};

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

// Time in units of one multiply-add at the vector units' peak, for one thread: estimates that decide whether and which
// rule is used, by the numbers of speeds.h.
class Estimate {
 public:
  // Whether direct products of bf16 are faster than those of f32.
  static bool narrow(DType dtype) { return dtype == DType::bf16 && bf16_products_rate() > 1; }
  // Of images of `dtype`.
  static double direct(const Convolution& c, Pass pass, DType dtype) {
    const auto taps = static_cast<double>(c.taps * c.taps);
    if (!narrow(dtype)) return products(c) / share(c, pass, costs::kTapShare * taps);
    const double direct =
        products(c) / share(c, pass, costs::kNarrowShare + costs::kNarrowTapShare * taps) / bf16_products_rate();
    if (pass == Pass::backward_weights) return direct;
    const double cast = pass == Pass::forward ? costs::kForwardCast : costs::kCast;
    return direct + cast * taps * static_cast<double>(c.image.channels * c.filters() * lanes());
  }
  static double winograd(const Convolution& convolution, const std::vector<Region>& regions, Pass pass,
                         DType dtype = DType::f32) {
    const double transform = narrow(dtype) ? costs::kNarrowTransform : costs::kTransform;
    double sum = 0;
    for (const Region& region : regions) sum += winograd(convolution, region, pass, transform);
    return sum;
  }

 private:
  static double products(const Convolution& c) {
    return static_cast<double>(c.result.count * c.result.height * c.result.width * c.taps * c.taps) *
           static_cast<double>(c.image.channels * c.filters());
  }
  // The share of the peak that direct kernels reach: `few` in weight gradients of images of few channels.
  static double share(const Convolution& c, Pass pass, double few) {
    if (pass != Pass::backward_weights) return costs::kDirectShare;
    return c.image.channels < costs::kFewChannels ? std::min(costs::kMostOfFew, few) : costs::kDirectWeightsShare;
  }

  static double winograd(const Convolution& convolution, const Region& region, Pass pass, double transform_cost) {
    const Correlation c = convolution.correlation(pass);
    const auto positions = static_cast<double>(region.rule.positions());
    // A vector of transformed elements costs what some vectors of multiply-adds cost, whatever the vector's length.
    const double transform = transform_cost * static_cast<double>(lanes());
    const double weights =
        (pass == Pass::forward ? costs::kForwardWeights : costs::kWeights) * static_cast<double>(lanes());
    const double tiles = static_cast<double>(Tiles(c, region).total()) * positions;
    // In whole vectors.
    const std::int64_t in = round_up(c.in.channels, lanes()), out = round_up(c.out.channels, lanes());
    const double products = tiles * static_cast<double>(in * out) / costs::kProductShare;
    const std::int64_t read = convolution.stride > 1 ? 2 : 1;  // gathered first
    const double pixels = tiles * static_cast<double>(read * in + out) * transform;
    return products + pixels + positions * static_cast<double>(in * out) * weights;
  }
};

bool wanted(Sizes sizes, const Wish& wish) {
  // With AVX-512, products are so fast that making and reading four forms of the weights takes what they save.
  if (wish.m == 0) return sizes.large == sizes.small || lanes() <= 8;
  return sizes.large == wish.m && sizes.small == (wish.n == 0 ? wish.m : wish.n);
}

// The cut with the least estimate; of equals the one with the smaller tiles and error. Empty where none is allowed.
std::vector<Region> choose_regions(const Convolution& convolution, Pass pass, const Wish& wish) {
  const Correlation shape = convolution.correlation(pass);
  std::vector<Region> best;
  double least = 0;
  for (const Sizes sizes : kSizes) {
    if (sizes.r != shape.taps || !wanted(sizes, wish)) continue;
    std::vector<Region> regions = cut(shape, sizes);
    double estimate = Estimate::winograd(convolution, regions, pass);
    if (sizes.large != sizes.small) estimate *= costs::kLeastMixedGain;
    if (!best.empty() && estimate >= least) continue;
    best = std::move(regions);
    least = estimate;
  }
  return best;
}

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
  const std::int64_t beyond = window.stride[0] > 1 ? 1 : 0;
  if (x.shape[1] < window.kernel[0] + beyond || x.shape[2] < window.kernel[1] + beyond) {
    return Refusal{"an image of " + std::to_string(x.shape[1]) + "x" + std::to_string(x.shape[2]) + " is " +
                   (beyond > 0 ? "no larger" : "smaller") + " than the " + pair_text(window.kernel) +
                   " kernel: what its padding leaves would be lost among rounding errors"};
  }
  const Convolution convolution{images_of(x.shape), images_of(y.shape),   window.kernel[0],
                                window.stride[0],   window.pad_before[0], window.pad_before[1]};
  Task task{convolution, choose_regions(convolution, pass, wish)};
  if (task.regions.empty()) {
    return Refusal{"no Winograd rule with tiles of " + std::to_string(wish.m) +
                   (wish.n == 0 ? "" : " and " + std::to_string(wish.n))};
  }
  const double gain =
      Estimate::direct(convolution, pass, x.dtype) / Estimate::winograd(convolution, task.regions, pass, x.dtype);
  if (wish.only_where_faster && gain < (Estimate::narrow(x.dtype) ? costs::kLeastNarrowGain : costs::kLeastGain)) {
    return Refusal{"Winograd would take " + decimal(1 / gain) +
                   " of a direct convolution's time: too few channels or tiles"};
  }
  return task;
}

double multiplications_share(const Task& task, Pass pass) {
  const Convolution& convolution = task.convolution;
  const Correlation c = convolution.correlation(pass);
  double tiles = 0;
  for (const Region& region : task.regions)
    tiles += static_cast<double>(Tiles(c, region).total() * region.rule.positions());
  const Images& y = convolution.result;
  const auto pixels = static_cast<double>(y.count * y.height * y.width * convolution.taps * convolution.taps);
  return tiles * static_cast<double>(c.in.channels * c.out.channels) /
         (pixels * static_cast<double>(convolution.image.channels * convolution.filters()));
}

std::string kernel_name(const KernelRequest& request, const Task& task) {
  const Rule &first = task.regions.front().rule, &last = task.regions.back().rule;
  const int large = std::max(first.m, first.n), small = std::min(last.m, last.n);
  const std::string m = std::to_string(large), r = std::to_string(first.r);
  const std::string tiles = large == small ? m + "x" + m : m + "+" + std::to_string(small);
  return own_name(std::string(request.def.name) + " winograd F(" + tiles + "," + r + "x" + r + ")");
}

}  // namespace ridgeline::device::winograd
