// Kernels of MindSpore Lite, forward and backward: raw little-endian f32, NHWC, shapes in the file names. Forward ops
// run by their references, gradients through differentiate(). Every file of the archive is read here or listed below.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <set>

#include "tests/graph/golden_support.h"

namespace ridgeline::test {
namespace {

struct LeftOut {
  std::string_view prefix;
  std::string_view reason;
};
constexpr LeftOut kLeftOut[] = {
    {"activationGrad/hsig", "no hard sigmoid here"},
    {"activationGrad/hswish", "no hard swish here"},
    {"activationGrad/lrelu", "no leaky relu here"},
    {"activationGrad/relu6", "no relu6 here"},
    {"activationGrad/sigmoid", "no sigmoid here"},
    {"activationGrad/tanh", "no tanh here"},
    {"activationGrad/log_", "the logarithm to base 10: 0.43429 = 1/ln(10)"},
    {"conv/conv1x1fp32_", "weight and bias without an input or a result"},
    {"conv/convfp32_weight_24_3_3_24", "a weight without an input or a result"},
    {"conv/convfp32_weight_32_3_3_32", "a weight without an input or a result"},
    {"convDw/", "a weight without an input or a result"},
    {"deconvDw/", "no transposed convolution op here"},
    {"power/", "no power op here"},
    {"softmax/softmaxgrad_y", "inputs without a result of their own"},
    {"train/", "a result from other weights than those in the folder"},
    {"pooling/maxpoolgradfp32_1_i_", "index of another convention"},
    {"pooling/maxpoolgradfp32_2_i_", "index of another convention"},
    {"pooling/maxpoolgradfp32_2_dy_1_3_10_10", "the same gradient in another layout"},
};

// Reads the archive's files and records which.
class Golden {
 public:
  explicit Golden(std::filesystem::path root) : root_(std::move(root)) {}

  template <class T = float>
  Tensor load(const std::string& name, Shape shape) {
    read_.insert(name);
    Tensor tensor(dtype_of<T>, std::move(shape));
    std::ifstream file(root_ / name, std::ios::binary);
    file.read(static_cast<char*>(tensor.raw()), static_cast<std::streamsize>(tensor.byte_size()));
    EXPECT_EQ(static_cast<std::size_t>(file.gcount()), tensor.byte_size()) << name << " is too short";
    EXPECT_EQ(file.peek(), std::char_traits<char>::eof()) << name << " is longer than " << tensor.shape().to_string();
    return tensor;
  }
  const std::set<std::string>& read() const { return read_; }

