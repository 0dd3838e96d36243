// ridgeline/device/cpu/speeds.h
//
// How fast the CPU's kernels are: all numbers that decide the order of an op's entries and the choice of a Winograd
// rule. Coarse, from the measurements on the pages that are named; they only serve to order entries.
#pragma once

#include <cstdint>

namespace ridgeline::device {

// As multiples of the device's f32 rates (KernelEntry::speed), and the remaining share at shapes where others are
// faster by measurement (KernelEntry::share).
struct KernelSpeed {
  double best = 1;
  double elsewhere = 1;
};

namespace speeds {

// docs/device-tiles.md
inline constexpr KernelSpeed kTileBlocks{5};  // strided first layers
inline constexpr KernelSpeed kTiles{4};
inline constexpr KernelSpeed kDots{1.3, 0.46};
inline constexpr KernelSpeed kHalves{1.2};
// docs/device-winograd.md
inline constexpr KernelSpeed kWinograd{1.6, 0.39};
// docs/device-pixels.md
inline constexpr KernelSpeed kPixels{0.9, 0.55};
// docs/device-depthwise.md
inline constexpr KernelSpeed kDepthwise{0.5};
inline constexpr KernelSpeed kDepthwiseWeights{1, 0.5};  // large filters
// docs/device-direct.md
inline constexpr KernelSpeed kDirect{0.4};
// docs/device-dense.md. With few rows, only reading the weights once takes time, which no other kernel achieves.
inline constexpr KernelSpeed kFewRows{6};
inline constexpr KernelSpeed kFewRowsGradients{2};
inline constexpr KernelSpeed kDenseRows{0.9, 0.55};
inline constexpr KernelSpeed kMatmul{0.7};
// docs/device-own.md: compared with our pools and norms, which are all 1.
inline constexpr KernelSpeed kLibrary{0.85};
inline constexpr KernelSpeed kLibraryAhead{1.1};   // average pools and LRN forward
inline constexpr KernelSpeed kLibraryChunks{0.8};  // docs/device.md, "The library by chunks"
// docs/device.md, "bf16 without tiles": after every kernel that reads the type itself.
inline constexpr KernelSpeed kWidened{0.1};

// Most rows and fewest weights for which our kernels over many rows are faster than the library's. They need weights in
// plain rows, so the rule is the same for all passes of a layer.
inline constexpr std::int64_t kMostDenseRows = 256;
inline constexpr std::int64_t kLeastDenseWeights = 4'000'000;

// Pixels of 1x1 and strided convolutions from which products over pixels are faster than the library's.
inline constexpr std::int64_t kLeastPixels = 1536;
inline constexpr std::int64_t kLeastPixelChannels = 64;

// Taps of a depthwise filter from which our weight gradients are faster than the library's (docs/device-depthwise.md):
// three times with 49 taps, half as fast with 9.
inline constexpr std::int64_t kLeastDepthwiseTaps = 49;

// Dot products compared with the library's on Zen 5 (docs/device-tiles.md, "Dot products"): the library skips products
// with padding, and needs no zeros between rows of an image. Taps times channels of a first layer from which gathering
// them pays off, and the number of results of an image for which weight gradients are left to the library.
inline constexpr std::int64_t kLeastFirstLayerTaps = 256;
inline constexpr std::int64_t kMostLibraryResults = 28 * 28;
// For strided convolutions over more channels than an image has, the library's kernel takes 8 ms and ours 5; with other
// load on the machine it takes 115 to 670 ms, because its threads wait for each other in the middle (resnet20's first
// stride, batch 32, two cores).
inline constexpr std::int64_t kMostLibraryStridedChannels = 4;

// Products per value read or written from which f32 as sums of two bf16 is faster than the library: 51 are slower and
// 102 faster; for weight gradients 102 are slower and 170 faster.
inline constexpr std::int64_t kLeastHalvesProducts = 96;
inline constexpr std::int64_t kLeastHalvesGradientProducts = 144;

// Winograd's rules, in units of one multiply-add at the vector units' peak, for one thread: fitted to the measurements
// in docs/device-winograd.md.
namespace winograd {

// The share of the peak that direct convolutions reach, the library's and our products. Weight gradients of images with
// few channels, as in a model's first layer, improve with the number of taps: 0.09 with 3x3, 0.5 with 11x11; by bf16
// dot products 0.3 and 0.5.
inline constexpr double kDirectShare = 0.95;
inline constexpr double kDirectWeightsShare = 0.65;
inline constexpr std::int64_t kFewChannels = 8;
inline constexpr double kMostOfFew = 0.5;
inline constexpr double kTapShare = 0.01;
inline constexpr double kNarrowShare = 0.25;
inline constexpr double kNarrowTapShare = 0.006;
// The share of the peak that products of tiles reach.
inline constexpr double kProductShare = 0.8;
// Multiply-adds in the time of transforming one element of a tile or of the weights, per lane.
inline constexpr double kTransform = 2;
inline constexpr double kNarrowTransform = 1;  // for bf16, half as many bytes
inline constexpr double kForwardWeights = 5;
inline constexpr double kWeights = 3;
// In the time of converting a weight to bf16 and to a layout of direct kernels.
inline constexpr double kForwardCast = 4;
inline constexpr double kCast = 8;
// Estimates are not exact: a kernel estimated as faster by less than this may be slower (estimates are closer if bf16
// products are fast). The last one is what tiles of two sizes, which need the weights in up to four layouts, must gain
// over the best of one size.
inline constexpr double kLeastGain = 1.15;
inline constexpr double kLeastNarrowGain = 1.05;
inline constexpr double kLeastMixedGain = 1.05;

}  // namespace winograd
}  // namespace speeds
}  // namespace ridgeline::device
