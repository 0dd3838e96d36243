// ridgeline/device/cpu/tiles/halves.h
//
// f32 operands on bf16 tiles: a value is the sum of two bf16, its high and its low half, and a product of two values is
// high high + high low + low high. The omitted term, low low, is at most 2^-16 of it. Pixels and weights carry their
// low halves as further channels.
#pragma once

#include "ridgeline/device/cpu/tiles/convolution.h"

namespace ridgeline::device::tiles {

// Channels of one half: whole tiles, padded with zeros.
inline std::int64_t half_channels(std::int64_t channels) { return round_up(channels, kTileDepth); }
inline std::int64_t both_halves(std::int64_t channels) { return 2 * half_channels(channels); }

// Splits rows of `length` values into rows of the high half followed by the low one. Uses the compute team.
void split_rows(const TileCode& code, const float* from, std::int64_t rows, std::int64_t length, bfloat16* to);
// Splits n values, the halves in separate arrays. Uses the compute team.
void split_values(const TileCode& code, const float* from, std::int64_t n, bfloat16* high, bfloat16* low);

// A refusal unless all operands are f32 and the depth of a sum at one tap fills a tile.
std::optional<Refusal> refuse_halves(std::initializer_list<const ValueType*> types, std::int64_t depth);

// The choice, or a refusal if there are so few products per value read or written that the library is faster, because
// splitting takes longer than multiplying. x and y are image and result, or the gradients in their places.
KernelChoice unless_few(KernelChoice choice, const ValueType& x, const ValueType& w, const ValueType& y,
                        std::int64_t least);

// Names the kernel "own conv2d amx bf16x3" and marks it as one of these.
void name_halves(Kernel& kernel, const KernelRequest& request, Tiles tiles);

}  // namespace ridgeline::device::tiles
