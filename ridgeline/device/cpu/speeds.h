// ridgeline/device/cpu/speeds.h
//
// How fast the CPU's kernels are: every number by which the entries of an op are put in an order, and by which a
// Winograd rule is chosen. Coarse, by the measurements of the pages that are named; an order between two entries is all
// that follows from them.
#pragma once

#include <cstdint>

namespace ridgeline::device {

// As multiples of what the device's rates on f32 say (KernelEntry::speed), and what is left of it at shapes where
// others were measured to be faster (KernelEntry::share).
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
// docs/device-direct.md
inline constexpr KernelSpeed kDirect{0.4};
// docs/device-dense.md. Few rows take the time of reading the weights once, which no other kernel does.
inline constexpr KernelSpeed kFewRows{6};
inline constexpr KernelSpeed kFewRowsGradients{2};
inline constexpr KernelSpeed kDenseRows{0.9, 0.55};
inline constexpr KernelSpeed kMatmul{0.7};
// docs/device-own.md: beside our pools and norms, of which all are 1.
inline constexpr KernelSpeed kLibrary{0.85};
inline constexpr KernelSpeed kLibraryAhead{1.1};   // average pools and LRN forward
inline constexpr KernelSpeed kLibraryChunks{0.8};  // docs/device.md, "The library by chunks"
// docs/device.md, "bf16 without tiles": behind every kernel that reads the type itself.
inline constexpr KernelSpeed kWidened{0.1};

// Rows and weights up to and from which dense rows are faster than the library's. They want weights in plain rows, so
// the rule is the same for all passes of a layer.
inline constexpr std::int64_t kMostDenseRows = 256;
inline constexpr std::int64_t kLeastDenseWeights = 4'000'000;

// Of 1x1 and strided convolutions, from which products over pixels are faster than the library's.
inline constexpr std::int64_t kLeastPixels = 1536;
inline constexpr std::int64_t kLeastPixelChannels = 64;

// Dot products beside the library's on Zen 5 (docs/device-tiles.md, "Dot products"): it leaves out what would be
// multiplied by padding, and rows of an image need no zeros between them. Taps times channels of a first layer that
// fill fewer steps than make up for bringing them together, and results of an image whose weight gradients are the
// library's.
inline constexpr std::int64_t kLeastFirstLayerTaps = 256;
inline constexpr std::int64_t kMostLibraryResults = 28 * 28;
// Strided over more channels than an image has, the library's takes 8 ms where ours takes 5, and 115 to 670 beside
// other work: its threads wait for each other in the middle (resnet20's first stride, batch 32, two cores).
inline constexpr std::int64_t kMostLibraryStridedChannels = 4;

// Products a value that is read or written from which f32 as sums of two bf16 is faster than the library: 51 lose and
// 102 win, of weight gradients 102 lose and 170 win.
inline constexpr std::int64_t kLeastHalvesProducts = 96;
inline constexpr std::int64_t kLeastHalvesGradientProducts = 144;

// Winograd's rules, in units of one multiply-add at the vector units' peak, for one thread: fitted to the measurements
// in docs/device-winograd.md.
namespace winograd {

// What direct convolutions, the library's and our products, reach of the peak. Weight gradients of images of few
// channels, as a model's first layer has, gain by the number of taps: 0.09 with 3x3, 0.5 with 11x11; by dot products of
// bf16 0.3 and 0.5.
inline constexpr double kDirectShare = 0.95;
inline constexpr double kDirectWeightsShare = 0.65;
inline constexpr std::int64_t kFewChannels = 8;
inline constexpr double kMostOfFew = 0.5;
inline constexpr double kTapShare = 0.01;
inline constexpr double kNarrowShare = 0.25;
inline constexpr double kNarrowTapShare = 0.006;
// What products of tiles reach.
inline constexpr double kProductShare = 0.8;
// Multiply-adds in the time of one transformed element of a tile or of the weights, a lane.
inline constexpr double kTransform = 2;
inline constexpr double kNarrowTransform = 1;  // of bf16, half as many bytes
inline constexpr double kForwardWeights = 5;
inline constexpr double kWeights = 3;
// In that of a weight that direct kernels want in bf16 and in a form of their own.
inline constexpr double kForwardCast = 4;
inline constexpr double kCast = 8;
// Estimates are not exact: what they call faster by less than this may be slower (where bf16 is multiplied fast they
// are closer). The last is what tiles of two sizes, which take the weights in up to four forms, must gain over the best
// ones of one size.
inline constexpr double kLeastGain = 1.15;
inline constexpr double kLeastNarrowGain = 1.05;
inline constexpr double kLeastMixedGain = 1.05;

}  // namespace winograd
}  // namespace speeds
}  // namespace ridgeline::device
