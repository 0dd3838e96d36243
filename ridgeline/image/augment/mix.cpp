#include "ridgeline/image/augment/mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"

namespace ridgeline::image {
namespace {

std::uint8_t mixed(std::uint8_t own, std::uint8_t other, float share, float rest) {
  const float value = static_cast<float>(own) * share + static_cast<float>(other) * rest + 0.5f;
  return static_cast<std::uint8_t>(value);
}

float mixed(float own, float other, float share, float rest) { return other * rest + own * share; }

template <class T>
void mix(T* data, std::int64_t samples, std::int64_t size, double lambda) {
  if (!(lambda >= 0 && lambda <= 1)) throw Error("[mixup] lambda must be 0 to 1, not " + std::to_string(lambda));
  if (samples < 1) return;
  const auto share = static_cast<float>(lambda), rest = static_cast<float>(1.0 - lambda);
  // Downwards, so that the sample before is still as it was; only the first one's partner must be kept.
  const std::vector<T> last(data + (samples - 1) * size, data + samples * size);
  for (std::int64_t i = samples - 1; i >= 0; --i) {
    T* own = data + i * size;
    const T* other = i == 0 ? last.data() : own - size;
    for (std::int64_t k = 0; k < size; ++k) own[k] = mixed(own[k], other[k], share, rest);
  }
}

template <class T>
void paste(T* data, std::int64_t samples, Size image, int channels, const Box& box) {
  const bool inside = box.top >= 0 && box.left >= 0 && box.height >= 0 && box.width >= 0 &&
                      box.top <= image.height - box.height && box.left <= image.width - box.width;
  if (!inside || channels < 1) {
    throw Error("[cutmix] rows " + std::to_string(box.top) + "+" + std::to_string(box.height) + ", columns " +
                std::to_string(box.left) + "+" + std::to_string(box.width) + " are not inside an image of " +
                std::to_string(image.height) + "x" + std::to_string(image.width));
  }
  if (samples < 1) return;
  const std::int64_t row = std::int64_t{image.width} * channels, size = image.height * row;
  const std::int64_t cut = std::int64_t{box.width} * channels, begin = box.top * row + box.left * channels;
  const auto bytes = static_cast<std::size_t>(cut) * sizeof(T);
  std::vector<T> last(static_cast<std::size_t>(box.height * cut));
  const T* end = data + (samples - 1) * size + begin;
  for (int y = 0; y < box.height; ++y) std::memcpy(last.data() + y * cut, end + y * row, bytes);
  for (std::int64_t i = samples - 1; i >= 0; --i) {
    T* own = data + i * size + begin;
    for (int y = 0; y < box.height; ++y) {
      std::memcpy(own + y * row, i == 0 ? last.data() + y * cut : own - size + y * row, bytes);
    }
  }
}

}  // namespace

double draw_log_gamma(double shape, SampleRandom& random) {
  if (!(shape > 0) || !std::isfinite(shape)) {
    throw Error("[mixup] alpha must be positive, not " + std::to_string(shape));
  }
  if (shape < 1) {
    const double log_value = draw_log_gamma(shape + 1, random);
    return log_value + portable_log(1.0 - random.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = random.normal(), u = 1.0 - random.uniform();
    const double root = 1.0 + c * x, v = root * root * root;
    if (v <= 0) continue;
    const double log_v = portable_log(v);
    if (portable_log(u) < 0.5 * x * x + d - d * v + d * log_v) return portable_log(d) + log_v;
  }
}

double draw_beta(double a, double b, SampleRandom& random) {
  const double log_a = draw_log_gamma(a, random), log_b = draw_log_gamma(b, random);
  return 1.0 / (1.0 + portable_exp(log_b - log_a));
}

void mix_samples(float* data, std::int64_t samples, std::int64_t size, double lambda) {
  mix(data, samples, size, lambda);
}
void mix_samples(std::uint8_t* data, std::int64_t samples, std::int64_t size, double lambda) {
  mix(data, samples, size, lambda);
}

CutMix cutmix_box(double lambda, Size image, int centre_row, int centre_column) {
  if (!(lambda >= 0 && lambda <= 1)) throw Error("[cutmix] lambda must be 0 to 1, not " + std::to_string(lambda));
  const double half = 0.5 * std::sqrt(1.0 - lambda);
  const int half_width = static_cast<int>(half * image.width), half_height = static_cast<int>(half * image.height);
  const int left = std::max(0, centre_column - half_width), right = std::min(image.width, centre_column + half_width);
  const int top = std::max(0, centre_row - half_height), bottom = std::min(image.height, centre_row + half_height);
  CutMix result{{top, left, bottom - top, right - left}, 1};
  const double area = static_cast<double>(result.box.height) * result.box.width;
  result.lambda = 1.0 - area / (static_cast<double>(image.width) * image.height);
  return result;
}

CutMix draw_cutmix(double alpha, Size image, SampleRandom& random) {
  const double lambda = draw_beta(alpha, alpha, random);
  const int column = static_cast<int>(random.integer(0, image.width - 1));
  const int row = static_cast<int>(random.integer(0, image.height - 1));
  return cutmix_box(lambda, image, row, column);
}

void cut_and_paste(float* data, std::int64_t samples, Size image, int channels, const Box& box) {
  paste(data, samples, image, channels, box);
}
void cut_and_paste(std::uint8_t* data, std::int64_t samples, Size image, int channels, const Box& box) {
  paste(data, samples, image, channels, box);
}

}  // namespace ridgeline::image
