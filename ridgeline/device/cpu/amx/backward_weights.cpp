#include <algorithm>

#include "ridgeline/device/cpu/amx/gradient_units.h"
#include "ridgeline/device/cpu/amx/kernels.h"
#include "ridgeline/device/cpu/own/common.h"

namespace ridgeline::device {
namespace amx {
namespace {

// The gradient is cut into items by groups, by ranges of columns, and, where that makes too few of them, by ranges of
// units; sums of the latter are added in order at the end. All of it follows from the shapes alone, so the bits do not
// depend on the team.
class BackwardWeightsKernel final : public Kernel {
 public:
  BackwardWeightsKernel(const Convolution& c, bool patches, Tiles tiles, bool bias)
      : groups_(c.groups),
        filters_(c.group_filters()),
        code_(tile_code(tiles)),
        units_(forward_correlation(c), patches, kUnitPixels),
        bias_(bias) {
    const std::int64_t filter_blocks = blocks_of(filters_, kBlock);
    const std::int64_t column_blocks = blocks_of(units_.columns(), kBlock);
    const std::int64_t sums_of_block = filter_blocks * units_.taps() * 4 * kTileSums;
    range_ = std::clamp<std::int64_t>(kSumBytes / (sums_of_block * 4), 1, column_blocks);
    range_ = blocks_of(column_blocks, blocks_of(column_blocks, range_));
    ranges_ = blocks_of(column_blocks, range_);
    const std::int64_t sums = groups_ * column_blocks * sums_of_block;
    parts_ = std::min(
        {blocks_of(kItems, groups_ * ranges_), units_.count(), std::max<std::int64_t>(1, kPartBytes / (sums * 4))});
    sums_of_part_ = groups_ * ranges_ * range_ * sums_of_block;
    const std::int64_t threads = compute_threads();
    sums_at_ = scratch_.reserve(parts_ * sums_of_part_);
    if (bias_) bias_at_ = scratch_.reserve(parts_ * groups_ * filters_ * 2);
    a_values_ = filter_blocks * 2 * units_.steps() * kTileValues;
    b_values_ = range_ * 2 * units_.column_values();
    values_ = round_up(a_values_ + b_values_ + units_.spare_values(), 2 * kLineFloats);
    bias_floats_ = round_up(filters_, kLineFloats);
    thread_floats_ = values_ / 2 + bias_floats_;
    memory_ = scratch_.reserve(threads * thread_floats_);
    for (std::int64_t i = 0; i < units_.steps(); ++i) a_offsets_.push_back(i * kTileValues);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    for_each_item(parts_ * groups_ * ranges_, [&](std::int64_t item, int thread) {
      const TileScope scope(code_);
      run_item(item, input<bfloat16>(a, 0), input<bfloat16>(a, 1), scratch, thread);
    });
    parallel_for(groups_ * filters_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        if (result_type == DType::f32) {
          add_parts(scratch + sums_at_, row, output<float>(a, 0), [](float v) { return v; });
        } else {
          add_parts(scratch + sums_at_, row, output<bfloat16>(a, 0), to_bfloat16);
        }
      }
    });
    if (bias_) finish_bias(reinterpret_cast<const double*>(scratch + bias_at_), a.outputs[1]);
  }

  DType result_type = DType::f32;
  DType bias_type = DType::f32;

 private:
  // Pixels of a unit.
  static constexpr std::int64_t kUnitPixels = 256;
  // Blocks of 32 filters that are multiplied while the rows of B are in the first cache.
  static constexpr std::int64_t kNear = 2;
  // Sums of an item: part of the second cache. Items with more channels transpose dy less often.
  static constexpr std::int64_t kSumBytes = 768 << 10;
  static constexpr std::int64_t kItems = 16;            // enough for teams of some threads
  static constexpr std::int64_t kPartBytes = 48 << 20;  // sums of all parts, at most

  // Sums lie as [part][group][range][32 filters][32 columns][tap][2][2][16][16].
  std::int64_t sums_of_item() const { return sums_of_part_ / (groups_ * ranges_); }
  std::int64_t block_at(std::int64_t filter_block, std::int64_t column_block, std::int64_t tap) const {
    return ((filter_block * range_ + column_block) * units_.taps() + tap) * 4 * kTileSums;
  }

  void run_item(std::int64_t item, const bfloat16* x, const bfloat16* dy, float* scratch, int thread) const {
    const std::int64_t range = item % ranges_, group = item / ranges_ % groups_, part = item / ranges_ / groups_;
    const std::int64_t first = range * range_ * kBlock;
    const std::int64_t columns = std::min(range_ * kBlock, units_.columns() - first);
    float* const sums = scratch + sums_at_ + part * sums_of_part_ + (group * ranges_ + range) * sums_of_item();
    float* const own = scratch + memory_ + thread * thread_floats_;
    auto* const a = reinterpret_cast<bfloat16*>(own);
    bfloat16* const b = a + a_values_;
    double* bias = nullptr;
    if (bias_ && range == 0) {
      bias = reinterpret_cast<double*>(scratch + bias_at_) + (part * groups_ + group) * filters_;
      std::fill_n(bias, filters_, 0.0);
    }
    const std::int64_t begin = part * units_.count() / parts_, end = (part + 1) * units_.count() / parts_;
    for (std::int64_t number = begin; number < end; ++number) {
      const GradientUnits::Unit unit = units_.unit(number);
      units_.stage_gradient(code_, dy, unit, group * filters_, filters_, a);
      units_.stage_image(code_, x, unit, group, first, columns, b + b_values_, b);
      multiply(a, b, units_.steps(unit), columns, number > begin, sums);
      if (bias != nullptr) add_bias(dy, unit, group, own + values_ / 2, bias);
    }
  }

