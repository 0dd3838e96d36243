// Which damaged PNG files are accepted, and their pixels: both as in Pillow.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "pillow_files.h"
#include "png_samples.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/pixels.h"
#include "support.h"

namespace ridgeline::image {
namespace {

using test::PngChunk;
using test::PngSample;

std::size_t below(SampleRandom& random, std::size_t count) {
  return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count) - 1));
}

void flip(std::string& bytes, SampleRandom& random) {
  if (bytes.empty()) return;
  char& b = bytes[below(random, bytes.size())];
  b = random.integer(0, 1) == 0 ? static_cast<char>(b ^ (1 << random.integer(0, 7))) : static_cast<char>(random.bits());
}

// Damage to a file: between its chunks, or in its bytes.
std::string mutated(PngSample png, SampleRandom& random) {
  std::vector<PngChunk>& chunks = png.chunks;
  PngChunk& chunk = chunks[below(random, chunks.size())];
  switch (random.integer(0, 11)) {
    case 0: chunk.checksum = "\1\2\3\4"; break;
    case 1: flip(chunk.data, random); break;  // with a correct checksum
    case 2: chunk.data.resize(below(random, chunk.data.size() + 1)); break;
    case 3: chunk.data += std::string(below(random, 5), '\0'); break;
    case 4: chunks.resize(1 + below(random, chunks.size())); break;
    case 5: chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(below(random, chunks.size()))); break;
    case 6: std::swap(chunk, chunks[below(random, chunks.size())]); break;
    case 7:
      chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(below(random, chunks.size())), PngChunk(chunk));
      break;
    case 8: flip(chunk.name, random); break;
    default: break;
  }
  if (random.integer(0, 7) == 0) png.tail = std::string(below(random, 20), 'x');
  std::string bytes = png.bytes();
  switch (random.integer(0, 7)) {
    case 0: bytes.resize(below(random, bytes.size())); break;
    case 1: bytes.resize(bytes.size() - std::min<std::size_t>(bytes.size(), below(random, 40))); break;
    case 2: bytes.erase(below(random, bytes.size()), 1 + below(random, 3)); break;
    case 3: bytes.insert(below(random, bytes.size()), 1 + below(random, 3), static_cast<char>(random.bits())); break;
    case 4:
    case 5:
      for (std::int64_t k = random.integer(1, 3); k > 0; --k) flip(bytes, random);
      break;
    default: break;
  }
  return bytes;
}

struct Outcome {
  std::string error;  // "": good
  Image image;
};

Outcome ours(const std::string& bytes) {
  Outcome outcome;
  try {
    outcome.image = decode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  } catch (const Error& e) {
    outcome.error = e.what();
  }
  return outcome;
}

// Files that we refuse and Pillow reads, as png.h says.
bool refused_on_purpose(const std::string& error) {
  constexpr std::array<const char*, 5> kReasons{"no IHDR chunk at the start", "a second IHDR chunk", "cannot hold",
                                                "an animation without an image before its frames",
                                                "the first frame of the animation is not the whole image"};
  return std::any_of(kReasons.begin(), kReasons.end(),
                     [&](const char* reason) { return error.find(reason) != std::string::npos; });
}

TEST(Mutations, AreReadOrRefusedAsByPillow) {
  const std::string python = test::python_with_pillow();
  if (python.empty()) GTEST_SKIP() << "no Python with a Pillow older than 13 (set RIDGELINE_PYTHON to one)";
  const char* count = std::getenv("RIDGELINE_MUTATIONS");
  const int each = count ? std::atoi(count) / test::png_kinds() : 120;
  std::vector<std::string> files;
  for (int kind = 0; kind < test::png_kinds(); ++kind) {
    for (int i = 0; i < each; ++i) {
      SampleRandom random(philox_key(19, "png"), static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(i));
      const PngSample png = test::make_png(kind, random);
      files.push_back(i == 0 ? png.bytes() : mutated(png, random));
    }
  }
  const std::vector<std::optional<Image>> pillow = test::read_by_pillow(python, files);
  int good = 0, refused = 0, on_purpose = 0, wrong = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Outcome outcome = ours(files[i]);
    if (!pillow[i] && !outcome.error.empty()) {
      ++refused;
    } else if (pillow[i] && *pillow[i] == outcome.image) {
      ++good;
    } else if (refused_on_purpose(outcome.error)) {
      ++on_purpose;
    } else if (++wrong <= 10) {
      ADD_FAILURE() << "file " << i << " (kind " << i / static_cast<std::size_t>(each) << "): Pillow "
                    << (pillow[i] ? "reads it" : "refuses it") << ", we say: "
                    << (outcome.error.empty() ? "read, with other pixels or a size of our own" : outcome.error);
      if (const char* keep = std::getenv("RIDGELINE_KEEP_MUTATIONS"))
        write_file_atomically(std::string(keep) + "/" + std::to_string(i) + ".png", files[i]);
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << files.size() << " files";
  EXPECT_GT(good, each * test::png_kinds() / 5);
  EXPECT_GT(refused, each * test::png_kinds() / 5);
  EXPECT_LT(on_purpose, each * test::png_kinds() / 20);
}

}  // namespace
}  // namespace ridgeline::image
