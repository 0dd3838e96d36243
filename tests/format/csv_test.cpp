#include "ridgeline/format/text/csv.h"

#include <cmath>
#include <limits>

#include "tests/support/files.h"

namespace ridgeline {
namespace {

using namespace std::string_literals;
using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const CsvFile& file) {
  Rows rows;
  CsvRow row;
  for (std::size_t i = file.size(); i-- > 0;) {  // from the back, since any order must work
    file.read(i, row);
    rows.emplace(rows.begin());
    for (std::size_t c = 0; c < row.size(); ++c) rows.front().emplace_back(row.text(c));
  }
  return rows;
}

Rows read(std::string_view content, const CsvOptions& options = {}) {
  const TempFolder folder;
  put_file(folder.file("f.csv"), content);
  return rows_of(CsvFile(folder.file("f.csv"), options));
}

// The message after the file's name.
std::string error(std::string_view content, const CsvOptions& options = {}) {
  const std::string message = error_of([&] { read(content, options); });
  const std::size_t name = message.find("f.csv: ");
  EXPECT_TRUE(message.empty() || (message.starts_with("[csv] ") && name != std::string::npos)) << message;
  return message.empty() ? "" : message.substr(name + 7);
}

TEST(Csv, ReadsWhatRfc4180Describes) {
  const Rows plain{{"aaa", "bbb"}, {"zzz", "yyy"}};
  for (const std::string& end : {"\r\n"s, "\n"s}) {
    EXPECT_EQ(read("x,y" + end + "aaa,bbb" + end + "zzz,yyy" + end), plain);
    EXPECT_EQ(read("x,y" + end + "aaa,bbb" + end + "zzz,yyy"), plain);  // the last line end may be missing
    EXPECT_EQ(read("x,y" + end + "\"aaa\",\"bbb\"" + end + "zzz,yyy"), plain);
    EXPECT_EQ(read("x,y" + end + "\"b" + end + "bb\",\"a\"\"b\"\"\"" + end), (Rows{{"b" + end + "bb", "a\"b\""}}));
  }
  EXPECT_EQ(read("x,y\n, \n\"\",\"\"\"\"\n"), (Rows{{"", " "}, {"", "\""}}));
  EXPECT_EQ(read("x,y\n1,"), (Rows{{"1", ""}}));
  EXPECT_EQ(read("x;y\n1,5;2\n", {.delimiter = ';'}), (Rows{{"1,5", "2"}}));
  EXPECT_EQ(read("x\n\"a\"\"b\"\"c\""), (Rows{{"a\"b\"c"}}));
}

TEST(Csv, ByteOrderMarkAndEmptyLinesArePassedOver) {
  const TempFolder folder;
  put_file(folder.file("f"), "\xef\xbb\xbf\nname,label\n\na,1\r\n\r\nb,2\n\n");
  const CsvFile file(folder.file("f"));
  EXPECT_EQ(file.columns(), (std::vector<std::string>{"name", "label"}));
  EXPECT_EQ(rows_of(file), (Rows{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(file.line(0), 4u);
  EXPECT_EQ(file.line(1), 6u);
  EXPECT_EQ(file.offset(1), 23u);
}

TEST(Csv, ColumnsComeFromTheHeaderOrTheCaller) {
  EXPECT_EQ(read("a,1\nb,2\n", {.header = false, .columns = {"file", "label"}}), (Rows{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(read("x,y\nb,2\n", {.columns = {"file", "label"}}), (Rows{{"b", "2"}}));
  EXPECT_TRUE(contains(error("x,y,z\nb,2\n", {.columns = {"file", "label"}}), "the header has 3 fields, 2 names"));
  EXPECT_TRUE(contains(error("a,a\n"), "two columns have the name 'a'"));
  EXPECT_TRUE(contains(error("a\n", {.header = false}), "the columns must be named"));
  EXPECT_EQ(error(""), "line 1 at byte 0: the file has no header");
  EXPECT_EQ(read("", {.header = false, .columns = {"a"}}), Rows{});
  EXPECT_TRUE(contains(error_of([] { read("a\n", {.delimiter = '"'}); }), "the delimiter must not be"));
}

TEST(Csv, NumbersAreCheckedAndNamed) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  put_file(path, "i,f\n -7 ,1.5e3\n9223372036854775807,1e-60\n9223372036854775808,1e60\n1.5,\n12x,nan\n");
  const CsvFile file(path);
  EXPECT_EQ(file.row(0).i64(0), -7);
  EXPECT_EQ(file.row(0).f32(1), 1500.0f);
  EXPECT_EQ(file.row(1).i64(0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(file.row(1).f32(1), 0.0f);
  EXPECT_TRUE(std::isnan(file.row(4).f32(1)));
  EXPECT_EQ(error_of([&] { file.row(2).i64(0); }),
            "[csv] " + path + ": row 2, line 4, column 'i': '9223372036854775808' is no integer of 64 bits");
  EXPECT_EQ(error_of([&] { file.row(2).f32(1); }),
            "[csv] " + path + ": row 2, line 4, column 'f': '1e60' is no number that a float holds");
  EXPECT_TRUE(contains(error_of([&] { file.row(3).i64(0); }), "'1.5' is no integer"));
  EXPECT_TRUE(contains(error_of([&] { file.row(3).f32(1); }), "row 3, line 5, column 'f': '' is no number"));
  EXPECT_TRUE(contains(error_of([&] { file.row(4).i64(0); }), "'12x' is no integer"));
  EXPECT_EQ(file.column("f"), 1u);
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(file.column("g")); }), "no column 'g'"));
}

TEST(Csv, WhatTheRfcForbidsIsNamedWithLineAndByte) {
  EXPECT_EQ(error("a,b\n1,2\n1\n"), "line 3 at byte 8: row 1 has 1 fields, there are 2 columns");
  EXPECT_EQ(error("a,b\n1,2,3\n"), "line 2 at byte 4: row 0 has 3 fields, there are 2 columns");
  EXPECT_EQ(error("a,b\n1,x\"y\n"),
            "line 2 at byte 7: a quote inside an unquoted field (quote the field and double the quote)");
  EXPECT_EQ(error("a,b\n1,\"x\"y\n"), "line 2 at byte 9: text behind a closing quote");
  EXPECT_EQ(error("a,b\n1,\"x\ny\n"), "line 2 at byte 6: a quote is opened here and never closed");
  EXPECT_EQ(error("a,b\n1,x\ry\n"), "line 2 at byte 7: a carriage return without a line feed");
  EXPECT_EQ(error("a,b\n1,\0\n"s), "line 2 at byte 6: embedded NUL");
  EXPECT_EQ(error("a,b\n1,\"x\n\0\"\n"s), "line 3 at byte 9: embedded NUL");
}

TEST(Csv, EveryCutIsAFileOfItsOwnOrNamed) {
  const TempFolder folder;
  const std::string path = folder.file("f.csv");
  const std::string whole = "a,b\r\n\"x,\"\"1\n\",2\r\n3,\"4\"\r\n";
  const auto use = [&] { rows_of(CsvFile(path)); };
  // Only a shorter header, and rows whose last field is shorter or still has its quote, are valid.
  expect_cuts_are_errors(path, whole, "[csv] " + path + ": line ", use, [](std::size_t n) {
    return n == 1 || n == 2 || n == 3 || n == 5 || n == 14 || n == 15 || n == 17 || n == 19 || n == 22;
  });
  put_file(path, whole);
  EXPECT_EQ(rows_of(CsvFile(path)), (Rows{{"x,\"1\n", "2"}, {"3", "4"}}));
  EXPECT_GT(expect_flips_are_survived(path, whole, use), 500);
}

TEST(Csv, DoublesKeepAllTheirDigits) {
  const TempFolder folder;
  put_file(folder.file("a.csv"), "x\n0.1\n 1e300 \n1e400\n");
  const CsvFile file(folder.file("a.csv"));
  EXPECT_EQ(file.row(0).f64(0), 0.1);
  EXPECT_EQ(file.row(1).f64(0), 1e300);
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(file.row(1).f32(0)); }), "is no number that a float holds"));
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(file.row(2).f64(0)); }),
                       "row 2, line 4, column 'x': '1e400' is no number that a double holds"));
}

}  // namespace
}  // namespace ridgeline
