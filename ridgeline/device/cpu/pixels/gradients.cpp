#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/lines.h"
#include "ridgeline/device/cpu/pixels/columns.h"
#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/device/cpu/sum/column_sums.h"
#include "ridgeline/device/cpu/team_shares.h"

namespace ridgeline::device::pixels {
namespace {

using products::kBlockRows;
using products::kDepth;

// n columns in pieces of at most `most`, as equal as multiples of `grain` allow.
std::int64_t fair_part(std::int64_t n, std::int64_t most, std::int64_t grain) {
  return round_up(parts_of(n, parts_of(n, most)), grain);
}

// dw[k, (r,s,c)] = sum over pixels of dy[pixel, k] * x[pixel at (r,s), c]. A piece of work is the sum of some filters
// and columns, which stays in the second-level cache, over a range of the pixels, kDepth of them at a time: dy in
// slices, x in panels. Ranges are added in order. All depends on the shapes alone.
template <class Value>
class PixelGradients final : public Kernel {
 public:
  // Sums are divided for a team of `team` (team_shares.h).
  PixelGradients(const Pixels& p, bool bias, std::int64_t team)
      : p_(p),
        bias_(bias),
        lines_(static_cast<std::size_t>(threads_)),
        filters_(fair_part(p.k, kMostFilters, kBlockRows)),
        columns_(fair_part(p.columns(), kMostColumns, kGrain)) {
    for (auto& lines : lines_) lines.value.reserve(2 * kDepth);  // a pixel's of dy and of x
    parts_ =
        std::clamp<std::int64_t>(parts_of(kPieces, ranges()), 1, std::max<std::int64_t>(1, p_.count() / kLeastPixels));
    if (threads_ > kSmallTeam) divide(team > kSmallTeam);
    for (std::int64_t first = 0; first < p_.columns(); first += columns_)
      of_x_.emplace_back(p_, first, std::min(columns_, p_.columns() - first), width_, kDepth * width_);
    sum_ = filters_ * columns_;
    sums_ = scratch_.reserve(ranges() * parts_ * sum_);
    slices_floats_ = parts_of(filters_, kBlockRows) * kSlice;
    thread_floats_ = round_up(slices_floats_, kLineFloats) + kDepth * columns_;
    threads_at_ = scratch_.reserve(threads_ * thread_floats_);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    for_each_item(ranges() * parts_, [&](std::int64_t item, int thread) {
      add_piece(a, item / parts_, item % parts_, scratch + sums_ + item * sum_,
                scratch + threads_at_ + thread * thread_floats_, lines_[static_cast<std::size_t>(thread)].value);
    });
    for_each_item(parts_of(p_.k, kBlockRows), [&](std::int64_t i, int) {
      const std::int64_t end = std::min(p_.k, (i + 1) * kBlockRows);
      for (std::int64_t k = i * kBlockRows; k < end; ++k) join(scratch + sums_, k, output<float>(a, 0));
    });
    if (bias_) sum_columns(input<Value>(a, 1), p_.k, p_.count(), p_.k, output<float>(a, 1));
  }

 private:
  static constexpr std::int64_t kMostFilters = 384, kMostColumns = 256;  // of a piece
  static constexpr std::int64_t kGrain = 64;                             // whole panels of any vector target
  static constexpr std::int64_t kPieces = 16;                            // at least, where pixels are enough
  static constexpr std::int64_t kMostPieces = 256;                       // parts that large teams try
  static constexpr std::int64_t kLeastPixels = 512;                      // of a part
  // Slices are an odd number of lines apart: a pixel is written to all of them.
  static constexpr std::int64_t kSlice = kDepth * kBlockRows + kLineFloats;

  std::int64_t column_ranges() const { return parts_of(p_.columns(), columns_); }
  std::int64_t ranges() const { return parts_of(p_.k, filters_) * column_ranges(); }

  // In a large team all threads should have equal work. Fewer filters a piece change no sum but gather x more often;
  // more ranges, where allowed, are additional sums to write and read. Costs are in multiply-adds, one for each of the
  // pixels, filters and columns; moving an element costs kMove of them.
  void divide(bool sums) {
    constexpr std::int64_t kMove = 16, kFewestFilters = 4 * kBlockRows, kFewestPixels = kDepth;
    constexpr std::int64_t kMostSums = std::int64_t{16} << 20;  // floats
    const std::int64_t room = kMostSums / (p_.k * p_.columns());
    const std::int64_t most_parts = sums ? std::max(parts_, std::min(p_.count() / kFewestPixels, room)) : parts_;
    std::int64_t filters = filters_, parts = parts_;
    double least = std::numeric_limits<double>::max();
    for (std::int64_t n = parts_of(p_.k, filters_); n == 1 || p_.k / n >= kFewestFilters; ++n) {
      const std::int64_t of_piece = fair_part(p_.k, parts_of(p_.k, n), kBlockRows);
      if (of_piece > filters_) continue;
      const std::int64_t ranges = parts_of(p_.k, of_piece) * column_ranges();
      for (std::int64_t m = sums ? 1 : parts_; m <= std::min(most_parts, kMostPieces); ++m) {
        const std::int64_t pixels = parts_of(parts_of(p_.count(), kDepth), m) * kDepth;
        const std::int64_t piece = of_piece * columns_ + kMove * (of_piece + columns_);
        const std::int64_t joined = kMove * m * p_.k * p_.columns() / threads_;
        const double cost =
            team_rounds(ranges * m, threads_) * static_cast<double>(pixels * piece) + static_cast<double>(joined);
        if (cost >= least) continue;
        least = cost, filters = of_piece, parts = m;
      }
    }
    filters_ = filters, parts_ = parts;
  }

