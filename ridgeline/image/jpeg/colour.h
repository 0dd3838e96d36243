// ridgeline/image/jpeg/colour.h
//
// Chroma to full size by libjpeg's "fancy" upsampling (a triangle: 3/4 of the nearer sample, 1/4 of the farther), and
// YCbCr to RGB by its 16-bit fixed-point tables, both to its bits. Private to this folder.
//
// All rows may be read and written up to kColourSlack bytes beyond their end; upsampling also reads in[-1] and in[n],
// which at the image's borders must repeat the last sample: libjpeg's special cases give the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridgeline::image {

inline constexpr std::size_t kColourSlack = 256;

// Upsamples n samples to 2 n.
void upsample_across(const std::uint8_t* in, std::size_t n, std::uint8_t* out);
// Interpolates n samples between two rows, nearer to the first. `bias` is 1 for the upper of two result rows, 2 for the
// lower.
void upsample_down(const std::uint8_t* near, const std::uint8_t* far, std::size_t n, int bias, std::uint8_t* out);
// Both: n samples of two rows to 2 n of a row between them, nearer to the first.
void upsample_both(const std::uint8_t* near, const std::uint8_t* far, std::size_t n, std::uint8_t* out);

void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t n,
                std::uint8_t* rgb);
void grey_to_rgb(const std::uint8_t* y, std::size_t n, std::uint8_t* rgb);

}  // namespace ridgeline::image
