// ridgeline/image/augment/blur_rows.h
//
// The two sums of a Gaussian blur, vectorised. Each value is summed in the order of the weights, every product and sum
// rounded to float, so that all instruction sets give the same bits. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ridgeline::image {

// out[i] = in[i], for i < n.
void blur_widen(const std::uint8_t* in, std::size_t n, float* out);
// out[i] = sum over k of weight[k] * in[i + k * step], for i < n.
void blur_across(std::span<const float> weight, const float* in, std::size_t step, std::size_t n, float* out);
// out[i] = sum over k of weight[k] * rows[k][i], rounded half to even, at most 255.
void blur_down(std::span<const float> weight, const float* const* rows, std::size_t n, std::uint8_t* out);

}  // namespace ridgeline::image
