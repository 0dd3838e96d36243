// Before and after, as text: tests/graphs/*.rdg whose first line names a fusion pass.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/fuse_epilogue.h"
#include "ridgeline/graph/pass/fuse_pointwise.h"

namespace ridgeline {
namespace {

using Pass = Graph (*)(Graph);

struct TextCase {
  std::string name;
  Pass pass = nullptr;
  std::string before;
  std::string after;
};

std::vector<TextCase> fusion_cases() {
  const std::map<std::string, Pass> passes = {{"fuse_pointwise", fuse_pointwise}, {"fuse_epilogue", fuse_epilogue}};
  std::vector<TextCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(RIDGELINE_SOURCE_DIR "/tests/graphs")) {
    if (entry.path().extension() != ".rdg") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    const std::string head = "# pass: ";
    const std::string border = "# expect:\n";
    if (!all.starts_with(head)) continue;
    const auto pass = passes.find(all.substr(head.size(), all.find('\n') - head.size()));
    const std::size_t at = all.find(border);
    if (pass == passes.end() || at == std::string::npos) continue;
    cases.push_back({entry.path().stem().string(), pass->second, all.substr(0, at), all.substr(at + border.size())});
  }
  return cases;
}

std::string plain(const Graph& graph) { return to_text(graph, {.locations = false}); }

TEST(FuseText, EveryGraphBecomesWhatItsFileExpects) {
  const std::vector<TextCase> cases = fusion_cases();
  EXPECT_GE(cases.size(), 6u);
  for (const TextCase& c : cases) {
    SCOPED_TRACE(c.name);
    const Graph before = parse_graph(c.before, c.name);
    verify(before);
    const std::string untouched = plain(before);
    const Graph after = c.pass(before);
    verify(after);
    EXPECT_EQ(plain(after), plain(parse_graph(c.after, c.name)));
    EXPECT_EQ(plain(before), untouched);
    EXPECT_EQ(plain(c.pass(after)), plain(after)) << "a second run finds nothing";
  }
}

}  // namespace
}  // namespace ridgeline
