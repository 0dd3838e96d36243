// The tile kernels on layers of the models: samples of elements compared with sums in double precision.
#include <algorithm>

#include "tile_support.h"

namespace ridgeline {
namespace {

const ConvolutionCase kLayers[] = {
    {{2, 224, 224, 3}, 64, {11, 11}, {2, 2, 2, 2}, {4, 4}, {1, 1}, 1, "alexnet conv1"},
    {{3, 27, 27, 64}, 192, {5, 5}, {2, 2, 2, 2}, {1, 1}, {1, 1}, 1, "alexnet conv2"},
    {{5, 13, 13, 192}, 384, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "alexnet conv3"},
    {{5, 13, 13, 384}, 256, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "alexnet conv4"},
    {{5, 13, 13, 256}, 256, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "alexnet conv5"},
    {{2, 27, 27, 96}, 256, {5, 5}, {2, 2, 2, 2}, {1, 1}, {1, 1}, 2, "grouped alexnet conv2"},
    {{1, 224, 224, 3}, 64, {7, 7}, {3, 3, 3, 3}, {2, 2}, {1, 1}, 1, "resnet conv1"},
    {{2, 56, 56, 64}, 64, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "resnet 56"},
    {{2, 56, 56, 64}, 128, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 1, "resnet 56 strided"},
    {{2, 56, 56, 64}, 128, {1, 1}, {0, 0, 0, 0}, {2, 2}, {1, 1}, 1, "resnet 56 shortcut"},
    {{2, 28, 28, 128}, 128, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "resnet 28"},
    {{3, 14, 14, 256}, 256, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "resnet 14"},
    {{4, 7, 7, 512}, 512, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "resnet 7"},
    {{2, 28, 28, 128}, 512, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1, "resnet50 28 wide"},
    {{4, 7, 7, 2048}, 512, {1, 1}, {0, 0, 0, 0}, {1, 1}, {1, 1}, 1, "resnet50 7 narrow"},
    {{1, 224, 224, 3}, 64, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "vgg 224"},
    {{1, 112, 112, 64}, 128, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "vgg 112"},
    {{1, 28, 28, 512}, 512, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "vgg 28"},
    {{3, 32, 32, 16}, 16, {3, 3}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 1, "cifar 32"},
    {{3, 32, 32, 16}, 32, {3, 3}, {1, 1, 1, 1}, {2, 2}, {1, 1}, 1, "cifar 32 strided"},
};

// One element of each pass's result, by its definition.
class Elements {
 public:
  Elements(const ConvolutionCase& c, const Problem& p) : c_(c), a_(p.inputs[0]), b_(p.inputs[1]) {}

  double forward(std::int64_t at) const {  // a is x, b is w
    const auto [n, oh, ow, k] = split(at, c_.result());
    double sum = 0;
    for_each_tap([&](std::int64_t r, std::int64_t s) {
      const std::int64_t h = oh * c_.stride[0] + r - c_.pad[0], v = ow * c_.stride[1] + s - c_.pad[2];
      for (std::int64_t i = 0; i < c_.group_channels(); ++i) {
        sum += at4(a_, n, h, v, group_of(k) * c_.group_channels() + i) * at4(b_, k, r, s, i);
      }
    });
    return sum;
  }
  double backward_data(std::int64_t at) const {  // a is dy, b is w
    const auto [n, h, v, channel] = split(at, c_.image);
    const std::int64_t filters = c_.filters / c_.groups, group = channel / c_.group_channels();
    double sum = 0;
    for_each_tap([&](std::int64_t r, std::int64_t s) {
      const std::int64_t oh = h + c_.pad[0] - r, ow = v + c_.pad[2] - s;
      if (oh % c_.stride[0] != 0 || ow % c_.stride[1] != 0) return;
      for (std::int64_t k = group * filters; k < (group + 1) * filters; ++k) {
        sum += at4(a_, n, oh / c_.stride[0], ow / c_.stride[1], k) * at4(b_, k, r, s, channel % c_.group_channels());
      }
    });
    return sum;
  }
  double backward_weights(std::int64_t at) const {  // a is x, b is dy
    const auto [k, r, s, i] = split(at, c_.weights());
    const Shape y = c_.result();
    double sum = 0;
    for (std::int64_t n = 0; n < y[0]; ++n) {
      for (std::int64_t oh = 0; oh < y[1]; ++oh) {
        for (std::int64_t ow = 0; ow < y[2]; ++ow) {
          const std::int64_t h = oh * c_.stride[0] + r - c_.pad[0], v = ow * c_.stride[1] + s - c_.pad[2];
          sum += at4(a_, n, h, v, group_of(k) * c_.group_channels() + i) * at4(b_, n, oh, ow, k);
        }
      }
    }
    return sum;
  }

