// Copies of boxes of elements between strided arrays: every element is at its place, and nothing outside the box is
// written.
#include "ridgeline/device/cpu/copy/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

using Integers = std::vector<std::int64_t>;

// Strides of an array whose axes are in `order`, outermost first, each `gap` elements longer than the box.
Integers strides_in_order(const Integers& sizes, const Integers& order, std::int64_t gap, std::int64_t& elements) {
  Integers strides(sizes.size());
  elements = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    strides[axis] = elements;
    elements *= sizes[axis] + gap;
  }
  return strides;
}

template <class T>
void expect_copied(const Integers& sizes, const Integers& order, std::int64_t gap) {
  std::int64_t elements = 0, there = 0;
  Integers plain(sizes.size());
  std::iota(plain.begin(), plain.end(), 0);
  const Integers from = strides_in_order(sizes, order, 0, elements);
  const Integers to = strides_in_order(sizes, plain, gap, there);
  std::vector<T> source(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<T>(i * 2654435761u + 1);
  constexpr T kUntouched = static_cast<T>(0xA5);
  std::vector<T> expected(static_cast<std::size_t>(there), kUntouched), got(expected);
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t rest = i, at = 0, out = 0;
    for (std::size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis]) {
      at += rest % sizes[axis] * from[axis];
      out += rest % sizes[axis] * to[axis];
    }
    expected[static_cast<std::size_t>(out)] = source[static_cast<std::size_t>(at)];
  }
  device::StridedCopy(sizes, from, to, 0, 0, sizeof(T)).run(source.data(), got.data());
  std::string text;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    text += std::to_string(sizes[i]) + " in place " + std::to_string(order[i]) + ", ";
  ASSERT_EQ(got, expected) << text << sizeof(T) << " bytes, gap " << gap;
}

TEST(StridedCopy, PutsEveryElementInItsPlaceAndTouchesNothingElse) {
  SampleRandom random(philox_key(5, "strided copy"), 0, 0);
  for (int trial = 0; trial < 300; ++trial) {
    Integers sizes, order;
    const std::int64_t rank = random.integer(2, 4);
    for (std::int64_t i = 0; i < rank; ++i) {
      sizes.push_back(random.integer(1, i + 2 < rank ? 3 : 75));
      order.insert(order.begin() + random.integer(0, i), i);
    }
    const std::int64_t gap = random.integer(0, 2);
    const ComputeScope team(static_cast<int>(random.integer(1, 3)));
    ASSERT_NO_FATAL_FAILURE(expect_copied<std::uint8_t>(sizes, order, gap));
    ASSERT_NO_FATAL_FAILURE(expect_copied<std::uint16_t>(sizes, order, gap));
    ASSERT_NO_FATAL_FAILURE(expect_copied<std::uint32_t>(sizes, order, gap));
    ASSERT_NO_FATAL_FAILURE(expect_copied<std::uint64_t>(sizes, order, gap));
  }
}

}  // namespace
}  // namespace ridgeline
