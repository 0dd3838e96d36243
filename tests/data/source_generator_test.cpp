// Rows from user code, by index and as a stream.
#include <atomic>
#include <thread>

#include "ridgeline/data/ir/generators.h"
#include "source_rules.h"

namespace ridgeline::data::testing {
namespace {

Schema schema() {
  return {{"n", DType::i64, Shape{}}, {"list", DType::f32, Shape{kVaries}}, {"text", DType::bytes, Shape{}}};
}

std::vector<Tensor> row(std::int64_t i) {
  Tensor n(DType::i64, Shape{}), list(DType::f32, Shape{i % 3});
  n.data<std::int64_t>()[0] = i;
  for (std::int64_t k = 0; k < i % 3; ++k) list.data<float>()[k] = static_cast<float>(i + k);
  return {n, list, Tensor::strings({"row " + std::to_string(i)})};
}

// Counts what a stream does.
struct Life {
  std::atomic<int> opened{0}, open_now{0}, rows{0};
};

// Rows 0, 1, ... up to `end`; row `bad` throws.
StreamGenerator stream(const std::shared_ptr<Life>& life, std::int64_t rows, std::int64_t end, std::int64_t window,
                       std::int64_t bad = -1) {
  struct Cursor {
    explicit Cursor(std::shared_ptr<Life> of) : life(std::move(of)) { ++life->opened, ++life->open_now; }
    ~Cursor() { --life->open_now; }
    std::shared_ptr<Life> life;
    std::int64_t next = 0;
  };
  return {.schema = schema(),
          .rows = rows,
          .open =
              [=] {
                return [cursor = std::make_shared<Cursor>(life), end, bad]() -> std::vector<Tensor> {
                  if (cursor->next == bad) throw std::runtime_error("the tape tore");
                  if (cursor->next == end) return {};
                  ++cursor->life->rows;
                  return row(cursor->next++);
                };
              },
          .window = window};
}

std::vector<std::int64_t> numbers(Iterator& it) {
  std::vector<std::int64_t> all;
  while (const auto batch = it.next()) {
    for (std::int64_t i = 0; i < batch->samples(); ++i) all.push_back(batch->column("n").data<std::int64_t>()[i]);
  }
  return all;
}

std::vector<std::int64_t> count_from(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = first; i < end; ++i) all.push_back(i);
  return all;
}

TEST(Generators, HashesOfGraphsLeaveOutTheNumberOfANameThatIsThereSeveralTimes) {
  for (const std::string name : {"counted", "counted#1", "counted#12", "counted#", "counted1"})
    register_generator(name, {.schema = schema(), .rows = 4, .row = row});
  const auto hash = [](const std::string& name) { return FromGenerator(name).hash(); };
  EXPECT_EQ(hash("counted#1"), hash("counted"));
  EXPECT_EQ(hash("counted#12"), hash("counted"));
  EXPECT_NE(hash("counted#"), hash("counted"));
  EXPECT_NE(hash("counted1"), hash("counted"));
  const auto mapped = [](const std::string& name) { return rows_in_memory(4).map(Function(name)).batch(2).hash(); };
  EXPECT_EQ(mapped("twice#1"), mapped("twice"));
  EXPECT_NE(mapped("thrice"), mapped("twice"));
}

TEST(Generators, KeepTheRules) {
  register_generator("rules by index", {.schema = schema(), .rows = 11, .row = row, .version = 1});
  register_stream("rules in turn", stream(std::make_shared<Life>(), 11, 11, 4));
  const Dataset by_index = FromGenerator("rules by index"), in_turn = FromStream("rules in turn");
  expect_rules(by_index, 11);
  expect_rules(in_turn, 11);
  EXPECT_EQ(digest(rows_of(by_index), {"n", "list", "text"}), digest(rows_of(in_turn), {"n", "list", "text"}));
  EXPECT_EQ(text_of(rows_of(by_index)[9], "text"), "row 9");
  register_generator("rules, changed", {.schema = schema(), .rows = 11, .row = row, .version = 2});
  EXPECT_NE(fingerprint(FromGenerator("rules, changed")), fingerprint(by_index));
  EXPECT_ERROR(FromGenerator("not there"), "no generator 'not there' is registered");
  EXPECT_ERROR(FromStream("not there"), "no stream 'not there' is registered");
}

TEST(Streams, OneReaderGoesThroughEachEpochOnce) {
  const auto life = std::make_shared<Life>();
  register_stream("in order", stream(life, 20, 20, 4));
  const Dataset data = FromStream("in order").batch(3, {.pad = true});
  Iterator pull(data, {.epochs = 2, .pull = true});
  std::vector<std::int64_t> twice = count_from(0, 20);
  for (std::int64_t i = 0; i < 20; ++i) twice.push_back(i);
  EXPECT_EQ(numbers(pull), twice);
  EXPECT_EQ(life->opened, 2);
  EXPECT_EQ(life->rows, 40);
  for (const int workers : {1, 2, 7}) {
    Iterator it(data, {.workers = workers, .epochs = 2});
    EXPECT_EQ(numbers(it), twice) << workers;
  }
}

// A row is examined before it is made.
TEST(Streams, AFilterAndABucketAskForNoRowTwice) {
  const auto life = std::make_shared<Life>();
  register_stream("tested", stream(life, 60, 60, 24));
  const Dataset data = FromStream("tested");
  Iterator filtered(data.filter(compare("n", "greater_equal", 10)).batch(6, {.pad = true}), {.pull = true});
  EXPECT_EQ(numbers(filtered), count_from(10, 60));
  EXPECT_EQ(life->rows, 60);
  Iterator bucketed(data.bucket("list", {1, 2}, {4, 4, 4}), {.pull = true});
  std::vector<std::int64_t> all = numbers(bucketed);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, count_from(0, 60));
  EXPECT_EQ(life->rows, 120);
  EXPECT_EQ(life->opened, 2);
}

