#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/sum/softmax.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/for_lanes-inl.h"
#include "ridgeline/device/cpu/virtual_lanes-inl.h"

#ifndef RIDGELINE_OWN_SOFTMAX_ROW
#define RIDGELINE_OWN_SOFTMAX_ROW
namespace ridgeline::device {

struct SoftmaxRow {
  float largest = 0;
  double sum_exp = 0;  // of exp(z - largest)
  double sum = 0;      // of z
};

}  // namespace ridgeline::device
#endif

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(x) for x <= 0, within 2 units in the last place; 0 below the smallest normal number. x = n*ln2 + r with ln2 in
// two parts, a polynomial of degree 6 on |r| <= ln2/2 (Taylor terms: the remainder r^7/7! is below 2^-26), times 2^n.
template <class D, class V>
HWY_INLINE V exp_not_positive(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  auto p = hn::Set(d, 1.0f / 720);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  const auto tiny = hn::Lt(x, hn::Set(d, -87.0f));
  return hn::IfThenElse(tiny, hn::Zero(d), hn::Mul(p, hn::BitCast(d, exponent)));
}

// p = softmax(z) of one row.
SoftmaxRow softmax_row(const float* HWY_RESTRICT z, std::int64_t columns, float* HWY_RESTRICT p) {
  SoftmaxRow row;
  row.largest = z[0];
  for_lanes(columns, [&](auto d, std::int64_t c) HWY_ATTR {
    const float m = hn::GetLane(hn::MaxOfLanes(d, hn::LoadU(d, z + c)));
    if (m > row.largest) row.largest = m;
  });
  for_lanes(columns, [&](auto d, std::int64_t c) HWY_ATTR {
    const auto v = hn::LoadU(d, z + c);
    const auto e = exp_not_positive(d, hn::Sub(v, hn::Set(d, row.largest)));
    hn::StoreU(e, d, p + c);
  });
  row.sum_exp = sum_in_double(p, columns);
  row.sum = sum_in_double(z, columns);
  const auto scale = static_cast<float>(1.0 / row.sum_exp);
  for_lanes(columns, [&](auto d, std::int64_t c)
                         HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, p + c), hn::Set(d, scale)), d, p + c); });
  return row;
}

// The same for each of n rows whose elements are `step` apart: p = softmax(z) along the columns of [classes, step].
void softmax_columns(const float* HWY_RESTRICT z, std::int64_t classes, std::int64_t step, std::int64_t n,
                     float* HWY_RESTRICT p) {
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    auto largest = hn::LoadU(d, z + c);
    for (std::int64_t k = 1; k < classes; ++k) {
      const auto v = hn::LoadU(d, z + k * step + c);
      largest = hn::IfThenElse(hn::Gt(v, largest), v, largest);
    }
    auto sum = hn::Zero(d), lost = hn::Zero(d);  // Kahan's: `lost` is what the sum's roundings left out
    for (std::int64_t k = 0; k < classes; ++k) {
      const auto e = exp_not_positive(d, hn::Sub(hn::LoadU(d, z + k * step + c), largest));
      hn::StoreU(e, d, p + k * step + c);
      const auto term = hn::Sub(e, lost);
      const auto next = hn::Add(sum, term);
      lost = hn::Sub(hn::Sub(next, sum), term);
      sum = next;
    }
    const auto scale = hn::Div(hn::Set(d, 1.0f), sum);
    for (std::int64_t k = 0; k < classes; ++k) {
      hn::StoreU(hn::Mul(hn::LoadU(d, p + k * step + c), scale), d, p + k * step + c);
    }
  });
}

// dx = y * (dy - sum of y * dy) of one row; `dx` may be dy or y.
void softmax_row_gradient(const float* y, const float* dy, std::int64_t columns, float* dx) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= columns; i += 8) {
    for (int k = 0; k < 8; ++k) sums[k] += static_cast<double>(y[i + k]) * static_cast<double>(dy[i + k]);
  }
  for (int k = 0; i < columns; ++i, ++k) sums[k] += static_cast<double>(y[i]) * static_cast<double>(dy[i]);
  const auto sum =
      static_cast<float>(((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])));
  for_lanes(columns, [&](auto d, std::int64_t c) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, y + c), hn::Sub(hn::LoadU(d, dy + c), hn::Set(d, sum))), d, dx + c);
  });
}

// Likewise along the columns of [classes, step].
void softmax_columns_gradient(const float* y, const float* dy, std::int64_t classes, std::int64_t step, std::int64_t n,
                              float* dx) {
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    auto sum = hn::Zero(d), lost = hn::Zero(d);
    for (std::int64_t k = 0; k < classes; ++k) {
      const auto product = hn::Mul(hn::LoadU(d, y + k * step + c), hn::LoadU(d, dy + k * step + c));
      const auto term = hn::Sub(product, lost);
      const auto next = hn::Add(sum, term);
      lost = hn::Sub(hn::Sub(next, sum), term);
      sum = next;
    }
    for (std::int64_t k = 0; k < classes; ++k) {
      const std::int64_t at = k * step + c;
      hn::StoreU(hn::Mul(hn::LoadU(d, y + at), hn::Sub(hn::LoadU(d, dy + at), sum)), d, dx + at);
    }
  });
}

