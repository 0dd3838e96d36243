#include <algorithm>
#include <string>
#include <vector>

#include "hwy/cache_control.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/lines.h"
#include "ridgeline/device/cpu/pixels/columns.h"
#include "ridgeline/device/cpu/pixels/parts.h"
#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/device/cpu/speeds.h"

namespace ridgeline::device::pixels {
namespace {

using products::kBlockRows;
using products::kDepth;

constexpr std::int64_t kVectorFloats = 16;  // of any target

// What follows the sums.
struct After {
  bool bias = false, relu = false;
  bool nothing() const { return !bias && !relu; }
};

// out[pixel, j] = sum over the pixel's window of in * w, for each part of the result. Blocks of pixels, each on one
// thread, are gathered in its second-level cache and multiplied with panels of weights that were packed before; the
// next block's operands are prefetched meanwhile. Large results are written with non-temporal stores.
template <class Value>
class PixelProducts final : public Kernel {
 public:
  // The result is [n, height, width, columns]. Weights [k,R,S,c] have so many taps; `turned`: the c are the columns.
  PixelProducts(const std::vector<Part>& parts, std::int64_t taps, bool turned, const After& after, std::int64_t height,
                std::int64_t width)
      : turned_(turned),
        taps_(taps),
        after_(after),
        columns_(parts[0].seen.k),
        height_(height),
        result_width_(width),
        lines_(static_cast<std::size_t>(threads_)) {
    std::int64_t deepest = 0;
    for (const Part& part : parts) deepest = std::max(deepest, part.seen.columns());
    // Long sums in smaller blocks, which stay in the second-level cache.
    const std::int64_t fit = kBlockFloats / std::max<std::int64_t>(1, deepest) / kBlockRows * kBlockRows;
    most_ = std::clamp(fit, kLeastPixels, kMostPixels);
    for (auto& lines : lines_) lines.value.reserve(static_cast<std::size_t>(1 + most_));  // of weights, and a pixel's
    std::int64_t total = 0;
    for (const Part& part : parts) {
      Work work{part, {part.seen, 0, part.seen.columns(), kDepth, most_ * kDepth}};
      // As many blocks for each thread, and runs of them.
      const std::int64_t pixels = part.seen.count(), blocks = round_up(parts_of(pixels, most_), threads_);
      work.block = std::min(most_, round_up(parts_of(pixels, blocks), kBlockRows));
      work.run = std::max<std::int64_t>(1, parts_of(pixels, work.block) / (kRuns * threads_)) * work.block;
      work.first_item = total;
      total += parts_of(pixels, work.run);
      work.packed = scratch_.reserve(panels() * work.depth() * width_);
      parts_.push_back(std::move(work));
    }
    items_ = total;
    in_ = round_up(most_ * round_up(deepest, kDepth), kLineFloats);
    sums_ = most_ * width_;
    thread_floats_ = in_ + round_up(sums_, kLineFloats);
    threads_at_ = scratch_.reserve(threads_ * thread_floats_);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    pack(input<Value>(a, 1), scratch);
    for_each_item(items_, [&](std::int64_t item, int thread) {
      const auto work =
          std::find_if(parts_.rbegin(), parts_.rend(), [&](const Work& w) { return w.first_item <= item; });
      const std::int64_t begin = (item - work->first_item) * work->run;
      const std::int64_t end = std::min(work->part.seen.count(), begin + work->run);
      for (std::int64_t first = begin; first < end; first += work->block) {
        const std::int64_t next = std::min(first + work->block, end);
        multiply(a, *work, first, next - first, std::min(next + work->block, end) - next,
                 scratch + threads_at_ + thread * thread_floats_, lines_[static_cast<std::size_t>(thread)].value);
      }
      hwy::FlushStream();
    });
  }

 private:
  static constexpr std::int64_t kMostPixels = 96, kLeastPixels = 24;     // of a block
  static constexpr std::int64_t kBlockFloats = std::int64_t{200} << 10;  // of what its pixels see
  static constexpr std::int64_t kRuns = 8;                               // for each thread
  static constexpr std::int64_t kNearFloats = std::int64_t{256} << 10;   // of weights: they stay in the second cache
  static constexpr std::int64_t kStreamedBytes = std::int64_t{4} << 20;  // of results

  struct Work {
    Part part;
    Columns seen;            // [chunk][pixel of the block][kDepth]
    std::int64_t block = 0;  // pixels
    std::int64_t run = 0;    // pixels of an item
    std::int64_t first_item = 0;
    std::int64_t packed = 0;  // [panel][depth][column of the panel]

