#include <new>
#include <numeric>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/dense/gradient.h"
#include "ridgeline/device/cpu/dense/matrix_update.h"
#include "ridgeline/device/cpu/sum/column_sums.h"
#include "ridgeline/device/cpu/sum/sum_of_squares.h"

namespace ridgeline::device {
namespace dense {
namespace {

// A strip of the gradient is made in the second cache, where the update's loop reads it. The states that the next strip
// updates are fetched meanwhile: memory sees them alone, once in and once out, beside the products.
template <class Value>
class DenseUpdateKernel final : public Kernel {
 public:
  DenseUpdateKernel(const Dense& d, MatrixUpdate update)
      : dense_(d), update_(std::move(update)), gradient_(d, scratch_), ahead_rows_(states() * Gradient::kStrip) {
    strip_floats_ = Gradient::kStrip * gradient_.pitch();
    strips_at_ = scratch_.reserve(threads_ * strip_floats_);
    ahead_at_ = scratch_.reserve(threads_ * kLinesFloats * ahead_rows_);
    // Two floats a double.
    if (update_.at().squares) squares_at_ = scratch_.reserve(2 * d.outputs * gradient_.ranges());
    scratch_bytes = scratch_.bytes();
    in_place = update_.in_place();
    name = own_name("dense_update of rows");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const DenseUpdate& at = update_.at();
    update_.begin(a);
    const auto* const dy = static_cast<const Value*>(a.inputs[at.dy()]);
    if (at.bias) {
      sum_columns(dy, dense_.outputs, dense_.rows, dense_.outputs, static_cast<float*>(a.outputs[at.bias_result()]));
    }
    gradient_.prepare(static_cast<const Value*>(a.inputs[at.x()]), dy, scratch);
    gradient_.for_each_part([&](std::int64_t range, std::int64_t first, std::int64_t outputs, int thread) {
      const std::int64_t end = first + outputs;
      for (std::int64_t k = first; k < end; k += Gradient::kStrip) update_strip({range, k, end}, scratch, thread);
    });
    if (at.squares) {
      // Rows first: one thread has as many numbers to add as there are of these.
      double* const sums = squares(scratch);
      const std::int64_t ranges = gradient_.ranges();
      parallel_for(dense_.outputs, kSumRows, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          double* const of_row = sums + row * ranges;
          *of_row = std::accumulate(of_row + 1, of_row + ranges, *of_row);
        }
      });
      double sum = 0;
      for (std::int64_t row = 0; row < dense_.outputs; ++row) sum += sums[row * ranges];
      *static_cast<float*>(a.outputs[at.squares_result()]) = static_cast<float>(sum);
    }
  }

 private:
  static constexpr std::int64_t kSumRows = 256;
  static constexpr auto kLinesFloats = static_cast<std::int64_t>(sizeof(Lines) / sizeof(float));

  // Rows from `row` on, before `end`, in a range of the inputs.
  struct Strip {
    std::int64_t range, row, end;
    std::int64_t rows() const { return std::clamp<std::int64_t>(end - row, 0, Gradient::kStrip); }
  };

  std::int64_t states() const { return static_cast<std::int64_t>(update_.at().states); }

  void update_strip(const Strip& s, float* scratch, int thread) {
    float* const strip = scratch + strips_at_ + thread * strip_floats_;
    const std::int64_t begin = s.range * gradient_.range(), n = std::min(gradient_.range(), dense_.inputs - begin);
    auto* const ahead = reinterpret_cast<Lines*>(scratch + ahead_at_ + thread * kLinesFloats * ahead_rows_);
    std::size_t count = 0;
    const Strip next{s.range, s.row + Gradient::kStrip, s.end};
    for (std::int64_t row = 0; row < next.rows(); ++row) {
      for (std::int64_t i = 0; i < states(); ++i) {
        const float* const state = update_.state(static_cast<std::size_t>(i));
        new (ahead + count++) Lines(lines_of(state + (next.row + row) * dense_.inputs + begin, n));
      }
    }
    gradient_.multiply(s.row, s.rows(), s.range, scratch, strip, {ahead, count});
    for (std::int64_t row = 0; row < s.rows(); ++row) {
      const std::int64_t at = (s.row + row) * dense_.inputs + begin;
      if (update_.at().squares) {
        squares(scratch)[(s.row + row) * gradient_.ranges() + s.range] = squares_in_cache(update_.state(0) + at, n);
      }
      update_.update(thread, at, strip + row * gradient_.pitch(), n);
    }
  }

  // Of each row in each range.
  double* squares(float* scratch) const { return reinterpret_cast<double*>(scratch + squares_at_); }

  int threads_ = compute_threads();
  Dense dense_;
  Scratch scratch_;
  MatrixUpdate update_;
  Gradient gradient_;
  std::int64_t ahead_rows_;
  std::int64_t strip_floats_, strips_at_, ahead_at_, squares_at_ = 0;
};

}  // namespace
}  // namespace dense

KernelChoice make_rows_dense_update(const KernelRequest& request) {
  const DenseUpdate at(request.node.attributes);
  const dense::Dense d(request.inputs[at.x()].type, request.inputs[0].type);
  const KernelOperand &x = request.inputs[at.x()], &dy = request.inputs[at.dy()];
  if (x.type.dtype == DType::f16) return Refusal{"x is f16"};
  if (auto refusal = d.refusal(request, {}, {&x, &dy})) return *refusal;
  auto update = MatrixUpdate::make(request);
  if (const auto* refusal = std::get_if<Refusal>(&update)) return *refusal;
  return value_kernel<dense::DenseUpdateKernel>(x.type.dtype, d, std::move(std::get<0>(update)));
}

}  // namespace ridgeline::device
