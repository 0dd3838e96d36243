// tests/image/pixel_oracle.h
//
// Collects cases of pixel operations with our results and compares all with Pillow in one run of pixel_oracle.py.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image::test {

class PixelOracle {
 public:
  // `op` is a name in pixel_oracle.py, `ours` our result.
  void add(const std::string& op, const ImageView& in, const std::vector<double>& numbers, Image ours);
  // Fails the test for each kind of op whose pixels differ by more than `tolerance`; skips without Pillow.
  void compare(int tolerance = 0);
  std::size_t size() const { return expected_.size(); }

 private:
  struct Case {
    std::string what, op;
    Image ours;
  };
  std::string cases_;
  std::vector<Case> expected_;
};

}  // namespace ridgeline::image::test
