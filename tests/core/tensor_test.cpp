#include "ridgeline/core/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace ridgeline {
namespace {

TEST(Shape, CountsPrintsAndIndexesFromBothEnds) {
  const Shape shape{128, 55, 55, 64};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape.elements(), 128 * 55 * 55 * 64);
  EXPECT_EQ(shape.to_string(), "[128,55,55,64]");
  EXPECT_EQ(shape[0], 128);
  EXPECT_EQ(shape[-1], 64);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(Shape{}.to_string(), "[]");
  EXPECT_EQ((Shape{3, 0, 2}).elements(), 0);
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
}

TEST(Shape, BeyondWhatCanBeCountedIsAnErrorAndNotAWrappedNumber) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Shape{most}.elements(), most);
  EXPECT_EQ(Shape{most}.bytes(1), static_cast<std::size_t>(most));
  EXPECT_THROW((Shape{most, 2}.elements()), Error);
  EXPECT_THROW((Shape{1, std::int64_t{1} << 32, std::int64_t{1} << 32, 3}.elements()), Error);
  EXPECT_THROW(Shape{most}.bytes(4), Error);
  EXPECT_THROW(Tensor(DType::f32, {most / 2}), Error);
}

TEST(Tensor, IsAlignedAndZeroedOnRequest) {
  for (std::int64_t n : {0, 1, 7, 1000}) {
    const Tensor t = Tensor::zeros(DType::f32, {n});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.raw()) % 64, 0u);
    EXPECT_EQ(t.byte_size(), static_cast<std::size_t>(n) * 4);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(t.at(i), 0.0);
  }
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor a = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  Tensor shared = a;
  Tensor cloned = a.clone();
  a.data<float>()[0] = 9;
  EXPECT_EQ(shared.at(0), 9);
  EXPECT_EQ(cloned.at(0), 1);
  EXPECT_EQ(cloned.shape(), (Shape{2, 2}));
  EXPECT_FALSE(Tensor().clone().defined());
}

TEST(Tensor, RefusesAnotherTypeSizeOrSign) {
  Tensor a = Tensor::of<float>({1, 2}, {2});
  EXPECT_THROW(a.data<double>(), InternalError);
  EXPECT_THROW(a.string_values(), InternalError);
  EXPECT_THROW(a.reshaped({3}), InternalError);
  EXPECT_THROW(Tensor::of<float>({1, 2}, {3}), InternalError);
  EXPECT_THROW(Tensor(DType::f32, Shape{-1}), InternalError);
  EXPECT_THROW(Tensor::strings({"a"}).at(0), InternalError);
}

TEST(Tensor, ReshapedSharesMemory) {
  Tensor a = Tensor::of<std::int32_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  Tensor b = a.reshaped({3, 2});
  EXPECT_EQ(b.shape(), (Shape{3, 2}));
  EXPECT_EQ(b.raw(), a.raw());
}

TEST(Tensor, SetAndAtKeepEveryType) {
  for (DType type : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::i64}) {
    Tensor t(type, {3});
    for (int i = 0; i < 3; ++i) t.set(i, 5 * i);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(t.at(i), 5 * i) << name_of(type);
  }
  Tensor flags(DType::boolean, {2});
  flags.set(0, 0.5);
  flags.set(1, 0.0);
  EXPECT_EQ(flags.at(0), 1.0);
  EXPECT_EQ(flags.at(1), 0.0);
  Tensor rounded(DType::bf16, {1});
  rounded.set(0, 1.00390625);  // halfway between 1 and 1.0078125
  EXPECT_EQ(rounded.at(0), 1.0);
  EXPECT_EQ(Tensor::of<bool>({true, false, true}, {3}).at(2), 1.0);
  EXPECT_EQ(Tensor::scalar(2.5f).at(0), 2.5);
  EXPECT_EQ(Tensor::scalar(2.5f).shape().rank(), 0);
}

TEST(Tensor, AViewKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(4, 1.5f);
  const std::weak_ptr<std::vector<float>> watch = owner;
  {
    float* data = owner->data();
    Tensor view = Tensor::view(data, DType::f32, {4}, std::move(owner));
    EXPECT_EQ(view.at(3), 1.5);
    Tensor reshaped = view.reshaped({2, 2});
    view = Tensor();
    EXPECT_FALSE(watch.expired());
    EXPECT_EQ(reshaped.at(0), 1.5);
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, HoldsByteStrings) {
  Tensor t = Tensor::strings({"a", std::string("b\0c", 3)});
  EXPECT_EQ(t.dtype(), DType::bytes);
  EXPECT_EQ(t.shape(), Shape{2});
  EXPECT_EQ(t.string_values()[1].size(), 3u);
  Tensor copy = t.clone();
  copy.string_values()[0] = "z";
  EXPECT_EQ(t.string_values()[0], "a");
  EXPECT_EQ(Tensor(DType::bytes, {3}).string_values().size(), 3u);
}

}  // namespace
}  // namespace ridgeline