  // Pixels of one range, for one range of filters and columns.
  void add_piece(const KernelArguments& a, std::int64_t range, std::int64_t part, float* sum, float* memory,
                 LineVector<products::Lines>& lines) const {
    const std::int64_t first = range / column_ranges() * filters_, filters = std::min(filters_, p_.k - first);
    const std::int64_t columns = std::min(columns_, p_.columns() - range % column_ranges() * columns_);
    const Value* const dy = input<Value>(a, 1) + first;
    float *const slices = memory, *const panels = memory + round_up(slices_floats_, kLineFloats);
    // Full chunks of depth: a short one costs nearly as much.
    const std::int64_t chunks = parts_of(p_.count(), kDepth);
    const std::int64_t begin = chunks * part / parts_ * kDepth;
    const std::int64_t end = std::min(p_.count(), chunks * (part + 1) / parts_ * kDepth);
    const auto& of_x = of_x_[static_cast<std::size_t>(range % column_ranges())];
    for (std::int64_t pixel = begin; pixel < end; pixel += kDepth) {
      const std::int64_t depth = std::min(kDepth, end - pixel);
      for (std::int64_t i = 0; i < depth; ++i)
        moves_.slice(dy + (pixel + i) * p_.k, filters, slices + i * kBlockRows, kSlice);
      of_x.gather(input<Value>(a, 0), pixel, depth, panels);
      // Operands of the next ones are prefetched meanwhile.
      const std::int64_t next = pixel + kDepth, stop = std::min(next + kDepth, end);
      lines.clear();
      for (std::int64_t i = next; i < stop; ++i) lines.push_back(products::lines_of(dy + i * p_.k, filters));
      of_x.append_lines(input<Value>(a, 0), next, stop - next, lines);
      products::Ahead ahead(lines, parts_of(columns, width_) * products::Ahead::fours(filters, depth));
      for (std::int64_t at = 0; at < columns; at += width_) {
        float* const c = sum + at * filters_;
        code_.multiply({.rows = filters,
                        .columns = std::min(width_, columns - at),
                        .depth = depth,
                        .depth_step = kDepth,
                        .a = slices,
                        .a_row = 1,
                        .a_step = kBlockRows,
                        .a_block = kSlice,
                        .b = panels + at * kDepth,
                        .b_step = width_,
                        .c = c,
                        .c_row = width_,
                        .from = pixel > begin ? c : nullptr,
                        .from_row = width_},
                       ahead);
      }
    }
  }

  // A filter's sums over all ranges.
  void join(const float* sums, std::int64_t k, float* dw) const {
    const std::int64_t row = k % filters_;
    for (std::int64_t range = 0; range < column_ranges(); ++range) {
      const std::int64_t first = range * columns_, count = std::min(columns_, p_.columns() - first);
      const float* const from = sums + (k / filters_ * column_ranges() + range) * parts_ * sum_;
      float* const to = dw + k * p_.columns() + first;
      for (std::int64_t at = 0; at < count; at += width_) {
        const float* const part = from + at * filters_ + row * width_;
        const std::int64_t n = std::min(width_, count - at);
        std::copy_n(part, n, to + at);
        for (std::int64_t i = 1; i < parts_; ++i) code_.finish(to + at, {nullptr, part + i * sum_, false}, n, to + at);
      }
    }
  }

  Pixels p_;
  bool bias_;
  const products::ProductCode& code_ = products::product_code();
  const products::Moves<Value>& moves_ = code_.of<Value>();
  std::int64_t width_ = code_.panel;
  int threads_ = compute_threads();
  std::vector<Apart<LineVector<products::Lines>>> lines_;  // ahead, of each thread
  std::int64_t filters_, columns_;                         // of a piece
  std::vector<Columns> of_x_;                              // ranges
  std::int64_t parts_ = 1, sum_ = 0;
  Scratch scratch_;
  std::int64_t sums_ = 0, threads_at_ = 0, thread_floats_ = 0, slices_floats_ = 0;
};

std::variant<Pixels, Refusal> weights_pixels(const KernelRequest& request) {
  return pixels_of(request, request.inputs[0].type, request.outputs[0].type, request.inputs[1].type);
}

}  // namespace

KernelChoice make_backward_weights(const KernelRequest& request) {
  const auto choice = weights_pixels(request);
  if (const auto* refusal = std::get_if<Refusal>(&choice)) return *refusal;
  const auto& p = std::get<Pixels>(choice);
  const bool bias = request.outputs.size() > 1;
  for (const KernelOperand& result : request.outputs) {
    if (result.type.dtype != DType::f32) return Refusal{"bf16 gradients of weights: this kernel gives f32"};
  }
  if (request.inputs[1].type.dtype != p.type) return Refusal{"x and dy of two types"};
  auto kernel = value_kernel<PixelGradients>(p.type, p, bias, summing_team(request));
  kernel->name = own_name("pixels " + request.def.name);
  return kernel;
}

double backward_weights_share(const KernelRequest& request) { return share_of(weights_pixels(request)); }

}  // namespace ridgeline::device::pixels
