#include "peer_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "ridgeline/core/file.h"
#include "tests/support/paths.h"

namespace ridgeline::image::test {

Image golden_picture(int height, int width, int channels) {
  Image image(height, width, channels);
  for (std::size_t i = 0; i < image.byte_size(); ++i) {
    image.data()[i] = static_cast<std::uint8_t>(i * 73 + i * i * 19 + (i >> 3) * 101);
  }
  return image;
}

std::string to_hex(const Image& image) {
  std::string hex;
  for (std::size_t i = 0; i < image.byte_size(); ++i) {
    constexpr char digits[] = "0123456789abcdef";
    hex += digits[image.data()[i] >> 4];
    hex += digits[image.data()[i] & 15];
  }
  return hex;
}

Image from_hex(const std::string& hex, int height, int width, int channels) {
  Image image(height, width, channels);
  EXPECT_EQ(hex.size(), 2 * image.byte_size());
  for (std::size_t i = 0; i < std::min(image.byte_size(), hex.size() / 2); ++i) {
    image.data()[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return image;
}

void Difference::add(const Image& a, const Image& b) {
  ASSERT_EQ(a.height(), b.height());
  ASSERT_EQ(a.width(), b.width());
  ASSERT_EQ(a.channels(), b.channels());
  for (std::size_t i = 0; i < a.byte_size(); ++i) {
    const int off = std::abs(a.data()[i] - b.data()[i]);
    largest = std::max(largest, off);
    differing += off != 0;
  }
  bytes += a.byte_size();
}

bool run_peer(const char* variable, const std::string& mode, std::span<const PeerCase> cases,
              const std::function<void(const PeerCase&, const Image&)>& compare) {
  const char* python = std::getenv(variable);
  if (!python) return false;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ridgeline_peer_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string text;
  for (const PeerCase& c : cases) {
    text += c.line + "\n";
    text.append(reinterpret_cast<const char*>(c.in.data()), c.in.byte_size());
  }
  write_file_atomically((folder / "cases").string(), text);
  const std::string command = std::string("'") + python + "' '" + testing::source_directory() +
                              "/tests/image/peer_oracle.py' " + mode + " '" + (folder / "cases").string() + "' '" +
                              (folder / "results").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  const std::string results = read_file((folder / "results").string());
  std::filesystem::remove_all(folder);
  std::size_t at = 0;
  for (const PeerCase& c : cases) {
    Image theirs(c.ours.height(), c.ours.width(), c.ours.channels());
    if (at + theirs.byte_size() > results.size()) {
      ADD_FAILURE() << "the results end before " << c.line;
      break;
    }
    std::memcpy(theirs.data(), results.data() + at, theirs.byte_size());
    at += theirs.byte_size();
    compare(c, theirs);
  }
  EXPECT_EQ(at, results.size());
  return true;
}

}  // namespace ridgeline::image::test
