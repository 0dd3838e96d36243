// Times predictions of a model file on random pixels: median and shortest time, and images per second, for some batch
// sizes. For comparison, run bench/peers/onnx_latency.py with the same model as ONNX right after it.
//
//   bench_infer MODEL.rdgm [BATCH...]        1 and 32
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/infer/model_file.h"
#include "ridgeline/infer/predictor.h"

using namespace ridgeline;

namespace {

Tensor drawn(ValueType type, std::int64_t rows) {
  type.shape[0] = rows;
  Tensor images(type.dtype, type.shape);
  for (std::int64_t i = 0; i < images.elements(); ++i) {
    const float u = uniform_float(philox_element({1, 2}, 0, static_cast<std::uint64_t>(i)));
    images.set(i, type.dtype == DType::u8 ? static_cast<double>(static_cast<int>(255 * u)) : 4.0 * u - 2.0);
  }
  return images;
}

void measure(const infer::Model& model, std::int64_t batch) {
  infer::Predictor predictor(model, {.batch_size = batch});
  const Tensor images = drawn(predictor.images(), batch);
  std::vector<double> ms;
  const auto begin = std::chrono::steady_clock::now();
  const auto since = [](auto start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  for (int run = 0; run < 5 || (since(begin) < 4000 && run < 2000); ++run) {
    const auto start = std::chrono::steady_clock::now();
    predictor.predict(images);
    if (run >= 2) ms.push_back(since(start));
  }
  std::sort(ms.begin(), ms.end());
  const double median = ms[ms.size() / 2];
  std::printf("%s batch %lld: median %.2f ms, least %.2f ms, %.1f images/s (%zu runs)\n", model.name.c_str(),
              static_cast<long long>(batch), median, ms.front(), 1000.0 * static_cast<double>(batch) / median,
              ms.size());
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: bench_infer MODEL.rdgm [BATCH...]\n");
    return 2;
  }
  settle_wait_policy(words);
  try {
    const infer::Model model = infer::read_model(words[1]);
    std::vector<std::int64_t> batches;
    for (int i = 2; i < count; ++i) batches.push_back(std::atoll(words[i]));
    if (batches.empty()) batches = {1, 32};
    for (const std::int64_t batch : batches) measure(model, batch);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
