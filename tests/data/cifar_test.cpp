#include "ridgeline/data/set/cifar.h"

#include "ridgeline/data/set/class_names.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

// Pixel (y, x) of channel c of record i.
std::uint8_t pixel(std::size_t i, std::size_t y, std::size_t x, std::size_t c) {
  return static_cast<std::uint8_t>(7 * i + 3 * y + 5 * x + 85 * c);
}

std::string record(std::size_t i, const std::string& labels) {
  std::string bytes = labels;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t y = 0; y < 32; ++y) {
      for (std::size_t x = 0; x < 32; ++x) bytes += static_cast<char>(pixel(i, y, x, c));
    }
  }
  return bytes;
}

void expect_image(const CifarFile& file, std::size_t i) {
  std::array<std::uint8_t, kCifarImageBytes> pixels{};
  file.read(i, pixels);
  for (std::size_t y = 0; y < 32; ++y) {
    for (std::size_t x = 0; x < 32; ++x) {
      for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(pixels[(y * 32 + x) * 3 + c], pixel(i, y, x, c));
    }
  }
}

TEST(Cifar, PlanesBecomeInterleavedPixels) {
  const TempFolder folder;
  put_file(folder.file("10"), record(0, "\x03") + record(1, std::string(1, '\0')) + record(2, "\x09"));
  const CifarFile ten(folder.file("10"), CifarKind::cifar10);
  ASSERT_EQ(ten.size(), 3u);
  EXPECT_EQ(ten.label(2), 9);
  EXPECT_EQ(ten.label(0), 3);
  for (std::size_t i = 0; i < 3; ++i) expect_image(ten, i);
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(ten.coarse_label(0)); }), "no coarse labels"));

  put_file(folder.file("100"), record(0, "\x13\x63") + record(1, "\x01\x02"));
  const CifarFile hundred(folder.file("100"), CifarKind::cifar100);
  ASSERT_EQ(hundred.size(), 2u);
  EXPECT_EQ(hundred.coarse_label(0), 19);
  EXPECT_EQ(hundred.label(0), 99);
  EXPECT_EQ(hundred.label(1), 2);
  for (std::size_t i = 0; i < 2; ++i) expect_image(hundred, i);
}

TEST(Cifar, LabelsOutOfRangeAreNamed) {
  const TempFolder folder;
  put_file(folder.file("10"), record(0, "\x03") + record(1, "\x0a"));
  EXPECT_EQ(error_of([&] { static_cast<void>(CifarFile(folder.file("10"), CifarKind::cifar10).label(1)); }),
            "[cifar] " + folder.file("10") + ": record 1 at byte 3073 has the label 10 (0 to 9)");
  put_file(folder.file("100"), record(0, "\x14\x64"));
  const CifarFile hundred(folder.file("100"), CifarKind::cifar100);
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(hundred.label(0)); }), "has the label 100 (0 to 99)"));
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(hundred.coarse_label(0)); }), "the coarse label 20 (0 to 19)"));
}

TEST(Cifar, EveryCutIsNamedExceptBetweenRecords) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  expect_cuts_are_errors(
      path, record(0, "\x01") + record(1, "\x02"), "[cifar] " + path + ": the file ",
      [&] { CifarFile(path, CifarKind::cifar10); }, [](std::size_t n) { return n == 3073; });
  put_file(path, record(0, "\x01\x02"));
  EXPECT_EQ(error_of([&] { CifarFile(path, CifarKind::cifar10); }),
            "[cifar] " + path +
                ": the file has 3074 bytes, records have 3073; record 1 at byte 3073 is cut short "
                "after 1; is this a file of CIFAR-100?");
}

TEST(Cifar, ClassNamesComeFromTheFilesBesideTheData) {
  const TempFolder folder;
  EXPECT_TRUE(cifar_class_names(folder.path(), CifarKind::cifar10).empty());
  put_file(folder.file("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\n i \r\nlast one\n\n");
  const auto names = cifar_class_names(folder.path(), CifarKind::cifar10);
  ASSERT_EQ(names.size(), 10u);
  EXPECT_EQ(names[8], "i");
  EXPECT_EQ(names[9], "last one");
  put_file(folder.file("fine_label_names.txt"), "one\ntwo\n");
  EXPECT_EQ(error_of([&] { cifar_class_names(folder.path(), CifarKind::cifar100); }),
            "[class_names] " + folder.file("fine_label_names.txt") + ": 2 names, 100 are expected");
  put_file(folder.file("coarse_label_names.txt"), "x");
  EXPECT_TRUE(contains(error_of([&] { cifar_coarse_names(folder.path()); }), "1 names, 20 are expected"));
  EXPECT_EQ(read_class_names(folder.file("coarse_label_names.txt")), std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace ridgeline
