// What is said of a folder, layout by layout: what is used for what, and what is not and why.
#include "ridgeline/data/standard/found_data.h"

#include <sys/stat.h>

#include "helpers.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/found_text.h"
#include "ridgeline/data/source/folder_tree.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "tests/data/layouts.h"
#include "tests/support/cases.h"

namespace ridgeline::data::testing {
namespace {

namespace fs = std::filesystem;

void write_shard(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  TFRecordWriter writer(path, path.ends_with(".gz") ? Compression::gzip : Compression::none);
  writer.write(ExampleBuilder().bytes("image/encoded", "x").int64s("image/class/label", 1).serialize());
  writer.close();
}

// "a/1.jpg" and "a/notes.txt" are files, "a/" is a folder, "a -> b" a link, "a |" a FIFO, "!a" a file of records, "?a" an empty one.
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

// Everything that a report says, a line each; DIR stands for the folder.
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
      const std::string& why = !part.refusal.empty() ? part.refusal : !part.empty_class.empty() ? part.empty_class : part.one_class;
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

}  // namespace
}  // namespace ridgeline::data::testing
