// What tells files of weights apart.
#include "ridgeline/train/stored_weights.h"

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::train {
namespace {

const auto kSilent = [](const std::string&) {};

std::string length_byte(const std::string& path) { return read_file(path).substr(0, 1); }

// The first byte of a safetensors file is that of its header's length: 0x80 in one of 32, as in a pickle.
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

}  // namespace
}  // namespace ridgeline::train