 private:
  std::filesystem::path root_;
  std::set<std::string> read_;
};

// Within `tolerance` of the largest expected magnitude.
void expect_close(const Tensor& actual, const Tensor& expected, double tolerance = 1e-6) {
  double scale = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) scale = std::max(scale, std::abs(expected.at(i)));
  EXPECT_EQ(difference(actual, expected, 0, tolerance * scale).value_or(""), "");
}

Attributes window(std::int64_t stride, std::int64_t pad, std::int64_t dilation, std::int64_t groups) {
  return {{"stride", std::vector<std::int64_t>{stride, stride}},
          {"pad", std::vector<std::int64_t>{pad, pad, pad, pad}},
          {"dilation", std::vector<std::int64_t>{dilation, dilation}},
          {"groups", groups}};
}

void convolution(Golden& golden) {
  const Tensor w = golden.load("conv/convfp32_weight_32_3_3_3.bin", {32, 3, 3, 3});
  const Tensor y = golden.load("conv/convfp32_out_1_28_28_32.bin", {1, 28, 28, 32});
  expect_close(
      run_op("conv2d", {golden.load("conv/convfp32_input_1_28_28_3.bin", {1, 28, 28, 3}), w}, window(1, 1, 1, 1))[0],
      y);
  const Tensor nchw = golden.load("conv/convfp32_input_1_3_28_28.bin", {1, 3, 28, 28});
  expect_close(run_op("conv2d", {to_nhwc(nchw), w}, window(1, 1, 1, 1))[0], y);
}

void convolution_gradients(Golden& golden) {
  const Tensor x = golden.load("conv/convfp32_x_1_28_28_3.bin", {1, 28, 28, 3});
  const Tensor w = golden.load("conv/convfp32_w_32_3_3_3.bin", {32, 3, 3, 3});
  const Tensor dy = golden.load("conv/convfp32_dy_1_28_28_32.bin", {1, 28, 28, 32});
  const auto gradients = run_gradient("conv2d", {x, w}, window(1, 1, 1, 1), dy, {0, 1});
  expect_close(gradients[0], golden.load("conv/convfp32_dx_1_28_28_3.bin", x.shape()));
  expect_close(gradients[1], golden.load("conv/convfp32_dw_32_3_3_3.bin", w.shape()));
}

void convolution_gradients_with_groups(Golden& golden) {
  const Tensor x = golden.load("conv/convfp32_x_g3_1_28_28_3.bin", {1, 28, 28, 3});
  const Tensor w = golden.load("conv/convfp32_w_g3_18_3_3_3.bin", {18, 3, 3, 1});
  const Tensor dy = golden.load("conv/convfp32_dy_g3_1_28_28_18.bin", {1, 28, 28, 18});
  const auto gradients = run_gradient("conv2d", {x, w}, window(1, 1, 1, 3), dy, {0, 1});
  expect_close(gradients[0], golden.load("conv/convfp32_dx_g3_1_28_28_3.bin", x.shape()));
  expect_close(gradients[1], golden.load("conv/convfp32_dw_g3_18_3_3_3.bin", w.shape()));
}

void convolution_with_groups_and_dilation(Golden& golden) {
  const Tensor x = golden.load("conv/convfp32_x_g3_d2_1_28_28_3.bin", {1, 28, 28, 3});
  const Tensor w = golden.load("conv/convfp32_w_g3_d2_18_3_3_3.bin", {18, 3, 3, 1});
  const Tensor dy = golden.load("conv/convfp32_dy_g3_d2_1_26_26_18.bin", {1, 26, 26, 18});
  expect_close(run_op("conv2d", {x, w}, window(1, 1, 2, 3))[0],
               golden.load("conv/convfp32_y_g3_d2_1_26_26_18.bin", dy.shape()));
  const auto gradients = run_gradient("conv2d", {x, w}, window(1, 1, 2, 3), dy, {0, 1});
  expect_close(gradients[0], golden.load("conv/convfp32_dx_g3_d2_1_28_28_3.bin", x.shape()));
  expect_close(gradients[1], golden.load("conv/convfp32_dw_g3_d2_18_3_3_3.bin", w.shape()));
}

void convolution_gradients_with_groups_dilation_and_stride(Golden& golden) {
  // The names give NCHW extents, the data is NHWC.
  const Tensor x = golden.load("conv/convfp32_input0_d2_g2_s2_2_4_32_32.bin", {2, 32, 32, 4});
  const Tensor w = golden.load("conv/convfp32_w_d2_g2_s2_12_2_3_3.bin", {12, 3, 3, 2});
  const Tensor dy = golden.load("conv/convfp32_dy_d2_g2_s2_2_12_15_15.bin", {2, 15, 15, 12});
  const auto gradients = run_gradient("conv2d", {x, w}, window(2, 1, 2, 2), dy, {0, 1});
  expect_close(gradients[0], golden.load("conv/convfp32_inputdx_d2_g2_s2_2_4_32_32.bin", x.shape()));
  expect_close(gradients[1], golden.load("conv/convfp32_dw_d2_g2_s2_12_2_3_3.bin", w.shape()));
}

void bias_gradient_is_the_sum_over_pixels(Golden& golden) {
  const Tensor dy = golden.load("operators/biasgradfp32_1_dy_10_28_28_7.bin", {10, 28, 28, 7});
  const Tensor x = Tensor::zeros(DType::f32, {10, 28, 28, 1});
  const Tensor w = Tensor::zeros(DType::f32, {7, 1, 1, 1});
  const Tensor b = Tensor::zeros(DType::f32, {7});
  const Tensor db = golden.load("operators/biasgradfp32_1_db_7.bin", {7});
  expect_close(run_gradient("conv2d", {x, w, b}, {}, dy, {2})[0], db, 2e-6);
  expect_close(run_gradient("conv2d", {x, w, b}, {}, dy, {1, 2})[1], db, 2e-6);
}

void dense(Golden& golden) {
  const Tensor x = golden.load("matmul/FcFp32_input1.bin", {20, 80});
  const Tensor w = golden.load("matmul/FcFp32_weight1.bin", {30, 80});
  expect_close(run_op("dense", {x, w, golden.load("matmul/FcFp32_bias1.bin", {30})})[0],
               golden.load("matmul/FcFp32_output1.bin", {20, 30}));
}

void matrix_product(Golden& golden) {
  const Tensor c = golden.load("matmul/matmulfp32_c_4x5.bin", {4, 5});
  const Tensor b = golden.load("matmul/matmulfp32_b_10x5.bin", {10, 5});
  expect_close(run_op("dense", {golden.load("matmul/matmulfp32_a_4x10.bin", {4, 10}), transposed(b, {1, 0})})[0], c);
  const Tensor a = golden.load("matmul/matmulfp32_a_10x4.bin", {10, 4});
  expect_close(run_op("dense", {transposed(a, {1, 0}), golden.load("matmul/matmulfp32_b_5x10.bin", {5, 10})})[0], c);
  // dense_bwd_data(dy, w) is the plain product.
  expect_close(run_op("dense_bwd_data", {golden.load("matmul/matmulfp32_a_4x10.bin", {4, 10}), b})[0], c);
}

Attributes pool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {{"kernel", std::vector<std::int64_t>{kernel, kernel}},
          {"stride", std::vector<std::int64_t>{stride, stride}},
          {"pad", std::vector<std::int64_t>{pad, pad, pad, pad}}};
}

