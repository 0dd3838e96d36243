// Memory of single threads: threads never share a cache line.
#include "ridgeline/device/cpu/lines.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace ridgeline::device {
namespace {

TEST(Lines, VectorsOfTwoThreadsShareNone) {
  std::vector<LineVector<void*>> vectors;
  for (const std::size_t n : {1, 5, 2, 17, 3}) vectors.emplace_back(n);
  vectors.push_back(vectors[1]);
  std::vector<std::uintptr_t> begins;
  for (const LineVector<void*>& v : vectors) {
    begins.push_back(reinterpret_cast<std::uintptr_t>(v.data()));
    EXPECT_EQ(begins.back() % kApartBytes, 0u);
  }
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::uintptr_t last = begins[i] + vectors[i].size() * sizeof(void*) - 1;
    for (std::size_t j = 0; j < vectors.size(); ++j)
      EXPECT_EQ(begins[j] / kApartBytes >= begins[i] / kApartBytes && begins[j] <= last, i == j) << i << ", " << j;
  }
}

TEST(Lines, ValuesApartShareNone) {
  const std::vector<Apart<char>> values(3);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&values[i].value) % kApartBytes, 0u);
  EXPECT_EQ(reinterpret_cast<const char*>(&values[1]) - reinterpret_cast<const char*>(&values[0]),
            static_cast<std::ptrdiff_t>(kApartBytes));
}

}  // namespace
}  // namespace ridgeline::device