// dz = (p - smooth) * g; the label's own column is corrected by the caller.
void cross_entropy_gradient(const float* p, std::int64_t columns, float smooth, float g, float* dz) {
  for_lanes(columns, [&](auto d, std::int64_t c) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::Sub(hn::LoadU(d, p + c), hn::Set(d, smooth)), hn::Set(d, g)), d, dz + c);
  });
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(softmax_row);
HWY_EXPORT(softmax_columns);
HWY_EXPORT(softmax_row_gradient);
HWY_EXPORT(softmax_columns_gradient);
HWY_EXPORT(cross_entropy_gradient);

namespace {

struct Rows {
  std::int64_t rows;
  std::int64_t classes;
  double smoothing = 0;
  bool masked = false;
  bool shares = false;  // labels are shares of all classes
};

// For shares: the sum of q, and of q * z if needed.
struct Target {
  double all = 0, of_logits = 0;
};
Target target_of(const float* shares, const float* z, const Rows& shape) {
  const double smooth = shape.smoothing / static_cast<double>(shape.classes);
  Target target;
  for (std::int64_t k = 0; k < shape.classes; ++k) {
    const double q = (1 - shape.smoothing) * static_cast<double>(shares[k]) + smooth;
    target.all += q;
    if (z != nullptr && q != 0) target.of_logits += q * static_cast<double>(z[k]);  // infinite ones may have no share
  }
  return target;
}

bool has_shares(const KernelRequest& request) { return request.inputs[1].type.dtype != DType::i32; }

// Runs before the parallel region, so that the first bad row is reported. Masked rows may hold anything.
void check_labels(const std::int32_t* labels, const float* mask, const Rows& shape) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    if (mask != nullptr && mask[row] == 0) continue;
    if (labels[row] < 0 || labels[row] >= shape.classes) {
      throw Error("[softmax_cross_entropy] label " + std::to_string(labels[row]) + " of row " + std::to_string(row) +
                  " is outside the " + std::to_string(shape.classes) + " classes");
    }
  }
}

std::int64_t row_grain(const Rows& shape) { return std::max<std::int64_t>(1, 8192 / shape.classes); }

}  // namespace

namespace {

// A softmax over an axis: [outer, classes, inner]. Where the axis is not the last, ranges of `inner` are the work
// items.
struct Axis {
  std::int64_t outer = 1, classes = 1, inner = 1;
  static constexpr std::int64_t kPiece = 64;

  explicit Axis(const KernelRequest& request) {
    const Shape& shape = request.inputs[0].type.shape;
    const std::int64_t given = request.node.attributes.integer("axis");
    const std::int64_t axis = given < 0 ? given + shape.rank() : given;
    for (int a = 0; a < shape.rank(); ++a) (a < axis ? outer : a == axis ? classes : inner) *= shape[a];
  }

  // row(first element) for each row where these are contiguous, else columns(first element, how many).
  template <class Row, class Columns>
  void for_each(const Row& row, const Columns& columns) const {
    if (inner == 1) {
      parallel_for(outer, std::max<std::int64_t>(1, 8192 / classes), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t o = begin; o < end; ++o) row(o * classes);
      });
      return;
    }
    const std::int64_t pieces = (inner + kPiece - 1) / kPiece;
    parallel_for(outer * pieces, std::max<std::int64_t>(1, 8192 / (classes * kPiece)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t first = i % pieces * kPiece;
                     columns(i / pieces * classes * inner + first, std::min(kPiece, inner - first));
                   }
                 });
  }
};

}  // namespace

KernelChoice make_own_softmax(const KernelRequest& request) {
  if (request.inputs[0].type.shape.elements() == 0) return Refusal{"the operand is empty"};
  const Axis axis(request);
  return make_body_kernel(own_name("softmax"), [axis](const KernelArguments& a) {
    const float* z = input<float>(a, 0);
    float* p = output<float>(a, 0);
    axis.for_each(
        [&](std::int64_t at) {
          HWY_DYNAMIC_DISPATCH(softmax_row)
          (z + at, axis.classes, p + at);
        },
        [&](std::int64_t at, std::int64_t n) {
          HWY_DYNAMIC_DISPATCH(softmax_columns)(z + at, axis.classes, axis.inner, n, p + at);
        });
  });
}

