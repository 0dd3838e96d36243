// Layer norm and group norm, and their gradients (graph/op/layer_norm.h). x is [samples, positions, channels]. Where
// there is one position and one group, a sample is a row, which stays in the first cache from its sums to its results.
// Else sums are taken channel by channel over chunks of positions whose borders depend on the shapes alone.
#include <cmath>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/own/kernels.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/device/cpu/value_kernel.h"
#include "ridgeline/graph/op/layer_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/own/sample_norm.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/own/for_lanes-inl.h"
#include "ridgeline/device/cpu/own/storage-inl.h"
#include "ridgeline/device/cpu/own/virtual_lanes-inl.h"

#ifndef RIDGELINE_OWN_SAMPLE_NORM_TYPES
#define RIDGELINE_OWN_SAMPLE_NORM_TYPES
namespace ridgeline::device {

// What one kernel call works with; of the gradient where dy is given.
template <class Value>
struct NormRows {
  const Value* x;
  const Value* dy;
  Value* to;  // y or dx
};

// Per channel: to = (x - mean) * scale + shift.
struct NormLine {
  const float *mean, *scale, *shift;
};

// Per channel: dx = (dy * gamma - of_sum - xhat * of_product) * inv_std, xhat = (x - mean) * inv_std.
struct NormGradientLine {
  const float *mean, *inv_std, *gamma, *of_sum, *of_product;
};

// The functions of one vector target.
template <class Value>
struct NormCode {
  void (*row)(const NormRows<Value>& row, const float* gamma, const float* beta, std::int64_t n, double epsilon,
              float* buffer, float* mean, float* inv_std);
  void (*row_gradient)(const NormRows<Value>& row, const float* gamma, std::int64_t n, float mean, float inv_std,
                       float* buffer, float* dgamma, float* dbeta);
  void (*sums)(const Value* x, std::int64_t positions, std::int64_t channels, const float* mean, double* sums);
  void (*gradient_sums)(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels, const float* mean,
                        const float* inv_std, double* sums, double* products);
  void (*apply)(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels, const NormLine& line);
  void (*apply_gradient)(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels,
                         const NormGradientLine& line);
};

}  // namespace ridgeline::device
#endif

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- rows

template <class Value>
void norm_row(const NormRows<Value>& row, const float* HWY_RESTRICT gamma, const float* HWY_RESTRICT beta,
              std::int64_t n, double epsilon, float* HWY_RESTRICT buffer, float* mean_to, float* inv_std_to) {
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR { hn::StoreU(load(d, row.x + c), d, buffer + c); });
  const auto count = static_cast<double>(n);
  const double mean = sum_in_virtual_lanes<0>(
                          buffer, n, [](auto sum, auto v) HWY_ATTR { return hn::Add(sum, v); },
                          [](float v) { return static_cast<double>(v); }) /
                      count;
  const auto m = static_cast<float>(mean);
  for_lanes(n, [&](auto d, std::int64_t c)
                   HWY_ATTR { hn::StoreU(hn::Sub(hn::LoadU(d, buffer + c), hn::Set(d, m)), d, buffer + c); });
  const double squares = sum_in_virtual_lanes<0>(
      buffer, n, [](auto sum, auto v) HWY_ATTR { return hn::MulAdd(v, v, sum); },
      [](float v) { return static_cast<double>(v) * static_cast<double>(v); });
  const double rest = mean - static_cast<double>(m);  // what the mean lost when it was rounded
  const auto inv_std =
      static_cast<float>(1 / std::sqrt(std::max(squares / count - rest * rest, 0.0) + epsilon));  // NaN stays
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    const auto xhat = hn::Mul(hn::LoadU(d, buffer + c), hn::Set(d, inv_std));
    store(hn::Add(hn::Mul(xhat, hn::LoadU(d, gamma + c)), hn::LoadU(d, beta + c)), d, row.to + c);
  });
  *mean_to = m;
  *inv_std_to = inv_std;
}

