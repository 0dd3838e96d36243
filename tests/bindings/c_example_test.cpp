// The example programs of bindings/c/examples do what their comments say.
#include "tests/data/helpers.h"
#include "tests/support/program.h"

namespace ridgeline::data::testing {
namespace {

TEST(CExample, ARunStopsAndGoesOn) {
  const TempDir dir;
  const Dataset made = ImageFolder(write_folders(dir / "train", 2, 9)).shuffle().map(RandomResizedCrop(16)).batch(6);
  const std::string graph = dir / "graph.json", state = dir / "state.json";
  const std::string json = made.to_json();
  write_bytes(graph, json.data(), json.size());
  const auto run = [&](const std::string& arguments) {
    std::string command = RIDGELINE_C_EXAMPLE;
    return ridgeline::testing::run_shell(command.append(" ").append(arguments));
  };
  const auto whole = run(graph);
  EXPECT_EQ(whole.code, 0) << whole.text;
  EXPECT_EQ(whole.text.rfind("image u8 [6,16,16,3]\nlabel i32 [6]\nmask u8 [6]\nepoch 0 batch 0: mean ", 0), 0u)
      << whole.text;
  const auto first = run(graph + " " + state + " 4");
  EXPECT_EQ(first.code, 0) << first.text;
  const auto second = run(graph + " " + state);
  EXPECT_EQ(second.code, 0) << second.text;
  EXPECT_EQ(first.text + second.text, whole.text);
  EXPECT_NE(first.text, whole.text);
  const auto bad = run(dir / "none.json");
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.text.find("none.json"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::data::testing
