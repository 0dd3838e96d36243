#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "tests/device/loop_support.h"

namespace ridgeline::device {
namespace {

// [rows, 5] stored by columns, each padded with zeros to a multiple of 16 rows.
class PaddedColumns final : public BlockedLayout {
 public:
  explicit PaddedColumns(std::int64_t rows) : rows_(rows), padded_((rows + 15) / 16 * 16) {}
  std::size_t bytes() const override { return static_cast<std::size_t>(padded_) * 5 * sizeof(float); }
  std::string name() const override { return "columns"; }
  bool equals(const BlockedLayout& other) const override { return bytes() == other.bytes() && other.name() == name(); }
  void to_plain(const void* blocked, void* plain) const override {
    for (std::int64_t r = 0; r < rows_; ++r) {
      for (std::int64_t c = 0; c < 5; ++c)
        static_cast<float*>(plain)[r * 5 + c] = static_cast<const float*>(blocked)[c * padded_ + r];
    }
  }
  void from_plain(const void* plain, void* blocked) const override {
    std::memset(blocked, 0, bytes());
    for (std::int64_t r = 0; r < rows_; ++r) {
      for (std::int64_t c = 0; c < 5; ++c)
        static_cast<float*>(blocked)[c * padded_ + r] = static_cast<const float*>(plain)[r * 5 + c];
    }
  }

 private:
  std::int64_t rows_, padded_;
};

const ValueType kType{DType::f32, {37, 5}};

struct Case {
  const char* op;
  Attributes attributes;
  std::vector<ValueType> operands;
};

// The kernel for operands that are all in `layout` if they have kType.
std::unique_ptr<Kernel> make(const Case& c, const Layout& layout) {
  const OpDef& def = op_def(c.op);
  Node node;
  node.op = node.name = c.op;
  node.attributes = complete_attributes(def, c.attributes);
  KernelRequest request{def, node, {}, {}};
  for (const ValueType& type : c.operands) request.inputs.push_back({type, type == kType ? layout : Layout{}, false});
  for (const ValueType& type : infer_types(def, c.operands, node.attributes, ""))
    request.outputs.push_back({type, {}, false});
  return std::move(std::get<std::unique_ptr<Kernel>>(make_loop_kernel(request)));
}

TEST(LoopLayouts, AnUpdateRunsOverTheParametersBlockedLayout) {
  const Layout layout(std::make_shared<PaddedColumns>(37));
  const Case c{"sgd_momentum", {{"momentum", 0.9}, {"weight_decay", 1e-4}}, {kType, kType, kType, {DType::f32, {}}}};
  const std::unique_ptr<Kernel> kernel = make(c, layout);
  EXPECT_EQ(kernel->input_layouts, (std::vector<Layout>{layout, layout, layout, {}}));
  EXPECT_EQ(kernel->output_layouts, (std::vector<Layout>{layout, layout}));

  std::vector<Tensor> plain;
  std::vector<std::vector<float>> blocked(3, std::vector<float>(layout.bytes(kType) / sizeof(float)));
  for (unsigned i = 0; i < 3; ++i) {
    plain.push_back(mixed_tensor(DType::f32, kType.shape, i, false));
    layout.blocked()->from_plain(plain[i].raw(), blocked[i].data());
  }
  plain.push_back(Tensor::scalar<float>(0.1f));
  const std::vector<Tensor> expected = run_reference_of(c.op, plain, c.attributes);
  void* inputs[] = {blocked[0].data(), blocked[1].data(), blocked[2].data(), plain[3].raw()};
  void* outputs[] = {blocked[0].data(), blocked[1].data()};
  kernel->run({inputs, outputs, nullptr});
  for (std::size_t r = 0; r < 2; ++r) {
    Tensor got(DType::f32, kType.shape);
    layout.blocked()->to_plain(blocked[r].data(), got.raw());
    EXPECT_EQ(first_difference(got, expected[r]), "");
    std::vector<float> again(blocked[r].size());
    layout.blocked()->from_plain(got.raw(), again.data());
    EXPECT_EQ(again, blocked[r]) << "padding stays zero";
  }
}

TEST(LoopLayouts, AnInfiniteScalarLeavesPaddingZero) {
  const Layout layout(std::make_shared<PaddedColumns>(37));
  const ValueType scalar{DType::f32, {}};
  const std::unique_ptr<Kernel> kernel =
      make({"loop", {{"expression", std::string("x0 * x1; sum(x0 * x1)")}}, {kType, scalar}}, layout);
  ASSERT_EQ(kernel->output_layouts[0], layout);
  const Tensor ones = Tensor::of(std::vector<float>(37 * 5, 1.0f), {37, 5});
  std::vector<float> x(layout.bytes(kType) / sizeof(float));
  layout.blocked()->from_plain(ones.raw(), x.data());
  std::vector<float> y(x.size(), -1);
  for (const float factor : {2.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    float by = factor;
    float sum = 0;
    std::vector<double> scratch(kernel->scratch_bytes / sizeof(double) + 1);
    void* inputs[] = {x.data(), &by};
    void* outputs[] = {y.data(), &sum};
    kernel->run({inputs, outputs, scratch.data()});
    EXPECT_EQ(std::count(y.begin(), y.end(), 0.0f), static_cast<std::ptrdiff_t>(x.size()) - 37 * 5) << factor;
    EXPECT_EQ(std::isnan(sum), std::isnan(factor));
    EXPECT_TRUE(std::isnan(factor) || sum == factor * 37 * 5) << sum;
  }
}

TEST(LoopLayouts, WhatDependsOnThePlaceOfElementsAsksForPlainOnes) {
  const Layout layout(std::make_shared<PaddedColumns>(37));
  const ValueType scalar{DType::f32, {}};
  for (const Case& c :
       {Case{"dropout", {{"keep_prob", 0.5}, {"key", std::int64_t{1}}}, {kType, {DType::i64, {}}}},
        Case{"add", {}, {kType, {DType::f32, {5}}}}, Case{"exp", {}, {kType}},  // would change the padding
        Case{"loop", {{"expression", std::string("x0 * (1 / x0)")}}, {kType}},  // 0 times infinity
        Case{"loop", {{"expression", std::string("sum(x0 + 1)")}}, {kType}}}) {
    const std::unique_ptr<Kernel> kernel = make(c, layout);
    EXPECT_EQ(kernel->input_layouts[0], Layout{}) << c.op;
    EXPECT_EQ(kernel->output_layouts[0], Layout{}) << c.op;
  }
  EXPECT_EQ(
      make({"loop", {{"expression", std::string("sum(x0 * x0 * x1)")}}, {kType, scalar}}, layout)->input_layouts[0],
      layout);
  EXPECT_EQ(make({"relu", {}, {kType}}, layout)->output_layouts[0], layout);
}

}  // namespace
}  // namespace ridgeline::device