// `buffer` is room for 2n floats. What the row adds to dgamma and dbeta is added to `dgamma`, `dbeta`.
template <class Value>
void norm_row_gradient(const NormRows<Value>& row, const float* HWY_RESTRICT gamma, std::int64_t n, float mean,
                       float inv_std, float* HWY_RESTRICT buffer, float* HWY_RESTRICT dgamma,
                       float* HWY_RESTRICT dbeta) {
  float* const xhat = buffer;
  float* const products = buffer + n;
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    const auto v = hn::Mul(hn::Sub(load(d, row.x + c), hn::Set(d, mean)), hn::Set(d, inv_std));
    const auto dy = load(d, row.dy + c);
    hn::StoreU(v, d, xhat + c);
    hn::StoreU(hn::Mul(dy, hn::LoadU(d, gamma + c)), d, products + c);
    hn::StoreU(hn::MulAdd(dy, v, hn::LoadU(d, dgamma + c)), d, dgamma + c);
    hn::StoreU(hn::Add(dy, hn::LoadU(d, dbeta + c)), d, dbeta + c);
  });
  const auto plain = [](auto sum, auto v) HWY_ATTR { return hn::Add(sum, v); };
  const auto one = [](float v) { return static_cast<double>(v); };
  const double sum = sum_in_virtual_lanes<0>(products, n, plain, one);
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, products + c), hn::LoadU(d, xhat + c)), d, products + c);
  });
  const double product = sum_in_virtual_lanes<0>(products, n, plain, one);
  const auto of_sum = static_cast<float>(sum / static_cast<double>(n));
  const auto of_product = static_cast<float>(product / static_cast<double>(n));
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    const auto g = hn::Sub(hn::Mul(load(d, row.dy + c), hn::LoadU(d, gamma + c)), hn::Set(d, of_sum));
    const auto v = hn::NegMulAdd(hn::LoadU(d, xhat + c), hn::Set(d, of_product), g);
    store(hn::Mul(v, hn::Set(d, inv_std)), d, row.to + c);
  });
}

// ---- channels over positions

// Sums over so many positions are taken in f32.
constexpr std::int64_t kNormBlock = 64;

// sums[c] += the sum of x[p,c], or of (x[p,c] - mean[c])^2 where there is a mean.
template <class Value>
void norm_sums(const Value* HWY_RESTRICT x, std::int64_t positions, std::int64_t channels, const float* mean,
               double* HWY_RESTRICT sums) {
  for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
    HWY_ALIGN float parts[HWY_LANES(float)];
    const auto m = mean == nullptr ? hn::Zero(d) : hn::LoadU(d, mean + c);
    for (std::int64_t block = 0; block < positions; block += kNormBlock) {
      auto sum = hn::Zero(d);
      for (std::int64_t p = block; p < std::min(positions, block + kNormBlock); ++p) {
        const auto v = hn::Sub(load(d, x + p * channels + c), m);
        sum = mean == nullptr ? hn::Add(sum, v) : hn::MulAdd(v, v, sum);
      }
      hn::StoreU(sum, d, parts);
      for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        sums[c + static_cast<std::int64_t>(i)] += static_cast<double>(parts[i]);
    }
  });
}

template <class Value>
void norm_gradient_sums(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels, const float* mean,
                        const float* inv_std, double* HWY_RESTRICT sums, double* HWY_RESTRICT products) {
  for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
    HWY_ALIGN float parts[HWY_LANES(float)];
    const auto m = hn::LoadU(d, mean + c), factor = hn::LoadU(d, inv_std + c);
    for (std::int64_t block = 0; block < positions; block += kNormBlock) {
      auto sum = hn::Zero(d), product = hn::Zero(d);
      for (std::int64_t p = block; p < std::min(positions, block + kNormBlock); ++p) {
        const auto dy = load(d, rows.dy + p * channels + c);
        sum = hn::Add(sum, dy);
        product = hn::MulAdd(dy, hn::Mul(hn::Sub(load(d, rows.x + p * channels + c), m), factor), product);
      }
      hn::StoreU(sum, d, parts);
      for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        sums[c + static_cast<std::int64_t>(i)] += static_cast<double>(parts[i]);
      hn::StoreU(product, d, parts);
      for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        products[c + static_cast<std::int64_t>(i)] += static_cast<double>(parts[i]);
    }
  });
}

template <class Value>
void norm_apply(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels, const NormLine& line) {
  for (std::int64_t p = 0; p < positions; ++p) {
    for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = hn::Sub(load(d, rows.x + p * channels + c), hn::LoadU(d, line.mean + c));
      store(hn::Add(hn::Mul(v, hn::LoadU(d, line.scale + c)), hn::LoadU(d, line.shift + c)), d,
            rows.to + p * channels + c);
    });
  }
}

template <class Value>
void norm_apply_gradient(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels,
                         const NormGradientLine& line) {
  for (std::int64_t p = 0; p < positions; ++p) {
    for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto factor = hn::LoadU(d, line.inv_std + c);
      const auto xhat = hn::Mul(hn::Sub(load(d, rows.x + p * channels + c), hn::LoadU(d, line.mean + c)), factor);
      const auto g = hn::Sub(hn::Mul(load(d, rows.dy + p * channels + c), hn::LoadU(d, line.gamma + c)),
                             hn::LoadU(d, line.of_sum + c));
      store(hn::Mul(hn::NegMulAdd(xhat, hn::LoadU(d, line.of_product + c), g), factor), d, rows.to + p * channels + c);
    });
  }
}

