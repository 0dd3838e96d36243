// The number of classes in the labels of records, and their names.
#include "ridgeline/data/standard/record_classes.h"

#include "helpers.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data::testing {
namespace {

using Names = std::vector<std::string>;

struct Labelled {
  std::int64_t label;
  std::string text = "", synset = "";
};

std::string write_records(const std::string& path, const std::vector<Labelled>& records) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  TFRecordWriter writer(path);
  for (const Labelled& r : records) {
    ExampleBuilder example;
    example.bytes("image/encoded", "pixels").int64s("image/class/label", r.label);
    if (!r.text.empty()) example.bytes("image/class/text", r.text);
    if (!r.synset.empty()) example.bytes("image/class/synset", r.synset);
    writer.write(example.serialize());
  }
  writer.close();
  return path;
}

TEST(RecordClasses, AreCountedAndNamedOverAllFiles) {
  const TempDir dir;
  const Names files{write_records(dir / "a", {{1, "tench, Tinca tinca", "n01440764"}, {3, "shark", "n01484850"}}),
                    write_records(dir / "b", {{2, "goldfish", "n01443537"}, {1, "tench, Tinca tinca", "n01440764"}})};
  const RecordClasses found = find_record_classes(files, 1, 2);
  EXPECT_EQ(found.count, 3);
  EXPECT_EQ(found.names, (Names{"tench, Tinca tinca", "goldfish", "shark"}));
  EXPECT_EQ(found.ids, (Names{"n01440764", "n01443537", "n01484850"}));
  EXPECT_EQ(find_record_classes(files, 0).names, (Names{"", "tench, Tinca tinca", "goldfish", "shark"}));
}

TEST(RecordClasses, HaveNoNameWhereRecordsGiveNoneOrSeveral) {
  const TempDir dir;
  EXPECT_TRUE(find_record_classes({write_records(dir / "none", {{0}, {4}})}, 0).names.empty());
  EXPECT_EQ(find_record_classes({dir / "none"}, 0).count, 5);
  const Names several{write_records(dir / "a", {{0, "cat"}, {1, "dog"}}), write_records(dir / "b", {{0, "lynx"}})};
  EXPECT_EQ(find_record_classes(several, 0).names, (Names{"", "dog"}));
  // Texts equal to the synsets are printed once; synsets without texts are the names.
  EXPECT_TRUE(find_record_classes({write_records(dir / "c", {{0, "x", "x"}})}, 0).ids.empty());
  EXPECT_EQ(find_record_classes({write_records(dir / "d", {{0, "", "n1"}})}, 0).names, (Names{"n1"}));
}

TEST(RecordClasses, AreNotTakenFromDamagedRecords) {
  const TempDir dir;
  const std::string path = write_records(dir / "a", {{0, "cat"}, {77777, "noise"}, {1, "dog"}});
  std::string bytes = read_file(path);
  bytes[bytes.find("noise")] = 'N';  // its checksum is wrong
  write_file_atomically(path, bytes);
  EXPECT_EQ(find_record_classes({path}, 0).names, (Names{"cat", "dog"}));
  // Labels below the base and above any number of classes are ignored.
  EXPECT_EQ(find_record_classes({write_records(dir / "b", {{0}, {2}, {std::int64_t{1} << 40}})}, 1).count, 2);
}

TEST(RecordClasses, OfALargeFileAreKeptBesideItsIndex) {
  const TempDir dir;
  const std::string path = dir / "large";
  {
    TFRecordWriter writer(path);
    const std::string pixels(1 << 20, 'x');
    for (std::int64_t i = 0; i < 3; ++i) {
      writer.write(ExampleBuilder()
                       .bytes("image/encoded", pixels)
                       .int64s("image/class/label", i % 3)
                       .bytes("image/class/text", "class " + std::to_string(i % 3))
                       .serialize());
    }
    writer.close();
  }
  const std::string before = ::getenv("XDG_CACHE_HOME") ? ::getenv("XDG_CACHE_HOME") : "";
  ::setenv("XDG_CACHE_HOME", (dir / "cache").c_str(), 1);
  const RecordClasses found = find_record_classes({path}, 0);
  EXPECT_EQ(found.names, (Names{"class 0", "class 1", "class 2"}));
  std::string kept;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / "cache")) {
    if (entry.path().extension() == ".record-classes") kept = entry.path().string();
  }
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(find_record_classes({path}, 0).names, found.names) << "from the cache";
  for (const std::size_t size : {std::size_t{0}, std::size_t{50}, read_file(kept).size() - 5}) {
    std::filesystem::resize_file(kept, size);
    EXPECT_EQ(find_record_classes({path}, 0).names, found.names) << "a damaged cache counts as none";
  }
  if (before.empty())
    ::unsetenv("XDG_CACHE_HOME");
  else
    ::setenv("XDG_CACHE_HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace ridgeline::data::testing
