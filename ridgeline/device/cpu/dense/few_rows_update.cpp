#include <numeric>

#include "ridgeline/device/cpu/dense/few_rows.h"
#include "ridgeline/device/cpu/dense/matrix_update.h"
#include "ridgeline/device/cpu/sum/column_sums.h"
#include "ridgeline/device/cpu/sum/sum_of_squares.h"

namespace ridgeline::device {
namespace {

// The gradient of some rows of weights is computed run by run in the first-level cache, where the update's loop reads
// it: only the states go through memory, once in and once out.
class FewRowsUpdate final : public Kernel {
 public:
  FewRowsUpdate(const FewRows& f, MatrixUpdate update)
      : f_(f),
        x_(f.type, f.rows, f.inputs, scratch_),
        dy_(f.type, f.rows, f.outputs, scratch_),
        update_(std::move(update)),
        strips_at_(scratch_.reserve(compute_threads() * kStripRows * kRun)) {
    if (update_.at().squares) squares_at_ = scratch_.reserve(2 * f.outputs * runs_);
    scratch_bytes = scratch_.bytes();
    in_place = update_.in_place();
    name = own_name("dense_update of few rows");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    const DenseUpdate& at = update_.at();
    update_.begin(a);
    const RowsAt<float> x = x_.read(a.inputs[at.x()], a.scratch);
    const RowsAt<float> dy = dy_.read(a.inputs[at.dy()], a.scratch);
    if (at.bias) sum_columns(dy.at, dy.step, f_.rows, f_.outputs, static_cast<float*>(a.outputs[at.bias_result()]));
    f_.for_outputs([&](std::int64_t first, std::int64_t count, int thread) {
      float* const strip = static_cast<float*>(a.scratch) + strips_at_ + thread * kStripRows * kRun;
      for (std::int64_t k = first; k < first + count; k += kStripRows)
        update_rows(thread, k, std::min(kStripRows, first + count - k), dy, x, strip, squares(a.scratch));
    });
    if (at.squares) {
      const double* const sums = squares(a.scratch);
      const double sum = std::accumulate(sums, sums + f_.outputs * runs_, 0.0);
      *static_cast<float*>(a.outputs[at.squares_result()]) = static_cast<float>(sum);
    }
  }

 private:
  static constexpr std::int64_t kStripRows = 8;
  static constexpr std::int64_t kRun = 1024;

  void update_rows(int thread, std::int64_t k, std::int64_t count, RowsAt<float> dy, RowsAt<float> x, float* strip,
                   double* squares) {
    for (std::int64_t first = 0; first < f_.inputs; first += kRun) {
      const std::int64_t n = std::min(kRun, f_.inputs - first);
      multiply_few_rows(dy.from(0, k), x.from(0, first), f_.rows, count, n, strip, kRun, false);
      for (std::int64_t row = 0; row < count; ++row) {
        const std::int64_t at = (k + row) * f_.inputs + first;
        // While the run is brought into the first-level cache, where the loop then reads it.
        if (update_.at().squares) squares[(k + row) * runs_ + first / kRun] = squares_of(update_.state(0) + at, n);
        update_.update(thread, at, strip + row * kRun, n);
      }
    }
  }

  // For each run of each row.
  double* squares(void* scratch) const { return reinterpret_cast<double*>(static_cast<float*>(scratch) + squares_at_); }

  int threads_ = compute_threads();
  FewRows f_;
  Scratch scratch_;
  FewRowsOperand x_, dy_;
  MatrixUpdate update_;
  std::int64_t strips_at_, squares_at_ = 0;
  std::int64_t runs_ = (f_.inputs + kRun - 1) / kRun;  // of a row
};

}  // namespace

KernelChoice make_few_rows_dense_update(const KernelRequest& request) {
  const DenseUpdate at(request.node.attributes);
  const FewRows f(request.inputs[at.x()].type, request.inputs[0].type);
  if (auto refusal = f.refusal(request, {})) return *refusal;
  auto update = MatrixUpdate::make(request);
  if (const auto* refusal = std::get_if<Refusal>(&update)) return *refusal;
  return std::make_unique<FewRowsUpdate>(f, std::move(std::get<0>(update)));
}

}  // namespace ridgeline::device
