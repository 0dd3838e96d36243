// ONNX's node tests and the cases that PyTorch computed for it, with our references. Cases that our ops cannot express
// are listed in golden_onnx_scope.cpp with reasons; all others must run and agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/graph/golden_onnx.h"
#include "tests/graph/golden_onnx_scope.h"
#include "tests/graph/golden_support.h"

namespace ridgeline::test {
namespace {

struct Tally {
  int agreed = 0;
  int left_out = 0;
  int other_ops = 0;
};

std::vector<Tensor> read_all(const std::filesystem::path& folder, const std::string& stem, std::size_t count) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i)
    tensors.push_back(read_onnx_tensor(folder / (stem + std::to_string(i) + ".pb")));
  return tensors;
}

void run_case(const std::filesystem::path& folder, const OnnxModel& model) {
  const std::filesystem::path data = folder / "test_data_set_0";
  const std::vector<Tensor> inputs = read_all(data, "input_", model.inputs.size());
  const std::vector<Tensor> outputs = read_all(data, "output_", model.outputs.size());
  std::map<std::string, Tensor> values = model.constants;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[model.inputs[i]] = inputs[i];
  for (const OnnxNode& node : model.nodes) {
    std::vector<Tensor> operands;
    for (const std::string& name : node.inputs) operands.push_back(name.empty() ? Tensor() : values.at(name));
    const std::vector<Tensor> results = run_onnx_node(node, operands);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) values[node.outputs[i]] = results.at(i);
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    // Their results are computed in f32, ours are rounded once.
    EXPECT_EQ(difference(values.at(model.outputs[i]), outputs[i], 1e-5, 1e-5).value_or(""), "") << model.outputs[i];
  }
}

Tally run_folder(const std::filesystem::path& root) {
  Tally tally;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const std::filesystem::path& folder : folders) {
    const std::string name = folder.filename().string();
    SCOPED_TRACE(name);
    try {
      const OnnxModel model = read_onnx_model(folder / "model.onnx");
      bool known = true;
      for (const OnnxNode& node : model.nodes) {
        if (knows_onnx_op(node.op)) continue;
        known = false;
        EXPECT_TRUE(onnx_ops_without_counterpart().contains(node.op))
            << node.op << " is a new op: map it or name it as left out";
      }
      if (!known) {
        ++tally.other_ops;
        continue;
      }
      run_case(folder, model);
      EXPECT_FALSE(onnx_cases_left_out().contains(name)) << "named as left out, yet it runs";
      ++tally.agreed;
    } catch (const OutOfScope& reason) {
      ++tally.left_out;
      const auto& listed = onnx_cases_left_out();
      const auto at = listed.find(name);
      if (at == listed.end()) {
        ADD_FAILURE() << "left out because of " << reason.what() << ", but not named";
      } else {
        EXPECT_EQ(at->second, reason.what());
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  return tally;
}

void print(const char* set, const Tally& tally) {
  std::cout << set << ": " << tally.agreed << " cases agree, " << tally.left_out << " left out by name, "
            << tally.other_ops << " of ops without a counterpart\n";
}

TEST(Onnx, NodeTestsAgree) {
  // *_expanded: the same inputs and outputs, with the op written as a function of other ops.
  const UnpackedArchive archive("onnx-node-tests.tar.xz", "*_expanded*");
  if (!archive.ok()) GTEST_SKIP() << archive.problem();
  const Tally tally = run_folder(archive.folder() / "node");
  print("ONNX node tests", tally);
  EXPECT_GE(tally.agreed, 200);
}

TEST(Onnx, CasesComputedByPyTorchAgree) {
  const UnpackedArchive archive("onnx-pytorch-converted.tar.xz");
  if (!archive.ok()) GTEST_SKIP() << archive.problem();
  const Tally tally = run_folder(archive.folder() / "pytorch-converted");
  print("PyTorch cases", tally);
  EXPECT_GE(tally.agreed, 30);
}

}  // namespace
}  // namespace ridgeline::test
