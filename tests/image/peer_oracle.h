// tests/image/peer_oracle.h
//
// OpenCV and torchvision as oracles: vectors kept in tests/data/image, and the libraries themselves where a Python that
// has them is named. Made by peer_oracle.py.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image::test {

// The picture of the vectors.
Image golden_picture(int height, int width, int channels);
std::string to_hex(const Image& image);
Image from_hex(const std::string& hex, int height, int width, int channels);

// How two images of one shape differ.
struct Difference {
  int largest = 0;
  std::size_t differing = 0, bytes = 0;
  void add(const Image& a, const Image& b);
  double share() const { return bytes == 0 ? 0 : static_cast<double>(differing) / static_cast<double>(bytes); }
};

struct PeerCase {
  std::string line;  // the case's line without its pixels
  Image in;
  Image ours;
};
// Runs `mode` of peer_oracle.py under the Python that `variable` names, and hands each result to `compare`. False when
// the variable is not set.
bool run_peer(const char* variable, const std::string& mode, std::span<const PeerCase> cases,
              const std::function<void(const PeerCase&, const Image&)>& compare);

}  // namespace ridgeline::image::test
