// Layer norm and group norm, and their gradients (graph/op/layer_norm.h). x is [samples, positions, channels]. Where
// there is one position and one group, a sample is a row, which stays in the first-level cache from its sums to its
// results. Else sums are taken channel by channel over chunks of positions whose bounds depend on the shapes alone.
#include <cmath>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/norm/sample_norm_code.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/device/cpu/value_kernel.h"
#include "ridgeline/graph/op/layer_norm.h"

namespace ridgeline::device {
namespace {

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
    const auto code = norm_code_of<Value>().row;
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
    const auto code = norm_code_of<Value>().row_gradient;
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

// Chunks of the positions of every sample, and the statistics of each channel of each sample.
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
      const auto code = norm_code_of<Value>().sums;
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
    const auto code = norm_code_of<Value>().apply;
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
    const auto add_up = norm_code_of<Value>().gradient_sums;
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
    const auto code = norm_code_of<Value>().apply_gradient;
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
