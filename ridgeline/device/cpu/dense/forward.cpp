#include <vector>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/dense/dense.h"

namespace ridgeline::device {
namespace dense {
namespace {

// y = x w^T and its epilogue. The products are w x^T: rows of x are columns of panels, rows of w are read in place. An
// item is some hundred outputs; for a range of the inputs, whose piece of x stays in the second-level cache, their
// weights pass, a strip of rows at a time: long pieces of few rows, since rows whose distance is a multiple of some KB
// share few sets of the caches. For the same reason a strip's piece of a chunk is copied before it is multiplied.
template <class Value>
class DenseForward final : public Kernel {
 public:
  DenseForward(const Dense& d, const KernelRequest& request)
      : dense_(d),
        bias_(request.inputs.size() > 2),
        addend_(request.inputs.size() > 3),
        relu_(request.node.attributes.string("activation") == "relu") {
    const PanelForm form = form_of(0);
    item_ = fair_item(d.outputs, std::clamp(kSumFloats / form.pitch(), kStrip, kMostOutputs), kBlockRows, threads_);
    x_at_ = scratch_.reserve(form.floats());
    range_ = std::clamp<std::int64_t>(kRangeFloats / form.pitch() / kDepth, 1, kMostChunks);
    thread_floats_ = item_ * form.pitch() + kStrip * kDepth + kTurned * item_;
    thread_floats_ = round_up(thread_floats_, kLineFloats);
    memory_ = scratch_.reserve(threads_ * thread_floats_);
    scratch_bytes = scratch_.bytes();
    name = own_name("dense of rows");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    for (std::int64_t first = 0; first < dense_.rows; first += kMostRows) {
      const PanelForm form = form_of(first);
      turn(input<Value>(a, 0) + first * dense_.inputs, form, scratch + x_at_);
      for_each_item(parts_of(dense_.outputs, item_), [&](std::int64_t item, int thread) {
        run_item(a, first, form, item * item_, scratch + x_at_, scratch + memory_ + thread * thread_floats_);
      });
    }
  }

 private:
  static constexpr std::int64_t kSumFloats = 64 << 10;  // of an item
  static constexpr std::int64_t kMostOutputs = 2048;
  static constexpr std::int64_t kStrip = 8 * kBlockRows;  // of them
  static constexpr std::int64_t kRangeFloats = 64 << 10;  // of x
  static constexpr std::int64_t kMostChunks = 8;          // of a range
  static constexpr std::int64_t kTurned = 16;             // rows of y that are finished at a time

  PanelForm form_of(std::int64_t first) const {
    return {&code_, std::min(kMostRows, dense_.rows - first), dense_.inputs};
  }

  void turn(const Value* x, const PanelForm& form, float* to) const {
    for_each_item(form.chunks(), [&](std::int64_t chunk, int) {
      for (std::int64_t panel = 0; panel < form.panels(); ++panel) {
        const std::int64_t width = form.width(panel);
        moves_.transpose(x + panel * code_.panel * dense_.inputs + chunk * kDepth, dense_.inputs, width,
                         form.deep(chunk), to + form.at(chunk, panel), code_.pitch(width));
      }
    });
  }

  // Some rows of w in a range of chunks.
  struct Strip {
    std::int64_t output, outputs;
    std::int64_t chunk, end;
  };

  void run_item(const KernelArguments& a, std::int64_t first, const PanelForm& form, std::int64_t output,
                const float* x, float* sums) const {
    const Value* const w = input<Value>(a, 1);
    const std::int64_t outputs = std::min(item_, dense_.outputs - output);
    const auto strip = [&](std::int64_t chunk, std::int64_t k) -> Strip {
      return {output + k, std::min(kStrip, outputs - k), chunk, std::min(form.chunks(), chunk + range_)};
    };
    float* const copy = sums + item_ * form.pitch();
    for (std::int64_t chunk = 0; chunk < form.chunks(); chunk += range_) {
      for (std::int64_t k = 0; k < outputs; k += kStrip) {
        const Strip next = k + kStrip < outputs ? strip(chunk, k + kStrip) : strip(chunk + range_, 0);
        multiply_strip(w, strip(chunk, k), next, form, x, copy, sums, k);
      }
    }
    for (std::int64_t panel = 0; panel < form.panels(); ++panel)
      finish(a, first + panel * code_.panel, form.width(panel), output, outputs, sums + panel * code_.panel * item_,
             copy + kStrip * kDepth);
  }

