// tests/image/peer_oracle.h
//
// OpenCV and torchvision as references: vectors stored in tests/data/image, and the libraries themselves if a Python
// that has them is given. Made by peer_oracle.py.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image::test {

// The image of the vectors.
Image golden_picture(int height, int width, int channels);
std::string to_hex(const Image& image);
Image from_hex(const std::string& hex, int height, int width, int channels);

// The differences of two images of the same shape.
struct Difference {
  int largest = 0;
  std::size_t differing = 0, bytes = 0;
  void add(const Image& a, const Image& b);
  double share() const { return bytes == 0 ? 0 : static_cast<double>(differing) / static_cast<double>(bytes); }
};

struct PeerCase {
  std::string line;  // the line of the case without its pixels
  Image in;
  Image ours;
};
// Runs `mode` of peer_oracle.py with the Python in `variable`, and passes each result to `compare`. False if the
// variable is not set.
bool run_peer(const char* variable, const std::string& mode, std::span<const PeerCase> cases,
              const std::function<void(const PeerCase&, const Image&)>& compare);

}  // namespace ridgeline::image::test
