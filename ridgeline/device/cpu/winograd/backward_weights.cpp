#include <algorithm>
#include <array>
#include <cstring>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/products/products.h"
#include "ridgeline/device/cpu/winograd/kernels.h"
#include "ridgeline/device/cpu/winograd/reader.h"
#include "ridgeline/device/cpu/winograd/scratch.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device {
namespace winograd {
namespace {

constexpr std::int64_t kChunkTiles = 16;  // transformed by one thread at a time
constexpr std::int64_t kDepthStep = 96;   // tiles summed in registers before they are added to the running sum

// Where the sums of dy's pixels go, for the bias: some floats for each chunk of tiles, of all regions.
struct BiasSums {
  BiasSums(const Task& task, Scratch& scratch) : row(round_up(task.convolution.filters(), kLineFloats)) {
    const Correlation shape = task.convolution.correlation(Pass::backward_weights);
    for (const Region& region : task.regions) chunks += chunks_of(Tiles(shape, region));
    at = scratch.reserve(chunks * row);
  }
  static std::int64_t chunks_of(const Tiles& tiles) { return (tiles.total() + kChunkTiles - 1) / kChunkTiles; }

  std::int64_t row;
  std::int64_t chunks = 0;
  std::int64_t at = 0;  // in the scratch memory
};

// The gradient by the results of one region. Of images of Pixel, f32 or bf16; the gradients are f32. Blocks of tiles,
// each done by the whole team:
//   V = B^T x B, Z = A dy A^T    tiles dealt out
//   dU += Z^T V                  positions and panels dealt out
// and at the end dw = G^T dU G. There is one dU, and every sum has one order: the bits do not depend on the team.
//
// Where dU is small beside the tiles, as in a model's first layers, products are too short for what they read from the
// other threads' caches. There the tiles are cut into parts, each done by one thread in blocks of its own and summed
// apart, and the sums are added in order. The parts follow from the shapes.
template <class Pixel>
class RegionGradient {
 public:
  // Reserves its memory in `scratch`, for a team of compute_threads().
  RegionGradient(const Convolution& convolution, const Region& region, Scratch& scratch)
      : convolution_(convolution),
        rule_(region.rule),
        tiles_(convolution.correlation(Pass::backward_weights), region),
        reader_(convolution, region, Pass::backward_weights, compute_threads(), scratch),
        weights_(region.rule, convolution_.filters(), convolution_.channels()),
        form_(weights_.turned_form()),
        transforms_(transforms<Pixel>(region.rule)),
        code_(products::product_code()),
        panel_(panel_width()) {
    choose_parts();
    const std::int64_t teams = parts_ > 1 ? threads_ : 1;  // with V and Z of their own
    z_row_ = round_up(convolution_.filters(), lanes());
    v_panel_ = block_ * panel_;
    v_distance_ = stream_distance(form_.panels() * v_panel_);
    z_distance_ = stream_distance(block_ * z_row_);
    v_ = scratch.reserve(teams * rule_.positions() * v_distance_);
    z_ = scratch.reserve(teams * rule_.positions() * z_distance_);
    products_ = scratch.reserve(parts_ * form_.floats());
  }

  // dw, or with `add` what is added to it; the sums of dy's pixels, chunk by chunk.
  void run(const Pixel* x, const Pixel* dy, float* dw, bool add, float* bias_sums, float* scratch) const {
    reader_.prepare(scratch);
    const Operands from{x, dy, bias_sums};
    if (parts_ > 1) {
      for_each_item(parts_, [&](std::int64_t part, int thread) { sum_part(from, part, thread, scratch); });
      add_parts(scratch + products_);
    } else {
      sum_together(from, scratch);
    }
    weights_.gradient(scratch + products_, dw, add);
  }

  std::int64_t chunks() const { return BiasSums::chunks_of(tiles_); }

 private:
  struct Operands {
    const Pixel* x;
    const Pixel* dy;
    float* bias_sums;
  };

  // Each block reads and writes all of dU, so larger blocks for a larger one; V and Z should stay in the last cache.
  // A dU that fits a core's own cache beside 48 tiles is summed in parts, where there are tiles enough.
  void choose_parts() {
    constexpr std::int64_t kNear = std::int64_t{320} << 10;  // floats
    constexpr std::int64_t kSmall = std::int64_t{8} << 20;
    constexpr std::int64_t kFewest = 8, kMost = 16;
    const std::int64_t floats = rule_.positions() * convolution_.filters() * convolution_.channels();
    const std::int64_t parts = std::min(kMost, tiles_.total() / kDepthStep);
    if (floats <= kNear && parts >= kFewest) {
      parts_ = parts;
      block_ = kDepthStep / 2;
    } else {
      block_ = std::min(floats > kSmall ? 2 * kDepthStep : kDepthStep, tiles_.total());
    }
  }

