#include "pillow_files.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "ridgeline/core/file.h"
#include "support.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::image::test {

std::vector<std::optional<Image>> read_by_pillow(const std::string& python, const std::vector<std::string>& files,
                                                 PillowMode mode) {
  const std::string folder = testing::temporary_directory();
  std::string list;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string path = folder + "/" + std::to_string(i);
    std::ofstream(path, std::ios::binary) << files[i];
    list += path + "\n";
  }
  std::ofstream(folder + "/list", std::ios::binary) << list;
  const std::string command = "'" + python + "' '" + testing::source_directory() + "/tests/image/pillow_oracle.py' " +
                              (mode == PillowMode::decode ? "decode" : "upright") + " '" + folder + "/list' '" +
                              folder + "/results'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  const std::string results = read_file(folder + "/results");
  std::vector<std::optional<Image>> answers;
  for (std::size_t at = 0; answers.size() < files.size();) {
    std::int32_t header[3];
    if (at + sizeof header > results.size()) {
      ADD_FAILURE() << "Pillow answered for " << answers.size() << " of " << files.size() << " files";
      answers.resize(files.size());
      break;
    }
    std::memcpy(header, results.data() + at, sizeof header);
    at += sizeof header;
    answers.emplace_back();
    if (header[0] == 0) continue;
    Image& image = answers.back().emplace(header[1], header[2], 3);
    if (image.byte_size() > results.size() - at) {
      ADD_FAILURE() << "Pillow's pixels are cut short";
      break;
    }
    std::memcpy(image.data(), results.data() + at, image.byte_size());
    at += image.byte_size();
  }
  answers.resize(files.size());
  return answers;
}

}  // namespace ridgeline::image::test
