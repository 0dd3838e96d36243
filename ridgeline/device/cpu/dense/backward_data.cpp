#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/dense/dense.h"

namespace ridgeline::device {
namespace dense {
namespace {

// dx = dy w. Rows of w are the depth: a panel of a chunk of them is copied into the first-level cache, once for all
// rows of dy. An item is some hundred inputs, whose sums stay in the second-level cache. The next panel is prefetched
// meanwhile, and no more: rows whose distance is a multiple of some KB share few sets of the caches.
template <class Value>
class DenseBackwardData final : public Kernel {
 public:
  explicit DenseBackwardData(const Dense& d) : dense_(d) {
    rows_ = std::min(kMostRows, d.rows);
    item_ = fair_item(d.inputs, std::clamp(kSumFloats / rows_, code_.panel, kMostInputs), code_.panel, threads_);
    dy_at_ = scratch_.reserve(rows_ * parts_of(d.outputs, kDepth) * kDepth);
    thread_floats_ = kDepth * code_.panel + rows_ * item_;
    thread_floats_ = round_up(thread_floats_, kLineFloats);
    memory_ = scratch_.reserve(threads_ * thread_floats_);
    scratch_bytes = scratch_.bytes();
    name = own_name("dense_bwd_data of rows");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    for (std::int64_t first = 0; first < dense_.rows; first += rows_) {
      const std::int64_t rows = std::min(rows_, dense_.rows - first);
      gather(input<Value>(a, 0) + first * dense_.outputs, rows, scratch + dy_at_);
      for_each_item(parts_of(dense_.inputs, item_), [&](std::int64_t item, int thread) {
        run_item(input<Value>(a, 1) + item * item_, std::min(item_, dense_.inputs - item * item_), rows,
                 scratch + dy_at_, output<Value>(a, 0) + first * dense_.inputs + item * item_,
                 scratch + memory_ + thread * thread_floats_);
      });
    }
  }

 private:
  static constexpr std::int64_t kSumFloats = 128 << 10;  // of an item
  static constexpr std::int64_t kMostInputs = 2048;

  std::int64_t deep(std::int64_t chunk) const { return std::min(kDepth, dense_.outputs - chunk * kDepth); }

  // Rows of a chunk: [chunk][row][kDepth].
  void gather(const Value* dy, std::int64_t rows, float* to) const {
    for_each_item(parts_of(dense_.outputs, kDepth), [&](std::int64_t chunk, int) {
      moves_.copy(dy + chunk * kDepth, dense_.outputs, rows, deep(chunk), to + chunk * rows_ * kDepth, kDepth);
    });
  }

  void run_item(const Value* w, std::int64_t inputs, std::int64_t rows, const float* dy, Value* dx,
                float* memory) const {
    const PanelForm form{&code_, inputs, dense_.outputs};
    float *const packed = memory, *const sums = memory + kDepth * code_.panel;
    Lines rows_ahead[kDepth];
    Ahead ahead;
    const std::int64_t kPair = 128 / code_.panel;
    for (std::int64_t chunk = 0; chunk < form.chunks(); ++chunk) {
      for (std::int64_t panel = 0; panel < form.panels(); ++panel) {
        const std::int64_t width = form.width(panel), pitch = code_.pitch(width), depth = form.deep(chunk);
        moves_.copy(w + chunk * kDepth * dense_.inputs + panel * code_.panel, dense_.inputs, depth, width, packed,
                    pitch);
        if (panel % kPair == 0) {
          const bool last = panel + kPair >= form.panels();
          const std::int64_t to_chunk = last ? chunk + 1 : chunk, to_panel = last ? 0 : panel + kPair;
          ahead = {};
          if (to_chunk < form.chunks()) {
            const std::int64_t first = to_panel * code_.panel;
            const std::int64_t count = form.deep(to_chunk), floats = std::min(inputs - first, kPair * code_.panel);
            for (std::int64_t k = 0; k < count; ++k)
              rows_ahead[k] = lines_of(w + (to_chunk * kDepth + k) * dense_.inputs + first, floats);
            ahead = Ahead({rows_ahead, static_cast<std::size_t>(count)},
                          std::min(kPair, form.panels() - panel) * Ahead::fours(rows, depth));
          }
        }
        const PanelProduct product{
            rows,  width,    depth, dy + chunk * rows_ * kDepth, kDepth, packed, sums + panel * code_.panel * rows,
            pitch, chunk > 0};
        product.run(code_, ahead);
      }
    }
    for (std::int64_t panel = 0; panel < form.panels(); ++panel) {
      const std::int64_t width = form.width(panel);
      for (std::int64_t r = 0; r < rows; ++r) {
        moves_.finish(sums + panel * code_.panel * rows + r * code_.pitch(width), {}, width,
                      dx + r * dense_.inputs + panel * code_.panel);
      }
    }
  }

  int threads_ = compute_threads();
  const ProductCode& code_ = product_code();
  const products::Moves<Value>& moves_ = code_.of<Value>();
  Dense dense_;
  std::int64_t rows_;  // at a time
  std::int64_t item_;  // inputs
  Scratch scratch_;
  std::int64_t dy_at_, memory_, thread_floats_;
};

}  // namespace
}  // namespace dense

KernelChoice make_rows_dense_bwd_data(const KernelRequest& request) {
  const dense::Dense d(request.outputs[0].type, request.inputs[1].type);
  const KernelOperand &dy = request.inputs[0], &w = request.inputs[1];
  if (auto refusal = d.refusal(request, {&w}, {&dy, &w, &request.outputs[0]})) return *refusal;
  return value_kernel<dense::DenseBackwardData>(dy.type.dtype, d);
}

}  // namespace ridgeline::device