template <class Value>
NormCode<Value> norm_code() {
  return {norm_row<Value>,           norm_row_gradient<Value>, norm_sums<Value>,
          norm_gradient_sums<Value>, norm_apply<Value>,        norm_apply_gradient<Value>};
}
NormCode<float> norm_code_f32() { return norm_code<float>(); }
NormCode<bfloat16> norm_code_bf16() { return norm_code<bfloat16>(); }

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(norm_code_f32);
HWY_EXPORT(norm_code_bf16);

namespace {

// Of the vector target in force.
template <class Value>
NormCode<Value> code_of() {
  if constexpr (std::is_same_v<Value, float>) {
    return HWY_DYNAMIC_DISPATCH(norm_code_f32)();
  } else {
    return HWY_DYNAMIC_DISPATCH(norm_code_bf16)();
  }
}

// ---- rows

template <class Value>
class RowNorm final : public Kernel {
 public:
  RowNorm(const SampleNormForm& form, const KernelRequest& request)
      : form_(form), epsilon_(request.node.attributes.real("epsilon")) {
    scratch_bytes = static_cast<std::size_t>(threads_ * pitch()) * sizeof(float);
    in_place = {0, -1, -1};
    name = own_name(request.def.name + " of rows");
  }
  void run(const KernelArguments& a) override {
    const auto code = code_of<Value>().row;
    const ComputeScope team(threads_);
    for_each_item((form_.samples + kRows - 1) / kRows, [&](std::int64_t item, int thread) {
      for (std::int64_t row = item * kRows; row < std::min(form_.samples, (item + 1) * kRows); ++row) {
        const std::int64_t at = row * form_.channels;
        code({input<Value>(a, 0) + at, nullptr, output<Value>(a, 0) + at}, input<float>(a, 1), input<float>(a, 2),
             form_.channels, epsilon_, static_cast<float*>(a.scratch) + thread * pitch(), output<float>(a, 1) + row,
             output<float>(a, 2) + row);
      }
    });
  }

 private:
  static constexpr std::int64_t kRows = 16;
  std::int64_t pitch() const { return round_up(form_.channels, kLineFloats); }

  int threads_ = compute_threads();
  SampleNormForm form_;
  double epsilon_;
};

// Partial sums of dgamma and dbeta by chunks of rows, in f32 within a chunk.
template <class Value>
class RowNormGradient final : public Kernel {
 public:
  RowNormGradient(const SampleNormForm& form, const KernelRequest& request)
      : form_(form), chunks_(form.samples, 1, std::max<std::int64_t>(kChunks, form.samples / kMostRows)) {
    buffers_ = scratch_.reserve(threads_ * 2 * pitch());
    sums_ = scratch_.reserve(chunks_.count * 2 * form.channels);
    scratch_bytes = scratch_.bytes();
    in_place = {1, -1, -1};
    name = own_name(request.def.name + " of rows");
  }
  void run(const KernelArguments& a) override {
    const auto code = code_of<Value>().row_gradient;
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const std::int64_t n = form_.channels;
    for_each_item(chunks_.count, [&](std::int64_t chunk, int thread) {
      float* const sums = scratch + sums_ + chunk * 2 * n;
      std::fill(sums, sums + 2 * n, 0.0f);
      for (std::int64_t row = chunks_.begin(chunk); row < chunks_.end(chunk); ++row) {
        code({input<Value>(a, 0) + row * n, input<Value>(a, 1) + row * n, output<Value>(a, 0) + row * n},
             input<float>(a, 2), n, input<float>(a, 3)[row], input<float>(a, 4)[row],
             scratch + buffers_ + thread * 2 * pitch(), sums, sums + n);
      }
    });
    parallel_for(2 * n, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        double sum = 0;
        for (std::int64_t chunk = 0; chunk < chunks_.count; ++chunk) {
          sum += static_cast<double>(scratch[sums_ + chunk * 2 * n + c]);
        }
        (c < n ? output<float>(a, 1)[c] : output<float>(a, 2)[c - n]) = static_cast<float>(sum);
      }
    });
  }

 private:
  static constexpr std::int64_t kChunks = 64, kMostRows = 256;
  std::int64_t pitch() const { return round_up(form_.channels, kLineFloats); }

  int threads_ = compute_threads();
  SampleNormForm form_;
  Chunks chunks_;
  Scratch scratch_;
  std::int64_t buffers_, sums_;
};

