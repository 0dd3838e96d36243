// Before and after, as text: tests/graphs/*.rdg, whose first line names the pass.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/fuse_epilogue.h"
#include "ridgeline/graph/pass/fuse_pointwise.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/schedule.h"
#include "ridgeline/graph/pass/simplify.h"

namespace ridgeline {
namespace {

using Pass = Graph (*)(Graph);

struct TextCase {
  std::string name;
  Pass run = nullptr;
  std::string before;
  std::string after;
  std::string pass_name;
};

const std::map<std::string, Pass> kPasses = {{"inline", inline_calls},
                                             {"simplify", simplify},
                                             {"fuse_epilogue", fuse_epilogue},
                                             {"fuse_pointwise", fuse_pointwise},
                                             {"schedule", schedule}};

// A file that is not of this form, or names a pass that does not exist, is an error: it would test nothing.
TextCase read_case(const std::string& name, const std::string& text) {
  const std::string head = "# pass: ";
  const std::string border = "# expect:\n";
  if (!text.starts_with(head)) throw std::runtime_error(name + " does not begin with '" + head + "NAME'");
  const std::string pass = text.substr(head.size(), text.find('\n') - head.size());
  const auto known = kPasses.find(pass);
  if (known == kPasses.end()) throw std::runtime_error(name + " names the unknown pass '" + pass + "'");
  const std::size_t at = text.find(border);
  if (at == std::string::npos) throw std::runtime_error(name + " has no line '# expect:'");
  return {name, known->second, text.substr(0, at), text.substr(at + border.size()), pass};
}

std::vector<TextCase> all_cases() {
  std::vector<TextCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(RIDGELINE_SOURCE_DIR "/tests/graphs")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    cases.push_back(read_case(entry.path().filename().string(), text.str()));
  }
  return cases;
}

std::string plain(const Graph& graph) { return to_text(graph, {.locations = false}); }

TEST(PassText, EveryGraphBecomesWhatItsFileExpects) {
  std::set<std::string> tested;
  for (const TextCase& c : all_cases()) {
    tested.insert(c.pass_name);
    SCOPED_TRACE(c.name);
    const Graph before = parse_graph(c.before, c.name);
    verify(before);
    const std::string untouched = plain(before);
    const Graph after = c.run(before);
    verify(after);
    EXPECT_EQ(plain(after), plain(parse_graph(c.after, c.name)));
    EXPECT_EQ(plain(before), untouched);
    EXPECT_EQ(plain(c.run(after)), plain(after)) << "a second run finds nothing";
  }
  for (const auto& [name, pass] : kPasses) EXPECT_TRUE(tested.contains(name)) << name << " has no text test";
}

TEST(PassText, AFileThatNamesNoKnownPassIsAnErrorAndNotSkipped) {
  const std::string graph = "graph @g(%x: f32[1]) {\n  return %x\n}\n";
  EXPECT_NO_THROW(read_case("good.rdg", "# pass: simplify\n" + graph + "# expect:\n" + graph));
  EXPECT_THROW(read_case("typo.rdg", "# pass: simplfy\n" + graph + "# expect:\n" + graph), std::runtime_error);
  EXPECT_THROW(read_case("none.rdg", graph + "# expect:\n" + graph), std::runtime_error);
  EXPECT_THROW(read_case("half.rdg", "# pass: simplify\n" + graph), std::runtime_error);
}

}  // namespace
}  // namespace ridgeline