KernelChoice make_own_softmax_bwd(const KernelRequest& request) {
  if (request.inputs[0].type.shape.elements() == 0) return Refusal{"the operands are empty"};
  const Axis axis(request);
  auto kernel = make_body_kernel(own_name("softmax_bwd"), [axis](const KernelArguments& a) {
    const float *y = input<float>(a, 0), *dy = input<float>(a, 1);
    float* dx = output<float>(a, 0);
    axis.for_each(
        [&](std::int64_t at) {
          HWY_DYNAMIC_DISPATCH(softmax_row_gradient)
          (y + at, dy + at, axis.classes, dx + at);
        },
        [&](std::int64_t at, std::int64_t n) {
          HWY_DYNAMIC_DISPATCH(softmax_columns_gradient)(y + at, dy + at, axis.classes, axis.inner, n, dx + at);
        });
  });
  kernel->in_place = {1};
  return kernel;
}

KernelChoice make_own_softmax_cross_entropy(const KernelRequest& request) {
  const Shape& type = request.inputs[0].type.shape;
  if (type.elements() == 0) return Refusal{"the logits are empty"};
  const Rows shape{type[0], type[1], request.node.attributes.real("label_smoothing"), request.inputs.size() == 3,
                   has_shares(request)};
  return make_body_kernel(own_name("softmax_cross_entropy"), [shape](const KernelArguments& a) {
    const auto* labels = shape.shares ? nullptr : input<std::int32_t>(a, 1);
    const float* shares = shape.shares ? input<float>(a, 1) : nullptr;
    const float* mask = shape.masked ? input<float>(a, 2) : nullptr;
    if (labels != nullptr) check_labels(labels, mask, shape);
    parallel_for(shape.rows, row_grain(shape), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* z = input<float>(a, 0) + row * shape.classes;
        const SoftmaxRow sums =
            HWY_DYNAMIC_DISPATCH(softmax_row)(z, shape.classes, output<float>(a, 1) + row * shape.classes);
        if (mask != nullptr && mask[row] == 0) {
          output<float>(a, 0)[row] = 0;
          continue;
        }
        const double normaliser = static_cast<double>(sums.largest) + portable_log(sums.sum_exp);
        if (shares != nullptr) {
          const Target target = target_of(shares + row * shape.classes, z, shape);
          output<float>(a, 0)[row] = static_cast<float>(normaliser * target.all - target.of_logits);
          continue;
        }
        const double of_label = normaliser - static_cast<double>(z[labels[row]]);
        const double of_all = normaliser - sums.sum / static_cast<double>(shape.classes);
        const double loss = (1 - shape.smoothing) * of_label + (shape.smoothing > 0 ? shape.smoothing * of_all : 0);
        output<float>(a, 0)[row] = static_cast<float>(loss);
      }
    });
  });
}

KernelChoice make_own_softmax_cross_entropy_bwd(const KernelRequest& request) {
  const Shape& type = request.inputs[0].type.shape;
  if (type.elements() == 0) return Refusal{"the probabilities are empty"};
  const Rows shape{type[0], type[1], request.node.attributes.real("label_smoothing"), request.inputs.size() == 4,
                   has_shares(request)};
  auto kernel = make_body_kernel(own_name("softmax_cross_entropy_bwd"), [shape](const KernelArguments& a) {
    const auto* labels = shape.shares ? nullptr : input<std::int32_t>(a, 1);
    const float* shares = shape.shares ? input<float>(a, 1) : nullptr;
    const float* mask = shape.masked ? input<float>(a, 3) : nullptr;
    if (labels != nullptr) check_labels(labels, mask, shape);
    const auto smooth = static_cast<float>(shape.smoothing / static_cast<double>(shape.classes));
    parallel_for(shape.rows, row_grain(shape), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        float* dz = output<float>(a, 0) + row * shape.classes;
        if (mask != nullptr && mask[row] == 0) {
          std::fill(dz, dz + shape.classes, 0.0f);
          continue;
        }
        const float* p = input<float>(a, 0) + row * shape.classes;
        const float g = input<float>(a, 2)[row];
        if (shares != nullptr) {
          const float* share = shares + row * shape.classes;
          const auto all = static_cast<float>(target_of(share, nullptr, shape).all);
          const auto kept = static_cast<float>(1 - shape.smoothing);
          for (std::int64_t k = 0; k < shape.classes; ++k) dz[k] = (p[k] * all - (kept * share[k] + smooth)) * g;
          continue;
        }
        const float at_label = p[labels[row]];  // before dz is written: it may share p's memory
        HWY_DYNAMIC_DISPATCH(cross_entropy_gradient)(p, shape.classes, smooth, g, dz);
        const double target = 1 - shape.smoothing + static_cast<double>(smooth);
        dz[labels[row]] = static_cast<float>((static_cast<double>(at_label) - target) * static_cast<double>(g));
      }
    });
  });
  kernel->in_place = {0};
  return kernel;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
