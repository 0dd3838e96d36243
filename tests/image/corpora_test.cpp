// The seed corpora of libjpeg-turbo's fuzzers: no crash, no large memory use, and our decoder accepts and refuses the
// same files as libjpeg. The address sanitizer's build runs the same.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/pixels.h"
#include "support.h"

namespace ridgeline::image {
namespace {

struct Verdict {
  std::string error;
  Image pixels;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

template <class Decode>
Verdict verdict_of(Decode decode) {
  Verdict verdict;
  try {
    verdict.pixels = copy(decode());
  } catch (const Error& error) {
    verdict.error = error.what();
  }
  return verdict;
}

TEST(FuzzCorpora, AreSurvivedAndJudgedAsByLibjpeg) {
  const std::string pack = test::pack_a();
  if (pack.empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA names no folder with packA";
  std::string dir = (std::filesystem::temp_directory_path() / "ridgeline-corpora-XXXXXX").string();
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  const std::string command =
      "tar -xJf '" + pack + "/awkward/libjpeg-turbo-seed-corpora-A.tar.xz' -C '" + dir + "' 2>/dev/null";
  if (std::system(command.c_str()) != 0) {
    std::filesystem::remove_all(dir);
    GTEST_SKIP() << "tar cannot unpack xz here";
  }
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  Decoder own({}, JpegPath::own), libjpeg({}, JpegPath::libjpeg);
  int files = 0, good = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = read_file(entry.path().string());
    const std::span<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
    ++files;
    const Verdict whole = verdict_of([&] { return libjpeg.decode(bytes); });
    EXPECT_EQ(verdict_of([&] { return own.decode(bytes); }), whole) << entry.path();
    good += whole.error.empty();
    if (!whole.error.empty()) continue;
    const Box box{whole.pixels.height() / 3, whole.pixels.width() / 4, (whole.pixels.height() + 2) / 3,
                  (whole.pixels.width() + 1) / 2};
    JpegIndex index;
    const Verdict region = verdict_of([&] { return libjpeg.decode_region(bytes, box); });
    EXPECT_EQ(verdict_of([&] { return own.decode_region(bytes, box, nullptr, &index); }), region) << entry.path();
    EXPECT_EQ(verdict_of([&] { return own.decode_region(bytes, box, &index, &index); }), region) << entry.path();
  }
  std::filesystem::remove_all(dir);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_GT(files, 500);
  EXPECT_GT(good, 50);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 1 << 20) << "kilobytes";
}

}  // namespace
}  // namespace ridgeline::image
