#include "ridgeline/graph/op/matmul.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/dense/dense.h"
#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device {
namespace dense {
namespace {

// An item is some rows times some columns of one matrix of the batch. For a chunk of the depth, its rows of a are
// copied side by side, and panel by panel its columns of b are brought into the form that products read. How items are
// cut changes no bit: the order of every sum follows from the depth.
template <class Value>
class Matmul final : public Kernel {
 public:
  Matmul(const MatmulForm& form, bool wide_results) : form_(form), matrices_(form.matrices()), wide_(wide_results) {
    rows_ = round_up(parts_of(form.rows, parts_of(form.rows, kMostRows)), kBlockRows);
    panels_ = std::min(kMostPanels, parts_of(form.columns, code_.panel));
    const auto too_few = [&] { return items() < kItems * threads_ && threads_ > 1; };
    while (panels_ > 1 && too_few()) panels_ = panels_ / 2;
    while (rows_ > kLeastRows && too_few()) rows_ = round_up(rows_ / 2, kBlockRows);
    thread_floats_ = rows_ * kDepth + kDepth * code_.panel + rows_ * panels_ * code_.panel;
    thread_floats_ = round_up(thread_floats_, kLineFloats);
    scratch_bytes = static_cast<std::size_t>(threads_ * thread_floats_) * sizeof(float);
    name = own_name("matmul");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    for_each_item(items(), [&](std::int64_t item, int thread) {
      const std::int64_t of_matrix = row_parts() * column_parts();
      run_item(a, item / of_matrix, item % of_matrix / column_parts() * rows_,
               item % column_parts() * panels_ * code_.panel, scratch + thread * thread_floats_);
    });
  }

 private:
  static constexpr std::int64_t kMostPanels = 4, kLeastRows = 8 * kBlockRows;
  static constexpr std::int64_t kItems = 4;  // for each thread

  std::int64_t row_parts() const { return parts_of(form_.rows, rows_); }
  std::int64_t column_parts() const { return parts_of(form_.columns, panels_ * code_.panel); }
  std::int64_t items() const { return matrices_ * row_parts() * column_parts(); }

  void run_item(const KernelArguments& arguments, std::int64_t matrix, std::int64_t row, std::int64_t column,
                float* memory) const {
    const std::int64_t rows = std::min(rows_, form_.rows - row);
    const std::int64_t columns = std::min(panels_ * code_.panel, form_.columns - column);
    const Value* a = input<Value>(arguments, 0) + form_.a_matrix(matrix) * form_.rows * form_.depth;
    const Value* b = input<Value>(arguments, 1) + form_.b_matrix(matrix) * form_.depth * form_.columns;
    float *const left = memory, *const packed = left + rows_ * kDepth, *const sums = packed + kDepth * code_.panel;
    Ahead nothing;
    for (std::int64_t k = 0; k < form_.depth; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, form_.depth - k);
      if (form_.transpose_a) {
        moves_.transpose(a + k * form_.rows + row, form_.rows, depth, rows, left, kDepth);
      } else {
        moves_.copy(a + row * form_.depth + k, form_.depth, rows, depth, left, kDepth);
      }
      for (std::int64_t c = 0; c < columns; c += code_.panel) {
        const std::int64_t width = std::min(code_.panel, columns - c), pitch = code_.pitch(width);
        if (form_.transpose_b) {
          moves_.transpose(b + (column + c) * form_.depth + k, form_.depth, width, depth, packed, pitch);
        } else {
          moves_.copy(b + k * form_.columns + column + c, form_.columns, depth, width, packed, pitch);
        }
        const PanelProduct product{rows, width, depth, left, kDepth, packed, sums + c * rows_, pitch, k > 0};
        product.run(code_, nothing);
      }
    }
    const std::int64_t y = (matrix * form_.rows + row) * form_.columns + column;
    wide_ ? finish(sums, rows, columns, output<float>(arguments, 0) + y)
          : finish(sums, rows, columns, output<Value>(arguments, 0) + y);
  }

  template <class Result>
  void finish(const float* sums, std::int64_t rows, std::int64_t columns, Result* y) const {
    for (std::int64_t c = 0; c < columns; c += code_.panel) {
      const std::int64_t width = std::min(code_.panel, columns - c), pitch = code_.pitch(width);
      for (std::int64_t r = 0; r < rows; ++r) {
        code_.of<Result>().finish(sums + c * rows_ + r * pitch, {}, width, y + r * form_.columns + c);
      }
    }
  }

  int threads_ = compute_threads();
  const ProductCode& code_ = product_code();
  const products::Moves<Value>& moves_ = code_.of<Value>();
  MatmulForm form_;
  std::int64_t matrices_;
  bool wide_;            // results are f32 whatever the operands
  std::int64_t rows_;    // of an item
  std::int64_t panels_;  // likewise
  std::int64_t thread_floats_;
};

}  // namespace
}  // namespace dense

KernelChoice make_own_matmul(const KernelRequest& request) {
  if (auto refusal = refuse_empty(request)) return *refusal;
  const KernelOperand &a = request.inputs[0], &b = request.inputs[1], &y = request.outputs[0];
  const MatmulForm form = matmul_form(a.type.shape, b.type.shape, request.node.attributes).merged();
  return value_kernel<dense::Matmul>(a.type.dtype, form, y.type.dtype == DType::f32);
}

}  // namespace ridgeline::device
