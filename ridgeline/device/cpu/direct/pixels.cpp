// 1x1 convolutions of f32 or bf16 images: a product of pixels and weights. Blocks of pixels, each on one thread, are
// multiplied with panels of weights that were packed before. f32 images are read, and results written, where they lie;
// bf16 ones are converted block by block in the thread's cache. Every sum has one order, which follows from the shapes.
#include <algorithm>
#include <string>

#include "ridgeline/device/cpu/direct/kernels.h"
#include "ridgeline/device/cpu/direct/panels.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/refuse_empty.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::device {
namespace direct {
namespace {

// Sums in registers over this many products, in all passes.
constexpr std::int64_t kDepth = 512;
constexpr std::int64_t kBlockPixels = 96;
// Pixels of a gradient's block, whose products are summed in registers.
constexpr std::int64_t kSumPixels = 192;
constexpr std::int64_t kMostParts = 16;

// `pixels` rows of c channels, and of k filters.
struct Pixels {
  std::int64_t pixels = 0, c = 0, k = 0;
  DType type = DType::f32;
};

// Converts runs of values; any thread may use it.
class Converter {
 public:
  Converter(DType from, DType to) {
    if (from == to) return;
    const ValueType operands[] = {{from, {2}}};
    auto expression = loop::parse("x0 : " + std::string(name_of(to)));
    loop_ = std::move(std::get<0>(make_part_loop(expression, operands)));
  }
  void run(const void* from, std::int64_t values, void* to) const {
    void* const operands[] = {const_cast<void*>(from)};
    void* const results[] = {to};
    loop_->run_part({operands, results, nullptr}, values);
  }

 private:
  std::unique_ptr<LoopKernel> loop_;
};

const char* at(const void* values, std::int64_t index, DType type) {
  return static_cast<const char*>(values) + index * static_cast<std::int64_t>(size_of(type));
}
char* at(void* values, std::int64_t index, DType type) {
  return static_cast<char*>(values) + index * static_cast<std::int64_t>(size_of(type));
}
float* floats(void* scratch, std::int64_t offset) { return static_cast<float*>(scratch) + offset; }

// out[pixel, n] = sum over d of in[pixel, d] * w: the forward pass (d channels, n filters) and the gradient of the
// image (d filters, n channels).
class PixelProducts final : public Kernel {
 public:
  PixelProducts(const Pixels& p, bool turned)
      : turned_(turned),
        type_(p.type),
        pixels_(p.pixels),
        filters_(p.k),
        channels_(p.c),
        depth_(turned ? p.k : p.c),
        columns_(turned ? p.c : p.k),
        panels_((columns_ + width_ - 1) / width_),
        widen_(p.type, DType::f32),
        narrow_(DType::f32, p.type) {
    // As many blocks for each thread.
    const std::int64_t blocks = round_up((pixels_ + kBlockPixels - 1) / kBlockPixels, threads_);
    block_ = round_up((pixels_ + blocks - 1) / blocks, 6);
    packed_ = scratch_.reserve(panels_ * depth_ * width_);
    in_ = scratch_.reserve(type_ == DType::f32 ? 0 : threads_ * block_ * depth_);
    out_ = scratch_.reserve(type_ == DType::f32 ? 0 : threads_ * block_ * columns_);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const packed = floats(a.scratch, packed_);
    pack(a.inputs[1], packed);
    for_each_item((pixels_ + block_ - 1) / block_, [&](std::int64_t item, int thread) {
      const std::int64_t first = item * block_;
      const std::int64_t count = std::min(block_, pixels_ - first);
      const void* in = at(a.inputs[0], first * depth_, type_);
      void* out = at(a.outputs[0], first * columns_, type_);
      if (type_ == DType::f32) {
        multiply(static_cast<const float*>(in), count, packed, static_cast<float*>(out));
        return;
      }
      float* const wide_in = floats(a.scratch, in_ + thread * block_ * depth_);
      float* const wide_out = floats(a.scratch, out_ + thread * block_ * columns_);
      widen_.run(in, count * depth_, wide_in);
      multiply(wide_in, count, packed, wide_out);
      narrow_.run(wide_out, count * columns_, out);
    });
  }

 private:
  // Weights [k][c] to [panel][depth][column of the panel]; all columns of a panel but the last are there.
  void pack(const void* weights, float* to) const {
    for_each_item(panels_, [&](std::int64_t q, int) {
      const std::int64_t first = q * width_, count = std::min(width_, columns_ - first);
      float* const panel = to + q * depth_ * width_;
      const auto value = [&](std::int64_t i) {
        return type_ == DType::f32 ? static_cast<const float*>(weights)[i]
                                   : to_float(static_cast<const bfloat16*>(weights)[i]);
      };
      if (turned_) {
        for (std::int64_t d = 0; d < depth_; ++d) {
          for (std::int64_t i = 0; i < count; ++i) panel[d * width_ + i] = value(d * channels_ + first + i);
        }
        return;
      }
      // Runs of channels that fill a line, so that rows of the panel are written while they are in the cache.
      for (std::int64_t begin = 0; begin < depth_; begin += kLineFloats) {
        const std::int64_t end = std::min(depth_, begin + kLineFloats);
        for (std::int64_t i = 0; i < count; ++i) {
          for (std::int64_t d = begin; d < end; ++d) panel[d * width_ + i] = value((first + i) * depth_ + d);
        }
      }
    });
  }

