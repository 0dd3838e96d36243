// A step for one part of a batch becomes a step for several parts: as text, and what is refused.
#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/in_parts.h"

namespace ridgeline {
namespace {

constexpr const char* kStep = R"(graph @step(%x: f32[2,3], %w: param f32[3,3], %lr: state f32[]) {
  %0 = dense(%x, %w) : f32[2,3] name "fc"
  %1 = dropout(%0, %2) {keep_prob=0.5, key=7} : f32[2,3] name "drop"
  %3 = reduce_sum(%1) : f32[] name "loss"
  %4 = dense_bwd_weights(%x, %1) : grad f32[3,3] name "fc/grad"
  %5 = sgd(%w, %4, %lr) : f32[3,3]
  update %w = %5
  return %3 "loss"
}
)";

std::string step_text() {  // the step number of dropout is a state
  std::string text = kStep;
  text.replace(text.find("%lr: state f32[]"), 16, "%lr: state f32[], %n: state i64[]");
  text.replace(text.find("%2)"), 3, "%n)");
  return text;
}

std::string in_parts_text(const std::string& text, const BatchParts& how) {
  const Graph graph = in_parts(parse_graph(text, "step"), how);
  verify(graph);
  return to_text(graph, {.locations = false});
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(InParts, OneRanksBatchHasAllParts) {
  const std::string text = in_parts_text(step_text(), {.parts = 2});
  EXPECT_NE(text.find("%x: f32[4,3]"), std::string::npos) << text;
  EXPECT_EQ(count(text, "= strided_slice(%x) {start=[0,0], stride=[2,1], size=[2,3]}"), 1u) << text;
  EXPECT_EQ(count(text, "= strided_slice(%x) {start=[1,0], stride=[2,1], size=[2,3]}"), 1u) << text;
  EXPECT_EQ(count(text, "= dense("), 2u) << text;
  EXPECT_EQ(count(text, "= dense_bwd_weights("), 2u) << text;
  EXPECT_EQ(count(text, "name \"fc/grad/part1\""), 1u) << text;
  EXPECT_EQ(count(text, "= add("), 2u) << text;  // of the gradient and the loss
  EXPECT_EQ(count(text, "{factor=0.5} : f32[3,3]"), 1u) << text;
  EXPECT_EQ(count(text, "= sgd("), 1u) << text;
  EXPECT_EQ(count(text, "key=7"), 1u) << text;  // the other part draws other numbers
  EXPECT_EQ(count(text, "collective"), 0u) << text;
}

TEST(InParts, SumsArePairsOfPairsOfTheNumbersInReverse) {
  const Graph graph = in_parts(parse_graph(step_text(), "step"), {.parts = 4});
  std::map<ValueId, std::string> made;
  std::string sum;
  for (const Node& node : graph.nodes) {
    std::string text = node.name;
    if (node.op == "add") text = "(" + made.at(node.inputs[0]) + "+" + made.at(node.inputs[1]) + ")";
    for (const ValueId id : node.outputs) made[id] = text;
    if (node.op == "add" && node.name.starts_with("fc/grad")) sum = text;
  }
  EXPECT_EQ(sum, "((fc/grad+fc/grad/part2)+(fc/grad/part1+fc/grad/part3))");
  std::vector<std::int64_t> places;
  for (int r = 0; r < 8; ++r) places.push_back(place_of_rank(r, 8));
  EXPECT_EQ(places, (std::vector<std::int64_t>{0, 4, 2, 6, 1, 5, 3, 7}));
}

TEST(InParts, OnePartOfEachRankChangesOnlyWhatItDraws) {
  const std::string first = in_parts_text(step_text(), {.ranks = 2, .place = 0});
  EXPECT_EQ(first, to_text(parse_graph(step_text(), "step"), {.locations = false}));
  const std::string second = in_parts_text(step_text(), {.ranks = 2, .place = 1});
  EXPECT_EQ(count(second, "key=7"), 0u);
  EXPECT_EQ(count(second, "= dropout("), 1u);
}

TEST(InParts, ExchangesOfTheRanksAreOfTheirSums) {
  std::string text = step_text();
  text.replace(text.find("  update"), 0, "  %9 = all_reduce(%3) {ranks=4, reduction=\"mean\"} : f32[] name \"all\"\n");
  text.replace(text.find("return %3"), 9, "return %9");
  const std::string two = in_parts_text(text, {.parts = 2, .ranks = 2});
  EXPECT_EQ(count(two, "= all_reduce("), 1u) << two;
  EXPECT_EQ(count(two, "ranks=2"), 1u) << two;
  const std::string one = in_parts_text(text, {.parts = 4});
  EXPECT_EQ(count(one, "= all_reduce("), 0u) << one;
  EXPECT_EQ(count(one, "{factor=0.25} : f32[] "), 1u) << one;
}

std::string refusal_of(const std::string& text, const BatchParts& how) {
  try {
    in_parts(parse_graph(text, "step"), how);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(InParts, WhatPartsHaveTheirOwnOfIsNotReturned) {
  std::string text = step_text();
  text.replace(text.find("return %3 \"loss\""), 16, "return %1 \"rows\"");
  EXPECT_EQ(
      refusal_of(text, {.parts = 2}),
      "[in_parts] step returns rows (f32[2,3]), which each part has its own of; a step in parts has means of them "
      "only");
}

TEST(InParts, OtherExchangesAreRefused) {
  std::string text = step_text();
  text.replace(text.find("  update"), 0, "  %9 = broadcast(%3) {ranks=4} : f32[] name \"all\"\n");
  EXPECT_NE(
      refusal_of(text, {.parts = 2, .ranks = 2}).find("has the exchange all (broadcast), which cannot be computed"),
      std::string::npos);
  text.replace(text.find("broadcast(%3) {ranks=4}"), 23, "all_reduce(%3) {ranks=2}");
  EXPECT_NE(refusal_of(text, {.parts = 2, .ranks = 2}).find("all over 2 ranks, and all ranks have 4 parts"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline
