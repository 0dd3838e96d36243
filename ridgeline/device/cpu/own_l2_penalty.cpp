#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own_common.h"
#include "ridgeline/device/cpu/own_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/own_l2_penalty.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sum of squares: f32 within 1,024 elements, double across them.
double sum_of_squares(const float* HWY_RESTRICT x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  double total = 0;
  for (std::int64_t block = 0; block < n; block += 1024) {
    const std::int64_t last = std::min(n, block + 1024);
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    std::int64_t i = block;
    for (; i + 4 * lanes <= last; i += 4 * lanes) {
      const auto a = hn::LoadU(d, x + i);
      const auto b = hn::LoadU(d, x + i + lanes);
      const auto e = hn::LoadU(d, x + i + 2 * lanes);
      const auto f = hn::LoadU(d, x + i + 3 * lanes);
      s0 = hn::MulAdd(a, a, s0);
      s1 = hn::MulAdd(b, b, s1);
      s2 = hn::MulAdd(e, e, s2);
      s3 = hn::MulAdd(f, f, s3);
    }
    double rest = 0;
    for (; i < last; ++i) rest += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const auto sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum))) + rest;
  }
  return total;
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(sum_of_squares);

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
            partial[i] = HWY_DYNAMIC_DISPATCH(sum_of_squares)(input<float>(a, piece.operand) + piece.begin,
                                                              piece.end - piece.begin);
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
