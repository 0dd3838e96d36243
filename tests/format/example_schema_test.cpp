#include "ridgeline/format/record/example_schema.h"

#include <limits>

#include "ridgeline/format/record/tfrecord.h"
#include "tests/support/files.h"

namespace ridgeline {
namespace {

std::string sample() {
  return ExampleBuilder()
      .bytes("image", "JPEG")
      .bytes("words", std::vector<std::string>{"a", "bcd"})
      .floats("box", {0.5f, 1, 2, 3})
      .int64s("label", 7)
      .int64s("many", {1, 0, 300, -1})
      .serialize();
}

ExampleSchema schema(const std::string& columns) {
  return ExampleSchema::parse(R"({"columns":{)" + columns + "}}", "schema.json");
}

// One column of the sample.
Tensor read_column(const std::string& column) {
  const std::string record = sample();
  return schema(column).read(Example(as_bytes(record)), 0);
}

std::string column_error(const std::string& column) {
  return error_of([&] { read_column(column); });
}

TEST(ExampleSchema, ConvertsToTypeAndShape) {
  EXPECT_EQ(read_column(R"("label":{"type":"int64","rank":0})").shape(), Shape{});
  EXPECT_EQ(read_column(R"("label":{"type":"int16","rank":1})").shape(), Shape{1});
  EXPECT_EQ(read_column(R"("label":{"type":"int16","rank":1})").dtype(), DType::i32);
  EXPECT_EQ(read_column(R"("many":{"type":"int64","shape":[2,2]})").shape(), (Shape{2, 2}));
  EXPECT_EQ(read_column(R"("many":{"type":"int32","shape":[-1,2]})").at(3), -1);
  const Tensor box = read_column(R"("box":{"type":"float64","shape":[2,-1]})");
  EXPECT_EQ(box.shape(), (Shape{2, 2}));
  EXPECT_EQ(box.at(0), 0.5);
  EXPECT_EQ(read_column(R"("box":{"type":"float16","shape":[4]})").at(3), 3);
  const Tensor image = read_column(R"("image":{"type":"uint8","rank":1})");
  EXPECT_EQ(image.shape(), Shape{4});
  EXPECT_EQ(image.at(1), 'P');
  EXPECT_EQ(read_column(R"("image":{"type":"string","rank":0})").string_values()[0], "JPEG");
  EXPECT_EQ(read_column(R"("words":{"type":"string","shape":[2]})").string_values()[1], "bcd");
  EXPECT_EQ(read_column(R"("label":{"type":"uint8","shape":[]})").dtype(), DType::u8);
}

TEST(ExampleSchema, ByteStringsAreFilledUpWithBlanks) {
  const auto text = [](const Tensor& t) { return as_text(t.span<std::uint8_t>()); };
  EXPECT_EQ(text(read_column(R"("words":{"type":"uint8","rank":1})")), "a  bcd");
  const Tensor wide = read_column(R"("words":{"type":"uint8","shape":[-1,2,2]})");
  EXPECT_EQ(wide.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(text(wide), "a   bcd ");
  EXPECT_EQ(column_error(R"("words":{"type":"uint8","shape":[-1,2]})"),
            "[example] column 'words': a string of 3 bytes is longer than a row of the shape [-1,2]");
}

TEST(ExampleSchema, WhatDoesNotFitIsNamedByKey) {
  EXPECT_EQ(column_error(R"("many":{"type":"int64","shape":[3]})"),
            "[example] column 'many': 4 values do not fill the shape [3]");
  EXPECT_EQ(column_error(R"("label":{"type":"int64","shape":[-1,2]})"),
            "[example] column 'label': 1 value does not fill the shape [-1,2]");
  EXPECT_EQ(column_error(R"("many":{"type":"int8","rank":1})"),
            "[example] column 'many': value 2 is 300, outside of int8 (-128 to 127)");
  EXPECT_EQ(column_error(R"("many":{"type":"uint64","rank":1})"),
            "[example] column 'many': value 3 is -1, outside of uint64 (0 to 9223372036854775807)");
  EXPECT_TRUE(contains(column_error(R"("label":{"type":"bool","rank":0})"), "value 0 is 7, outside of bool (0 to 1)"));
  EXPECT_EQ(column_error(R"("label":{"type":"float32","rank":0})"),
            "[example] feature 'label' holds int64s, not floats");
  EXPECT_TRUE(
      contains(column_error(R"("labl":{"type":"int64","rank":0})"), "no feature 'labl': did you mean 'label'?"));
  EXPECT_TRUE(contains(column_error(R"("labl":{"type":"uint8","rank":0})"), "no feature 'labl'"));
}

TEST(ExampleSchema, AbsentKeysTakeTheirDefault) {
  EXPECT_EQ(read_column(R"("absent":{"type":"int32","shape":[2,2],"default":-1})").at(3), -1);
  EXPECT_EQ(read_column(R"("absent":{"type":"float32","shape":[2],"default":[1,2.5]})").at(1), 2.5);
  EXPECT_EQ(read_column(R"("absent":{"type":"float32","rank":1,"default":[]})").shape(), Shape{0});
  EXPECT_EQ(read_column(R"("absent":{"type":"string","rank":0,"default":"none"})").string_values()[0], "none");
  EXPECT_EQ(read_column(R"("absent":{"type":"bool","rank":0,"default":true})").at(0), 1);
  EXPECT_EQ(read_column(R"("absent":{"type":"uint8","rank":1,"default":"ab"})").at(1), 'b');
  EXPECT_EQ(read_column(R"("label":{"type":"int32","rank":0,"default":-1})").at(0), 7);
  EXPECT_EQ(column_error(R"("a":{"type":"int8","rank":0,"default":200})"),
            "[example] column 'a': value 0 is 200, outside of int8 (-128 to 127)");
  EXPECT_EQ(column_error(R"("a":{"type":"int8","shape":[3],"default":[1,2]})"),
            "[example] column 'a': 2 values do not fill the shape [3]");
  EXPECT_TRUE(
      contains(column_error(R"("a":{"type":"int8","rank":0,"default":"x"})"), "'default' holds something that is no"));
}

TEST(ExampleSchema, WrongFilesAreNamed) {
  const auto parse = [](std::string_view json) { return error_of([&] { ExampleSchema::parse(json, "f"); }); };
  EXPECT_TRUE(parse("{").starts_with("[example] f: the schema is no valid JSON at byte 1"));
  EXPECT_EQ(parse("{}"), "[example] f: there is no object 'columns'");
  EXPECT_EQ(parse(R"({"column":{}})"), "[example] f: unknown key 'column': did you mean 'columns'?");
  EXPECT_EQ(parse(R"({"datasetType":"MR","columns":{}})"), "[example] f: 'datasetType' is not \"TF\"");
  EXPECT_TRUE(contains(column_error(R"("a":{"rank":0})"), "column 'a': 'type' is missing"));
  EXPECT_TRUE(
      contains(column_error(R"("a":{"type":"int","rank":0})"), "column 'a': unknown type 'int' (allowed: int8 "));
  EXPECT_TRUE(contains(column_error(R"("a":{"type":"int8"})"), "neither 'shape' nor 'rank' is there"));
  EXPECT_TRUE(contains(column_error(R"("a":{"type":"int8","rank":2})"), "a rank of 2 needs a 'shape'"));
  EXPECT_TRUE(
      contains(column_error(R"("a":{"type":"int8","shape":[-1,-1]})"), "more than one extent of [-1,-1] is -1"));
  EXPECT_TRUE(contains(column_error(R"("a":{"type":"int8","shape":[-2]})"), "has an extent of -2"));
  EXPECT_TRUE(contains(column_error(R"("a":{"type":"int8","shap":[1]})"), "unknown key 'shap': did you mean 'shape'?"));
}

TEST(ExampleSchema, IsInferredFromARecord) {
  const std::string record = sample();
  const ExampleSchema inferred = ExampleSchema::infer(Example(as_bytes(record)));
  std::string text;
  for (const ExampleColumn& c : inferred.columns()) {
    text += c.key + ":" + std::string(name_of(c.type)) + c.shape.to_string() + " ";
  }
  EXPECT_EQ(text, "box:float32[-1] image:string[] label:int64[] many:int64[-1] words:string[-1] ");
  EXPECT_EQ(inferred.read(Example(as_bytes(record))).size(), 5u);
}

// The values of MindSpore's golden/tfrecord_files_basic.npz and tfrecord_pad_bytes10.npz.
TEST(ExampleSchemaRealData, SchemaFilesGiveTheGoldenValues) {
  const std::string folder = pack_path("tfrecord/mindspore-alltypes");
  SKIP_WITHOUT(folder);
  const TFRecordFile file(folder + "/test.data");
  for (const std::string name : {"", "1Row", "5Rows", "7Rows", "NoRow", "PadBytes10", "Rank0"}) {
    SCOPED_TRACE(name);
    const ExampleSchema schema = ExampleSchema::read(folder + "/datasetSchema" + name + ".json");
    EXPECT_EQ(schema.rows().value_or(-1), name == "1Row"         ? 1
                                          : name == "5Rows"      ? 5
                                          : name == "7Rows"      ? 7
                                          : name == "NoRow"      ? -1
                                          : name == "PadBytes10" ? 24
                                                                 : 12);
    ASSERT_EQ(schema.columns().size(), 8u);
    const Shape one = name == "Rank0" ? Shape{} : Shape{1};
    for (std::int64_t i = 0; i < 12; ++i) {
      const std::string record = record_of(file, static_cast<std::size_t>(i));
      const auto t = schema.read(Example(as_bytes(record)));
      EXPECT_EQ(t[0].shape(), one);
      EXPECT_EQ(t[0].at(0), i == 0 ? -32768 : i == 11 ? 32767 : i);
      EXPECT_EQ(t[1].at(0), i == 0 ? -2147483648.0 : i == 11 ? 2147483647.0 : static_cast<double>(i));
      EXPECT_EQ(t[2].data<std::int64_t>()[0], i == 0    ? std::numeric_limits<std::int64_t>::min()
                                              : i == 11 ? std::numeric_limits<std::int64_t>::max()
                                                        : i);
      EXPECT_EQ(t[3].shape(), one);
      EXPECT_FLOAT_EQ(t[3].data<float>()[0], i == 0    ? -std::numeric_limits<float>::max()
                                             : i == 11 ? std::numeric_limits<float>::max()
                                                       : 1.33f * static_cast<float>(i));
      EXPECT_EQ(t[4].shape(), Shape{2});
      EXPECT_EQ(t[4].data<std::int64_t>()[1], 2 * i + 1);
      EXPECT_EQ(t[5].shape(), (Shape{2, 2}));
      EXPECT_EQ(t[5].data<std::int64_t>()[3], 4 * i + 3);
      EXPECT_EQ(t[6].shape(), (Shape{2, 2, 2}));
      EXPECT_EQ(t[6].data<std::int64_t>()[7], 8 * i + 7);
      const std::string letter(1, static_cast<char>('a' + i));
      EXPECT_EQ(t[7].shape(), name == "PadBytes10" ? (Shape{1, 10}) : one);
      EXPECT_EQ(as_text(t[7].span<std::uint8_t>()), name == "PadBytes10" ? letter + std::string(9, ' ') : letter);
    }
  }
}

TEST(ExampleSchemaRealData, ImagesComeAsTheirBytes) {
  const std::string folder = pack_path("tfrecord/mindspore-3-images");
  SKIP_WITHOUT(folder);
  const TFRecordFile file(folder + "/train-0000-of-0001.data");
  const ExampleSchema schema = ExampleSchema::read(folder + "/datasetSchema.json");
  for (std::size_t i = 0; i < file.size(); ++i) {
    const std::string record = record_of(file, i);
    const Example example(as_bytes(record));
    const auto tensors = schema.read(example);
    EXPECT_EQ(as_text(tensors[0].span<std::uint8_t>()), example.one_bytes("image"));
    EXPECT_EQ(tensors[1].shape(), Shape{1});
    EXPECT_EQ(tensors[1].at(0), static_cast<double>(example.one_int64("label")));
  }
}

}  // namespace
}  // namespace ridgeline
