#include <type_traits>

#include "ridgeline/device/cpu/norm/batch_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/norm/batch_norm_bwd.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/cache_control.h"
#include "ridgeline/device/cpu/for_lanes-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows that are summed in f32 before the sums are widened, and how many of them at a time.
constexpr std::int64_t kBlockRows = 32;
constexpr int kRows = 4;
// Channels whose sums stay in the first-level cache.
constexpr std::int64_t kStrip = 1024;

// g of the elements from `at` on; `distance` is x - mean there.
template <Gate kGate, bool kCeiling, bool kAddend, class T, class D, class V>
HWY_INLINE V gated(D d, const GradientOperands<T>& o, std::int64_t at, V distance, V scale, V beta) {
  V g = load(d, o.dy + at);
  if constexpr (kAddend) g = as_stored<T>(d, hn::Add(g, load(d, o.addend + at)));  // as two ops would
  if constexpr (kGate != Gate::none) {
    V y;
    if constexpr (kGate == Gate::of_x) y = hn::MulAdd(distance, scale, beta);
    if constexpr (kGate == Gate::of_y) y = load(d, o.y + at);
    g = hn::IfThenZeroElse(hn::Le(y, hn::Zero(d)), g);
    if constexpr (kCeiling) {
      if constexpr (kGate == Gate::of_x) y = as_stored<T>(d, y);  // may have been rounded up to the ceiling
      g = hn::IfThenZeroElse(hn::Ge(y, hn::Set(d, o.ceiling)), g);
    }
  }
  return g;
}

// How many floats ahead are prefetched.
constexpr std::int64_t kAhead = 1024;

// Prefetches what gated() will read.
template <Gate kGate, bool kAddend, class T>
HWY_INLINE void ask(const GradientOperands<T>& o, std::int64_t at) {
  hwy::Prefetch(o.x + at);
  hwy::Prefetch(o.dy + at);
  if constexpr (kAddend) hwy::Prefetch(o.addend + at);
  if constexpr (kGate == Gate::of_y) hwy::Prefetch(o.y + at);
}

// sum_g[c] = sum of g, sum_gx[c] = sum of g * (x - mean), for up to kStrip channels from `first` on: memory is read in
// order, or in long pieces. Writes g to `passed` unless that is null; it may overwrite dy.
template <Gate kGate, bool kCeiling, bool kAddend, class T>
void sum_block(const GradientOperands<T>& o, std::int64_t begin, std::int64_t end, std::int64_t channels,
               std::int64_t first, T* passed, double* HWY_RESTRICT sum_g, double* HWY_RESTRICT sum_gx) {
  HWY_ALIGN float plain[kStrip];
  HWY_ALIGN float product[kStrip];
  const std::int64_t strip = std::min(kStrip, channels - first);
  std::fill_n(plain, strip, 0.0f);
  std::fill_n(product, strip, 0.0f);
  const std::int64_t ahead = (kAhead + strip - 1) / strip * channels;
  const auto add = [&](std::int64_t row, auto rows) HWY_ATTR {
    for_lanes(strip, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto mean = hn::LoadU(d, o.mean + first + c);
      auto scale = hn::Zero(d), beta = hn::Zero(d);
      if constexpr (kGate == Gate::of_x) {
        scale = hn::LoadU(d, o.scale + first + c);
        beta = hn::LoadU(d, o.beta + first + c);
      }
      auto s = hn::Load(d, plain + c), p = hn::Load(d, product + c);
      for (int i = 0; i < rows; ++i) {
        const std::int64_t at = (row + i) * channels + first + c;
        ask<kGate, kAddend>(o, at + ahead);
        const auto distance = hn::Sub(load(d, o.x + at), mean);
        const auto g = gated<kGate, kCeiling, kAddend, T>(d, o, at, distance, scale, beta);
        if (passed != nullptr) store(g, d, passed + at);
        s = hn::Add(s, g);
        p = hn::MulAdd(g, distance, p);
      }
      hn::Store(s, d, plain + c);
      hn::Store(p, d, product + c);
    });
  };
  std::int64_t row = begin;
  for (; row + kRows <= end; row += kRows) add(row, std::integral_constant<int, kRows>());
  for (; row < end; ++row) add(row, std::integral_constant<int, 1>());
  for (std::int64_t c = 0; c < strip; ++c) {
    sum_g[first + c] += static_cast<double>(plain[c]);
    sum_gx[first + c] += static_cast<double>(product[c]);
  }
}

