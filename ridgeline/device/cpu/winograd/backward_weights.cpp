#include <algorithm>
#include <array>
#include <cstring>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/products/products.h"
#include "ridgeline/device/cpu/team_shares.h"
#include "ridgeline/device/cpu/winograd/reader.h"
#include "ridgeline/device/cpu/winograd/scratch.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device::winograd {
namespace {

constexpr std::int64_t kDepthStep = 96;  // tiles summed in registers before they are added to the running sum

std::int64_t pieces_of(std::int64_t n, std::int64_t piece) { return (n + piece - 1) / piece; }

// How the tiles of a region are divided.
struct Cut {
  std::int64_t parts = 1;  // with sums of their own
  std::int64_t block = 0;  // tiles whose products are added at a time, whole chunks of them
  std::int64_t chunk = 0;  // tiles that one thread transforms at a time
};

// Each block reads and writes all of dU, so larger blocks for a larger one, and for a larger team, whose threads wait
// for each other twice a block; V and Z should stay in the last-level cache. A dU that fits a core's own cache beside
// 48 tiles is summed in parts, where there are enough tiles. For `team`: team_shares.h.
Cut cut_of(const Convolution& convolution, const Region& region, std::int64_t team) {
  constexpr std::int64_t kMostChunk = 16;
  constexpr std::int64_t kNear = std::int64_t{320} << 10;  // floats
  constexpr std::int64_t kSmall = std::int64_t{8} << 20;
  constexpr std::int64_t kLast = std::int64_t{8} << 20;
  constexpr std::int64_t kFewestParts = 8, kMostParts = 16;
  const std::int64_t total = Tiles(convolution.correlation(Pass::backward_weights), region).total();
  const std::int64_t channels = convolution.channels(), filters = convolution.filters();
  const std::int64_t positions = region.rule.positions(), floats = positions * filters * channels;
  const bool small = team <= kSmallTeam;
  const std::int64_t most = small ? total / kDepthStep : total / (kDepthStep / 2) / team * team;
  const std::int64_t parts = std::min(small ? kMostParts : round_up(kMostParts, team), most);
  if (floats <= kNear && parts >= kFewestParts) return {parts, kDepthStep / 2, small ? kMostChunk : kMostChunk / 2};
  const std::int64_t block = floats > kSmall ? 2 * kDepthStep : kDepthStep;
  if (small) return {1, std::min(block, total), kMostChunk};
  const std::int64_t room = std::max(block, kLast / (positions * (channels + filters)));
  const std::int64_t wanted = std::min(block * team / kSmallTeam, room);
  const std::int64_t tiles = pieces_of(total, std::max<std::int64_t>(1, (total + wanted / 2) / wanted));
  const std::int64_t chunk = pieces_of(tiles, team * pieces_of(tiles, kMostChunk * team));
  return {1, round_up(tiles, chunk), chunk};
}

// Where the sums of dy's pixels go, for the bias: some floats for each chunk of tiles, of all regions.
struct BiasSums {
  BiasSums(const Task& task, std::int64_t team, Scratch& scratch)
      : row(round_up(task.convolution.filters(), kLineFloats)) {
    const Correlation shape = task.convolution.correlation(Pass::backward_weights);
    for (const Region& region : task.regions)
      chunks += pieces_of(Tiles(shape, region).total(), cut_of(task.convolution, region, team).chunk);
    at = scratch.reserve(chunks * row);
  }

  std::int64_t row;
  std::int64_t chunks = 0;
  std::int64_t at = 0;  // in the scratch memory
};

// The gradient by the results of one region. Of images of Pixel, f32 or bf16; the gradients are f32. Blocks of tiles,
// each done by the whole team:
//   V = B^T x B, Z = A dy A^T    tiles dealt out
//   dU += Z^T V                  positions and panels dealt out
// and at the end dw = G^T dU G. There is one dU, and every sum has one order.
//
// Where dU is small beside the tiles, as in a model's first layers, products are too short compared with their reads
// from other threads' caches. There the tiles are divided into parts, each computed by one thread in its own blocks and
// summed separately, and the sums are added in order.
template <class Pixel>
class RegionGradient {
 public:
  // Reserves its memory in `scratch`, for a team of compute_threads(); sums are divided for `team`.
  RegionGradient(const Convolution& convolution, const Region& region, std::int64_t team, Scratch& scratch)
      : convolution_(convolution),
        rule_(region.rule),
        tiles_(convolution.correlation(Pass::backward_weights), region),
        reader_(convolution, region, Pass::backward_weights, compute_threads(), scratch),
        weights_(region.rule, convolution_.filters(), convolution_.channels()),
        form_(weights_.turned_form()),
        transforms_(transforms<Pixel>(region.rule)),
        code_(products::product_code()),
        panel_(panel_width()),
        cut_(cut_of(convolution, region, team)) {
    const std::int64_t teams = cut_.parts > 1 ? threads_ : 1;  // with V and Z of their own
    z_row_ = round_up(convolution_.filters(), lanes());
    v_panel_ = cut_.block * panel_;
    v_distance_ = stream_distance(form_.panels() * v_panel_);
    z_distance_ = stream_distance(cut_.block * z_row_);
    v_ = scratch.reserve(teams * rule_.positions() * v_distance_);
    z_ = scratch.reserve(teams * rule_.positions() * z_distance_);
    products_ = scratch.reserve(cut_.parts * form_.floats());
  }