  // One dU for all blocks, which the team does together.
  void sum_together(const Operands& from, float* scratch) const {
    for (std::int64_t first = 0; first < tiles_.total(); first += block_) {
      const std::int64_t count = std::min(block_, tiles_.total() - first);
      for_each_item((count + kChunkTiles - 1) / kChunkTiles, [&](std::int64_t chunk, int thread) {
        const std::int64_t begin = chunk * kChunkTiles;
        transform_tiles(from, first, begin, std::min(count, begin + kChunkTiles), thread, 0, scratch);
      });
      const std::int64_t runs = std::min<std::int64_t>(products(), 8 * threads_);
      for_each_item(runs, [&](std::int64_t run, int) {
        multiply_all(products() * run / runs, products() * (run + 1) / runs, count, first > 0, 0, 0, scratch);
      });
    }
  }

  // The blocks of one part, into its dU.
  void sum_part(const Operands& from, std::int64_t part, int thread, float* scratch) const {
    // Whole chunks, so that each sum of dy is one part's.
    const auto border = [&](std::int64_t i) { return std::min(tiles_.total(), chunks() * i / parts_ * kChunkTiles); };
    const std::int64_t begin = border(part), end = border(part + 1);
    for (std::int64_t first = begin; first < end; first += block_) {
      const std::int64_t count = std::min(block_, end - first);
      for (std::int64_t tile = 0; tile < count; tile += kChunkTiles) {
        transform_tiles(from, first, tile, std::min(count, tile + kChunkTiles), thread, thread, scratch);
      }
      multiply_all(0, products(), count, first > begin, thread, part, scratch);
    }
  }

  // The first dU becomes the sum of all.
  void add_parts(float* sums) const {
    parallel_for(form_.floats(), 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = 1; part < parts_; ++part) {
        const float* const from = sums + part * form_.floats();
        for (std::int64_t i = begin; i < end; ++i) sums[i] += from[i];
      }
    });
  }

  // Tiles [begin, end) of the block that starts at tile `first`, into the V and Z of `team`.
  void transform_tiles(const Operands& from, std::int64_t first, std::int64_t begin, std::int64_t end, int thread,
                       int team, float* scratch) const {
    float* const v = scratch + v_ + team * rule_.positions() * v_distance_;
    float* const z = scratch + z_ + team * rule_.positions() * z_distance_;
    const Pixel* const zeros = reader_.template zeros<Pixel>(scratch);
    const std::int64_t sum_row = round_up(convolution_.filters(), kLineFloats);
    float* const sums = from.bias_sums + (first + begin) / kChunkTiles * sum_row;
    std::memset(sums, 0, static_cast<std::size_t>(sum_row) * sizeof(float));
    const Pixel* pixels[kMostPixels];
    for (std::int64_t t = begin; t < end; ++t) {
      reader_.read(first + t, thread, from.x, scratch, pixels);
      transforms_->input(pixels, convolution_.channels(), {v + t * panel_, v_distance_, v_panel_}, nullptr);
      tiles_.outputs(first + t, from.dy, zeros, pixels);
      transforms_->gradient(pixels, convolution_.filters(), {z + t * z_row_, z_distance_, panel_}, sums);
    }
  }

  // Of a block: for each position its panels.
  std::int64_t products() const { return rule_.positions() * form_.panels(); }

