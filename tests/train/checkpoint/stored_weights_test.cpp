// How kinds of weight files are recognised.
#include "ridgeline/train/checkpoint/stored_weights.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

const auto kSilent = [](const std::string&) {};

std::string length_byte(const std::string& path) { return read_file(path).substr(0, 1); }

// The first byte of a safetensors file belongs to the length of its header: one in 32 is 0x80, as in a pickle.
TEST(StoredWeights, AHeaderOfAnyLengthIsNoPickle) {
  const std::string path = testing::temporary_directory() + "/any_header.safetensors";
  const Tensor value = Tensor::zeros(DType::f32, Shape{2});
  bool met = false;
  for (std::size_t letters = 1; letters < 260; letters += 8) {
    write_safetensors(path, {{std::string(letters, 'w'), value}});
    met = met || length_byte(path) == "\x80";
    EXPECT_EQ(read_weights(path, kSilent).tensors.size(), 1u) << letters;
  }
  EXPECT_TRUE(met);
}

TEST(StoredWeights, BothFormsOfTorchSaveAreToldFromWeights) {
  const std::string path = testing::temporary_directory() + "/model.pt";
  for (const std::string& begin : {std::string("PK\x03\x04 and an archive"),
                                   std::string("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j"), std::string("\x80\x02}q")}) {
    write_file_atomically(path, begin);
    EXPECT_NE(error_of([&] { read_weights(path, kSilent); }).find("is a pickle of PyTorch"), std::string::npos);
  }
}

// Runs the conversion command of the error message with stand-ins for torch and safetensors: torch.load returns what
// the file contains after its first bytes.
TEST(StoredWeights, TheWayToConvertAPickleWorksWhereverTheTensorsLieInIt) {
  if (testing::run_shell("python3 --version").code != 0) GTEST_SKIP() << "no python3";
  const std::string root = testing::temporary_directory() + "/pickles";
  std::filesystem::create_directories(root + "/safetensors");
  write_file_atomically(root + "/torch.py", R"(import json
class Tensor:
    def contiguous(self): return self
    def clone(self): return self
def is_tensor(x): return isinstance(x, Tensor)
def made(x): return Tensor() if x == "tensor" else {k: made(v) for k, v in x.items()} if isinstance(x, dict) else x
def load(path, map_location, weights_only): return made(json.loads(open(path, "rb").read()[4:]))
)");
  write_file_atomically(root + "/safetensors/__init__.py", "");
  write_file_atomically(root + "/safetensors/torch.py", R"(import torch
def save_file(tensors, path):
    assert all(torch.is_tensor(t) for t in tensors.values())
    open(path, "w").write(",".join(sorted(tensors)))
)");
  for (const std::string& content :
       {std::string(R"({"a": "tensor", "b": "tensor"})"),
        std::string(R"({"epoch": 3, "state_dict": {"a": "tensor", "b": "tensor", "steps": 5}})"),
        std::string(R"({"model": {"a": "tensor", "b": "tensor"}, "optimizer": {"lr": 1}})")}) {
    const std::string path = root + "/it's a model.pth";
    write_file_atomically(path, "PK\x03\x04" + content);
    const std::string error = error_of([&] { read_weights(path, kSilent); });
    const std::size_t command = error.find("python3 -c ");
    ASSERT_NE(command, std::string::npos) << error;
    const testing::Outcome outcome = testing::run_shell("cd '" + root + "' && PYTHONPATH=. " + error.substr(command));
    ASSERT_EQ(outcome.code, 0) << error << "\n" << outcome.text;
    EXPECT_EQ(read_file(root + "/weights.safetensors"), "a,b") << content;
  }
}

}  // namespace
}  // namespace ridgeline::train
