#include "ridgeline/format/record/tar_samples.h"

#include "tests/support/files.h"

namespace ridgeline {
namespace {

void write(const std::string& path, const std::vector<std::string>& names) {
  TarWriter writer(path);
  for (const std::string& name : names) writer.add(name, "<" + name + ">");
  writer.finish();
}

// "a/1: jpg cls" for each sample.
std::vector<std::string> listing(const TarSamples& samples) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::string line = std::string(samples.key(i)) + ":";
    for (const auto& field : samples.fields(i)) line += " " + field.name;
    lines.push_back(line);
  }
  return lines;
}

TEST(TarSamples, NamesAreSplitAtTheFirstDotOfTheFileName) {
  const auto split = [](std::string_view name) {
    const TarSampleName parts = split_sample_name(name);
    return std::string(parts.key) + "|" + std::string(parts.field);
  };
  EXPECT_EQ(split("a.jpg"), "a|jpg");
  EXPECT_EQ(split("d.1/a.seg.png"), "d.1/a|seg.png");
  EXPECT_EQ(split("./a.b"), "./a|b");
  EXPECT_EQ(split("a."), "a|");
  for (const std::string_view none : {"a", "d.1/a", ".hidden", "d/.hidden.txt", "__index__/a.json", "__meta__"}) {
    EXPECT_EQ(split(none), "|") << none;
  }
}

TEST(TarSamples, NeighboursWithOneKeyAreOneSample) {
  const TempFolder folder;
  write(folder.file("t"), {"README", "a/1.jpg", "a/1.CLS", ".x.jpg", "a/1.seg.png", "b/1.jpg", "a/2.jpg", "a/1.jpg"});
  const TarSamples samples(folder.file("t"));
  std::string storage;
  EXPECT_EQ(listing(samples), (std::vector<std::string>{"a/1: jpg cls seg.png", "b/1: jpg", "a/2: jpg", "a/1: jpg"}));
  EXPECT_EQ(as_text(samples.field(0, "cls", storage)), "<a/1.CLS>");
  EXPECT_EQ(as_text(samples.field(2, "jpg", storage)), "<a/2.jpg>");
  EXPECT_TRUE(samples.has(0, "seg.png"));
  EXPECT_FALSE(samples.has(1, "cls"));
  EXPECT_EQ(error_of([&] { samples.field(1, "cls", storage); }),
            "[tar] " + folder.file("t") + ": sample 1 ('b/1') at byte 5120 has no field 'cls' (it has: jpg)");
}

TEST(TarSamples, AFieldTwiceIsAnError) {
  const TempFolder folder;
  write(folder.file("t"), {"a.jpg", "a.JPG"});
  EXPECT_EQ(
      error_of([&] { TarSamples(folder.file("t")); }),
      "[tar] " + folder.file("t") + ": header at byte 1024 (a.JPG) gives sample 'a' the field 'jpg' a second time");
  write(folder.file("t"), {});
  EXPECT_EQ(TarSamples(folder.file("t")).size(), 0u);
}

}  // namespace
}  // namespace ridgeline
