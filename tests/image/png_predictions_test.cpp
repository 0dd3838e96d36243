// Predictions of PNG rows against their definition, for rows that are undone alone and four in step.
#include "ridgeline/image/png/predictions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "ridgeline/core/random.h"

namespace ridgeline::image {
namespace {

using Memory = std::vector<std::uint8_t>;

// PNG specification, section 9.4.
int paeth_by_definition(int left, int up, int corner) {
  const int estimate = left + up - corner;
  const int far_left = std::abs(estimate - left), far_up = std::abs(estimate - up);
  const int far_corner = std::abs(estimate - corner);
  if (far_left <= far_up && far_left <= far_corner) return left;
  return far_up <= far_corner ? up : corner;
}

// The rows of `memory`, undone byte by byte up to `wanted`.
Memory undone(const Memory& memory, std::size_t rows, std::size_t bytes, std::size_t wanted, const Memory& above,
              std::size_t pixel) {
  Memory out = memory;
  const std::uint8_t* before = above.data();
  for (std::size_t k = 0; k < rows; ++k) {
    std::uint8_t* row = out.data() + k * (1 + bytes) + 1;
    for (std::size_t i = 0; i < wanted; ++i) {
      const int left = i < pixel ? 0 : row[i - pixel], up = before[i], corner = i < pixel ? 0 : before[i - pixel];
      const int predictions[] = {0, left, up, (left + up) / 2, paeth_by_definition(left, up, corner)};
      row[i] = static_cast<std::uint8_t>(row[i] + predictions[row[-1]]);
    }
    before = row;
  }
  return out;
}

TEST(PngPredictions, AreUndoneAsDefined) {
  SampleRandom random(philox_key(5, "predictions"), 0, 0);
  const auto below = [&](int n) { return static_cast<std::size_t>(random.integer(0, n - 1)); };
  for (const int pixel_bytes : {1, 2, 3, 4, 6, 8}) {
    const auto pixel = static_cast<std::size_t>(pixel_bytes);
    for (int repeat = 0; repeat < 1200; ++repeat) {
      const std::size_t rows = 1 + below(12), bytes = pixel * (1 + below(repeat < 600 ? 12 : 90));
      const std::size_t wanted = repeat % 2 == 0 ? bytes : pixel * (1 + below(static_cast<int>(bytes / pixel)));
      // All bytes, or few: then distances are often equal.
      const int values = repeat % 3 == 0 ? 3 : 256, most = repeat % 5 == 0 ? 4 : 5;
      Memory memory(rows * (1 + bytes) + kPngSlack), above(bytes + kPngSlack);
      for (std::uint8_t& byte : memory) byte = static_cast<std::uint8_t>(below(values) * (values == 3 ? 127 : 1));
      for (std::uint8_t& byte : above) byte = static_cast<std::uint8_t>(below(256));
      if (repeat % 4 == 1) {  // areas
        for (std::uint8_t& byte : memory) byte = below(15) == 0 ? static_cast<std::uint8_t>(below(256)) : 0;
        for (std::size_t i = 1; i < bytes; ++i)
          if (below(10) != 0) above[i] = above[i - 1];
      }
      for (std::size_t k = 0; k < rows; ++k)
        memory[k * (1 + bytes)] = static_cast<std::uint8_t>(repeat % 7 == 0 ? 4 : below(most));
      const Memory expected = undone(memory, rows, bytes, wanted, above, pixel);
      ASSERT_EQ(undo_png_predictions({memory.data(), rows, bytes}, wanted, above.data(), pixel_bytes), rows);
      ASSERT_EQ(memory, expected) << pixel_bytes << " bytes a pixel, " << rows << " rows of " << bytes << ", " << wanted
                                  << " wanted";
    }
  }
}

// The nearest depends on three bytes alone: all of them. Above the first of four rows, a pixel of `corner` is followed
// by one of `up`, four times; below the former lies a left one, and below the latter what is stored is 0.
TEST(PngPredictions, TheNearestOfThreeIsRightForAllBytes) {
  constexpr std::size_t kBytes = 24;
  for (int corner = 0; corner < 256; ++corner) {
    for (int up = 0; up < 256; ++up) {
      std::uint8_t above[kBytes + kPngSlack] = {};
      for (std::size_t i = 0; i < kBytes; ++i) above[i] = static_cast<std::uint8_t>(i / 3 % 2 == 0 ? corner : up);
      for (int left = 0; left < 256; left += 12) {
        std::uint8_t rows[4 * (1 + kBytes) + kPngSlack] = {};
        for (std::size_t k = 0; k < 4; ++k) rows[(1 + kBytes) * k] = 4;
        std::uint8_t expected[kBytes];
        for (std::size_t i = 0; i < kBytes; ++i) {
          const int before = i < 3 ? 0 : expected[i - 3];
          const int predicted = paeth_by_definition(before, above[i], i < 3 ? 0 : above[i - 3]);
          const int wanted = i / 3 % 2 == 0 ? left + static_cast<int>(i / 6 * 3 + i % 3) : predicted;
          expected[i] = static_cast<std::uint8_t>(wanted);
          rows[1 + i] = static_cast<std::uint8_t>(wanted - predicted);
        }
        undo_png_predictions({rows, 4, kBytes}, kBytes, above, 3);
        ASSERT_TRUE(std::equal(expected, expected + kBytes, rows + 1)) << left << " " << up << " " << corner;
      }
    }
  }
}

TEST(PngPredictions, AnUnknownOneIsTold) {
  for (std::size_t bad = 0; bad < 11; ++bad) {
    Memory memory(11 * 31 + kPngSlack, 4), above(30 + kPngSlack);
    memory[bad * 31] = 5;
    EXPECT_EQ(undo_png_predictions({memory.data(), 11, 30}, 30, above.data(), 3), bad);
  }
}

}  // namespace
}  // namespace ridgeline::image
