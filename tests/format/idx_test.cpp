#include "ridgeline/format/tensor/idx.h"

#include <algorithm>

#include "ridgeline/format/wire/gzip.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

Tensor read(std::string_view bytes) {
  const TempFolder folder;
  put_file(folder.file("f.idx"), bytes);
  return read_idx(folder.file("f.idx"));
}

std::string error_of_bytes(std::string_view bytes) {
  const std::string message = error_of([&] { read(bytes); });
  const std::size_t name = message.find("f.idx: ");
  if (message.empty()) return "";
  EXPECT_TRUE(message.starts_with("[idx] ") && name != std::string::npos) << message;
  return message.substr(name + 7);
}

using namespace std::string_literals;

TEST(Idx, ReadsEveryType) {
  const Tensor u8 = read("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef"s);
  EXPECT_EQ(u8.dtype(), DType::u8);
  EXPECT_EQ(u8.shape(), (Shape{2, 3}));
  EXPECT_EQ(u8.at(5), 'f');
  const Tensor i8 = read("\0\0\x09\1\0\0\0\2\xff\x7f"s);
  EXPECT_EQ(i8.dtype(), DType::i32);
  EXPECT_EQ(i8.at(0), -1);
  EXPECT_EQ(i8.at(1), 127);
  const Tensor i16 = read("\0\0\x0b\1\0\0\0\2\x80\0\1\2"s);
  EXPECT_EQ(i16.dtype(), DType::i32);
  EXPECT_EQ(i16.at(0), -32768);
  EXPECT_EQ(i16.at(1), 258);
  const Tensor i32 = read("\0\0\x0c\1\0\0\0\1\xff\xff\xff\xfe"s);
  EXPECT_EQ(i32.dtype(), DType::i32);
  EXPECT_EQ(i32.at(0), -2);
  const Tensor f32 = read("\0\0\x0d\1\0\0\0\1\x3f\xc0\0\0"s);
  EXPECT_EQ(f32.dtype(), DType::f32);
  EXPECT_EQ(f32.at(0), 1.5);
  const Tensor f64 = read("\0\0\x0e\1\0\0\0\1\xbf\xe0\0\0\0\0\0\0"s);
  EXPECT_EQ(f64.dtype(), DType::f64);
  EXPECT_EQ(f64.at(0), -0.5);
  EXPECT_EQ(read("\0\0\x08\0z"s).shape(), Shape{});
  EXPECT_EQ(read("\0\0\x08\2\0\0\0\0\0\0\0\3"s).shape(), (Shape{0, 3}));
}

TEST(Idx, EveryTruncationIsNamedWithItsByte) {
  const std::string whole = "\0\0\x08\2\0\0\0\2\0\0\0\3abcdef"s;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string message = error_of_bytes(std::string_view(whole).substr(0, n));
    const std::string what = n < 4    ? "ends inside its magic number"
                             : n < 12 ? "ends inside its 2 extents"
                                      : "cut short";
    EXPECT_TRUE(contains(message, what) && message.ends_with(" at byte " + std::to_string(n))) << n << ": " << message;
  }
  EXPECT_EQ(error_of_bytes(whole + "x"), "unexpected bytes after the values at byte 18");
}

TEST(Idx, WrongMagicAndHugeExtentsAreRefused) {
  EXPECT_TRUE(contains(error_of_bytes("\1\0\x08\1\0\0\0\1z"s), "wrong magic number 01000801"));
  EXPECT_TRUE(contains(error_of_bytes("\0\0\x0a\1\0\0\0\1z"s), "wrong magic number 00000a01"));
  EXPECT_TRUE(contains(error_of_bytes("\0\0\x08\2\xff\xff\xff\xff\xff\xff\xff\xff"s), "overflows at byte 8"));
  EXPECT_TRUE(contains(error_of_bytes("\0\0\x08\1\xff\xff\xff\xff"s), "cut short: 4294967295 bytes"));
}

TEST(Idx, GzipIsFoundByContent) {
  const auto packed = deflate_bytes(as_bytes("\0\0\x08\1\0\0\0\2ok"s), Compression::gzip);
  EXPECT_EQ(read(as_text(packed)).at(1), 'k');
  EXPECT_TRUE(contains(error_of([&] { read(as_text(packed).substr(0, packed.size() - 3)); }), "cut short"));
}

TEST(IdxRealData, MnistTestSetHasItsCounts) {
  const std::string folder = pack_path("mnist-idx");
  SKIP_WITHOUT(folder);
  const auto labels_file = glob_files(folder + "/*labels*");
  const auto images_file = glob_files(folder + "/*images*");
  ASSERT_EQ(labels_file.size(), 1u);
  ASSERT_EQ(images_file.size(), 1u);
  const Tensor labels = read_idx(labels_file[0]);
  const Tensor images = read_idx(images_file[0]);
  EXPECT_EQ(labels.shape(), Shape{10000});
  EXPECT_EQ(images.shape(), (Shape{10000, 28, 28}));
  std::array<int, 10> counts{};
  for (const std::uint8_t label : labels.span<std::uint8_t>()) ++counts.at(label);
  EXPECT_EQ(counts, (std::array<int, 10>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  const std::array<std::uint8_t, 10> first{7, 2, 1, 0, 4, 1, 4, 9, 5, 9};
  EXPECT_TRUE(std::equal(first.begin(), first.end(), labels.data<std::uint8_t>()));
}

}  // namespace
}  // namespace ridgeline