  void multiply(const float* in, std::int64_t count, const float* packed, float* out) const {
    const std::int64_t panel = depth_ * width_;
    for (std::int64_t q = 0; q < panels_; ++q) {
      const std::int64_t columns = std::min(width_, columns_ - q * width_);
      products::Lines next;
      if (q + 1 < panels_) next = products::lines_of(packed + (q + 1) * panel, panel);
      products::Ahead ahead({&next, 1}, products::Ahead::fours(count, depth_));
      code_.multiply({.rows = count,
                      .columns = columns,
                      .depth = depth_,
                      .depth_step = kDepth,
                      .a = in,
                      .a_row = depth_,
                      .a_step = 1,
                      .b = packed + q * panel,
                      .b_step = width_,
                      .c = out + q * width_,
                      .c_row = columns_},
                     ahead);
    }
  }

  bool turned_;
  DType type_;
  std::int64_t pixels_, filters_, channels_, depth_, columns_;
  const products::ProductCode& code_ = products::product_code();
  std::int64_t width_ = code_.panel;
  std::int64_t panels_;
  int threads_ = compute_threads();
  std::int64_t block_ = 0;
  Converter widen_, narrow_;
  Scratch scratch_;
  std::int64_t packed_ = 0, in_ = 0, out_ = 0;
};

// dw[k, c] = sum over pixels of dy[pixel, k] * x[pixel, c]. The pixels are cut into parts, each with a sum of its own,
// and the filters into groups; the team shares parts and groups, and sums are added in order. All follows from the
// shapes.
class PixelGradients final : public Kernel {
 public:
  explicit PixelGradients(const Pixels& p) : p_(p), widen_(p.type, DType::f32) {
    // Little memory for the sums, and pieces enough for a team.
    constexpr std::int64_t kMostFloats = std::int64_t{1} << 20;
    parts_ = std::clamp<std::int64_t>(kMostFloats / (p_.k * p_.c), 1, kMostParts);
    parts_ = std::clamp<std::int64_t>(p_.pixels / kSumPixels, 1, parts_);
    const std::int64_t panels = (p_.k + kFilters - 1) / kFilters;
    const std::int64_t groups = std::min(panels, (kFewestPieces + parts_ - 1) / parts_);
    group_ = (panels + groups - 1) / groups * kFilters;
    groups_ = (p_.k + group_ - 1) / group_;
    panels_ = (p_.c + width_ - 1) / width_;
    x_ = scratch_.reserve(threads_ * kSumPixels * panels_ * width_);
    dy_ = scratch_.reserve(threads_ * kSumPixels * group_);
    row_ = scratch_.reserve(threads_ * std::max(p_.c, p_.k));
    sums_ = scratch_.reserve((parts_ - 1) * p_.k * p_.c);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    auto* const dw = static_cast<float*>(a.outputs[0]);
    const std::int64_t size = p_.k * p_.c;
    float* const sums = floats(a.scratch, sums_);
    for_each_item(parts_ * groups_, [&](std::int64_t item, int thread) {
      const std::int64_t part = item / groups_;
      sum_piece(a, part, item % groups_ * group_, thread, part == 0 ? dw : sums + (part - 1) * size);
    });
    parallel_for(size, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = 1; part < parts_; ++part) {
        const float* const from = sums + (part - 1) * size;
        for (std::int64_t i = begin; i < end; ++i) dw[i] += from[i];
      }
    });
  }

 private:
  static constexpr std::int64_t kFilters = 96;  // in a panel of dy
  static constexpr std::int64_t kFewestPieces = 8;

  // A part's pixels and the filters of the group that begins at `filter`, into the part's sum.
  void sum_piece(const KernelArguments& a, std::int64_t part, std::int64_t filter, int thread, float* sum) const {
    const std::int64_t begin = p_.pixels * part / parts_, end = p_.pixels * (part + 1) / parts_;
    const std::int64_t filters = std::min(group_, p_.k - filter);
    float* const x = floats(a.scratch, x_ + thread * kSumPixels * panels_ * width_);
    float* const dy = floats(a.scratch, dy_ + thread * kSumPixels * group_);
    float* const row = floats(a.scratch, row_ + thread * std::max(p_.c, p_.k));
    for (std::int64_t first = begin; first < end; first += kSumPixels) {
      const std::int64_t count = std::min(kSumPixels, end - first);
      pack(a.inputs[0], first, count, p_.c, 0, p_.c, width_, row, x);
      pack(a.inputs[1], first, count, p_.k, filter, filters, kFilters, row, dy);
      for (std::int64_t q = 0; q < panels_; ++q) {
        for (std::int64_t f = 0; f < filters; f += kFilters) {
          float* const c = sum + (filter + f) * p_.c + q * width_;
          products::Ahead nothing;
          code_.multiply({.rows = std::min(kFilters, filters - f),
                          .columns = std::min(width_, p_.c - q * width_),
                          .depth = count,
                          .depth_step = kSumPixels,
                          .a = dy + f * kSumPixels,
                          .a_row = 1,
                          .a_step = kFilters,
                          .b = x + q * kSumPixels * width_,
                          .b_step = width_,
                          .c = c,
                          .c_row = p_.c,
                          .from = first > begin ? c : nullptr,
                          .from_row = p_.c},
                         nothing);
        }
      }
    }
  }