// ---- channels over positions

// Chunks of the positions of every sample, and what is known of each channel of each sample.
class ChannelPlan {
 public:
  explicit ChannelPlan(const SampleNormForm& form) : form_(form), chunks_(form.positions, 64, 16) {}

  const SampleNormForm& form() const { return form_; }
  std::int64_t lines() const { return form_.samples * form_.channels; }
  std::int64_t tasks() const { return form_.samples * chunks_.count; }
  std::int64_t chunks() const { return chunks_.count; }

  // body(sample, chunk, first element of x, positions)
  template <class Body>
  void for_each(const Body& body) const {
    for_each_item(tasks(), [&](std::int64_t task, int) {
      const std::int64_t sample = task / chunks_.count, chunk = task % chunks_.count, first = chunks_.begin(chunk);
      body(sample, task, (sample * form_.positions + first) * form_.channels, chunks_.end(chunk) - first);
    });
  }
  // The sum over the chunks of a sample.
  double joined(const double* parts, std::int64_t sample, std::int64_t channel) const {
    double sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks_.count; ++chunk) {
      sum += parts[(sample * chunks_.count + chunk) * form_.channels + channel];
    }
    return sum;
  }
  // set(first channel, channels, sum over them) for each group of a sample.
  template <class Of, class Set>
  void for_each_group(const Of& of_channel, const Set& set) const {
    const std::int64_t width = form_.group_channels();
    for (std::int64_t g = 0; g < form_.groups; ++g) {
      double sum = 0;
      for (std::int64_t c = g * width; c < (g + 1) * width; ++c) sum += of_channel(c);
      set(g, g * width, width, sum);
    }
  }

 private:
  SampleNormForm form_;
  Chunks chunks_;
};

template <class Value>
class ChannelNorm final : public Kernel {
 public:
  ChannelNorm(const SampleNormForm& form, const KernelRequest& request)
      : plan_(form), epsilon_(request.node.attributes.real("epsilon")) {
    parts_ = scratch_.reserve(2 * plan_.tasks() * form.channels);  // double
    means_ = scratch_.reserve(plan_.lines());
    scales_ = scratch_.reserve(plan_.lines());
    scratch_bytes = scratch_.bytes();
    in_place = {0, -1, -1};
    name = own_name(request.def.name);
  }
  void run(const KernelArguments& a) override {
    const SampleNormForm& form = plan_.form();
    const std::int64_t channels = form.channels;
    const Value* const x = input<Value>(a, 0);
    const float* const gamma = input<float>(a, 1);
    float* const scratch = static_cast<float*>(a.scratch);
    auto* const parts = reinterpret_cast<double*>(scratch + parts_);
    float *const means = scratch + means_, *const scales = scratch + scales_;
    const auto add_up = [&](bool squares) {
      const auto code = code_of<Value>().sums;
      plan_.for_each([&](std::int64_t sample, std::int64_t task, std::int64_t at, std::int64_t positions) {
        double* const to = parts + task * channels;
        std::fill(to, to + channels, 0.0);
        code(x + at, positions, channels, squares ? means + sample * channels : nullptr, to);
      });
    };
    const auto count = static_cast<double>(form.group_values());
    add_up(false);
    for_each_item(form.samples, [&](std::int64_t sample, int) {
      plan_.for_each_group([&](std::int64_t c) { return plan_.joined(parts, sample, c); },
                           [&](std::int64_t g, std::int64_t first, std::int64_t width, double sum) {
                             const auto mean = static_cast<float>(sum / count);
                             output<float>(a, 1)[sample * form.groups + g] = mean;
                             std::fill_n(means + sample * channels + first, width, mean);
                           });
    });
    add_up(true);
    for_each_item(form.samples, [&](std::int64_t sample, int) {
      plan_.for_each_group([&](std::int64_t c) { return plan_.joined(parts, sample, c); },
                           [&](std::int64_t g, std::int64_t first, std::int64_t width, double squares) {
                             const auto inv_std = static_cast<float>(1 / std::sqrt(squares / count + epsilon_));
                             output<float>(a, 2)[sample * form.groups + g] = inv_std;
                             for (std::int64_t c = first; c < first + width; ++c)
                               scales[sample * channels + c] = inv_std * gamma[c];
                           });
    });
    const auto code = code_of<Value>().apply;
    plan_.for_each([&](std::int64_t sample, std::int64_t, std::int64_t at, std::int64_t positions) {
      code({x + at, nullptr, output<Value>(a, 0) + at}, positions, channels,
           {means + sample * channels, scales + sample * channels, input<float>(a, 2)});
    });
  }