template <Gate kGate, bool kCeiling, bool kAddend, class T>
void sum_rows(const GradientOperands<T>& o, std::int64_t rows, std::int64_t channels, T* passed, double* sum_g,
              double* sum_gx) {
  for (std::int64_t c = 0; c < channels; ++c) sum_g[c] = sum_gx[c] = 0;
  for (std::int64_t block = 0; block < rows; block += kBlockRows) {
    for (std::int64_t first = 0; first < channels; first += kStrip) {
      sum_block<kGate, kCeiling, kAddend>(o, block, std::min(rows, block + kBlockRows), channels, first, passed, sum_g,
                                          sum_gx);
    }
  }
}

// dx = g * a + (x - mean) * b + e, channel by channel. dx may overwrite x, dy or the addend.
template <Gate kGate, bool kCeiling, bool kAddend, class T>
void rows_of_dx(const GradientOperands<T>& o, std::int64_t rows, std::int64_t channels, const float* HWY_RESTRICT a,
                const float* HWY_RESTRICT b, const float* HWY_RESTRICT e, T* dx) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row * channels;
    for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      ask<kGate, kAddend>(o, first + c + kAhead);
      const auto distance = hn::Sub(load(d, o.x + first + c), hn::LoadU(d, o.mean + c));
      auto scale = hn::Zero(d), beta = hn::Zero(d);
      if constexpr (kGate == Gate::of_x) {
        scale = hn::LoadU(d, o.scale + c);
        beta = hn::LoadU(d, o.beta + c);
      }
      const auto g = gated<kGate, kCeiling, kAddend, T>(d, o, first + c, distance, scale, beta);
      const auto offset = hn::MulAdd(distance, hn::LoadU(d, b + c), hn::LoadU(d, e + c));
      store(hn::MulAdd(g, hn::LoadU(d, a + c), offset), d, dx + first + c);
    });
  }
}

template <Gate kGate, bool kCeiling, class T>
void sums_of_gate(const GradientOperands<T>& o, std::int64_t rows, std::int64_t channels, T* passed, double* sum_g,
                  double* sum_gx) {
  const auto run = o.addend != nullptr ? sum_rows<kGate, kCeiling, true, T> : sum_rows<kGate, kCeiling, false, T>;
  run(o, rows, channels, passed, sum_g, sum_gx);
}

template <class T>
void gradient_sums(const GradientOperands<T>& o, std::int64_t rows, std::int64_t channels, T* passed, double* sum_g,
                   double* sum_gx) {
  switch (o.gate) {
    case Gate::none: return sums_of_gate<Gate::none, false>(o, rows, channels, passed, sum_g, sum_gx);
    case Gate::of_x:
      return o.ceiling > 0 ? sums_of_gate<Gate::of_x, true>(o, rows, channels, passed, sum_g, sum_gx)
                           : sums_of_gate<Gate::of_x, false>(o, rows, channels, passed, sum_g, sum_gx);
    case Gate::of_y:
      return o.ceiling > 0 ? sums_of_gate<Gate::of_y, true>(o, rows, channels, passed, sum_g, sum_gx)
                           : sums_of_gate<Gate::of_y, false>(o, rows, channels, passed, sum_g, sum_gx);
  }
}

template <Gate kGate, bool kCeiling, class T>
void dx_of_gate(const GradientOperands<T>& o, std::int64_t rows, std::int64_t channels, const float* a, const float* b,
                const float* e, T* dx) {
  const auto run = o.addend != nullptr ? rows_of_dx<kGate, kCeiling, true, T> : rows_of_dx<kGate, kCeiling, false, T>;
  run(o, rows, channels, a, b, e, dx);
}

