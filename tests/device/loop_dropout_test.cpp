#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "tests/device/loop_support.h"

namespace ridgeline::device {
namespace {

Attributes dropout(double keep, std::uint64_t key) {
  return {{"keep_prob", keep}, {"key", static_cast<std::int64_t>(key)}};
}

Tensor drop(const Tensor& x, std::int64_t step, double keep, std::uint64_t key = 0xfedcba9876543210u) {
  return run_kernel("dropout", {x, Tensor::scalar<std::int64_t>(step)}, dropout(keep, key)).results[0];
}

std::string error_of(const Tensor& x, double keep) {
  try {
    run_reference_of("dropout", {x, Tensor::scalar<std::int64_t>(0)}, dropout(keep, 1));
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

Tensor ones(std::int64_t n) {
  Tensor t(DType::f32, {n});
  std::fill_n(t.data<float>(), n, 1.0f);
  return t;
}

TEST(LoopDropout, KeepsItsShareAndScalesIt) {
  constexpr std::int64_t n = 1000000;
  const Tensor y = drop(ones(n), 3, 0.65);
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float v = y.data<float>()[i];
    ASSERT_TRUE(v == 0.0f || v == 1.0f / 0.65f) << v;
    kept += v != 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(kept) / n, 0.65, 0.005);
}

TEST(LoopDropout, TheMaskDependsOnStepAndKeyOnly) {
  const Tensor x = ones(10000);
  EXPECT_EQ(first_difference(drop(x, 5, 0.65), drop(x, 5, 0.65)), "");
  EXPECT_NE(first_difference(drop(x, 5, 0.65), drop(x, 6, 0.65)), "");
  EXPECT_NE(first_difference(drop(x, 5, 0.65), drop(x, 5 + (std::int64_t{1} << 32), 0.65)), "");
  EXPECT_NE(first_difference(drop(x, 5, 0.65, 1), drop(x, 5, 0.65, 2)), "");
  const PhiloxKey key{0x76543210u, 0xfedcba98u};
  const Tensor y = drop(x, 5, 0.65);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    EXPECT_EQ(y.data<float>()[i] != 0, uniform_float(philox_element(key, 5, i)) < 0.65f) << i;
  }
}

TEST(LoopDropout, TheMaskIsTheSameInF64) {
  const Tensor x = Tensor(DType::f64, {4096});
  std::fill_n(const_cast<Tensor&>(x).data<double>(), 4096, 1.0);
  const Tensor wide = run_reference_of("dropout", {x, Tensor::scalar<std::int64_t>(5)}, dropout(0.65, 9))[0];
  const Tensor y = drop(ones(4096), 5, 0.65, 9);
  for (int i = 0; i < 4096; ++i) EXPECT_EQ(wide.data<double>()[i] != 0, y.data<float>()[i] != 0);
}

TEST(LoopDropout, KeepingEverythingChangesNothing) {
  const Tensor x = mixed_tensor(DType::f32, {5000}, 1);
  EXPECT_EQ(first_difference(drop(x, 1, 1.0), x), "");
}

TEST(LoopDropout, RefusesProbabilitiesOutsideItsRange) {
  const Tensor x = ones(4);
  for (double keep : {0.0, -0.5, 1.5}) {
    EXPECT_NE(error_of(x, keep).find(
                  "[dropout] keep_prob must be a float value or a scalar tensor in the range (0, 1], got "),
              std::string::npos)
        << keep;
  }
  EXPECT_NE(error_of(x, 1.5).find("got 1.5"), std::string::npos);
  EXPECT_NE(error_of(mixed_tensor(DType::i32, {4}, 1), 0.5).find("x must be a floating point tensor. Got a i32[4]"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::device
