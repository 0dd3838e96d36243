#include "ridgeline/format/text/json_lines.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ridgeline/core/random.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

double number(const JsonScalar& value) { return std::get<double>(value); }

TEST(JsonLines, WritesOneFlatObjectALineAtOnce) {
  const TempFolder folder;
  const std::string path = folder.file("metrics.jsonl");
  JsonLinesWriter writer(path);
  writer.write({{"step", 100}, {"loss", 6.907755278982137}, {"lr", 0.06}, {"event", "say \"hi\"\n"}});
  writer.write({{"whole", 2.0}, {"big", 1e300}, {"tiny", -5e-324}, {"negative_zero", -0.0}});
  writer.write(std::span<const JsonField>{});
  EXPECT_EQ(read_file(path),
            "{\"step\":100,\"loss\":6.907755278982137,\"lr\":0.06,\"event\":\"say \\\"hi\\\"\\n\"}\n"
            "{\"whole\":2.0,\"big\":1e+300,\"tiny\":-5e-324,\"negative_zero\":-0.0}\n"
            "{}\n");
  const auto lines = read_json_lines(path);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(std::get<std::int64_t>(lines[0].at("step")), 100);
  EXPECT_EQ(number(lines[0].at("loss")), 6.907755278982137);
  EXPECT_EQ(std::get<std::string>(lines[0].at("event")), "say \"hi\"\n");
  EXPECT_EQ(number(lines[1].at("whole")), 2.0);
  EXPECT_TRUE(std::signbit(number(lines[1].at("negative_zero"))));
}

TEST(JsonLines, LinesThatATestPicksAreRemovedAndAllElseStays) {
  const TempFolder folder;
  const std::string path = folder.file("metrics.jsonl");
  const std::string content = "{\"step\":1}\n{\"step\":3, \"x\":1e0}\nnot JSON\n{\"step\":2}\n{\"step\":4}\n{\"st";
  const auto step_above = [](std::int64_t step) {
    return [step](const auto& line) { return std::get<std::int64_t>(line.at("step")) > step; };
  };
  put_file(path, content);
  EXPECT_EQ(remove_json_lines(path, step_above(4)), 0u);
  EXPECT_EQ(read_file(path), content);
  EXPECT_EQ(remove_json_lines(path, step_above(2)), 2u);
  EXPECT_EQ(read_file(path), "{\"step\":1}\nnot JSON\n{\"step\":2}\n{\"st");
}

TEST(JsonLines, NumbersThatJsonLacksAreStrings) {
  const TempFolder folder;
  const std::string path = folder.file("metrics.jsonl");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  JsonLinesWriter(path).write({{"a", std::nan("")}, {"b", kInfinity}, {"c", -kInfinity}});
  EXPECT_EQ(read_file(path), "{\"a\":\"NaN\",\"b\":\"Infinity\",\"c\":\"-Infinity\"}\n");
  const auto line = read_json_lines(path).at(0);
  EXPECT_TRUE(std::isnan(number(line.at("a"))));
  EXPECT_EQ(number(line.at("b")), kInfinity);
  EXPECT_EQ(number(line.at("c")), -kInfinity);
}

TEST(JsonLines, EveryDoubleAndIntegerComesBackEqual) {
  const TempFolder folder;
  const std::string path = folder.file("metrics.jsonl");
  std::vector<double> doubles;
  JsonLinesWriter writer(path);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    SampleRandom random(philox_key(5, "json"), 0, i);
    const std::uint64_t high = random.bits();
    const auto value = std::bit_cast<double>((high << 32) | random.bits());
    if (!std::isfinite(value)) continue;
    doubles.push_back(value);
    writer.write({{"x", value}, {"i", std::numeric_limits<std::int64_t>::min()}});
  }
  const auto lines = read_json_lines(path);
  ASSERT_EQ(lines.size(), doubles.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(number(lines[i].at("x"))), std::bit_cast<std::uint64_t>(doubles[i]));
    ASSERT_EQ(std::get<std::int64_t>(lines[i].at("i")), std::numeric_limits<std::int64_t>::min());
  }
}

TEST(JsonLines, ReopeningAppendsAndCutsATornLine) {
  const TempFolder folder;
  const std::string path = folder.file("metrics.jsonl");
  JsonLinesWriter(path).write({{"step", 1}});
  put_file(path, read_file(path) + "{\"step\":2,\"lo");
  EXPECT_EQ(read_json_lines(path).size(), 1u);
  JsonLinesWriter(path).write({{"step", 3}});
  EXPECT_EQ(read_file(path), "{\"step\":1}\n{\"step\":3}\n");
  put_file(path, "{\"torn");
  JsonLinesWriter(path).write({{"step", 4}});
  EXPECT_EQ(read_file(path), "{\"step\":4}\n");
}

TEST(JsonLines, InvalidTextDoesNotStopARun) {
  const TempFolder folder;
  const std::string path = folder.file("metrics.jsonl");
  JsonLinesWriter(path).write({{"file", "caf\xe9.jpg"}});
  EXPECT_EQ(std::get<std::string>(read_json_lines(path).at(0).at("file")), "caf\xef\xbf\xbd.jpg");
}

TEST(JsonLines, FullDiskIsAnErrorThatNamesTheFile) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  JsonLinesWriter writer("/dev/full");
  EXPECT_TRUE(contains(error_of([&] { writer.write({{"step", 1}}); }), "cannot write /dev/full: No space left"));
}

TEST(JsonLines, ReaderNamesTheBadLine) {
  const TempFolder folder;
  const std::string path = folder.file("metrics.jsonl");
  const auto error = [&](const std::string& content) {
    put_file(path, content);
    return error_of([&] { read_json_lines(path); });
  };
  EXPECT_TRUE(contains(error("{}\nnot json\n"), "[json_lines] " + path + ": line 2 is no valid JSON"));
  EXPECT_TRUE(contains(error("[1]\n"), "line 1 is no JSON object"));
  EXPECT_TRUE(contains(error("{\"a\":[1]}\n"), "line 1 holds a value that is neither"));
  EXPECT_EQ(error("{\"a\":true,\"b\":18446744073709551615}\n"), "");
  EXPECT_TRUE(contains(error_of([&] { JsonLinesWriter(folder.file("no/such/folder")); }), "cannot open"));
}

}  // namespace
}  // namespace ridgeline
