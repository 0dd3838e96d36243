#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/sum/sum_of_squares.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/sum/l2_penalty.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sum of squares: f32 within 1,024 elements, double across them.
template <std::int64_t kAhead>
double sum_of_squares(const float* HWY_RESTRICT x, std::int64_t n) {
  return sum_in_virtual_lanes<kAhead>(
      x, n, [](auto sum, auto v) HWY_ATTR { return hn::MulAdd(v, v, sum); },
      [](float v) { return static_cast<double>(v) * static_cast<double>(v); });
}

double squares_of_all(const float* x, std::int64_t n) { return sum_of_squares<768>(x, n); }
double squares_of_part(const float* x, std::int64_t n) { return sum_of_squares<0>(x, n); }

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(squares_of_all);
HWY_EXPORT(squares_of_part);

double squares_of(const float* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(squares_of_all)(x, n); }

double squares_in_cache(const float* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(squares_of_part)(x, n); }

namespace {

struct Piece {
  int operand;
  std::int64_t begin;
  std::int64_t end;
};

}  // namespace

KernelChoice make_own_l2_penalty(const KernelRequest& request) {
  constexpr std::int64_t kPiece = 64 * 1024;
  std::vector<Piece> pieces;
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const KernelOperand& operand = request.inputs[i];
    const auto elements = static_cast<std::int64_t>(operand.layout.bytes(operand.type) / sizeof(float));
    for (std::int64_t begin = 0; begin < elements; begin += kPiece) {
      pieces.push_back({static_cast<int>(i), begin, std::min(elements, begin + kPiece)});
    }
    layouts.push_back(operand.layout);
  }
  const double factor = request.node.attributes.real("factor");
  const std::size_t count = pieces.size();
  auto kernel =
      make_body_kernel(own_name("l2_penalty"), [pieces = std::move(pieces), factor](const KernelArguments& a) {
        auto* partial = static_cast<double*>(a.scratch);
        parallel_for(static_cast<std::int64_t>(pieces.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const Piece& piece = pieces[static_cast<std::size_t>(i)];
            partial[i] = squares_of(input<float>(a, piece.operand) + piece.begin, piece.end - piece.begin);
          }
        });
        double total = 0;
        for (std::size_t i = 0; i < pieces.size(); ++i) total += partial[i];
        *output<float>(a, 0) = static_cast<float>(factor * (total / 2));
      });
  kernel->input_layouts = std::move(layouts);
  kernel->output_layouts.resize(1);
  kernel->scratch_bytes = count * sizeof(double);
  return kernel;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