  void multiply_strip(const Value* w, const Strip& strip, const Strip& next, const PanelForm& form, const float* x,
                      float* copy, float* sums, std::int64_t k) const {
    Lines rows[kStrip];
    std::int64_t count = 0;
    if (next.chunk < form.chunks()) {
      const std::int64_t floats = std::min(next.end * kDepth, dense_.inputs) - next.chunk * kDepth;
      for (; count < next.outputs; ++count)
        rows[count] = lines_of(w + (next.output + count) * dense_.inputs + next.chunk * kDepth, floats);
    }
    Ahead ahead({rows, static_cast<std::size_t>(count)},
                form.panels() * (strip.end - strip.chunk) * Ahead::fours(strip.outputs, kDepth));
    for (std::int64_t chunk = strip.chunk; chunk < strip.end; ++chunk) {
      const std::int64_t depth = form.deep(chunk);
      moves_.copy(w + strip.output * dense_.inputs + chunk * kDepth, dense_.inputs, strip.outputs, depth, copy, kDepth);
      for (std::int64_t panel = 0; panel < form.panels(); ++panel) {
        const std::int64_t width = form.width(panel), pitch = code_.pitch(width);
        const PanelProduct product{strip.outputs,
                                   width,
                                   depth,
                                   copy,
                                   kDepth,
                                   x + form.at(chunk, panel),
                                   sums + panel * code_.panel * item_ + k * pitch,
                                   pitch,
                                   chunk > 0};
        product.run(code_, ahead);
      }
    }
  }

  // [output][row] to rows of y.
  void finish(const KernelArguments& a, std::int64_t first, std::int64_t rows, std::int64_t output,
              std::int64_t outputs, const float* sums, float* turned) const {
    for (std::int64_t r = 0; r < rows; r += kTurned) {
      const std::int64_t count = std::min(kTurned, rows - r);
      code_.transpose(sums + r, code_.pitch(rows), outputs, count, turned, item_);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = (first + r + i) * dense_.outputs + output;
        moves_.finish(
            turned + i * item_,
            {bias_ ? input<float>(a, 2) + output : nullptr, addend_ ? input<Value>(a, 3) + at : nullptr, relu_},
            outputs, output_at(a) + at);
      }
    }
  }

  static Value* output_at(const KernelArguments& a) { return static_cast<Value*>(a.outputs[0]); }

  int threads_ = compute_threads();
  const ProductCode& code_ = product_code();
  const products::Moves<Value>& moves_ = code_.of<Value>();
  Dense dense_;
  bool bias_, addend_, relu_;
  std::int64_t item_;  // outputs
  Scratch scratch_;
  std::int64_t x_at_, memory_, thread_floats_;
  std::int64_t range_;  // of inputs, in chunks
};

}  // namespace
}  // namespace dense

KernelChoice make_rows_dense(const KernelRequest& request) {
  const dense::Dense d(request.inputs[0].type, request.inputs[1].type);
  const KernelOperand &x = request.inputs[0], &w = request.inputs[1], &y = request.outputs[0];
  const KernelOperand& addend = request.inputs.size() > 3 ? request.inputs[3] : y;
  if (auto refusal = d.refusal(request, {&w}, {&x, &w, &y, &addend})) return *refusal;
  if (request.inputs.size() > 2 && request.inputs[2].type.dtype != DType::f32) return Refusal{"a bias that is not f32"};
  return value_kernel<dense::DenseForward>(x.type.dtype, d, request);
}

}  // namespace ridgeline::device