  void multiply(const bfloat16* a, const bfloat16* b, std::int64_t steps, std::int64_t columns, bool add,
                float* sums) const {
    TileProduct product{};
    product.a_row = kTileDepth;
    product.a_offsets = a_offsets_.data();
    product.b_offsets = units_.b_offsets().data();
    product.steps = steps;
    product.add = add;
    const std::int64_t filter_blocks = blocks_of(filters_, kBlock);
    for (std::int64_t first = 0; first < filter_blocks; first += kNear) {
      for (std::int64_t c = 0; c * kBlock < columns; ++c) {
        const bool two_columns = columns - c * kBlock > kTileColumns;
        for (const std::int64_t tap : units_.taps_by_plane()) {
          product.b[0] = b + c * 2 * units_.column_values() + units_.tap_at(tap);
          product.b[1] = product.b[0] + units_.column_values();
          for (std::int64_t f = first; f < std::min(first + kNear, filter_blocks); ++f) {
            product.a[0] = a + f * 2 * units_.steps() * kTileValues;
            product.a[1] = product.a[0] + units_.steps() * kTileValues;
            product.c = sums + block_at(f, c, tap);
            code_.multiply[filters_ - f * kBlock > kTileRows][two_columns](product);
          }
        }
      }
    }
  }

  void add_bias(const bfloat16* dy, const GradientUnits::Unit& unit, std::int64_t group, float* sums,
                double* bias) const {
    std::fill_n(sums, filters_, 0.0f);
    units_.add_pixels(code_, dy, unit, group * filters_, filters_, sums);
    for (std::int64_t k = 0; k < filters_; ++k) bias[k] += static_cast<double>(sums[k]);
  }

  // Row `row` of the gradient, of all groups: [tap][column].
  template <class To, class Round>
  void add_parts(const float* sums, std::int64_t row, To* dw, const Round& round) const {
    const std::int64_t group = row / filters_, filter = row % filters_;
    const std::int64_t columns = units_.columns(), taps = units_.taps();
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      To* const to = dw + (row * taps + tap) * columns;
      for (std::int64_t c = 0; c < columns; c += kTileColumns) {
        const std::int64_t block = c / kBlock;
        const float* from = sums + (group * ranges_ + block / range_) * sums_of_item() +
                            block_at(filter / kBlock, block % range_, tap) +
                            (filter % kBlock / kTileRows * 2 + c % kBlock / kTileColumns) * kTileSums +
                            filter % kTileRows * kTileColumns;
        const std::int64_t n = std::min(kTileColumns, columns - c);
        float total[kTileColumns];
        std::copy_n(from, n, total);
        for (std::int64_t part = 1; part < parts_; ++part) {
          for (std::int64_t i = 0; i < n; ++i) total[i] += from[part * sums_of_part_ + i];
        }
        for (std::int64_t i = 0; i < n; ++i) to[c + i] = round(total[i]);
      }
    }
  }

  void finish_bias(const double* sums, void* db) const {
    const std::int64_t n = groups_ * filters_;
    for (std::int64_t k = 0; k < n; ++k) {
      double sum = 0;
      for (std::int64_t part = 0; part < parts_; ++part) sum += sums[part * n + k];
      if (bias_type == DType::f32) {
        static_cast<float*>(db)[k] = static_cast<float>(sum);
      } else {
        static_cast<bfloat16*>(db)[k] = to_bfloat16(static_cast<float>(sum));
      }
    }
  }

  int threads_ = compute_threads();
  std::int64_t groups_;
  std::int64_t filters_;  // of a group
  const TileCode& code_;
  GradientUnits units_;
  bool bias_;
  Scratch scratch_;
  std::int64_t range_, ranges_;  // blocks of 32 columns in a range
  std::int64_t parts_, sums_of_part_;
  std::int64_t a_values_, b_values_, values_;  // of a thread
  std::int64_t bias_floats_, thread_floats_;
  std::int64_t sums_at_, bias_at_ = -1, memory_;
  std::vector<std::int64_t> a_offsets_;
};

}  // namespace

KernelChoice make_backward_weights(const KernelRequest& request, Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &dy = request.inputs[1].type, &dw = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&x, &dy}, {&dw})) return *refusal;
  const bool bias = request.outputs.size() == 2;
  if (bias) {
    if (auto refusal = refuse_types({}, {&request.outputs[1].type})) return *refusal;
  }
  const Convolution c = convolution_of(request, x, dw, dy);
  if (auto refusal = refuse_groups(c)) return *refusal;
  const bool patches = Patches::wanted(c.group_channels()) && c.taps() > 1;
  auto kernel = std::make_unique<BackwardWeightsKernel>(c, patches, tiles, bias);
  kernel->result_type = dw.dtype;
  if (bias) kernel->bias_type = request.outputs[1].type.dtype;
  kernel->name = kernel_name(request, tiles);
  return kernel;
}

}  // namespace amx

KernelChoice make_amx_conv2d_bwd_weights(const KernelRequest& request) {
  return amx::make_backward_weights(request, amx::Tiles::amx);
}

}  // namespace ridgeline::device