    std::int64_t depth() const { return part.seen.columns(); }
    std::int64_t chunks() const { return parts_of(depth(), kDepth); }
    std::int64_t deep(std::int64_t chunk) const { return std::min(kDepth, depth() - chunk * kDepth); }
  };

  std::int64_t panels() const { return parts_of(columns_, width_); }
  float* packed(float* scratch, const Work& work, std::int64_t panel, std::int64_t depth) const {
    return scratch + work.packed + (panel * work.depth() + depth) * width_;
  }

  void pack(const Value* weights, float* scratch) const {
    for (const Work& work : parts_) {
      const std::int64_t taps = static_cast<std::int64_t>(work.part.taps.size());
      for_each_item(panels() * taps, [&](std::int64_t i, int) {
        const std::int64_t panel = i / taps, at = i % taps * work.part.seen.c;
        pack_tap(weights, work, work.part.taps[static_cast<std::size_t>(i % taps)], panel,
                 packed(scratch, work, panel, at));
      });
    }
  }

  // A tap's weights of a panel's columns.
  void pack_tap(const Value* weights, const Work& work, std::int64_t tap, std::int64_t panel, float* to) const {
    const std::int64_t column = panel * width_, count = std::min(width_, columns_ - column);
    const std::int64_t depth = work.part.seen.c;
    if (turned_)
      moves_.copy(weights + tap * columns_ + column, taps_ * columns_, depth, count, to, width_);
    else
      moves_.transpose(weights + (column * taps_ + tap) * depth, taps_ * depth, count, depth, to, width_);
  }

  // A block, while the `next` pixels after it are prefetched.
  void multiply(const KernelArguments& a, const Work& work, std::int64_t first, std::int64_t count, std::int64_t next,
                float* memory, LineVector<products::Lines>& lines) const {
    float* const scratch = static_cast<float*>(a.scratch);
    float *const in = memory, *const sums = memory + in_;
    work.seen.gather(input<Value>(a, 0), first, count, in);
    // Full vectors of sums are stored directly.
    const bool side_by_side = work.part.step[0] * work.part.step[1] == 1;
    const bool direct =
        std::is_same_v<Value, float> && side_by_side && after_.nothing() && columns_ % kVectorFloats == 0;
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Value));
    const bool large = work.part.seen.count() * columns_ * kBytes >= kStreamedBytes;
    const bool stream = direct && large && reinterpret_cast<std::uintptr_t>(a.outputs[0]) % 64 == 0;
    float* const out = static_cast<float*>(a.outputs[0]) + first * columns_;
    const std::int64_t steps = panels() * work.chunks();
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t panel = i / work.chunks(), chunk = i % work.chunks(), column = panel * width_;
      const bool last = chunk + 1 == work.chunks(), to_out = last && direct;
      lines.clear();
      if (work.depth() * columns_ > kNearFloats && i + 1 < steps) {
        const std::int64_t of = (i + 1) % work.chunks();
        lines.push_back(
            products::lines_of(packed(scratch, work, (i + 1) / work.chunks(), of * kDepth), work.deep(of) * width_));
      }
      const std::int64_t share = next * i / steps;
      work.seen.append_lines(input<Value>(a, 0), first + count + share, next * (i + 1) / steps - share, lines);
      products::Ahead ahead(lines, products::Ahead::fours(count, work.deep(chunk)));
      code_.multiply({.rows = count,
                      .columns = std::min(width_, columns_ - column),
                      .depth = work.deep(chunk),
                      .depth_step = kDepth,
                      .a = in + chunk * most_ * kDepth,
                      .a_row = kDepth,
                      .a_step = 1,
                      .b = packed(scratch, work, panel, chunk * kDepth),
                      .b_step = width_,
                      .c = to_out ? out + column : sums,
                      .c_row = to_out ? columns_ : width_,
                      .from = chunk > 0 ? sums : nullptr,
                      .from_row = width_,
                      .stream = to_out && stream},
                     ahead);
      if (last && !direct) write(a, work.part, first, count, column, sums, large || !side_by_side);
    }
    if (steps == 0) clear(a, work.part, first, count);
  }

  // Stores columns of a panel from `column` on to their pixels.
  void write(const KernelArguments& a, const Part& part, std::int64_t first, std::int64_t count, std::int64_t column,
             float* sums, bool past_caches) const {
    const std::int64_t width = std::min(width_, columns_ - column);
    const float* const bias = after_.bias ? input<float>(a, 2) + column : nullptr;
    for (std::int64_t i = 0; i < count; ++i, sums += width_) {
      Value* const to = output<Value>(a, 0) + part.place(first + i, height_, result_width_) * columns_ + column;
      if (!after_.nothing()) code_.finish(sums, {bias, nullptr, after_.relu}, width, sums);
      if (past_caches)
        moves_.stream(sums, width, to);
      else
        moves_.finish(sums, {}, width, to);
    }
  }

  // Pixels without taps.
  void clear(const KernelArguments& a, const Part& part, std::int64_t first, std::int64_t count) const {
    for (std::int64_t i = first; i < first + count; ++i) {
      code_.zero(output<Value>(a, 0) + part.place(i, height_, result_width_) * columns_,
                 columns_ * static_cast<std::int64_t>(sizeof(Value)));
    }
  }

  bool turned_;
  std::int64_t taps_;
  After after_;
  std::int64_t columns_, height_, result_width_;
  const products::ProductCode& code_ = products::product_code();
  const products::Moves<Value>& moves_ = code_.of<Value>();
  std::int64_t width_ = code_.panel;
  int threads_ = compute_threads();
  std::vector<Apart<LineVector<products::Lines>>> lines_;  // ahead, of each thread
  std::vector<Work> parts_;
  std::int64_t most_ = 0;  // pixels of a block
  std::int64_t items_ = 0;
  Scratch scratch_;
  std::int64_t in_ = 0, sums_ = 0, thread_floats_ = 0, threads_at_ = 0;
};