 private:
  ChannelPlan plan_;
  double epsilon_;
  Scratch scratch_;
  std::int64_t parts_, means_, scales_;
};

template <class Value>
class ChannelNormGradient final : public Kernel {
 public:
  ChannelNormGradient(const SampleNormForm& form, const KernelRequest& request) : plan_(form) {
    for (std::int64_t* at : {&sums_, &products_}) *at = scratch_.reserve(2 * plan_.tasks() * form.channels);  // double
    for (std::int64_t* at : {&means_, &factors_, &of_sums_, &of_products_}) *at = scratch_.reserve(plan_.lines());
    scratch_bytes = scratch_.bytes();
    in_place = {1, -1, -1};
    name = own_name(request.def.name);
  }
  void run(const KernelArguments& a) override {
    const SampleNormForm& form = plan_.form();
    const std::int64_t channels = form.channels;
    const Value *const x = input<Value>(a, 0), *const dy = input<Value>(a, 1);
    const float* const gamma = input<float>(a, 2);
    float* const scratch = static_cast<float*>(a.scratch);
    auto *const sums = reinterpret_cast<double*>(scratch + sums_), *const products =
                                                                       reinterpret_cast<double*>(scratch + products_);
    float *const means = scratch + means_, *const factors = scratch + factors_;
    for_each_item(form.samples, [&](std::int64_t sample, int) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t group = sample * form.groups + c / form.group_channels();
        means[sample * channels + c] = input<float>(a, 3)[group];
        factors[sample * channels + c] = input<float>(a, 4)[group];
      }
    });
    const auto add_up = code_of<Value>().gradient_sums;
    plan_.for_each([&](std::int64_t sample, std::int64_t task, std::int64_t at, std::int64_t positions) {
      double *const to = sums + task * channels, *const to_products = products + task * channels;
      std::fill(to, to + channels, 0.0);
      std::fill(to_products, to_products + channels, 0.0);
      add_up({x + at, dy + at, nullptr}, positions, channels, means + sample * channels, factors + sample * channels,
             to, to_products);
    });
    const auto count = static_cast<double>(form.group_values());
    for_each_item(form.samples, [&](std::int64_t sample, int) {
      const auto spread = [&](const double* parts, float* to) {
        plan_.for_each_group(
            [&](std::int64_t c) { return plan_.joined(parts, sample, c) * static_cast<double>(gamma[c]); },
            [&](std::int64_t, std::int64_t first, std::int64_t width, double sum) {
              std::fill_n(to + sample * channels + first, width, static_cast<float>(sum / count));
            });
      };
      spread(sums, scratch + of_sums_);
      spread(products, scratch + of_products_);
    });
    parallel_for(channels, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        double dgamma = 0, dbeta = 0;
        for (std::int64_t sample = 0; sample < form.samples; ++sample) {
          dgamma += plan_.joined(products, sample, c);
          dbeta += plan_.joined(sums, sample, c);
        }
        output<float>(a, 1)[c] = static_cast<float>(dgamma);
        output<float>(a, 2)[c] = static_cast<float>(dbeta);
      }
    });
    const auto code = code_of<Value>().apply_gradient;
    plan_.for_each([&](std::int64_t sample, std::int64_t, std::int64_t at, std::int64_t positions) {
      const std::int64_t line = sample * channels;
      code({x + at, dy + at, output<Value>(a, 0) + at}, positions, channels,
           {means + line, factors + line, gamma, scratch + of_sums_ + line, scratch + of_products_ + line});
    });
  }

 private:
  ChannelPlan plan_;
  Scratch scratch_;
  std::int64_t sums_, products_, means_, factors_, of_sums_, of_products_;
};

template <template <class> class OfRows, template <class> class OfChannels>
KernelChoice make(const KernelRequest& request, std::size_t gamma) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  const ValueType& parameter = request.inputs[gamma].type;
  if (parameter.dtype != DType::f32) return Refusal{"parameters that are not f32"};
  const Shape& x = request.inputs[0].type.shape;
  const SampleNormForm form = sample_norm_form(x, parameter.shape, request.node.attributes);
  const DType dtype = request.inputs[0].type.dtype;
  if (form.positions == 1 && form.groups == 1) return value_kernel<OfRows>(dtype, form, request);
  return value_kernel<OfChannels>(dtype, form, request);
}

}  // namespace

KernelChoice make_own_sample_norm(const KernelRequest& request) { return make<RowNorm, ChannelNorm>(request, 1); }
KernelChoice make_own_sample_norm_bwd(const KernelRequest& request) {
  return make<RowNormGradient, ChannelNormGradient>(request, 2);
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