  // dw, or with `add` a summand of it; the sums of dy's pixels, chunk by chunk.
  void run(const Pixel* x, const Pixel* dy, float* dw, bool add, float* bias_sums, float* scratch) const {
    reader_.prepare(scratch);
    const Operands from{x, dy, bias_sums};
    if (cut_.parts > 1) {
      for_each_item(cut_.parts, [&](std::int64_t part, int thread) { sum_part(from, part, thread, scratch); });
      add_parts(scratch + products_);
    } else {
      sum_together(from, scratch);
    }
    weights_.gradient(scratch + products_, dw, add);
  }

  std::int64_t chunks() const { return pieces_of(tiles_.total(), cut_.chunk); }

 private:
  struct Operands {
    const Pixel* x;
    const Pixel* dy;
    float* bias_sums;
  };

  // One dU for all blocks, which the team does together.
  void sum_together(const Operands& from, float* scratch) const {
    for (std::int64_t first = 0; first < tiles_.total(); first += cut_.block) {
      const std::int64_t count = std::min(cut_.block, tiles_.total() - first);
      for_each_item(pieces_of(count, cut_.chunk), [&](std::int64_t chunk, int thread) {
        const std::int64_t begin = chunk * cut_.chunk;
        transform_tiles(from, first, begin, std::min(count, begin + cut_.chunk), thread, 0, scratch);
      });
      const std::int64_t runs = std::min<std::int64_t>(products(), (threads_ > kSmallTeam ? 16 : 8) * threads_);
      for_each_item(runs, [&](std::int64_t run, int) {
        multiply_all(products() * run / runs, products() * (run + 1) / runs, count, first > 0, 0, 0, scratch);
      });
    }
  }

  // The blocks of one part, into its dU.
  void sum_part(const Operands& from, std::int64_t part, int thread, float* scratch) const {
    // Full chunks, so that each sum of dy belongs to one part.
    const auto border = [&](std::int64_t i) {
      return std::min(tiles_.total(), chunks() * i / cut_.parts * cut_.chunk);
    };
    const std::int64_t begin = border(part), end = border(part + 1);
    for (std::int64_t first = begin; first < end; first += cut_.block) {
      const std::int64_t count = std::min(cut_.block, end - first);
      for (std::int64_t tile = 0; tile < count; tile += cut_.chunk) {
        transform_tiles(from, first, tile, std::min(count, tile + cut_.chunk), thread, thread, scratch);
      }
      multiply_all(0, products(), count, first > begin, thread, part, scratch);
    }
  }

  // The first dU becomes the sum of all.
  void add_parts(float* sums) const {
    parallel_for(form_.floats(), 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = 1; part < cut_.parts; ++part) {
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
    float* const sums = from.bias_sums + (first + begin) / cut_.chunk * sum_row;
    std::memset(sums, 0, static_cast<std::size_t>(sum_row) * sizeof(float));
    const Pixel* pixels[kMostPixels];
    for (std::int64_t t = begin; t < end; ++t) {
      reader_.read(first + t, thread, from.x, scratch, pixels);
      transforms_->input(pixels, convolution_.channels(), {v + t * panel_, v_distance_, v_panel_}, nullptr);
      tiles_.outputs(first + t, from.dy, zeros, pixels);
      transforms_->gradient(pixels, convolution_.filters(), {z + t * z_row_, z_distance_, panel_}, sums);
    }
  }

  // For a block: the panels of each position.
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
  Cut cut_;
  std::int64_t v_panel_, v_distance_;  // V: [position][panel][tile][channel of the panel]
  std::int64_t z_row_, z_distance_;    // Z: [position][tile][filter]
  std::int64_t v_, z_, products_;
};

template <class Pixel>
class BackwardWeightsKernel final : public Kernel {
 public:
  BackwardWeightsKernel(const Task& task, bool bias, std::int64_t team)
      : convolution_(task.convolution), bias_(bias), sums_(task, team, scratch_) {
    if (convolution_.stride > 1) blocked_ = scratch_.reserve(convolution_.blocked_weights());
    regions_ = task.parts<RegionGradient<Pixel>>(scratch_, team);
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
    parallel_for(convolution_.filters(), kLineFloats, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += kLineFloats) {
        const std::int64_t count = std::min(kLineFloats, end - first);
        double wide[kLineFloats] = {};
        for (std::int64_t chunk = 0; chunk < sums_.chunks; ++chunk) {
          const float* const row = sums + chunk * sums_.row + first;
          for (std::int64_t k = 0; k < count; ++k) wide[k] += static_cast<double>(row[k]);
        }
        std::transform(wide, wide + count, db + first, [](double sum) { return static_cast<float>(sum); });
      }
    });
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

std::variant<Task, Refusal> backward_weights_task(const KernelRequest& request, const Wish& wish) {
  return task_of(request, Pass::backward_weights, request.inputs[0].type, request.outputs[0].type,
                 request.inputs[1].type, wish);
}

KernelChoice make_backward_weights(const KernelRequest& request, const Wish& wish) {
  const auto task = backward_weights_task(request, wish);
  if (const auto* refusal = std::get_if<Refusal>(&task)) return *refusal;
  return kernel_for<BackwardWeightsKernel>(request, Pass::backward_weights, std::get<Task>(task),
                                           request.outputs.size() == 2, summing_team(request));
}

}  // namespace ridgeline::device::winograd
