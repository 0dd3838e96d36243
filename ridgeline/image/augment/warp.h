// ridgeline/image/augment/warp.h
//
// Affine and perspective warps and rotation: each result pixel is looked up in the source, by the rule of Pillow's
// Image.transform and Image.rotate (torchvision's path for PIL images). Pure functions: any thread.
//
// 1 or 3 channels; results have no gaps between rows and must not overlap the source. Pixels from outside the source
// are `fill`. Nearest walks in 16.16 fixed point (in double where that cannot hold the coordinates), bilinear and
// bicubic (Pillow's, a = -1) compute in double and drop the fraction, as Pillow does.
#pragma once

#include <array>
#include <string_view>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

enum class Sampling { nearest, bilinear, bicubic };

std::string_view name_of(Sampling sampling);
// An Error that lists the names for an unknown one.
Sampling parse_sampling(std::string_view name);

// Where a result pixel comes from: the centre (x, y) of a result pixel is at (a x + b y + c, d x + e y + f) in the
// source; pixel (0, 0) has its centre at (0.5, 0.5).
struct AffineMatrix {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

// torchvision's affine(): rotate (degrees, clockwise), shear (degrees) and scale about the centre, then translate.
struct AffineRule {
  double angle = 0;
  double translate_x = 0, translate_y = 0;
  double scale = 1;
  double shear_x = 0, shear_y = 0;
};
// The matrix by torchvision's _get_inverse_affine_matrix; the centre is (width / 2, height / 2) unless given. An Error
// for a scale that is not positive, a shear whose cosine is 0, or numbers that are not finite.
AffineMatrix affine_matrix(const AffineRule& rule, Size image);
AffineMatrix affine_matrix(const AffineRule& rule, double centre_x, double centre_y);

// `out`: size.height * size.width pixels.
void warp_affine(const ImageView& in, const AffineMatrix& matrix, Sampling sampling, Colour fill, Size size,
                 std::uint8_t* out);

// torchvision's affine() on a PIL image: matrix and warp, result of the input's size.
void affine(const ImageView& in, const AffineRule& rule, Sampling sampling, Colour fill, std::uint8_t* out);

// The centre of a result pixel (x, y) is at (a x + b y + c, d x + e y + f) / (g x + h y + 1) in the source.
using PerspectiveCoefficients = std::array<double, 8>;
// The coefficients that map the result's corner points to the source's: torchvision's perspective(startpoints,
// endpoints), each {x, y} from top left clockwise. Computed in double, rounded to float as torchvision's are. An Error
// when three of them lie on a line.
using Corners = std::array<std::array<double, 2>, 4>;
PerspectiveCoefficients perspective_coefficients(const Corners& source, const Corners& result);
void perspective(const ImageView& in, const PerspectiveCoefficients& coefficients, Sampling sampling, Colour fill,
                 std::uint8_t* out);

}  // namespace ridgeline::image
