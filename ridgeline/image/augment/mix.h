// ridgeline/image/augment/mix.h
//
// MixUp (Zhang et al. 2017) and CutMix (Yun et al. 2019) of a batch by torchvision's v2 rules: each sample is mixed
// with the one before it (the first with the last), so the batch should be shuffled. Drawing and pixel operations are
// separate. Works in place on the caller's memory, in which samples are contiguous (NHWC or any other order); of a
// padded batch only the real samples may be given. Pure functions: any thread.
#pragma once

#include <cstdint>

#include "ridgeline/core/random.h"
#include "ridgeline/image/image.h"

namespace ridgeline::image {

// Gamma(shape, 1) by Marsaglia and Tsang ("A simple method for generating gamma variables", 2000): the cube of a
// shifted normal draw, accepted by a uniform one. An attempt takes six draws of 32 bits; a shape below 1 takes two
// more: its value is that of shape + 1 times a power of a uniform number. Returns the logarithm, since the value itself
// may underflow for small shapes. An Error for a shape that is not positive.
double draw_log_gamma(double shape, SampleRandom& random);
// Beta(a, b) from two Gammas, a's first.
double draw_beta(double a, double b, SampleRandom& random);

// sample[i] = lambda * sample[i] + (1 - lambda) * sample[i - 1]: both products in float, then the sum, as torchvision.
// For images and for one-hot labels alike; `size` values a sample. An Error for a lambda outside 0 to 1.
void mix_samples(float* data, std::int64_t samples, std::int64_t size, double lambda);
// The same on bytes, rounded to nearest (torchvision has no such case).
void mix_samples(std::uint8_t* data, std::int64_t samples, std::int64_t size, double lambda);

// MixUp is draw_beta(alpha, alpha, random) and mix_samples() of images and labels. CutMix pastes a box:
struct CutMix {
  Box box;            // the pixels that come from the sample before
  double lambda = 1;  // for the labels: the share of the image that is kept
};
// lambda from Beta(alpha, alpha), then the column and the row of the centre, both uniform. The sides are sqrt(1 -
// lambda) of the image's, with half sides rounded down, and are cut off at the borders; then lambda is set to the share
// outside the box.
CutMix draw_cutmix(double alpha, Size image, SampleRandom& random);
// The box for a lambda and a centre.
CutMix cutmix_box(double lambda, Size image, int centre_row, int centre_column);
// Pastes the box of sample i - 1 into sample i. NHWC; `box` must lie inside and may be empty.
void cut_and_paste(float* data, std::int64_t samples, Size image, int channels, const Box& box);
void cut_and_paste(std::uint8_t* data, std::int64_t samples, Size image, int channels, const Box& box);

}  // namespace ridgeline::image