  // Products [begin, end) of the V and Z of `team`, into the dU of `part`.
  void multiply_all(std::int64_t begin, std::int64_t end, std::int64_t tiles, bool add, int team, std::int64_t part,
                    float* scratch) const {
    const float* const v = scratch + v_ + team * rule_.positions() * v_distance_;
    const float* const z = scratch + z_ + team * rule_.positions() * z_distance_;
    float* const sums = scratch + products_ + part * form_.floats();
    const std::int64_t panels = form_.panels(), distance = form_.distance(), panel_floats = form_.panel_floats();
    const auto v_panel = [&](std::int64_t i) { return v + i / panels * v_distance_ + i % panels * v_panel_; };
    const auto sum_panel = [&](std::int64_t i) { return sums + i / panels * distance + i % panels * panel_floats; };
    const std::int64_t share = round_up((tiles * z_row_ + panels - 1) / panels, kLineFloats);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t position = i / panels, q = i % panels;
      products::Product product{};
      product.rows = convolution_.filters();
      product.columns = std::min(panel_, convolution_.channels() - q * panel_);
      product.depth = tiles;
      product.depth_step = kDepthStep;
      product.a = z + position * z_distance_;
      product.a_row = 1;
      product.a_step = z_row_;
      product.b = v_panel(i);
      product.c = sum_panel(i);
      product.b_step = product.c_row = panel_;
      if (add) {
        product.from = product.c;
        product.from_row = panel_;
      }
      std::array<products::Lines, 3> next;
      if (i + 1 < end) {
        next[0] = products::lines_of(v_panel(i + 1), tiles * panel_);
        next[1] = products::lines_of(sum_panel(i + 1), panel_floats);
      }
      if (i + panels < end) {  // a share of the next position's
        next[2] = products::lines_of(z + (position + 1) * z_distance_ + q * share, share);
      }
      products::Ahead ahead(next, products::Ahead::fours(product.rows, product.depth));
      code_.multiply(product, ahead);
    }
  }

  int threads_ = compute_threads();
  Convolution convolution_;
  Rule rule_;
  Tiles tiles_;
  TileReader reader_;
  WeightsCode weights_;
  WeightsForm form_;  // of dU
  const TransformSet<Pixel>* transforms_;
  const products::ProductCode& code_;
  std::int64_t panel_;
  std::int64_t parts_ = 1;
  std::int64_t block_ = 0;             // tiles
  std::int64_t v_panel_, v_distance_;  // V: [position][panel][tile][channel of the panel]
  std::int64_t z_row_, z_distance_;    // Z: [position][tile][filter]
  std::int64_t v_, z_, products_;
};

template <class Pixel>
class BackwardWeightsKernel final : public Kernel {
 public:
  BackwardWeightsKernel(const Task& task, bool bias)
      : convolution_(task.convolution), bias_(bias), sums_(task, scratch_) {
    if (convolution_.stride > 1) blocked_ = scratch_.reserve(convolution_.blocked_weights());
    regions_ = task.parts<RegionGradient<Pixel>>(scratch_);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    float* const dw = blocked_ >= 0 ? scratch + blocked_ : output<float>(a, 0);
    float* sums = scratch + sums_.at;
    for (const RegionGradient<Pixel>& region : regions_) {
      region.run(input<Pixel>(a, 0), input<Pixel>(a, 1), dw, &region != &regions_.front(), sums, scratch);
      sums += region.chunks() * sums_.row;
    }
    if (blocked_ >= 0) convolution_.blocks().from_blocks(dw, convolution_.filters(), output<float>(a, 0));
    if (bias_) sum_bias(scratch + sums_.at, output<float>(a, 1));
  }

 private:
  void sum_bias(const float* sums, float* db) const {
    for (std::int64_t k = 0; k < convolution_.filters(); ++k) {
      double sum = 0;
      for (std::int64_t chunk = 0; chunk < sums_.chunks; ++chunk) sum += sums[chunk * sums_.row + k];
      db[k] = static_cast<float>(sum);
    }
  }

  int threads_ = compute_threads();
  Convolution convolution_;
  bool bias_;
  Scratch scratch_;
  BiasSums sums_;
  std::int64_t blocked_ = -1;  // dw in blocks, where there are any
  std::vector<RegionGradient<Pixel>> regions_;
};

}  // namespace

KernelChoice make_backward_weights(const KernelRequest& request, const Wish& wish) {
  const auto task = task_of(request, Pass::backward_weights, request.inputs[0].type, request.outputs[0].type,
                            request.inputs[1].type, wish);
  if (const auto* refusal = std::get_if<Refusal>(&task)) return *refusal;
  return kernel_for<BackwardWeightsKernel>(request, Pass::backward_weights, std::get<Task>(task),
                                           request.outputs.size() == 2);
}

}  // namespace winograd

KernelChoice make_winograd_conv2d_bwd_weights(const KernelRequest& request) {
  return winograd::make_backward_weights(request, {});
}

KernelChoice make_any_winograd_conv2d_bwd_weights(const KernelRequest& request) {
  return winograd::make_backward_weights(request, {.only_where_faster = false});
}

}  // namespace ridgeline::device
