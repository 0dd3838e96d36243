// Files and folders whose names are not UTF-8, or contain line breaks or escape sequences.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/core/utf8.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/record/packed.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::expect;
using testing::Outcome;
using testing::run;

const char* const kLatin = "fl\xe9urs";              // not UTF-8
const char* const kEvil = "two\nlines \x1b[31mred";  // a line break and an escape sequence

// Ten classes in a folder with a strange name; two classes have strange names, and one broken image each.
const std::string& images() {
  static const std::string path = [] {
    const std::string p = testing::temporary_directory() + "/na\xefve\tnames";
    data::make_shapes(p, {.seed = 1, .train = 40, .val = 20});
    for (const std::string part : {"/train/", "/val/"}) {
      fs::rename(p + part + "circle", p + part + kLatin);
      fs::rename(p + part + "square", p + part + kEvil);
    }
    for (const std::string name : {kLatin, kEvil})
      write_file_atomically(p + "/train/" + name + "/broken\n" + name + ".jpg", "GIF89a");
    return p;
  }();
  return path;
}

std::string data_dir() { return " --data_dir='" + images() + "'"; }

// No line is broken by a name, and a terminal shows it unchanged.
void expect_clean(const std::string& text) {
  EXPECT_TRUE(is_utf8(text)) << text;
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
  }
  EXPECT_EQ(text.find("\nlines"), std::string::npos) << text;
}

TEST(StrangeNames, AreEscapedInWhatInspectPrintsAndLists) {
  const std::string list = testing::temporary_directory() + "/strange_list";
  const Outcome outcome = run("dataset inspect" + data_dir() + " --list=" + list);
  expect(outcome, 1, {"broken: 2\n", "fl\\xe9urs", "two\\nlines \\x1b[31mred"});
  expect_clean(outcome.text);
  const std::string lines = read_file(list);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\t'), 2) << lines;
  EXPECT_NE(lines.find("train/two\\nlines \\x1b[31mred/broken\\ntwo\\nlines \\x1b[31mred.jpg\t[decode] not a JPEG, "
                       "PNG, WebP or BMP"),
            std::string::npos)
      << lines;
  const Outcome json = run("dataset inspect --json" + data_dir());
  expect(json, 1, {"two\\nlines \\u001b[31mred"});
  EXPECT_TRUE(is_utf8(json.text));
}

TEST(StrangeNames, AreEscapedInErrorsWarningsAndLogs) {
  const std::string log = testing::temporary_directory() + "/strange_log";
  const std::string train =
      "train --model=linear --image_size=8 --batch_size=4 --max_epochs=1 --mode=train "
      "--do_checkpoint=False --log_dir=" +
      log + data_dir();
  const Outcome stopped = run(train);
  expect(stopped, 1, {"broken\\n", "not a JPEG, PNG, WebP or BMP"});
  expect_clean(stopped.text);
  const Outcome tolerated = run(train + " --bad_samples=replace");
  expect(tolerated, 0, {"warning: bad sample: ", "fl\\xe9urs/broken\\nfl\\xe9urs.jpg"});
  expect_clean(tolerated.text);
  expect_clean(read_file(log + "/linear_training.log"));
  const Outcome nowhere = run("dataset inspect --data_dir='/no\nsuch \x1b[31m\xe9'");
  expect(nowhere, 1, {"no such directory: /no\\nsuch \\x1b[31m\\xe9 (--data_dir)\n"});
  const Outcome flag = run("train --'no\nsuch\x1b[2J'");
  expect(flag, 2, {"no\\nsuch\\x1b[2J"});
}

TEST(StrangeNames, AreEscapedInTheTextOfAGraph) {
  const Outcome outcome = run("dataset show" + data_dir());
  expect(outcome, 0, {"na\\xefve\\tnames"});
  expect_clean(outcome.text);
}

TEST(StrangeNames, ComeBackFromPackedFilesByteForByte) {
  const std::string folder = testing::temporary_directory() + "/strange_packed", file = folder + "/strange.ridge";
  fs::create_directories(folder);
  const Outcome outcome = run("dataset pack" + data_dir() + " --out=" + file);
  expect(outcome, 0, {"left out ", "broken\\n", "40 images"});
  expect_clean(outcome.text);
  const std::vector<std::string> names = PackedFile(file).schema().class_names;
  ASSERT_EQ(names.size(), 10u);
  for (const char* name : {kLatin, kEvil}) EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  const Outcome inspected = run("dataset inspect --data_dir=" + folder);
  expect(inspected, 0, {"fl\\xe9urs"});
  expect_clean(inspected.text);
}

TEST(StrangeNames, ComeBackFromAGraphsJson) {
  const std::string file = testing::temporary_directory() + "/strange.json";
  expect(run("dataset export-json --eval --image_size=8" + data_dir() + " --out=" + file), 0, {});
  EXPECT_TRUE(is_utf8(read_file(file)));
  const Outcome direct = run("dataset bench --json --hash --warmup=0 --eval --image_size=8" + data_dir());
  const Outcome again = run("dataset bench --json --hash --warmup=0 --graph=" + file);
  const auto digest = [](const Outcome& outcome) {
    expect(outcome, 0, {"\"hash\":\""});
    return outcome.text.substr(outcome.text.find("\"hash\""), 25);
  };
  EXPECT_EQ(digest(direct), digest(again));
}

}  // namespace
}  // namespace ridgeline
