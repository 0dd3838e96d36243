// ridgeline/device/cpu/tiles/convolution.h
//
// A conv2d node as the tile kernels see it, and what its passes share: a correlation computes results from pixels under
// taps. The forward pass is one correlation; the image's gradient is one for each of stride x stride interleaved
// subsets of the image's pixels, each over the taps that reach it. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/device/cpu/scratch.h"
#include "ridgeline/device/cpu/tiles/tiles.h"
#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::device::tiles {

using Pair = std::array<std::int64_t, 2>;  // vertical, horizontal

inline std::int64_t blocks_of(std::int64_t n, std::int64_t step) { return (n + step - 1) / step; }

// A distance for rows of whole tiles, at least n and an odd number of cache lines: at even ones the 16 rows of a tile
// would compete for the same places in the first-level cache.
constexpr std::int64_t apart(std::int64_t n) { return n % (2 * kTileDepth) == 0 ? n + kTileDepth : n; }

inline void clear(bfloat16* values, std::int64_t n) {
  std::memset(static_cast<void*>(values), 0, static_cast<std::size_t>(n) * sizeof(bfloat16));
}

struct Images {
  std::int64_t count = 0;
  Pair size{};
  std::int64_t channels = 0;
};

// Channels [first, first + n) of rows [top, bottom) of the images, counted through all of them.
LinesAhead pixel_lines(const bfloat16* from, const Images& images, std::int64_t top, std::int64_t bottom,
                       std::int64_t first, std::int64_t n, const LinesAhead* then = nullptr);

struct Convolution {
  Images image;   // x
  Images result;  // y
  Window window;
  std::int64_t groups = 1;

  std::int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
  std::int64_t group_channels() const { return image.channels / groups; }
  std::int64_t group_filters() const { return result.channels / groups; }
};

// The position of a tap in the image that is read, for the result at (0, 0), and its number in the kernel (r * S + s).
struct Tap {
  Pair at;
  std::int64_t number;
};

// Results at origin + i * step for i in [0, size), from the pixels at i * in_step + tap.
struct Part {
  Pair origin{};
  Pair step{1, 1};
  Pair size{};
  Pair in_step{1, 1};
  std::vector<Tap> taps;
};

// Computes rows of the images that a correlation reads, if they are not stored.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Channels [first, first + n) of the pixels [columns[0], columns[1]) of a row, counted through all images; pixels are
  // `to_step` values apart.
  virtual void make(const TileCode& code, std::int64_t row, const Pair& columns, std::int64_t first, std::int64_t n,
                    bfloat16* to, std::int64_t to_step) const = 0;
  // The lines that it reads for rows [rows[0], rows[1]).
  virtual LinesAhead lines(const Pair& rows) const = 0;
};

struct Correlation {
  Images in;
  Images out;
  std::int64_t groups = 1;
  std::vector<Part> parts;            // without empty ones
  const RowSource* source = nullptr;  // of `in`, if it is not stored

  std::int64_t in_channels() const { return in.channels / groups; }
  std::int64_t out_channels() const { return out.channels / groups; }
};

Correlation forward_correlation(const Convolution& c);
Correlation backward_data_correlation(const Convolution& c);

// A refusal if these tiles are not available.
std::optional<Refusal> refuse_tiles(Tiles tiles);
// A refusal unless `narrow` operands are bf16, and `either` bf16 or f32.
std::optional<Refusal> refuse_types(std::initializer_list<const ValueType*> narrow,
                                    std::initializer_list<const ValueType*> either);

// A node over image x, weights w and result y (or the gradients in their places).
Convolution convolution_of(const KernelRequest& request, const ValueType& x, const ValueType& w, const ValueType& y);
// A refusal of groups so small that tiles would be nearly empty.
std::optional<Refusal> refuse_groups(const Convolution& convolution);

// Whether results exceed what caches keep until they are read. Then bypassing the caches is faster: a line that is
// written into a cache is fetched first.
bool past_caches(const Images& results);

// A bias of either type, as f32.
void widen_bias(const void* bias, DType type, std::int64_t n, float* to);

// Sets what reports show of a kernel on tiles: its name, "own conv2d amx" and the variant, and its products.
void describe(Kernel& kernel, const KernelRequest& request, Tiles tiles, std::string_view variant = "");

}  // namespace ridgeline::device::tiles