std::optional<Refusal> refusal_of(const KernelRequest& request, const Pixels& p) {
  if (p.type == DType::f32 && (p.c % kVectorFloats != 0 || p.k % kVectorFloats != 0)) {
    return Refusal{std::to_string(p.c) + " channels and " + std::to_string(p.k) +
                   " filters: in f32 this kernel takes multiples of " + std::to_string(kVectorFloats)};
  }
  for (const KernelOperand* operand : {&request.inputs[0], &request.inputs[1], &request.outputs[0]}) {
    if (operand->type.dtype != p.type) return Refusal{"operands and results of two types"};
  }
  return std::nullopt;
}

KernelChoice make_kernel(const KernelRequest& request, const Pixels& p, const std::vector<Part>& parts, bool turned,
                         const After& after = {}) {
  auto kernel = value_kernel<PixelProducts>(p.type, parts, p.window.kernel[0] * p.window.kernel[1], turned, after,
                                            turned ? p.h : p.oh, turned ? p.w : p.ow);
  kernel->name = own_name("pixels " + request.def.name);
  return kernel;
}

std::variant<Pixels, Refusal> forward_pixels(const KernelRequest& request) {
  return pixels_of(request, request.inputs[0].type, request.inputs[1].type, request.outputs[0].type);
}

std::variant<Pixels, Refusal> backward_pixels(const KernelRequest& request) {
  return pixels_of(request, request.outputs[0].type, request.inputs[1].type, request.inputs[0].type);
}

// Of the sums and what follows them.
After after_of(const KernelRequest& request) {
  return {request.inputs.size() > 2, request.node.attributes.string("activation") == "relu"};
}

}  // namespace

KernelChoice make_forward(const KernelRequest& request) {
  if (request.inputs.size() > 3) return Refusal{"an addend"};
  const std::string& activation = request.node.attributes.string("activation");
  const After after = after_of(request);
  if (activation != "none" && !after.relu) return Refusal{"activation " + activation};
  if (after.bias && request.inputs[2].type.dtype != DType::f32) return Refusal{"a bias that is not f32"};
  const auto choice = forward_pixels(request);
  if (const auto* refusal = std::get_if<Refusal>(&choice)) return *refusal;
  const auto& p = std::get<Pixels>(choice);
  if (auto refusal = refusal_of(request, p)) return *refusal;
  return make_kernel(request, p, {forward_part(p)}, false, after);
}

KernelChoice make_backward_data(const KernelRequest& request) {
  if (request.inputs.size() > 2) return Refusal{"a gate"};
  const auto choice = backward_pixels(request);
  if (const auto* refusal = std::get_if<Refusal>(&choice)) return *refusal;
  const auto& p = std::get<Pixels>(choice);
  if (auto refusal = refusal_of(request, p)) return *refusal;
  if (p.strided() && p.window.dilation != std::array<std::int64_t, 2>{1, 1})
    return Refusal{"strides and dilation: this kernel takes one of them"};
  return make_kernel(request, p, gradient_parts(p), true);
}

double forward_share(const KernelRequest& request) {
  const auto choice = forward_pixels(request);
  const auto* p = std::get_if<Pixels>(&choice);
  // In f32 the library is as fast with a bias or an activation.
  if (p != nullptr && p->type == DType::f32 && !after_of(request).nothing()) return speeds::kPixels.elsewhere;
  return share_of(choice);
}

double backward_data_share(const KernelRequest& request) { return share_of(backward_pixels(request)); }

}  // namespace ridgeline::device::pixels