template <class T>
void gradient_rows(const GradientOperands<T>& o, std::int64_t rows, std::int64_t channels, const float* a,
                   const float* b, const float* e, T* dx) {
  switch (o.gate) {
    case Gate::none: return dx_of_gate<Gate::none, false>(o, rows, channels, a, b, e, dx);
    case Gate::of_x:
      return o.ceiling > 0 ? dx_of_gate<Gate::of_x, true>(o, rows, channels, a, b, e, dx)
                           : dx_of_gate<Gate::of_x, false>(o, rows, channels, a, b, e, dx);
    case Gate::of_y:
      return o.ceiling > 0 ? dx_of_gate<Gate::of_y, true>(o, rows, channels, a, b, e, dx)
                           : dx_of_gate<Gate::of_y, false>(o, rows, channels, a, b, e, dx);
  }
}

void gradient_sums_f32(const GradientOperands<float>& o, std::int64_t rows, std::int64_t channels, float* passed,
                       double* sum_g, double* sum_gx) {
  gradient_sums(o, rows, channels, passed, sum_g, sum_gx);
}
void gradient_sums_bf16(const GradientOperands<bfloat16>& o, std::int64_t rows, std::int64_t channels, bfloat16* passed,
                        double* sum_g, double* sum_gx) {
  gradient_sums(o, rows, channels, passed, sum_g, sum_gx);
}
void gradient_rows_f32(const GradientOperands<float>& o, std::int64_t rows, std::int64_t channels, const float* a,
                       const float* b, const float* e, float* dx) {
  gradient_rows(o, rows, channels, a, b, e, dx);
}
void gradient_rows_bf16(const GradientOperands<bfloat16>& o, std::int64_t rows, std::int64_t channels, const float* a,
                        const float* b, const float* e, bfloat16* dx) {
  gradient_rows(o, rows, channels, a, b, e, dx);
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(gradient_sums_f32);
HWY_EXPORT(gradient_sums_bf16);
HWY_EXPORT(gradient_rows_f32);
HWY_EXPORT(gradient_rows_bf16);

namespace {

void gradient_sums(const GradientOperands<float>& o, std::int64_t rows, std::int64_t channels, float* passed,
                   double* sum_g, double* sum_gx) {
  HWY_DYNAMIC_DISPATCH(gradient_sums_f32)(o, rows, channels, passed, sum_g, sum_gx);
}
void gradient_sums(const GradientOperands<bfloat16>& o, std::int64_t rows, std::int64_t channels, bfloat16* passed,
                   double* sum_g, double* sum_gx) {
  HWY_DYNAMIC_DISPATCH(gradient_sums_bf16)(o, rows, channels, passed, sum_g, sum_gx);
}
void gradient_rows(const GradientOperands<float>& o, std::int64_t rows, std::int64_t channels, const float* a,
                   const float* b, const float* e, float* dx) {
  HWY_DYNAMIC_DISPATCH(gradient_rows_f32)(o, rows, channels, a, b, e, dx);
}
void gradient_rows(const GradientOperands<bfloat16>& o, std::int64_t rows, std::int64_t channels, const float* a,
                   const float* b, const float* e, bfloat16* dx) {
  HWY_DYNAMIC_DISPATCH(gradient_rows_bf16)(o, rows, channels, a, b, e, dx);
}

// The node's attributes: where its optional operands and results are.
struct Form {
  Gate gate = Gate::none;
  float ceiling = 0;    // 0: none
  int addend = -1;      // operand
  bool passed = false;  // g is result 3

  explicit Form(const KernelRequest& request) {
    const std::string& name = request.node.attributes.string("gate");
    if (name == "of_x") gate = Gate::of_x;
    if (name == "of_y") gate = Gate::of_y;
    ceiling = static_cast<float>(request.node.attributes.real("ceiling"));
    if (request.node.attributes.boolean("addend")) addend = static_cast<int>(request.inputs.size()) - 1;
    passed = request.outputs.size() == 4;
  }
};

// With xhat = (x - mean) * inv_std over M rows:
// dx = gamma * inv_std * (g - sum(g)/M - xhat * sum(g * xhat)/M), dgamma = sum(g * xhat), dbeta = sum(g).
template <class T>
void backward(const Norm& norm, const Form& form, const KernelArguments& a) {
  const auto *gamma = input<float>(a, 2), *inv_std = input<float>(a, 4);
  auto* dx = output<T>(a, 0);
  auto *dgamma = output<float>(a, 1), *dbeta = output<float>(a, 2);
  T* passed = form.passed ? output<T>(a, 3) : nullptr;
  float *g_factor = norm.factors(a.scratch, 0), *x_factor = norm.factors(a.scratch, 1),
        *offset = norm.factors(a.scratch, 2), *scale = norm.factors(a.scratch, 3);
  for (std::int64_t c = 0; c < norm.channels; ++c) scale[c] = inv_std[c] * gamma[c];  // as the forward pass has it
  GradientOperands<T> operands{form.gate,
                               form.ceiling,
                               input<T>(a, 0),
                               input<T>(a, 1),
                               form.addend < 0 ? nullptr : input<T>(a, form.addend),
                               form.gate == Gate::of_y ? input<T>(a, 5) : nullptr,
                               input<float>(a, 3),
                               scale,
                               form.gate == Gate::of_x ? input<float>(a, 5) : nullptr};
  parallel_for(norm.chunks.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = norm.chunks.begin(chunk);
      const std::int64_t at = first * norm.channels;
      double* partial = norm.partial(a.scratch, chunk);
      gradient_sums(operands.from(at), norm.chunks.end(chunk) - first, norm.channels,
                    passed == nullptr ? nullptr : passed + at, partial, partial + norm.channels);
    }
  });
  const auto count = static_cast<double>(norm.rows);
  const auto finish = [&](std::int64_t c) {
    double sum_g = 0;
    double sum_gx = 0;
    for (std::int64_t chunk = 0; chunk < norm.chunks.count; ++chunk) {
      const double* partial = norm.partial(a.scratch, chunk);
      sum_g += partial[c];
      sum_gx += partial[norm.channels + c];
    }
    const auto inverse = static_cast<double>(inv_std[c]);
    const double factor = static_cast<double>(gamma[c]) * inverse;
    dgamma[c] = static_cast<float>(sum_gx * inverse);
    dbeta[c] = static_cast<float>(sum_g);
    g_factor[c] = static_cast<float>(factor);
    x_factor[c] = static_cast<float>(-factor * inverse * inverse * sum_gx / count);
    offset[c] = static_cast<float>(-factor * sum_g / count);
  };
  for_channels(norm, finish);
  if (passed != nullptr) {  // g is there already
    operands.gate = Gate::none;
    operands.dy = passed;
    operands.addend = operands.y = nullptr;
  }
  parallel_for(norm.rows, norm.thread_rows(), [&](std::int64_t begin, std::int64_t end) {
    norm.from_behind(begin, end, [&](std::int64_t first, std::int64_t rows) {
      const std::int64_t at = first * norm.channels;
      gradient_rows(operands.from(at), rows, norm.channels, g_factor, x_factor, offset, dx + at);
    });
  });
}

}  // namespace

KernelChoice make_own_batch_norm_bwd(const KernelRequest& request) {
  if (auto refusal = refuse_norm(request)) return *refusal;
  const Norm norm(request.inputs[0].type.shape, summing_team(request));
  const Form form(request);
  auto kernel =
      make_body_kernel(own_name("batch_norm_bwd"), [=, dtype = request.inputs[0].type.dtype](const KernelArguments& a) {
        with_type(dtype, [&](auto stored) { backward<decltype(stored)>(norm, form, a); });
      });
  kernel->scratch_bytes = norm.scratch_bytes();
  // g replaces dy, then dx replaces x; else dx replaces dy.
  if (form.passed)
    kernel->in_place = {0, -1, -1, 1};
  else
    kernel->in_place = {1, -1, -1};
  return kernel;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
