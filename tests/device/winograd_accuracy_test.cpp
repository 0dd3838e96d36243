// Every rule and pass compared with fp64, under every vector target: samples of elements of the models' layers, and all
// elements of random shapes. RIDGELINE_WINOGRAD_TABLE=1 prints the errors.
#include <algorithm>
#include <map>

#include "winograd_support.h"

namespace ridgeline {
namespace {

constexpr double kMostError = 1e-5;  // rms, relative to the result's rms

const std::vector<std::int64_t> kOne(4, 1), kTwo(4, 2);

// The layers of both AlexNets, the 3x3 layers with stride 1 of VGG-11, ResNet-18 and -50, and ResNet-20 for CIFAR.
const std::vector<WinogradCase> kAccuracyLayers = {
    {{1, 224, 224, 3}, 64, 11, kTwo, "alexnet_torchvision conv1", 4},
    {{1, 224, 224, 3}, 96, 11, {1, 2, 1, 2}, "alexnet conv1", 4},
    {{1, 27, 27, 64}, 192, 5, kTwo, "alexnet_torchvision conv2"},
    {{1, 13, 13, 192}, 384, 3, kOne, "alexnet_torchvision conv3"},
    {{1, 13, 13, 384}, 256, 3, kOne, "alexnet conv4"},
    {{1, 13, 13, 256}, 256, 3, kOne, "alexnet conv5"},
    {{1, 27, 27, 96}, 256, 5, kTwo, "alexnet conv2"},
    {{1, 13, 13, 256}, 384, 3, kOne, "alexnet conv3"},
    {{1, 13, 13, 384}, 384, 3, kOne, "alexnet conv4, wide"},
    {{1, 224, 224, 3}, 64, 3, kOne, "vgg11 1"},
    {{1, 112, 112, 64}, 128, 3, kOne, "vgg11 2"},
    {{1, 56, 56, 128}, 256, 3, kOne, "vgg11 3"},
    {{1, 56, 56, 256}, 256, 3, kOne, "vgg11 4"},
    {{1, 28, 28, 256}, 512, 3, kOne, "vgg11 5"},
    {{1, 28, 28, 512}, 512, 3, kOne, "vgg11 6"},
    {{1, 14, 14, 512}, 512, 3, kOne, "vgg11 7, 8"},
    {{1, 56, 56, 64}, 64, 3, kOne, "resnet 56"},
    {{1, 28, 28, 128}, 128, 3, kOne, "resnet 28"},
    {{1, 14, 14, 256}, 256, 3, kOne, "resnet 14"},
    {{2, 7, 7, 512}, 512, 3, kOne, "resnet 7"},
    {{4, 32, 32, 16}, 16, 3, kOne, "resnet20 32"},
    {{4, 16, 16, 32}, 32, 3, kOne, "resnet20 16"},
    {{4, 8, 8, 64}, 64, 3, kOne, "resnet20 8"},
};

// One element of a result in fp64.
double forward_element(const WinogradCase& c, const Problem& p, std::int64_t at) {
  const float *x = p.inputs[0].data<float>(), *w = p.inputs[1].data<float>(), *b = p.inputs[2].data<float>();
  const Shape y = c.result();
  const std::int64_t k = at % y[3], ow = at / y[3] % y[2], oh = at / y[3] / y[2] % y[1], n = at / y[3] / y[2] / y[1];
  double sum = b[k];
  for (std::int64_t r = 0; r < c.taps; ++r) {
    for (std::int64_t s = 0; s < c.taps; ++s) {
      const std::int64_t h = oh * c.stride + r - c.pad[0], v = ow * c.stride + s - c.pad[2];
      if (h < 0 || v < 0 || h >= c.image[1] || v >= c.image[2]) continue;
      for (std::int64_t i = 0; i < c.image[3]; ++i) {
        sum += static_cast<double>(x[((n * c.image[1] + h) * c.image[2] + v) * c.image[3] + i]) *
               w[((k * c.taps + r) * c.taps + s) * c.image[3] + i];
      }
    }
  }
  return sum;
}

double data_element(const WinogradCase& c, const Problem& p, std::int64_t at) {
  const float *dy = p.inputs[0].data<float>(), *w = p.inputs[1].data<float>();
  const Shape &x = c.image, y = c.result();
  const std::int64_t i = at % x[3], v = at / x[3] % x[2], h = at / x[3] / x[2] % x[1], n = at / x[3] / x[2] / x[1];
  double sum = 0;
  for (std::int64_t r = 0; r < c.taps; ++r) {
    for (std::int64_t s = 0; s < c.taps; ++s) {
      const std::int64_t oh = h - r + c.pad[0], ow = v - s + c.pad[2];
      if (oh < 0 || ow < 0 || oh >= y[1] || ow >= y[2]) continue;
      for (std::int64_t k = 0; k < y[3]; ++k) {
        sum += static_cast<double>(dy[((n * y[1] + oh) * y[2] + ow) * y[3] + k]) *
               w[((k * c.taps + r) * c.taps + s) * x[3] + i];
      }
    }
  }
  return sum;
}

double weights_element(const WinogradCase& c, const Problem& p, std::int64_t at) {
  const float *x = p.inputs[0].data<float>(), *dy = p.inputs[1].data<float>();
  const Shape &image = c.image, y = c.result();
  const std::int64_t i = at % image[3], s = at / image[3] % c.taps, r = at / image[3] / c.taps % c.taps,
                     k = at / image[3] / c.taps / c.taps;
  double sum = 0;
  for (std::int64_t n = 0; n < image[0]; ++n) {
    for (std::int64_t oh = 0; oh < y[1]; ++oh) {
      for (std::int64_t ow = 0; ow < y[2]; ++ow) {
        const std::int64_t h = oh * c.stride + r - c.pad[0], v = ow * c.stride + s - c.pad[2];
        if (h < 0 || v < 0 || h >= image[1] || v >= image[2]) continue;
        sum += static_cast<double>(x[((n * image[1] + h) * image[2] + v) * image[3] + i]) *
               dy[((n * y[1] + oh) * y[2] + ow) * y[3] + k];
      }
    }
  }
  return sum;
}

using Element = double (*)(const WinogradCase&, const Problem&, std::int64_t);
constexpr Element kElementRules[] = {forward_element, data_element, weights_element};

// The largest error of each kernel ("F(4x4,3x3)") and pass, for the table.
class Errors {
 public:
  void add(const std::string& kernel, int pass, double error) {
    const std::string rule = kernel.substr(kernel.find("F("));
    double& worst = worst_.try_emplace(rule, std::vector<double>(3, 0)).first->second[static_cast<std::size_t>(pass)];
    worst = std::max(worst, error);
  }
  ~Errors() {
    const char* wanted = std::getenv("RIDGELINE_WINOGRAD_TABLE");
    if (wanted == nullptr || *wanted == '\0') return;
    std::printf("%-18s %10s %10s %10s\n", "largest rms error", "fwd", "bwd_d", "bwd_w");
    for (const auto& [rule, errors] : worst_) {
      std::printf("%-18s %10.1e %10.1e %10.1e\n", rule.c_str(), errors[0], errors[1], errors[2]);
    }
  }

