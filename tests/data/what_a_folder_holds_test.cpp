// The report about a folder, layout by layout: what is used for which split, and what is not used and why. And its
// splits, opened.
#include <sys/stat.h>

#include "helpers.h"
#include "ridgeline/data/ir/source_handle.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "tests/data/layouts.h"
#include "tests/support/cases.h"

namespace ridgeline::data::testing {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

void write_shard(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  TFRecordWriter writer(path, path.ends_with(".gz") ? Compression::gzip : Compression::none);
  writer.write(ExampleBuilder().bytes("image/encoded", "x").int64s("image/class/label", 1).serialize());
  writer.close();
}

// "a/1.jpg" and "a/notes.txt" are files, "a/" is a folder, "a -> b" a link, "a |" a FIFO, "!a" a file of records, "?a"
// an empty file.
void make(const std::string& dir, const std::string& entry) {
  if (const std::size_t link = entry.find(" -> "); link != std::string::npos) {
    const fs::path path = fs::path(dir) / entry.substr(0, link);
    fs::create_directories(path.parent_path());
    fs::create_symlink(entry.substr(link + 4), path);
  } else if (entry.ends_with(" |")) {
    ::mkfifo((fs::path(dir) / entry.substr(0, entry.size() - 2)).c_str(), 0600);
  } else if (entry.ends_with('/')) {
    fs::create_directories(fs::path(dir) / entry);
  } else if (entry.starts_with('?')) {
    write_bytes(dir + "/" + entry.substr(1), "", 0);
  } else if (entry.starts_with('!')) {
    write_shard(dir + "/" + entry.substr(1));
  } else {
    write_bytes(dir + "/" + entry, "x", 1);
  }
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// All lines of a report; DIR is the folder.
std::string said_of(const std::string& dir) {
  std::string text;
  const auto line = [&](const std::string& words) {
    if (!words.empty()) text += words + "\n";
  };
  try {
    const FoundData found = find_data(dir);
    std::vector<PartUse> uses;
    for (const DataPart& part : found.parts) {
      if (&part == found.training() || &part == found.evaluated()) uses.push_back({&part, use_of(found, part)});
    }
    line(data_line(found, uses));
    line(not_used_line(found, uses, 0));
    line(validation_note(found));
    for (const std::string& note : found.notes) line(note);
    for (const DataPart& part : found.parts) {
      for (const ListingFault& fault : part.faults) line("broken: " + fault.place + " " + fault.reason);
      if (part.name == "test" || part.name == "val") continue;
      const std::string& why = !part.refusal.empty()       ? part.refusal
                               : !part.empty_class.empty() ? part.empty_class
                                                           : part.one_class;
      line(why.empty() ? "" : "training refuses: " + why);
    }
  } catch (const Error& error) {
    line(std::string("error: ") + error.what());
  }
  return replaced(text, dir, "DIR");
}

TEST(FoundData, SaysOfEachLayoutWhatIsUsedAndWhatIsNot) {
  for (const Layouts& layout : kLayouts) {
    const TempDir dir;
    for (const char* entry : layout.entries) make(dir / "d", entry);
    EXPECT_EQ(said_of(dir / "d"), layout.said) << layout.name;
  }
}

TEST(FoundData, SaysOfEachCaseWhatIsUsedAndWhatIsNot) {
  SKIP_WITHOUT_CASES();
  for (const CaseLayout& layout : kCases)
    EXPECT_EQ(said_of(ridgeline::testing::case_path(layout.name)), layout.said) << layout.name;
}

Names parts_in(const std::string& dir) {
  Names names;
  for (const DataPart& part : find_data(dir).parts)
    names.push_back(part.name + ": " + std::string(name_of(part.layout)));
  return names;
}

std::string dir_of(const std::string& dir, const std::string& split) { return find_part(find_data(dir), split).dir; }

TEST(DataDir, IsReadByWhatLiesInIt) {
  const TempDir dir;
  write_folders(dir / "both/train", 2, 3);
  write_folders(dir / "both/val", 2, 2);
  write_folders(dir / "plain", 2, 2);
  write_bytes(dir / "loose/a.jpg", "x", 1);
  make_tfrecord(dir / "both", dir / "records", {.train_shards = 2, .validation_shards = 1});
  write_bytes(dir / "packed/val.ridge", "x", 1);
  write_bytes(dir / "packed/train.ridge", "x", 1);
  write_bytes(dir / "one/set.ridge", "x", 1);
  EXPECT_EQ(parts_in(dir / "both"), (Names{"train: class folders", "val: class folders"}));
  EXPECT_EQ(parts_in(dir / "plain"), (Names{"all: class folders"}));
  EXPECT_EQ(parts_in(dir / "loose"), (Names{"all: loose files"}));
  EXPECT_EQ(parts_in(dir / "records"), (Names{"train: TFRecords", "val: TFRecords"}));
  EXPECT_EQ(parts_in(dir / "packed"), (Names{"train: packed file", "val: packed file"}));
  EXPECT_EQ(parts_in(dir / "one"), (Names{"all: packed file"}));
  EXPECT_EQ(open_source(dir / "both").size(), 6);
  EXPECT_EQ(open_source(dir / "both", "val").size(), 4);
  EXPECT_EQ(open_source(dir / "plain", "train").size(), 4);
  EXPECT_EQ(open_source(dir / "records", "val").size(), 4);

  fs::create_directories(dir / "empty");
  EXPECT_ERROR(find_data(dir / "nowhere"), "no such directory: " + (dir / "nowhere"));
  EXPECT_ERROR(find_data(dir / "loose/a.jpg"), "not a directory");
  EXPECT_ERROR(find_data(dir / "empty"), "holds no data");
  EXPECT_ERROR(open_source(dir / "both", "tset"), "unknown split 'tset'");
  EXPECT_ERROR(open_source(dir / "both", "test"),
               "has no part 'test' (there: train as class folders, val as class folders)");
  EXPECT_ERROR(open_source(dir / "plain", "val"), "no validation part");
  fs::remove_all(dir / "both/val");
  EXPECT_ERROR(open_source(dir / "both", "val"), "has no part 'val'");
  EXPECT_ERROR(open_source(dir / "loose"), "no class folders");
}

TEST(DataDir, TrainAndValAreNoClasses) {
  const TempDir dir;
  write_bytes(dir / "flat/train/a.jpg", "x", 1);
  write_bytes(dir / "flat/val/a.jpg", "x", 1);
  EXPECT_EQ(parts_in(dir / "flat"), (Names{"train: loose files", "val: loose files"}));
  EXPECT_ERROR(open_source(dir / "flat"), "flat/train has images but no class folders");
  write_folders(dir / "half/val", 2, 1);
  fs::create_directories(dir / "half/train");
  EXPECT_ERROR(find_data(dir / "half"), "half/train holds no data");
}

TEST(DataDir, TestStandsForAMissingVal) {
  const TempDir dir;
  write_folders(dir / "set/train", 2, 3);
  write_folders(dir / "set/test", 2, 1);
  EXPECT_EQ(parts_in(dir / "set"), (Names{"train: class folders", "test: class folders"}));
  EXPECT_EQ(dir_of(dir / "set", "val"), dir / "set/test");
  EXPECT_EQ(open_source(dir / "set", "val").size(), 2);
  write_folders(dir / "set/val", 2, 2);
  EXPECT_EQ(dir_of(dir / "set", "val"), dir / "set/val");
  EXPECT_EQ(dir_of(dir / "set", "test"), dir / "set/test");
  EXPECT_EQ(dir_of(dir / "set", "Testing"), dir / "set/test");
  fs::rename(dir / "set/val", dir / "set/validation");
  EXPECT_EQ(dir_of(dir / "set", "val"), dir / "set/validation");
  // By itself it is a split, next to other class folders a class, and empty it is nothing.
  write_folders(dir / "alone/test", 2, 1);
  EXPECT_EQ(parts_in(dir / "alone"), (Names{"test: class folders"}));
  EXPECT_EQ(dir_of(dir / "alone", "val"), dir / "alone/test");
  write_folders(dir / "words", 2, 1);
  write_bytes(dir / "words/test/a.jpg", "x", 1);
  EXPECT_EQ(parts_in(dir / "words"), (Names{"all: class folders"}));
  write_folders(dir / "empty/train", 2, 1);
  fs::create_directories(dir / "empty/test");
  EXPECT_EQ(parts_in(dir / "empty"), (Names{"train: class folders"}));
}

TEST(DataDir, ValidationIsNotTakenForTraining) {
  const TempDir dir;
  write_folders(dir / "set/val", 2, 1);
  EXPECT_EQ(parts_in(dir / "set"), (Names{"val: class folders"}));
  EXPECT_EQ(open_source(dir / "set", "val").size(), 2);
  EXPECT_ERROR(open_source(dir / "set"), "has no part 'train' (there: val as class folders)");
}

TEST(DataDir, ValidationRecordsTakeTheLabelBaseOfTraining) {
  const TempDir dir;
  write_folders(dir / "from/train", 3, 2);
  write_folders(dir / "from/val", 3, 2);
  make_tfrecord(dir / "from", dir / "out", {.validation_shards = 1});
  EXPECT_NE(open_source(dir / "out", "val").to_json().find(R"("label_base":"1")"), std::string::npos);
  EXPECT_NE(open_source(dir / "out", "train").to_json().find(R"("label_base":"auto")"), std::string::npos);
}

TEST(DataDir, LabelsGoByTheNamesOfTheClassesThatAreKnown) {
  const TempDir dir;
  write_folders(dir / "train", 4, 1);
  write_folders(dir / "val", 4, 2);
  fs::remove_all(dir / "val/class_b");
  fs::remove(dir / "val/class_c/100.jpg");
  fs::remove(dir / "val/class_c/101.jpg");
  const FoundData found = find_data(dir.path());
  const OpenOptions known{.classes = ImageFolder(dir / "train").class_names()};
  const Dataset val = open_source(found, find_part(found, "val"), known);
  EXPECT_EQ(val.class_indexing(), (ClassIndexing{{"class_a", 0}, {"class_d", 3}}));
  Iterator rows(val.map(Resize({8, 8})).batch(4));
  const Tensor labels = rows.next()->label();
  EXPECT_EQ(std::vector<std::int32_t>(labels.data<std::int32_t>(), labels.data<std::int32_t>() + 4),
            (std::vector<std::int32_t>{0, 0, 3, 3}));
  // The graph gives the same without the listing.
  EXPECT_EQ(Dataset::from_json(val.to_json()).class_indexing(), val.class_indexing());
  EXPECT_EQ(Dataset::from_json(val.to_json()).size(), 4);
  fs::rename(dir / "val/class_d", dir / "val/klass_d");
  const FoundData other = find_data(dir.path());
  EXPECT_ERROR(open_source(other, find_part(other, "val"), known),
               "val/ has a class, 'klass_d', that the training does not know: did you mean 'class_d'?");
}

TEST(DataDir, TheListingOfTheReportIsNotMadeAgain) {
  const TempDir dir;
  write_folders(dir / "train", 2, 3);
  const FoundData found = find_data(dir.path());
  const Dataset train = open_source(found, *found.training());
  write_folders(dir / "train", 3, 4);  // 12 images now
  EXPECT_EQ(train.size(), 6) << "as it was found";
  EXPECT_EQ(ImageFolder(dir / "train").size(), 12);
}

}  // namespace
}  // namespace ridgeline::data::testing
