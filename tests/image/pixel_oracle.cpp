#include "pixel_oracle.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

#include "ridgeline/core/file.h"
#include "ridgeline/image/pixels.h"
#include "support.h"
#include "tests/support/paths.h"

namespace ridgeline::image::test {

void PixelOracle::add(const std::string& op, const ImageView& in, const std::vector<double>& numbers, Image ours) {
  std::string line =
      op + " " + std::to_string(in.height) + " " + std::to_string(in.width) + " " + std::to_string(in.channels);
  for (const double number : numbers) {
    char text[40];
    std::snprintf(text, sizeof text, " %.17g", number);
    line += text;
  }
  const Image pixels = copy(in);
  cases_ += line + "\n";
  cases_.append(reinterpret_cast<const char*>(pixels.data()), pixels.byte_size());
  expected_.push_back({line, op, std::move(ours)});
}

void PixelOracle::compare(int tolerance) {
  const std::string python = python_with_pillow();
  if (python.empty()) GTEST_SKIP() << "no Python with a Pillow older than 13 (set RIDGELINE_PYTHON to one)";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ridgeline_pixels_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  write_file_atomically((folder / "cases").string(), cases_);
  const std::string command = "'" + python + "' '" + testing::source_directory() + "/tests/image/pixel_oracle.py' '" +
                              (folder / "cases").string() + "' '" + (folder / "results").string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string results = read_file((folder / "results").string());
  std::filesystem::remove_all(folder);
  std::map<std::string, int> failures;
  std::size_t at = 0;
  for (const Case& c : expected_) {
    std::int32_t header[3];
    ASSERT_LE(at + sizeof header, results.size());
    std::memcpy(header, results.data() + at, sizeof header);
    at += sizeof header;
    Image theirs(header[0], header[1], header[2]);
    ASSERT_LE(at + theirs.byte_size(), results.size());
    std::memcpy(theirs.data(), results.data() + at, theirs.byte_size());
    at += theirs.byte_size();
    if (theirs.height() != c.ours.height() || theirs.width() != c.ours.width() ||
        theirs.channels() != c.ours.channels()) {
      if (++failures[c.op] <= 3) {
        ADD_FAILURE() << c.what << ": Pillow's result is " << theirs.height() << "x" << theirs.width() << "x"
                      << theirs.channels() << ", ours " << c.ours.height() << "x" << c.ours.width();
      }
      continue;
    }
    std::size_t bad = 0, first = 0;
    for (std::size_t i = theirs.byte_size(); i-- > 0;) {
      if (std::abs(theirs.data()[i] - c.ours.data()[i]) > tolerance) ++bad, first = i;
    }
    if (bad != 0 && ++failures[c.op] <= 3) {
      ADD_FAILURE() << c.what << ": " << bad << " of " << theirs.byte_size() << " bytes differ, the first at " << first
                    << ": ours " << int{c.ours.data()[first]} << ", Pillow " << int{theirs.data()[first]};
    }
  }
  EXPECT_EQ(at, results.size());
}

}  // namespace ridgeline::image::test