void pooling(Golden& golden) {
  const Tensor x = golden.load("conv/convfp32_input_1_28_28_3.bin", {1, 28, 28, 3});
  expect_close(run_op("max_pool", {x}, pool(3, 1, 1))[0],
               golden.load("pooling/maxpoolingfp32_out_1_28_28_3.bin", x.shape()), 0);
  Attributes average = pool(3, 1, 1);
  average.set("count_include_pad", false);
  expect_close(run_op("avg_pool", {x}, average)[0], golden.load("pooling/avgpoolingfp32_out_1_28_28_3.bin", x.shape()));
}

void maximum_pooling_forward_and_gradient(Golden& golden) {
  struct Case {
    const char* name;
    std::int64_t n, stride, size;
  };
  for (const Case& c : {Case{"1_%_1_28_28_3", 1, 1, 28}, Case{"1_%_3_28_28_3", 3, 1, 28},
                        Case{"s2_%_3_28_28_3", 3, 2, 14}, Case{"s3_%_3_28_28_3", 3, 3, 10}}) {
    SCOPED_TRACE(c.name);
    const auto file = [&](const char* what) {
      std::string name = std::string("pooling/maxpoolgradfp32_") + c.name + ".bin";
      return name.replace(name.find('%'), 1, what);
    };
    const Tensor x = golden.load(file("x"), {c.n, 28, 28, 3});
    const Tensor dy = golden.load(file("dy"), {c.n, c.size, c.size, 3});
    // The file named dx contains the forward result, xgrad the gradient.
    expect_close(run_op("max_pool", {x}, pool(3, c.stride, 1))[0], golden.load(file("dx"), dy.shape()), 0);
    expect_close(run_gradient("max_pool", {x}, pool(3, c.stride, 1), dy, {0})[0],
                 golden.load(file("xgrad"), x.shape()));
  }
  const Tensor x = golden.load("pooling/maxpoolgradfp32_2_x_1_30_30_3.bin", {1, 30, 30, 3});
  const Tensor dy = golden.load("pooling/maxpoolgradfp32_2_dy_1_10_10_3.bin", {1, 10, 10, 3});
  expect_close(run_gradient("max_pool", {x}, pool(3, 3, 0), dy, {0})[0],
               golden.load("pooling/maxpoolgradfp32_2_dx_1_30_30_3.bin", x.shape()), 0);
}