 private:
  std::map<std::string, std::vector<double>> worst_;
};

class ModelLayers : public testing::TestWithParam<WinogradCase> {};

TEST_P(ModelLayers, AgreeWithFp64AtSampledElements) {
  static Errors errors;
  const WinogradCase& c = GetParam();
  for (int pass = 0; pass < 3; ++pass) {
    if (pass == 1 && c.image[3] == 3) continue;  // the gradient of the pixels is not needed
    const Problem problem = kWinogradPasses[pass].problem(c);
    const std::int64_t elements = problem.output_types()[0].shape.elements();
    // Random positions, and the corners.
    std::vector<std::int64_t> sample = {0, elements - 1, elements / 2};
    SampleRandom random(philox_key(7, "sampled elements"), 0, 0);
    for (int i = 0; i < 400; ++i) sample.push_back(random.integer(0, elements - 1));
    std::vector<double> expected;
    for (const std::int64_t at : sample) expected.push_back(kElementRules[pass](c, problem, at));
    for (const device::Isa isa : vector_isas()) {
      const ForcedIsa forced(isa);
      const auto kernel = make_winograd(kWinogradPasses[pass], problem, {0, false});
      ASSERT_NE(kernel, nullptr);
      const std::vector<Tensor> got = run_kernel(*kernel, problem);
      RmsError error;
      for (std::size_t i = 0; i < sample.size(); ++i) error.add(got[0].at(sample[i]), expected[i]);
      EXPECT_LE(error.value(), kMostError) << kernel->name;
      errors.add(kernel->name, pass, error.value());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Winograd, ModelLayers, testing::ValuesIn(kAccuracyLayers), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

WinogradCase random_case(SampleRandom& random) {
  WinogradCase c;
  c.stride = random.integer(0, 3) == 0 ? random.integer(2, 4) : 1;
  const std::int64_t wide = random.integer(0, 2) == 0 ? 5 : 3;
  c.taps = wide * c.stride - (c.stride == 1 ? 0 : random.integer(0, c.stride - 1));
  for (int side = 0; side < 4; ++side) c.pad.push_back(random.integer(0, c.taps));
  const auto size = [&] {
    const std::int64_t least = c.stride == 1 ? c.taps : c.taps + 1;  // smaller ones are refused
    return random.integer(least, std::max<std::int64_t>(least, random.integer(0, 3) == 0 ? 26 : 11));
  };
  const auto channels = [&] { return random.integer(1, random.integer(0, 3) == 0 ? 140 : 40); };
  const std::int64_t height = size(), width = size();
  c.image = {random.integer(1, 3), height, width, channels()};
  c.filters = channels();
  c.name = "random";
  return c;
}

// Any division for this number of taps, or the kernel's own choice.
device::winograd::Wish random_wish(std::int64_t taps, SampleRandom& random) {
  using Sides = std::array<int, 2>;
  static const std::vector<Sides> three = {{0, 0}, {2, 0}, {4, 0}, {5, 0}, {6, 0}, {5, 4}, {6, 4}};
  static const std::vector<Sides> five = {{0, 0}, {2, 0}, {4, 0}};
  const auto& sides = taps == 5 ? five : three;
  const auto [m, n] = sides[static_cast<std::size_t>(random.integer(0, static_cast<int>(sides.size()) - 1))];
  return {m, false, n};
}

TEST(Winograd, RandomShapesAgreeWithTheReference) {
  const std::int64_t shapes = shapes_to_try(60);
  Errors errors;
  SampleRandom random(philox_key(11, "winograd shapes"), 0, 0);
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const WinogradCase c = random_case(random);
    const device::winograd::Wish wish = random_wish((c.taps + c.stride - 1) / c.stride, random);
    const ComputeScope team(static_cast<int>(random.integer(1, 3)));
    for (int pass = 0; pass < 3; ++pass) {
      if (pass == 1 && c.stride > 1) continue;  // refused
      Problem problem = kWinogradPasses[pass].problem(c);
      if (pass == 0 && random.integer(0, 1) == 0) problem.inputs.pop_back();
      if (pass == 0 && random.integer(0, 1) == 0) problem.attributes.set("activation", std::string("relu"));
      if (pass == 2 && random.integer(0, 3) == 0) problem.attributes.set("bias", false);
      const std::vector<Tensor> expected = problem.reference();
      std::vector<Tensor> first;
      for (const device::Isa isa : vector_isas()) {
        const ForcedIsa forced(isa);
        const auto kernel = make_winograd(kWinogradPasses[pass], problem, wish);
        ASSERT_NE(kernel, nullptr) << c.to_string();
        const std::vector<Tensor> got = run_kernel(*kernel, problem);
        if (first.empty()) first = got;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const double error = rms_error(got[i], expected[i]);
          EXPECT_LE(error, kMostError) << kernel->name << " result " << i << " of " << c.to_string();
          if (i == 0) errors.add(kernel->name, pass, error);
          if (wish.m != 0) {  // the choice of the rule depends on the vector length
            EXPECT_TRUE(same_bits(got[i], first[i])) << kernel->name << " of " << c.to_string();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline
