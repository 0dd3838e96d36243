#include <algorithm>
#include <cstring>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/winograd/kernels.h"
#include "ridgeline/device/cpu/winograd/products.h"
#include "ridgeline/device/cpu/winograd/reader.h"
#include "ridgeline/device/cpu/winograd/scratch.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device {
namespace winograd {
namespace {

constexpr std::int64_t kChunkTiles = 16;  // transformed by one thread at a time
constexpr std::int64_t kDepthStep = 96;   // tiles summed in registers before they are added to the running sum

// Of images of Pixel, f32 or bf16; the gradients are f32. Blocks of tiles, each done by the whole team:
//   V = B^T x B, Z = A dy A^T    tiles dealt out
//   dU += Z^T V                  positions and panels dealt out
// and at the end dw = G^T dU G. There is one dU, and every sum has one order: the bits do not depend on the team.
template <class Pixel>
class BackwardWeightsKernel final : public Kernel {
 public:
  BackwardWeightsKernel(const Task& task, bool bias)
      : convolution_(task.convolution),
        rule_(task.rule),
        bias_(bias),
        tiles_(task.convolution.correlation(Pass::backward_weights), task.rule),
        reader_(task, Pass::backward_weights, compute_threads(), scratch_),
        weights_(task.rule, convolution_.filters(), convolution_.channels()),
        form_(weights_.turned_form()),
        transforms_(transforms<Pixel>(task.rule)),
        multiply_(multiply()),
        panel_(panel_width()) {
    // Each block reads and writes all of dU, so larger blocks for a larger one; V and Z should stay in the last cache.
    constexpr std::int64_t kSmall = std::int64_t{1} << 20;
    block_ = std::min<std::int64_t>(form_.floats() > kSmall ? 192 : 96, tiles_.total());
    z_row_ = round_up(convolution_.filters(), lanes());
    v_panel_ = block_ * panel_;
    v_distance_ = stream_distance(form_.panels() * v_panel_);
    z_distance_ = stream_distance(block_ * z_row_);
    sum_row_ = round_up(convolution_.filters(), kLineFloats);
    sums_ = scratch_.reserve(chunks() * sum_row_);
    v_ = scratch_.reserve(rule_.positions() * v_distance_);
    z_ = scratch_.reserve(rule_.positions() * z_distance_);
    products_ = scratch_.reserve(form_.floats());
    if (convolution_.stride > 1) blocked_ = scratch_.reserve(convolution_.blocked_weights());
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    reader_.prepare(scratch);
    for (std::int64_t first = 0; first < tiles_.total(); first += block_) {
      const std::int64_t count = std::min(block_, tiles_.total() - first);
      for_each_item((count + kChunkTiles - 1) / kChunkTiles, [&](std::int64_t chunk, int thread) {
        const std::int64_t begin = chunk * kChunkTiles;
        transform_tiles(first, begin, std::min(count, begin + kChunkTiles), thread, input<Pixel>(a, 0),
                        input<Pixel>(a, 1), scratch);
      });
      for_each_item(rule_.positions() * form_.panels(),
                    [&](std::int64_t item, int) { multiply_position(item, count, first > 0, scratch); });
    }
    float* const dw = blocked_ >= 0 ? scratch + blocked_ : output<float>(a, 0);
    weights_.gradient(scratch + products_, dw);
    if (blocked_ >= 0) convolution_.blocks().from_blocks(dw, convolution_.filters(), output<float>(a, 0));
    if (bias_) sum_bias(scratch + sums_, output<float>(a, 1));
  }

 private:
  std::int64_t chunks() const { return (tiles_.total() + kChunkTiles - 1) / kChunkTiles; }

  // Tiles [begin, end) of the block that starts at tile `first`.
  void transform_tiles(std::int64_t first, std::int64_t begin, std::int64_t end, int thread, const Pixel* x,
                       const Pixel* dy, float* scratch) const {
    const Pixel* const zeros = reader_.template zeros<Pixel>(scratch);
    float* const sums = scratch + sums_ + (first + begin) / kChunkTiles * sum_row_;
    std::memset(sums, 0, static_cast<std::size_t>(sum_row_) * sizeof(float));
    const Pixel* pixels[kMostPixels];
    for (std::int64_t t = begin; t < end; ++t) {
      reader_.read(first + t, thread, x, scratch, pixels);
      transforms_->input(pixels, convolution_.channels(), {scratch + v_ + t * panel_, v_distance_, v_panel_}, nullptr);
      tiles_.outputs(first + t, dy, zeros, pixels);
      transforms_->gradient(pixels, convolution_.filters(), {scratch + z_ + t * z_row_, z_distance_, panel_}, sums);
    }
  }

  void multiply_position(std::int64_t item, std::int64_t tiles, bool add, float* scratch) const {
    const std::int64_t position = item / form_.panels();
    const std::int64_t q = item % form_.panels();
    Product product{};
    product.rows = convolution_.filters();
    product.columns = std::min(panel_, convolution_.channels() - q * panel_);
    product.depth = tiles;
    product.depth_step = kDepthStep;
    product.a = scratch + z_ + position * z_distance_;
    product.a_row = 1;
    product.a_step = z_row_;
    product.b = scratch + v_ + position * v_distance_ + q * v_panel_;
    product.c = scratch + products_ + position * form_.distance() + q * form_.panel_floats();
    product.c_row = panel_;
    product.add = add;
    multiply_(product);
  }

  void sum_bias(const float* sums, float* db) const {
    for (std::int64_t k = 0; k < convolution_.filters(); ++k) {
      double sum = 0;
      for (std::int64_t chunk = 0; chunk < chunks(); ++chunk) sum += sums[chunk * sum_row_ + k];
      db[k] = static_cast<float>(sum);
    }
  }

  int threads_ = compute_threads();
  Convolution convolution_;
  Rule rule_;
  bool bias_;
  Scratch scratch_;
  Tiles tiles_;
  TileReader reader_;
  WeightsCode weights_;
  WeightsForm form_;  // of dU
  const TransformSet<Pixel>* transforms_;
  Multiply multiply_;
  std::int64_t panel_;
  std::int64_t block_;                 // tiles
  std::int64_t v_panel_, v_distance_;  // V: [position][panel][tile][channel of the panel]
  std::int64_t z_row_, z_distance_;    // Z: [position][tile][filter]
  std::int64_t sum_row_;               // of dy: [chunk of tiles][filter]
  std::int64_t sums_, v_, z_, products_;
  std::int64_t blocked_ = -1;  // dw in blocks, where there are any
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