 private:
  static std::array<std::int64_t, 4> split(std::int64_t at, const Shape& shape) {
    return {at / shape[3] / shape[2] / shape[1], at / shape[3] / shape[2] % shape[1], at / shape[3] % shape[2],
            at % shape[3]};
  }
  // Zero outside.
  static double at4(const Tensor& t, std::int64_t n, std::int64_t h, std::int64_t v, std::int64_t c) {
    const Shape& s = t.shape();
    if (h < 0 || v < 0 || h >= s[1] || v >= s[2]) return 0;
    return static_cast<double>(to_float(t.data<bfloat16>()[((n * s[1] + h) * s[2] + v) * s[3] + c]));
  }
  std::int64_t group_of(std::int64_t filter) const { return filter / (c_.filters / c_.groups); }
  template <class Body>
  void for_each_tap(const Body& body) const {
    for (std::int64_t r = 0; r < c_.kernel[0]; ++r) {
      for (std::int64_t s = 0; s < c_.kernel[1]; ++s) body(r, s);
    }
  }

  const ConvolutionCase& c_;
  const Tensor &a_, &b_;
};

constexpr double (Elements::*kElements[])(std::int64_t) const = {&Elements::forward, &Elements::backward_data,
                                                                 &Elements::backward_weights};

class TileModelLayers : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(TileModelLayers, AgreeWithFp64AtSampledElements) {
  if (machine_tiles().size() < 2) GTEST_SKIP() << "scalar tiles would take minutes; the random shapes test them";
  const ConvolutionCase& c = GetParam();
  const char* table = std::getenv("RIDGELINE_TILE_TABLE");
  for (std::size_t pass = 0; pass < 3; ++pass) {
    if (pass == 1 && c.image[3] == 3) continue;  // the gradient of the pixels is not needed
    TileProblem problem = kTilePasses[pass](c);
    if (pass == 0) problem.problem.inputs.pop_back();
    const std::int64_t elements = problem.output_types()[0].shape.elements();
    std::vector<std::int64_t> sample = {0, elements - 1, elements / 2};
    SampleRandom random(philox_key(8, "sampled elements"), 0, 0);
    for (int i = 0; i < 400; ++i) sample.push_back(random.integer(0, elements - 1));
    const auto kernel = problem.kernel(machine_tiles().back());
    ASSERT_NE(kernel, nullptr);
    const std::vector<Tensor> got = problem.run(*kernel);
    const Elements expected(c, problem.problem);
    TileErrors errors;
    for (const std::int64_t at : sample) {
      errors.add(got[0].at(at), (expected.*kElements[pass])(at), got[0].dtype() == DType::bf16);
    }
    EXPECT_LE(errors.value().worst, 1) << kernel->name << " of " << c.to_string();
    if (table != nullptr && *table != '\0') {
      std::printf("%-24s pass %zu rms %.1e\n", c.name.c_str(), pass, errors.value().rms);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, TileModelLayers, testing::ValuesIn(kLayers), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace ridgeline
