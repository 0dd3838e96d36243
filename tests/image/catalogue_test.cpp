// Every image of packA's catalogue: it loads if Pillow loads it, and its pixels are those of djpeg.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/pixels.h"
#include "support.h"
#include "tests/support/paths.h"
#include "tests/support/sha256.h"

namespace ridgeline::image {
namespace {

struct Entry {
  std::string path, signature, format, djpeg, pillow;
  int components = 0;
};

std::vector<Entry> catalogue() {
  std::istringstream file(read_file(test::pack_a() + "/CATALOG-jpeg-png.tsv"));
  std::vector<Entry> entries;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');) fields.push_back(cell);
    Entry entry{fields[0], fields[3], fields[4], fields[fields.size() - 2], fields.back(), 0};
    if (fields.size() > 11 && fields[11] != "-") entry.components = std::atoi(fields[11].c_str());
    entries.push_back(entry);
  }
  return entries;
}

struct Outcome {
  bool good = false;
  std::string error;
  Image image;
};

Outcome attempt(Decoder& decoder, const std::vector<std::uint8_t>& bytes) {
  Outcome outcome;
  try {
    outcome.image = copy(decoder.decode(bytes));
    outcome.good = true;
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

// Intended differences.
const std::map<std::string, std::string> kJudgedOtherwise = {
    {"truncated_exif_dpi.jpg", "the pixels are whole; Pillow stops at the broken Exif, which we do not read"},
    {"a7326ba8f3f4559991126474dd30083d.jpg", "Pillow stops at a marker length; libjpeg reads the pixels"},
    {"png_decompression_dos.png", "the bomb is a comment, which we do not unpack"},
};

TEST(Catalogue, FilesLoadOrFailAsInPillow) {
  if (test::pack_a().empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  Decoder decoder;
  int good = 0, bad = 0;
  for (const Entry& entry : catalogue()) {
    const std::filesystem::path path = test::pack_a() + "/" + entry.path;
    if (!std::filesystem::exists(path)) continue;
    const Outcome outcome = attempt(decoder, test::as_bytes(read_file(path.string())));
    const bool supported = entry.format == "JPEG" || entry.format == "PNG" || entry.format == "MPO" ||
                           entry.format == "WEBP" || entry.format == "BMP";
    const bool expected = (entry.pillow == "ok" && supported) != kJudgedOtherwise.contains(path.filename().string());
    EXPECT_EQ(outcome.good, expected) << entry.path << "\n  djpeg: " << entry.djpeg << "\n  Pillow: " << entry.pillow
                                      << "\n  ours: " << outcome.error;
    (outcome.good ? good : bad) += 1;
  }
  EXPECT_GT(good, 600);
  EXPECT_GT(bad, 200);
}

// Coefficients of damaged JPEG files exceed the range in which libjpeg's vector code, which differs by architecture,
// rounds like its plain code.
bool rounds_alike(const Entry& entry) {
#if defined(__x86_64__)
  static_cast<void>(entry);
  return true;
#else
  return entry.format == "PNG" || entry.djpeg.find("warn0") != std::string::npos;
#endif
}

TEST(Catalogue, PixelsAreThoseOfDjpeg) {
  if (test::pack_a().empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  Decoder decoder;
  int compared = 0;
  for (const Entry& entry : catalogue()) {
    const auto at = entry.djpeg.find("sha256:");
    if (at == std::string::npos || entry.components == 4) continue;  // djpeg converts CMYK by another formula
    if (!rounds_alike(entry)) continue;
    if (!std::filesystem::exists(test::pack_a() + "/" + entry.path)) continue;
    const Outcome outcome = attempt(decoder, test::as_bytes(read_file(test::pack_a() + "/" + entry.path)));
    if (!outcome.good) continue;
    const Image& image = outcome.image;
    const bool grey = entry.components == 1;
    std::string ppm = std::string(grey ? "P5" : "P6") + "\n" + std::to_string(image.width()) + " " +
                      std::to_string(image.height()) + "\n255\n";
    for (std::size_t i = 0; i < image.byte_size(); i += grey ? 3 : 1) ppm += static_cast<char>(image.data()[i]);
    EXPECT_EQ(sha256_16(ppm), entry.djpeg.substr(at + 7, 16)) << entry.path;
    ++compared;
  }
#if defined(__x86_64__)
  EXPECT_GT(compared, 290);
#else
  EXPECT_GT(compared, 200);
#endif
}

TEST(Catalogue, PngAndCmykPixelsAreThoseOfPillow) {
  if (test::pack_a().empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  const std::string python = test::python_with_pillow();
  if (python.empty()) GTEST_SKIP() << "no Python with a Pillow older than 13 (set RIDGELINE_PYTHON to one)";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ridgeline_decode_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  Decoder decoder;
  std::string list;
  std::vector<std::pair<std::string, Image>> ours;
  for (const Entry& entry : catalogue()) {
    const std::string path = test::pack_a() + "/" + entry.path;
    if (!std::filesystem::exists(path) || (entry.format != "PNG" && entry.components != 4)) continue;
    if (!rounds_alike(entry)) continue;
    Outcome outcome = attempt(decoder, test::as_bytes(read_file(path)));
    if (!outcome.good) continue;
    list += path + "\n";
    ours.emplace_back(entry.path, std::move(outcome.image));
  }
  write_file_atomically((folder / "list").string(), list);
  const std::string command = "'" + python + "' '" + testing::source_directory() +
                              "/tests/image/pillow_oracle.py' decode '" + (folder / "list").string() + "' '" +
                              (folder / "results").string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string results = read_file((folder / "results").string());
  std::filesystem::remove_all(folder);
  std::size_t at = 0;
  int compared = 0;
  for (const auto& [path, image] : ours) {
    std::int32_t header[3];
    ASSERT_LE(at + sizeof header, results.size());
    std::memcpy(header, results.data() + at, sizeof header);
    at += sizeof header;
    if (!header[0]) continue;
    ASSERT_EQ((Size{header[1], header[2]}), (Size{image.height(), image.width()})) << path;
    EXPECT_EQ(std::memcmp(image.data(), results.data() + at, image.byte_size()), 0) << path;
    at += image.byte_size();
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace ridgeline::image
