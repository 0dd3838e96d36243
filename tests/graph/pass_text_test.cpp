// Before and after, as text: tests/graphs/*.rdg, whose first line names the pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/passes.h"

namespace ridgeline {
namespace {

struct TextCase {
  std::string name;
  Graph (*run)(Graph) = nullptr;
  std::string before;
  std::string after;
  std::string pass_name;
};

// A file that is not of this form, or names a pass that does not exist, is an error: it would test nothing.
TextCase read_case(const std::string& name, const std::string& text) {
  const std::string head = "# pass: ";
  const std::string border = "# expect:\n";
  if (!text.starts_with(head)) throw std::runtime_error(name + " does not begin with '" + head + "NAME'");
  const std::string pass = text.substr(head.size(), text.find('\n') - head.size());
  const auto known = std::find_if(passes().begin(), passes().end(), [&](const Pass& p) { return p.name == pass; });
  if (known == passes().end()) throw std::runtime_error(name + " names the unknown pass '" + pass + "'");
  const std::size_t at = text.find(border);
  if (at == std::string::npos) throw std::runtime_error(name + " has no line '# expect:'");
  return {name, known->run, text.substr(0, at), text.substr(at + border.size()), pass};
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
  for (const Pass& pass : passes()) {
    EXPECT_TRUE(tested.contains(std::string(pass.name))) << pass.name << " has no text test";
  }
}

TEST(PassText, AFileThatNamesNoKnownPassIsAnErrorAndNotSkipped) {
  const std::string graph = "graph @g(%x: f32[1]) {\n  return %x\n}\n";
  EXPECT_NO_THROW(read_case("good.rdg", "# pass: simplify\n" + graph + "# expect:\n" + graph));
  EXPECT_THROW(read_case("typo.rdg", "# pass: simplfy\n" + graph + "# expect:\n" + graph), std::runtime_error);
  EXPECT_THROW(read_case("none.rdg", graph + "# expect:\n" + graph), std::runtime_error);
  EXPECT_THROW(read_case("half.rdg", "# pass: simplify\n" + graph), std::runtime_error);
}

std::string refusal_of(const std::string& disabled) {
  try {
    run_passes(parse_graph("graph @g(%x: f32[1]) {\n  return %x\n}\n"), std::vector<std::string>{disabled});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Passes, CanBeLeftOutByNameUnlessRequired) {
  EXPECT_EQ(refusal_of("simplify"), "");
  EXPECT_NE(refusal_of("inline").find("cannot be left out (those that can: simplify, "), std::string::npos);
  EXPECT_NE(refusal_of("simplfy").find("did you mean 'simplify'"), std::string::npos) << refusal_of("simplfy");
}

}  // namespace
}  // namespace ridgeline
