#include "ridgeline/graph/op/dense_update.h"

#include <numeric>

#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/own/few_rows.h"
#include "ridgeline/device/cpu/own/sum_of_squares.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device {
namespace {

// The gradient of some rows of weights is made run by run in the first cache, where the update's loop reads it: memory
// sees the states alone, once in and once out.
class FewRowsUpdate final : public Kernel {
 public:
  FewRowsUpdate(const FewRows& f, const DenseUpdate& at, std::unique_ptr<LoopKernel> loop,
                std::vector<std::int64_t> result_bytes)
      : f_(f),
        x_(f.type, f.rows, f.inputs, scratch_),
        dy_(f.type, f.rows, f.outputs, scratch_),
        at_(at),
        loop_(std::move(loop)),
        result_bytes_(std::move(result_bytes)),
        strips_at_(scratch_.reserve(compute_threads() * kStripRows * kRun)) {
    if (at.squares) squares_at_ = scratch_.reserve(2 * f.outputs * runs_);
    scratch_bytes = scratch_.bytes();
    in_place.resize(at.copies() + result_bytes_.size() - at.states, -1);
    for (std::size_t i = 0; i < at.states; ++i) {
      if (loop_->in_place[i] == static_cast<int>(i)) in_place[i] = static_cast<int>(i);
    }
    name = own_name("dense_update of few rows");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    const Part whole = part_of(a);
    loop_->begin({whole.inputs.data(), whole.outputs.data(), nullptr});
    const RowsAt<float> x = x_.read(a.inputs[at_.x()], a.scratch);
    const RowsAt<float> dy = dy_.read(a.inputs[at_.dy()], a.scratch);
    if (at_.bias) sum_few_rows(dy, f_, static_cast<float*>(a.outputs[at_.bias_result()]));
    f_.for_outputs([&](std::int64_t first, std::int64_t count, int thread) {
      float* const strip = static_cast<float*>(a.scratch) + strips_at_ + thread * kStripRows * kRun;
      Part part = whole;
      for (std::int64_t k = first; k < first + count; k += kStripRows)
        update_rows(whole, part, k, std::min(kStripRows, first + count - k), dy, x, strip, squares(a.scratch));
    });
    if (at_.squares) {
      const double* const sums = squares(a.scratch);
      const double sum = std::accumulate(sums, sums + f_.outputs * runs_, 0.0);
      *static_cast<float*>(a.outputs[at_.squares_result()]) = static_cast<float>(sum);
    }
  }

 private:
  static constexpr std::int64_t kStripRows = 8;
  static constexpr std::int64_t kRun = 1024;

  // The operands and results of the loop's expression.
  struct Part {
    std::vector<void*> inputs, outputs;
  };

  Part part_of(const KernelArguments& a) const {
    Part part;
    const std::size_t scalars = loop_->operands() - at_.states - 1;
    part.inputs.assign(a.inputs, a.inputs + at_.states);
    part.inputs.push_back(nullptr);  // the gradient
    part.inputs.insert(part.inputs.end(), a.inputs + at_.scalars(), a.inputs + at_.scalars() + scalars);
    for (std::size_t i = 0; i < result_bytes_.size(); ++i) part.outputs.push_back(a.outputs[at_.result_of(i)]);
    return part;
  }

  void update_rows(const Part& whole, Part& part, std::int64_t k, std::int64_t count, RowsAt<float> dy, RowsAt<float> x,
                   float* strip, double* squares) const {
    const auto moved = [](void* base, std::int64_t bytes) -> void* { return static_cast<char*>(base) + bytes; };
    for (std::int64_t first = 0; first < f_.inputs; first += kRun) {
      const std::int64_t n = std::min(kRun, f_.inputs - first);
      multiply_few_rows(dy.from(0, k), x.from(0, first), f_.rows, count, n, strip, kRun, false);
      for (std::int64_t row = 0; row < count; ++row) {
        const std::int64_t at = (k + row) * f_.inputs + first;
        for (std::size_t i = 0; i < at_.states; ++i)
          part.inputs[i] = moved(whole.inputs[i], at * static_cast<std::int64_t>(sizeof(float)));
        part.inputs[at_.states] = strip + row * kRun;
        // While the run is on its way into the first cache, where the loop then finds it.
        if (at_.squares)
          squares[(k + row) * runs_ + first / kRun] = squares_of(static_cast<const float*>(part.inputs[0]), n);
        for (std::size_t i = 0; i < part.outputs.size(); ++i)
          part.outputs[i] = moved(whole.outputs[i], at * result_bytes_[i]);
        loop_->run_part({part.inputs.data(), part.outputs.data(), nullptr}, n);
      }
    }
  }

  // Of each run of each row.
  double* squares(void* scratch) const { return reinterpret_cast<double*>(static_cast<float*>(scratch) + squares_at_); }

  int threads_ = compute_threads();
  FewRows f_;
  Scratch scratch_;
  FewRowsOperand x_, dy_;
  DenseUpdate at_;
  std::unique_ptr<LoopKernel> loop_;
  std::vector<std::int64_t> result_bytes_;  // of an element of the loop's results
  std::int64_t strips_at_, squares_at_ = 0;
  std::int64_t runs_ = (f_.inputs + kRun - 1) / kRun;  // of a row
};

}  // namespace

KernelChoice make_few_rows_dense_update(const KernelRequest& request) {
  const DenseUpdate at(request.node.attributes);
  const ValueType& w = request.inputs[0].type;
  const FewRows f(request.inputs[at.x()].type, w);
  for (std::size_t i = 0; i < at.states; ++i) {
    if (auto refusal = f.refusal(request, {&request.inputs[i]})) return *refusal;
  }
  for (const KernelOperand& result : request.outputs) {
    if (!result.free && !result.layout.plain()) return Refusal{"a result is to lie in " + result.layout.name()};
  }
  loop::Expression expression = loop::parse(request.node.attributes.string("expression"));
  expression.operands = static_cast<std::int32_t>(request.inputs.size()) - 1;
  std::vector<ValueType> operands(at.states + 1, w);
  for (std::size_t i = at.scalars(); i < request.inputs.size(); ++i) operands.push_back(request.inputs[i].type);
  std::vector<std::int64_t> result_bytes;
  for (const loop::Result& result : expression.results)
    result_bytes.push_back(static_cast<std::int64_t>(size_of(result.type)));
  auto loop = make_part_loop(expression, operands);
  if (const auto* refusal = std::get_if<Refusal>(&loop)) return *refusal;
  return std::make_unique<FewRowsUpdate>(f, at, std::move(std::get<0>(loop)), std::move(result_bytes));
}

}  // namespace ridgeline::device