  // Columns [from, from + columns) of `count` rows of `channels` from pixel `first` on, as f32: [panel][pixel][width].
  void pack(const void* image, std::int64_t first, std::int64_t count, std::int64_t channels, std::int64_t from,
            std::int64_t columns, std::int64_t width, float* row, float* panels) const {
    for (std::int64_t pixel = 0; pixel < count; ++pixel) {
      const void* const values = at(image, (first + pixel) * channels + from, p_.type);
      const float* wide = static_cast<const float*>(values);
      if (p_.type != DType::f32) {
        widen_.run(values, columns, row);
        wide = row;
      }
      for (std::int64_t c = 0; c < columns; c += width) {
        std::copy_n(wide + c, std::min(width, columns - c), panels + c * kSumPixels + pixel * width);
      }
    }
  }

  Pixels p_;
  std::int64_t parts_ = 1, panels_ = 1;
  std::int64_t group_ = 0, groups_ = 1;  // filters in a group, and groups
  const products::ProductCode& code_ = products::product_code();
  std::int64_t width_ = code_.panel;
  int threads_ = compute_threads();
  Converter widen_;
  Scratch scratch_;
  std::int64_t x_ = 0, dy_ = 0, row_ = 0, sums_ = 0;
};

// Whole vectors are written where the results lie.
constexpr std::int64_t kVectorFloats = 16;

std::variant<Pixels, Refusal> pixels_of(const KernelRequest& request, const ValueType& x, const ValueType& w) {
  const Window v = window_of(request.def.name, request.node.attributes, w.shape[1], w.shape[2]);
  if (auto refusal = refuse_empty(request)) return *refusal;
  const bool pads = v.pad_before[0] + v.pad_before[1] + v.pad_after[0] + v.pad_after[1] > 0;
  if (v.kernel[0] != 1 || v.kernel[1] != 1 || v.stride[0] != 1 || v.stride[1] != 1 || pads ||
      request.node.attributes.integer("groups") != 1) {
    return Refusal{"this kernel takes 1x1 convolutions of stride 1, one group and no padding"};
  }
  const Pixels p{x.shape[0] * x.shape[1] * x.shape[2], x.shape[3], w.shape[0], x.dtype};
  if (p.c % kVectorFloats != 0 || p.k % kVectorFloats != 0) {
    return Refusal{std::to_string(p.c) + " channels and " + std::to_string(p.k) +
                   " filters: this kernel takes multiples of " + std::to_string(kVectorFloats)};
  }
  return p;
}

KernelChoice make_products(const KernelRequest& request, const ValueType& x, bool turned) {
  const auto pixels = pixels_of(request, x, request.inputs[1].type);
  if (const auto* refusal = std::get_if<Refusal>(&pixels)) return *refusal;
  if (request.inputs[0].type.dtype != request.outputs[0].type.dtype)
    return Refusal{"f32 results of bf16 operands: this kernel gives the type that it reads"};
  auto kernel = std::make_unique<PixelProducts>(std::get<Pixels>(pixels), turned);
  kernel->name = own_name("pixels " + request.def.name);
  return kernel;
}

}  // namespace
}  // namespace direct

KernelChoice make_pixels_conv2d(const KernelRequest& request) {
  if (request.inputs.size() > 2 || request.node.attributes.string("activation") != "none")
    return Refusal{"a bias, an addend or an activation: this kernel gives the sums alone"};
  return direct::make_products(request, request.inputs[0].type, false);
}

KernelChoice make_pixels_conv2d_bwd_data(const KernelRequest& request) {
  if (request.inputs.size() > 2) return Refusal{"a gate"};
  return direct::make_products(request, request.outputs[0].type, true);
}

KernelChoice make_pixels_conv2d_bwd_weights(const KernelRequest& request) {
  if (request.outputs.size() > 1) return Refusal{"a bias: this kernel gives the gradient of weights alone"};
  const auto pixels = direct::pixels_of(request, request.inputs[0].type, request.outputs[0].type);
  if (const auto* refusal = std::get_if<Refusal>(&pixels)) return *refusal;
  if (request.outputs[0].type.dtype != DType::f32) return Refusal{"bf16 gradients of weights: this kernel gives f32"};
  auto kernel = std::make_unique<direct::PixelGradients>(std::get<direct::Pixels>(pixels));
  kernel->name = own_name("pixels " + request.def.name);
  return kernel;
}

}  // namespace ridgeline::device