void average_pooling_gradient(Golden& golden) {
  struct Case {
    const char* name;
    std::int64_t n, stride, size;
  };
  for (const Case& c : {Case{"1_%_1_28_28_3", 1, 1, 28}, Case{"1_%_3_28_28_3", 3, 1, 28},
                        Case{"s2_%_3_28_28_3", 3, 2, 14}, Case{"s3_%_3_28_28_3", 3, 3, 10}}) {
    SCOPED_TRACE(c.name);
    const auto file = [&](const char* what) {
      std::string name = std::string("pooling/avgpoolgradfp32_") + c.name + ".bin";
      return name.replace(name.find('%'), 1, what);
    };
    const Tensor x = golden.load(file("x"), {c.n, 28, 28, 3});
    const Tensor dy = golden.load(file("dy"), {c.n, c.size, c.size, 3});
    expect_close(run_gradient("avg_pool", {x}, pool(3, c.stride, 1), dy, {0})[0], golden.load(file("dx"), x.shape()));
  }
}

void batch_norm_gradient(Golden& golden) {
  const Tensor x = golden.load("bngrad/input_x_2_4_5_3.bin", {2, 4, 5, 3});
  const Tensor dy = golden.load("bngrad/dy_2_4_5_3.bin", x.shape());
  const Tensor gamma = golden.load("bngrad/scale_3.bin", {3});
  const Tensor beta = Tensor::zeros(DType::f32, {3});
  const Tensor running_mean = Tensor::zeros(DType::f32, {3});
  const Tensor running_var = Tensor::of(std::vector<float>{1, 1, 1}, {3});
  const Attributes attributes{{"epsilon", 1e-2}, {"momentum", 0.1}};
  const auto forward = run_op("batch_norm_train", {x, gamma, beta, running_mean, running_var}, attributes);
  expect_close(forward[1], golden.load("bngrad/save_mean_3.bin", {3}));
  expect_close(forward[3], golden.load("bngrad/running_mean_3.bin", {3}));
  // save_var is the biased variance, inv_std = 1 / sqrt(save_var + epsilon).
  const Tensor var = golden.load("bngrad/save_var_3.bin", {3});
  Tensor inv_std(DType::f32, {3});
  for (std::int64_t c = 0; c < 3; ++c) inv_std.set(c, 1 / std::sqrt(var.at(c) + 1e-2));
  expect_close(forward[2], inv_std);
  // running_var is 0.9 * 1 + 0.1 * variance * 40/39.
  expect_close(forward[4], golden.load("bngrad/running_var_3.bin", {3}), 1e-5);

  const auto gradients =
      run_gradient("batch_norm_train", {x, gamma, beta, running_mean, running_var}, attributes, dy, {0, 1, 2});
  expect_close(gradients[0], golden.load("bngrad/output_dx_2_4_5_3.bin", x.shape()),
               3e-5);  // the file was computed in f32
  expect_close(gradients[1], golden.load("bngrad/output_dscale_3.bin", {3}));
  // The bias gradient is a sum that is zero up to f32 rounding of terms around 1.
  const Tensor dbeta = golden.load("bngrad/output_dbias_3.bin", {3});
  for (std::int64_t c = 0; c < 3; ++c) EXPECT_NEAR(gradients[2].at(c), dbeta.at(c), 1e-5);
}

void softmax(Golden& golden) {
  // Over axis 1 of [1,28,28,3].
  const Tensor x = golden.load("conv/convfp32_input_1_28_28_3.bin", {1, 28, 28, 3});
  const Tensor rows = reshaped(transposed(x, {0, 2, 3, 1}), {84, 28});
  const Tensor y = transposed(reshaped(run_op("softmax", {rows})[0], {1, 28, 3, 28}), {0, 3, 1, 2});
  expect_close(y, golden.load("softmax/softmaxfp32_out_1_28_28_3.bin", x.shape()));
}

