#include "ridgeline/infer/model_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ridgeline/core/file.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/infer/support.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::infer {
namespace {

std::string file_named(const std::string& name) { return testing::temporary_directory() + "/" + name; }

std::string text_of(const Model& model) { return to_text(model.graph, {.locations = false}); }

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

Model small_model() {
  Model model = drawn_model("resnet20", 3, 32);
  model.class_names = {"cat", "d\xe9g", "a,b"};
  return model;
}

TEST(ModelFile, ReloadsBitEqual) {
  const Model model = small_model();
  const std::string path = file_named("m.rdgm");
  write_model(path, model);
  const Model back = read_model(path);
  EXPECT_EQ(back.name, model.name);
  EXPECT_EQ(back.class_names, model.class_names);
  EXPECT_EQ(back.preprocessing, model.preprocessing);
  EXPECT_EQ(text_of(back), text_of(model));
  ASSERT_EQ(back.tensors.size(), model.tensors.size());
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].name, model.tensors[i].name);
    EXPECT_TRUE(same_bits(back.tensors[i].tensor, model.tensors[i].tensor)) << model.tensors[i].name;
  }
  EXPECT_TRUE(is_model_file(path));
  EXPECT_FALSE(is_model_file(path + ".none"));
  const std::string again = file_named("again.rdgm");
  write_model(again, back);
  EXPECT_EQ(read_file(again), read_file(path)) << "equal models give equal bytes";
  EXPECT_EQ(read_file(path).find(".cpp"), std::string::npos) << "no line of a program is inside";
}

TEST(ModelFile, TensorsLieOnMultiplesOf64) {
  const std::string path = file_named("aligned.rdgm");
  write_model(path, small_model());
  const PackedFile file(path);
  const PackedRow row = file.row(0);
  const auto* begin = row.fields.front().bytes.data() - (file.offset(0) % 64);
  std::size_t large = 0;
  for (const PackedField& field : row.fields) {
    if (field.bytes.size() < 64) continue;
    ++large;
    // After the graph's text, whose position is fixed by the row with its length.
    EXPECT_EQ(static_cast<std::size_t>(field.bytes.data() - begin) % 64, (row.fields[0].bytes.data() - begin) % 64);
  }
  EXPECT_GT(large, 20u);
}

TEST(ModelFile, EveryCutAndChangedByteIsNoticed) {
  const Model model = drawn_model("linear", 2, 2);
  const std::string graph = text_of(model);
  const std::string path = file_named("whole.rdgm"), hurt = file_named("hurt.rdgm");
  write_model(path, model);
  const std::string bytes = read_file(path);
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    write_bytes(hurt, bytes.substr(0, size));
    EXPECT_NE(error_of([&] { read_model(hurt); }).find(hurt), std::string::npos) << size;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    write_bytes(hurt, changed);
    std::string said;
    try {
      const Model read = read_model(hurt);
      // Only the zeros between the parts are not covered by a checksum.
      EXPECT_TRUE(text_of(read) == graph && bytes[at] == 0) << at;
      for (std::size_t i = 0; i < read.tensors.size(); ++i)
        EXPECT_TRUE(same_bits(read.tensors[i].tensor, model.tensors[i].tensor)) << at;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(hurt), std::string::npos) << at << ": " << error.what();
    }
  }
}

// A valid packed file with these texts.
std::string forged(const std::string& metadata, const std::string& graph, const std::vector<NamedTensor>& tensors) {
  const std::string path = file_named("forged.rdgm");
  PackedSchema schema{.columns = {{"__graph__", DType::bytes, {}}}, .class_names = {}};
  std::vector<PackedValue> values = {{{reinterpret_cast<const std::uint8_t*>(graph.data()), graph.size()}}};
  for (const NamedTensor& t : tensors) {
    schema.columns.push_back({t.name, t.tensor.dtype(), t.tensor.shape()});
    values.push_back({{static_cast<const std::uint8_t*>(t.tensor.raw()), t.tensor.byte_size()}});
  }
  PackedWriter writer(path, schema, metadata);
  writer.add(0, values);
  writer.finish(1);
  return error_of([&] { read_model(path); });
}

TEST(ModelFile, WhatIsNoModelIsRefusedWithItsReason) {
  const Model model = drawn_model("linear", 2, 2);
  const std::string graph = text_of(model);
  const std::string good = R"({"ridgeline_model":1,"name":"x","preprocessing":{"rule":"exact","resize":2,"crop":2}})";
  EXPECT_EQ(forged(good, graph, model.tensors), "");
  const auto expect = [](const std::string& said, const std::string& reason) {
    EXPECT_NE(said.find(reason), std::string::npos) << said;
  };
  expect(forged("", graph, model.tensors), "a packed file of data, not of a model");
  expect(forged(R"({"name":"x"})", graph, model.tensors), "a packed file of data, not of a model");
  expect(forged(R"({"ridgeline_model":2,"name":"x"})", graph, model.tensors), "version is another than 1");
  expect(forged(R"({"ridgeline_model":1})", graph, model.tensors), "has no 'name'");
  expect(forged(R"({"ridgeline_model":1,"name":"x","preprocessing":{"rule":"exact","resize":-1,"crop":2}})", graph,
                model.tensors),
         "no 'resize' from 1 to 2^20");
  expect(forged(R"({"ridgeline_model":1,"name":"x","preprocessing":{"rule":"bent","resize":2,"crop":2}})", graph,
                model.tensors),
         "no 'rule' exact or short_side");
  expect(forged(R"({"ridgeline_model":1,"name":"x","preprocessing":{"rule":"exact","resize":3,"crop":3}})", graph,
                model.tensors),
         "the preprocessing makes u8[N,3,3,3], but the graph's input images is u8[1,2,2,3]");
  expect(forged(good, "graph @g(", model.tensors), "the graph");
  expect(forged(good, graph, {model.tensors[0]}), "no tensor linear.bias");
  std::vector<NamedTensor> more = model.tensors;
  more.push_back({"extra", Tensor::zeros(DType::f32, {2})});
  expect(forged(good, graph, more), "tensor extra is no param or state");
  more.back() = {"extra", Tensor::strings({"x"})};
  std::vector<NamedTensor> wrong = model.tensors;
  wrong[1].tensor = Tensor::zeros(DType::f32, {3});
  expect(forged(good, graph, wrong), "tensor linear.bias is f32[3], but f32[2] in the graph");
}

TEST(ModelFile, AFileThatCannotBeWrittenLeavesTheOldOne) {
  Model model = drawn_model("linear", 2, 2);
  const std::string path = file_named("old.rdgm");
  write_model(path, model);
  const std::string before = read_file(path);
  model.tensors.pop_back();
  EXPECT_NE(error_of([&] { write_model(path, model); }), "");
  EXPECT_EQ(read_file(path), before);
}

}  // namespace
}  // namespace ridgeline::infer
