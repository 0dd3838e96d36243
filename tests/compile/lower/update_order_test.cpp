// Updates are simultaneous: every next version is computed from the old ones, in any order of the list.
#include "tests/compile/support.h"

#include <algorithm>

#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

// Every order of the graph's updates, on both devices.
void expect_any_order(const char* text) {
  Graph graph = parse_graph(text);
  std::vector<Update>& updates = graph.updates;
  const auto less = [](const Update& x, const Update& y) { return x.current < y.current; };
  std::sort(updates.begin(), updates.end(), less);
  do {
    for (const char* device : {"cpu", "simulated"}) {
      SessionOptions options;
      options.device = device;
      Session session(options);
      testing::expect_equals_reference(graph, session);
    }
  } while (std::next_permutation(updates.begin(), updates.end(), less));
}

TEST(UpdateOrder, AStateThatTakesTheOldValueOfAnotherDoesNotSeeTheNewOne) {
  expect_any_order(
      "graph @chain(%a: state f32[6], %b: state f32[6], %c: state f32[6]) {\n"
      "  %0 = scale(%b) {factor=3.0} : f32[6]\n"
      "  update %b = %0\n"
      "  update %a = %b\n"
      "  update %c = %a\n"
      "}\n");
}

TEST(UpdateOrder, TwoStatesMayTakeTheSameNextValue) {
  expect_any_order(
      "graph @same(%a: state f32[6], %b: state f32[6]) {\n"
      "  %0 = scale(%b) {factor=3.0} : f32[6]\n"
      "  update %b = %0\n"
      "  update %a = %0\n"
      "  return %0 \"next\"\n"
      "}\n");
}

TEST(UpdateOrder, UpdatesThatReadEachOthersOldVersionsAreNoCircle) {
  expect_any_order(
      "graph @mutual(%a: state f32[6], %b: state f32[6]) {\n"
      "  %0 = add(%a, %b) : f32[6]\n"
      "  %1 = sub(%a, %b) : f32[6]\n"
      "  update %a = %0\n"
      "  update %b = %1\n"
      "}\n");
}

TEST(UpdateOrder, AStateMayTakeAnInput) {
  expect_any_order(
      "graph @take(%x: f32[6], %a: state f32[6], %b: state f32[6]) {\n"
      "  update %a = %x\n"
      "  update %b = %a\n"
      "  return %x \"x\"\n"
      "}\n");
}

}  // namespace
}  // namespace ridgeline
