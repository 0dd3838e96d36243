// The version of the kernels is a hash of their sources and does not depend on their location.
#include "ridgeline/device/cpu/kernels_version.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

// What a build would compute for a folder of sources.
std::string source_for(const std::string& folder) {
  const std::string out = testing::temporary_directory() + "/kernels_version.cpp";
  testing::expect(testing::run_shell("cmake -DFOLDER='" + folder + "' -DOUT='" + out + "' -P '" +
                                     testing::source_directory() + "/scripts/kernels_version.cmake'"),
                  0, {});
  return read_file(out);
}

TEST(KernelsVersion, IsThatOfTheSources) {
  EXPECT_EQ(kernels_version().size(), 16u);
  const std::string source = source_for(testing::source_directory() + "/ridgeline/device");
  EXPECT_NE(source.find("\"" + std::string(kernels_version()) + "\""), std::string::npos) << source;
}

TEST(KernelsVersion, DependsOnNamesAndBytesAndNotOnThePlace) {
  const std::string root = testing::temporary_directory() + "/kernels_version";
  const auto folder = [&](const std::string& name) {
    fs::create_directories(root + "/" + name + "/cpu");
    write_file_atomically(root + "/" + name + "/cpu/fast.cpp", "int fast;\n");
    write_file_atomically(root + "/" + name + "/device.h", "int device;\n");
    return root + "/" + name;
  };
  const std::string here = source_for(folder("here"));
  EXPECT_EQ(source_for(folder("some/where else")), here);
  const std::string changed = folder("changed");
  write_file_atomically(changed + "/cpu/fast.cpp", "int faster;\n");
  EXPECT_NE(source_for(changed), here);
  const std::string renamed = folder("renamed");
  fs::rename(renamed + "/cpu/fast.cpp", renamed + "/cpu/slow.cpp");
  EXPECT_NE(source_for(renamed), here);
}

}  // namespace
}  // namespace ridgeline