TEST(Streams, MayFillOneBufferAgainAndAgain) {
  const auto open = [] {
    return [buffer = Tensor(DType::i64, Shape{}), next = std::int64_t{0}]() mutable -> std::vector<Tensor> {
      buffer.data<std::int64_t>()[0] = next++;
      return {buffer};
    };
  };
  register_stream("one buffer", {.schema = {{"n", DType::i64, Shape{}}}, .rows = 30, .open = open, .window = 30});
  Iterator it(FromStream("one buffer").shuffle({.buffer = 8}).batch(7, {.pad = true}), {.pull = true});
  std::vector<std::int64_t> all = numbers(it);
  EXPECT_NE(all, count_from(0, 30));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, count_from(0, 30));
}

TEST(Streams, RestoringInTheMiddleBeginsAgain) {
  const auto life = std::make_shared<Life>();
  register_stream("restored", stream(life, 20, 20, 4));
  const Dataset data = FromStream("restored").batch(4, {.pad = true});
  Iterator it(data, {.pull = true});
  it.next();
  const IteratorState state = it.state();
  EXPECT_EQ(numbers(it), count_from(4, 20));
  EXPECT_EQ(life->opened, 1);
  it.restore(state);
  EXPECT_EQ(numbers(it), count_from(4, 20));
  EXPECT_EQ(life->opened, 2);
}

TEST(Streams, AWindowThatOverflowsCostsAnotherPassAndNoRow) {
  for (const std::int64_t window : {1, 3, 100}) {
    const auto life = std::make_shared<Life>();
    const std::string name = "window " + std::to_string(window);
    register_stream(name, stream(life, 30, 30, window));
    Iterator it(FromStream(name).shuffle().batch(30, {.pad = true}), {.pull = true});
    std::vector<std::int64_t> all = numbers(it);
    EXPECT_NE(all, count_from(0, 30));
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, count_from(0, 30));
    EXPECT_EQ(life->opened == 1, window == 100) << life->opened;
  }
}

TEST(Streams, AnEarlyEndIsTheErrorOfTheFirstMissingRow) {
  register_stream("short", stream(std::make_shared<Life>(), 10, 6, 100));
  EXPECT_EQ(run_error(FromStream("short"), 6), "[stream] short: row 6: the stream ends after 6 rows, 10 are declared");
}

TEST(Streams, WhatTheUsersCodeThrowsIsTheErrorOfTheRow) {
  register_stream("torn", stream(std::make_shared<Life>(), 10, 10, 100, 4));
  EXPECT_EQ(run_error(FromStream("torn"), 4), "[stream] torn: row 4: the generator threw: the tape tore");
  // The row after it is not delivered in its place.
  const Dataset one = FromStream("torn").batch(1, {.pad = true});
  for (int i = 0; i < 2; ++i) EXPECT_ERROR(replay(one, 0, 4), "row 4: the generator threw");
  EXPECT_EQ(static_cast<int>(replay(one, 0, 3).column("n").at(0)), 3);
  register_generator("throws", {.schema = schema(), .rows = 3, .row = [](std::int64_t i) {
                                  if (i == 1) throw std::out_of_range("no such page");
                                  return row(i);
                                }});
  EXPECT_EQ(run_error(FromGenerator("throws"), 1), "[generator] throws: row 1: the generator threw: no such page");
}

TEST(Generators, ARowThatIsNotWhatWasDeclaredIsAnError) {
  const auto give = [](const std::string& name, const std::vector<Tensor>& wrong) {
    register_generator(
        name, {.schema = schema(), .rows = 2, .row = [wrong](std::int64_t i) { return i == 1 ? wrong : row(i); }});
    return run_error(FromGenerator(name), 1);
  };
  EXPECT_EQ(give("two", {Tensor(), Tensor()}), "[generator] two: row 1: the row has 2 columns, 3 are declared");
  std::vector<Tensor> wrong = row(1);
  wrong[0] = Tensor(DType::i32, Shape{});
  EXPECT_NE(give("type", wrong).find("row 1: column n i64"), std::string::npos);
  wrong = row(1);
  wrong[1] = Tensor(DType::f32, Shape{2, 2});
  EXPECT_NE(give("rank", wrong).find("f32[2,2] was given"), std::string::npos);
  wrong = row(1);
  wrong[2] = Tensor::strings({"a", "b"});
  EXPECT_NE(give("texts", wrong).find("row 1: column text"), std::string::npos);
  wrong[2] = Tensor();
  EXPECT_NE(give("nothing", wrong).find("nothing was given"), std::string::npos);
}

TEST(Streams, AnEndInTheMiddleLeavesNothing) {
  const auto life = std::make_shared<Life>();
  register_stream("left", stream(life, 1000, 1000, 100));
  const int threads = threads_now();
  for (const int workers : {0, 1, 7}) {
    Iterator it(FromStream("left").batch(2, {.pad = true}), {.workers = workers, .pull = workers == 0});
    it.next();
  }
  EXPECT_EQ(life->open_now, 0);
  EXPECT_GE(life->opened, 3);
  EXPECT_EQ(threads_now(), threads);
}

}  // namespace
}  // namespace ridgeline::data::testing