void softmax_gradient(Golden& golden) {
  for (int axis : {-1, 1, 2, 3}) {
    SCOPED_TRACE(axis);
    const std::string stem = "softmax/softmaxgrad_" + std::to_string(axis) + "_";
    std::vector<std::int64_t> permutation = {0, 1, 2, 3};
    if (axis != -1) std::swap(permutation[static_cast<std::size_t>(axis)], permutation[3]);
    const Shape shape{1, 9, 11, 12};
    const auto rows = [&](const Tensor& t) {
      const Tensor moved = transposed(t, permutation);
      return reshaped(moved, {moved.elements() / moved.shape()[3], moved.shape()[3]});
    };
    // The archive contains y, not x; log(y) is an x with that softmax.
    const Tensor y = rows(golden.load(stem + "yinput.bin", shape));
    const Tensor x = run_op("log", {y})[0];
    const Tensor dy = rows(golden.load(stem + "yt_input.bin", shape));
    const Tensor dx = rows(golden.load(stem + "out.bin", shape));
    expect_close(run_op("softmax", {x})[0], y);
    expect_close(run_gradient("softmax", {x}, {}, dy, {0})[0], dx, 2e-6);
  }
}

void sparse_softmax_cross_entropy(Golden& golden) {
  const Tensor logits = golden.load("operators/sce_fp32_1_y_6_4.bin", {6, 4});
  const Tensor labels =
      run_op("cast", {golden.load<std::int64_t>("operators/sce_fp32_1_l_6.bin", {6})}, {{"to", DType::i32}})[0];
  const Tensor loss =
      run_op("reduce_mean", {run_op("softmax_cross_entropy", {logits, labels})[0]}, {{"keep_dims", true}})[0];
  expect_close(loss, golden.load("operators/sce_fp32_1_loss_1.bin", {1}));
  const Tensor sixth = Tensor::of(std::vector<float>(6, 1.0f / 6.0f), {6});
  expect_close(run_gradient("softmax_cross_entropy", {logits, labels}, {}, sixth, {0})[0],
               golden.load("operators/sce_fp32_1_dy_6_4.bin", {6, 4}));
}

void relu_gradient(Golden& golden) {
  const Tensor y = golden.load("activationGrad/relu_y_50.bin", {50});
  expect_close(run_op("relu_grad", {y, golden.load("activationGrad/relu_yt_50.bin", {50})})[0],
               golden.load("activationGrad/relu_out_50.bin", {50}), 0);
}

std::string extents(const Shape& shape) {
  std::string text;
  for (std::int64_t d : shape) text += "_" + std::to_string(d);
  return text;
}

void arithmetic_gradients_with_broadcasting(Golden& golden) {
  struct Case {
    int number;
    const char* op;
    Shape x1, x2;
    int inputs;    // the case whose x1 and x2 are the operands
    bool swapped;  // op(x2, x1)
  };
  const Shape m{4, 6}, r{1, 6}, t{4, 5, 6}, c{1, 1, 6}, u{5, 4, 6}, v{5, 1, 6};
  for (const Case& k : {Case{1, "add", m, r, 1, false}, Case{2, "sub", m, r, 1, false}, Case{3, "sub", m, r, 1, true},
                        Case{4, "mul", m, r, 1, false}, Case{5, "div", m, r, 1, false}, Case{6, "div", r, m, 1, false},
                        Case{7, "div", t, c, 7, false}, Case{8, "add", u, v, 8, false}, Case{9, "mul", u, v, 9, false},
                        Case{10, "div", u, v, 9, false}}) {
    SCOPED_TRACE(k.number);
    const auto stem = [](int number) { return "operators/arithmetic_fp32_" + std::to_string(number) + "_"; };
    // Case 6 divides the row of case 1 by its matrix.
    const bool exchanged = k.number == 6;
    const std::string first = stem(k.inputs) + (exchanged ? "x2" : "x1"),
                      second = stem(k.inputs) + (exchanged ? "x1" : "x2");
    const Tensor x1 = golden.load(first + extents(k.x1) + ".bin", k.x1);
    const Tensor x2 = golden.load(second + extents(k.x2) + ".bin", k.x2);
    const Shape result = run_op("add", {x1, x2})[0].shape();
    const Tensor dy = golden.load(stem(k.number) + "dy" + extents(result) + ".bin", result);
    const auto gradients =
        k.swapped ? run_gradient(k.op, {x2, x1}, {}, dy, {1, 0}) : run_gradient(k.op, {x1, x2}, {}, dy, {0, 1});
    expect_close(gradients[0], golden.load(stem(k.number) + "dx1" + extents(k.x1) + ".bin", k.x1));
    expect_close(gradients[1], golden.load(stem(k.number) + "dx2" + extents(k.x2) + ".bin", k.x2));
  }
}

void maximum_gradient(Golden& golden) {
  const Tensor x1 = golden.load("operators/x1_maximum.bin", {1, 3});
  const Tensor x2 = golden.load("operators/x2_maximum.bin", {2, 3});
  const Tensor dy = golden.load("operators/yt_maximum.bin", {2, 3});
  // Equal operands: MindSpore Lite gives the gradient to its second, ours to the first.
  const auto gradients = run_gradient("maximum", {x2, x1}, {}, dy, {0, 1});
  expect_close(gradients[0], golden.load("operators/x2_grad_maximum.bin", {2, 3}), 0);
  expect_close(gradients[1], golden.load("operators/x1_grad_maximum.bin", {1, 3}), 0);
}

// One test, since the archive is unpacked once and every file of it must be used.
TEST(MindSporeLite, KernelsAgreeForwardAndBackward) {
  const UnpackedArchive archive("mindspore-lite-kernels.tar.xz");
  if (!archive.ok()) GTEST_SKIP() << archive.problem();
  Golden golden(archive.folder());
  const std::pair<const char*, void (*)(Golden&)> checks[] = {
      {"convolution", convolution},
      {"convolution_gradients", convolution_gradients},
      {"convolution_gradients_with_groups", convolution_gradients_with_groups},
      {"convolution_with_groups_and_dilation", convolution_with_groups_and_dilation},
      {"convolution_gradients_with_groups_dilation_and_stride", convolution_gradients_with_groups_dilation_and_stride},
      {"bias_gradient_is_the_sum_over_pixels", bias_gradient_is_the_sum_over_pixels},
      {"dense", dense},
      {"matrix_product", matrix_product},
      {"pooling", pooling},
      {"maximum_pooling_forward_and_gradient", maximum_pooling_forward_and_gradient},
      {"average_pooling_gradient", average_pooling_gradient},
      {"batch_norm_gradient", batch_norm_gradient},
      {"softmax", softmax},
      {"softmax_gradient", softmax_gradient},
      {"sparse_softmax_cross_entropy", sparse_softmax_cross_entropy},
      {"relu_gradient", relu_gradient},
      {"arithmetic_gradients_with_broadcasting", arithmetic_gradients_with_broadcasting},
      {"maximum_gradient", maximum_gradient},
  };
  for (const auto& [name, check] : checks) {
    SCOPED_TRACE(name);
    check(golden);
  }

  int left_out = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(archive.folder())) {
    if (entry.path().extension() != ".bin") continue;
    const std::string name = std::filesystem::relative(entry.path(), archive.folder()).string();
    if (golden.read().contains(name)) continue;
    const bool named = std::any_of(std::begin(kLeftOut), std::end(kLeftOut),
                                   [&](const LeftOut& out) { return name.starts_with(out.prefix); });
    EXPECT_TRUE(named) << name << " is neither read nor named as left out";
    ++left_out;
  }
  std::cout << "MindSpore Lite: " << golden.read().size() << " files read, " << left_out << " left out by name\n";
}

}  // namespace
}  // namespace ridgeline::test
