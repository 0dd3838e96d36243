// Random combinations of a network, an optimizer, gradient rules and a way in which ranks share the work (data, parts
// of layers, stages, servers, split updates, buckets). Either all ranks refuse it with the same message, or they train
// like one rank with all batches: in f64 on the reference kernels up to f64 rounding; in f32 through Model and Loop
// with the bits of ranks that exchange gradients, where that is promised.
//
// RIDGELINE_RANDOM_DISTRIBUTIONS=N tries N combinations and prints what was refused; RIDGELINE_RANDOM_SEED=S begins at
// S.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/shard_plan.h"
#include "ridgeline/nn/parameter_groups.h"
#include "ridgeline/train/loop/loop.h"
#include "ridgeline/train/model.h"
#include "ridgeline/train/ranks/ranks.h"
#include "tests/comm/ranks.h"
#include "tests/support/environment.h"
#include "tests/support/in_f64.h"
#include "tests/train/drawn_training.h"
#include "tests/train/recorded_losses.h"

namespace ridgeline::train {
namespace {

using drawn::Drawn;

constexpr std::uint64_t kSeed = 11;

struct Trained {
  std::map<std::string, Tensor> values;  // complete values: parameters, statistics, slots, counters
  std::vector<double> numbers;           // the values that the step returned in each run
  std::string plan;                      // how ranks divide the step
};

// The number of runs that makes complete steps; inside a step each rank has its own sums.
std::int64_t runs_of(const Drawn& drawn) {
  return (drawn::kSteps + (drawn.overflow_at >= 0 ? 1 : 0)) * drawn.accumulate;
}

SessionOptions options_of(const RunRanks& ranks) {
  SessionOptions options{.compute_threads = 1};
  if (ranks.all) options.groups[kWorld] = ranks.all;
  if (ranks.workers) options.groups[kWorkersGroup] = ranks.workers;
  return options;
}

// The step of a rank in f64, as Model builds it.
nn::Step wide_step(const Drawn& drawn, std::int64_t rank, Distribution& distribution) {
  const BatchParts parts = drawn::parts_of(drawn, rank);
  nn::Step step = nn::build_training_step(drawn::network_of(drawn, drawn::rows_of_step(drawn)),
                                          drawn::training_of(drawn, parts.all()), 5);
  step.graph = testing::in_f64(in_parts(std::move(step.graph), drawn.pipelined() ? BatchParts{} : parts));
  for (nn::ParameterSpec& spec : step.parameters) {
    if (spec.dtype == DType::f32) spec.dtype = DType::f64;
  }
  step.graph = annotate(std::move(step.graph), kStage, drawn.stages);
  step.graph = inline_calls(annotate(std::move(step.graph), kShard, drawn.shards));
  check_shards(step.graph, distribution);
  step.graph = annotated(std::move(step.graph), plan_shards(step.graph, distribution).layers);
  if (distribution.mode != ParallelMode::data_parallel) distribution.mode = ParallelMode::semi_auto_parallel;
  if (distribution.servers == 0) return step;
  for (const nn::TrainedParameter& p :
       nn::trained_parameters(step.parameters, 0, true, drawn::training_of(drawn, 1).groups)) {
    const auto& asked = drawn.server_parameters;
    if (asked.empty() || std::any_of(asked.begin(), asked.end(),
                                     [&](const std::string& pattern) { return nn::matches(pattern, p.spec.name); }))
      distribution.on_servers.insert(p.spec.name);
  }
  return step;
}

Trained train_wide(comm::Communicator* all, const Drawn& drawn) {
  const RunRanks ranks =
      all ? with_servers({all, [](comm::Communicator*) {}}, static_cast<int>(drawn.servers)) : RunRanks();
  const std::int64_t rank = ranks.rank();
  Session session(options_of(ranks));
  Distribution distribution = drawn::distribution_of(drawn, rank);
  const nn::Step step = wide_step(drawn, rank, distribution);
  const std::unique_ptr<Program> program =
      compile(step.graph, session, {.fusion = false, .distribution = distribution});
  const Holdings holdings(step.parameters, program->graph(), ranks.all);
  const ComputeScope team(session.compute_threads());
  const auto begin = [&](const nn::ParameterSpec& spec, const nn::ParameterSpec& as) {
    nn::ParameterSpec narrow = as;
    if (narrow.dtype == DType::f64) narrow.dtype = DType::f32;
    const Tensor first = nn::initialize(narrow, 3);
    Tensor value(spec.dtype, spec.shape);
    for (std::int64_t i = 0; i < value.elements(); ++i)
      value.set(i, first.at(i) * (1 + (i % 2 == 0 ? drawn.off : -drawn.off)));
    if (holdings.holds(spec.name)) session.parameters().set(spec.name, holdings.own(spec.name, value), spec.kind());
  };
  const auto spec_named = [&](const std::string& name) {
    return *std::find_if(step.parameters.begin(), step.parameters.end(), [&](const auto& s) { return s.name == name; });
  };
  for (const nn::ParameterSpec& spec : step.parameters) begin(spec, spec);
  for (const nn::Step::Average& average : step.averages) begin(spec_named(average.name), spec_named(average.parameter));
  Trained trained;
  drawn::Rows rows(drawn, rank, DType::f64);
  for (std::int64_t run = 0; run < runs_of(drawn); ++run) {
    if (!ranks.serves() || !ranks.all) rows.bind(*program, run);
    program->run();
    const bool ends = run % drawn.accumulate == drawn.accumulate - 1;
    for (const Return& r : step.graph.returns) {
      if (ends || r.name == nn::kLossResult) trained.numbers.push_back(program->output(r.name).at(0));
    }
  }
  for (const nn::ParameterSpec& spec : step.parameters)
    trained.values[spec.name] = holdings.gather(spec, session.parameters()).clone();
  return trained;
}

// Through Model and Loop, in f32 or the precision that was drawn.
Trained train_narrow(comm::Communicator* all, const Drawn& drawn) {
  const RunRanks ranks =
      all ? with_servers({all, [](comm::Communicator*) {}}, static_cast<int>(drawn.servers)) : RunRanks();
  const std::int64_t rank = ranks.rank();
  const BatchParts parts = drawn::parts_of(drawn, rank);
  SessionOptions session_options = options_of(ranks);
  if (drawn.parts > 0) session_options.promise.bits = Reproducibility::deterministic;
  Session session(session_options);
  Model model(session, drawn::network_of(drawn, drawn::rows_of_step(drawn)),
              {.seed = 3,
               .compile = {.precision = PrecisionPolicy::of(precision_mode_named(drawn.precision))},
               .distribution = drawn::distribution_of(drawn, rank),
               .parts = drawn.pipelined() ? BatchParts{} : parts,
               .shards = drawn.shards,
               .stages = drawn.stages,
               .server_parameters = drawn.server_parameters});
  model.prepare_training(drawn::training_of(drawn, parts.all()));
  model.share();
  drawn::Rows rows(drawn, rank, DType::f32);
  std::int64_t run = 0;
  FunctionFeed feed([&](Program& program) {
    if (!ranks.serves() || !ranks.all) rows.bind(program, run++);
    return true;
  });
  Trained trained;
  RecordedLosses losses;
  Loop(model, feed, {.total_steps = drawn::kSteps, .steps_per_epoch = 1000, .loop = 1, .stop_if_not_finite = false})
      .run({&losses});
  trained.numbers = losses.all;
  trained.plan = model.parallel_plan();
  for (const NamedTensor& tensor : model.to_file()) trained.values[tensor.name] = tensor.tensor.clone();
  return trained;
}

// The final values of all ranks, or their errors.
struct Outcome {
  std::vector<Trained> ranks;
  std::vector<std::string> ends;
};
using Train = Trained (*)(comm::Communicator*, const Drawn&);

Outcome train_over(Train train, const Drawn& drawn) {
  const auto n = static_cast<std::size_t>(drawn.ranks + drawn.servers);
  Outcome outcome{.ranks = std::vector<Trained>(n), .ends = {}};
  outcome.ends = comm::run_ranks(static_cast<int>(n), [&](comm::Communicator& ranks) {
    try {
      outcome.ranks[static_cast<std::size_t>(ranks.rank())] = train(&ranks, drawn);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(std::string("no refusal: ") + error.what());
    }
  });
  return outcome;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.byte_size() == b.byte_size() && std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

// Relative distance in Euclidean norms; NaN equals NaN.
double apart(const Tensor& a, const Tensor& b) {
  double difference = 0, length = 0;
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    difference += (x - y) * (x - y);
    length += y * y;
  }
  return std::sqrt(difference) / (1e-3 + std::sqrt(length));
}

// The first value whose distance exceeds `tolerance`; "" if there is none.
std::string first_difference(const Trained& some, const Trained& other, double tolerance) {
  if (some.values.size() != other.values.size()) return "another number of values";
  for (const auto& [name, value] : some.values) {
    const auto of_other = other.values.find(name);
    if (of_other == other.values.end()) return name + " is missing";
    const double off = apart(value, of_other->second);
    if (!(off <= tolerance)) return fmt::format("{} is {:.2e} off", name, off);
  }
  if (some.numbers.size() != other.numbers.size()) return "another number of returned numbers";
  for (std::size_t i = 0; i < some.numbers.size(); ++i) {
    const double x = some.numbers[i], y = other.numbers[i];
    const bool overflows = !std::isfinite(x) && !std::isfinite(y);
    const bool same = x == y || overflows || std::abs(x - y) <= tolerance * (1e-3 + std::abs(y));
    if (!same) return fmt::format("returned number {} is {} and not {}", i, x, y);
  }
  return "";
}

double furthest(const Trained& some, const Trained& other) {
  double worst = 0;
  for (const auto& [name, value] : some.values) worst = std::max(worst, apart(value, other.values.at(name)));
  return worst;
}

std::string first_other_bits(const Trained& some, const Trained& other) {
  for (const auto& [name, value] : some.values) {
    const auto of_other = other.values.find(name);
    if (of_other == other.values.end() || !same_bits(value, of_other->second)) return name;
  }
  for (std::size_t i = 0; i < some.numbers.size(); ++i) {
    if (std::memcmp(&some.numbers[i], &other.numbers[i], sizeof(double)) != 0) return "a returned number";
  }
  return "";
}

// The messages are refusals by the passes: each rank reports the problem itself, and none that another rank has ended.
std::string pass_of(const std::string& refusal) {
  if (refusal.starts_with("server_parameters '")) return "parameter_server";
  static const std::set<std::string> passes = {"shard",         "pipeline",      "parameter_server",
                                               "shard_updates", "data_parallel", "in_parts"};
  const std::size_t end = refusal.find(']');
  const std::string pass = refusal.starts_with("[") && end != std::string::npos ? refusal.substr(1, end - 1) : "";
  return passes.contains(pass) ? pass : "";
}

// "" if all ranks ended well or refused the training with the same message.
std::string wrong_end(const std::vector<std::string>& ends) {
  for (const std::string& end : ends) {
    if (end.empty() != ends.front().empty())
      return "some ranks end, others do not: " + (end.empty() ? ends.front() : end);
    if (!end.empty() && pass_of(end).empty()) return "a refusal by no pass: " + end;
  }
  return "";
}

struct Counts {
  std::int64_t number = 0;
  int compared = 0, shaken = 0;  // the latter: of those, with a tolerance for amplified rounding
  std::map<std::string, std::vector<std::int64_t>> refusals;  // trainings by message, without numbers
};

std::string without_numbers(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

void check_wide(const Drawn& drawn, Counts& counts) {
  const Outcome outcome = train_over(train_wide, drawn);
  ASSERT_EQ(wrong_end(outcome.ends), "");
  if (!outcome.ends.front().empty()) {
    counts.refusals[without_numbers(outcome.ends.front())].push_back(counts.number);
    return;
  }
  ++counts.compared;
  const Trained one = train_wide(nullptr, drawn::on_one_rank(drawn));
  // The tolerance for a training that amplifies rounding (gradients that consist only of rounding, divided by their
  // norm).
  double tolerance = 1e-9;
  if (!first_difference(outcome.ranks.front(), one, tolerance).empty()) {
    Drawn shaken = drawn::on_one_rank(drawn);
    shaken.off = 0x1p-52;
    tolerance = std::max(tolerance, 30 * furthest(train_wide(nullptr, shaken), one));
    ++counts.shaken;
  }
  EXPECT_EQ(first_difference(outcome.ranks.front(), one, tolerance), "");
  for (const Trained& rank : outcome.ranks) EXPECT_EQ(first_other_bits(rank, outcome.ranks.front()), "");
}

// Ranks that only exchange gradients.
Drawn plain(const Drawn& of) {
  Drawn plain = of;
  plain.servers = 0;
  plain.server_parameters.clear();
  plain.shard_updates = false;
  plain.split = {};
  plain.overlap = true;
  return plain;
}

// Sums of squares over several gradients, whose order depends on their positions.
bool sums_over_gradients(const Drawn& drawn) {
  return drawn.clip_norm > 0 || drawn.optimizer == "lars" || drawn.optimizer == "lamb";
}

void check_narrow(const Drawn& drawn, Counts& counts) {
  const Outcome outcome = train_over(train_narrow, drawn);
  ASSERT_EQ(wrong_end(outcome.ends), "");
  if (!outcome.ends.front().empty()) return;
  ++counts.compared;
  for (const Trained& rank : outcome.ranks) EXPECT_EQ(first_other_bits(rank, outcome.ranks.front()), "");
  if (drawn.pipelined()) {
    Drawn other = drawn;
    other.pipeline.order =
        drawn.pipeline.order == PipelineOrder::gpipe ? PipelineOrder::one_f_one_b : PipelineOrder::gpipe;
    EXPECT_EQ(first_other_bits(train_over(train_narrow, other).ranks.front(), outcome.ranks.front()), "");
  } else if (!sums_over_gradients(drawn) && drawn.ranks > 1) {
    const Trained other = train_over(train_narrow, plain(drawn)).ranks.front();
    // With other costs of exchanges, auto_parallel may divide a layer differently, and so its sums.
    if (other.plan == outcome.ranks.front().plan) {
      EXPECT_EQ(first_other_bits(other, outcome.ranks.front()), "");
    }
    if (drawn.parts > 0) {
      Drawn one = drawn::on_one_rank(drawn);
      one.parts = drawn.parts;
      EXPECT_EQ(first_other_bits(train_narrow(nullptr, one), outcome.ranks.front()), "");
    }
  }
}

void check_random(void (*check)(const Drawn&, Counts&), std::int64_t few) {
  const std::int64_t asked = number_from_environment("RIDGELINE_RANDOM_DISTRIBUTIONS", 0);
  const std::int64_t count = asked > 0 ? asked : few, first = number_from_environment("RIDGELINE_RANDOM_SEED", 0);
  Counts counts;
  for (std::int64_t number = first; number < first + count; ++number) {
    const Drawn drawn = drawn::draw(kSeed, number);
    SCOPED_TRACE(fmt::format("number {}: {}", number, drawn.text()));
    counts.number = number;
    check(drawn, counts);
  }
  EXPECT_GE(2 * counts.compared, count) << "most are refused";
  EXPECT_LE(20 * counts.shaken, count) << "many make too much of a rounding: no yardstick";
  if (asked == 0) return;
  fmt::print("{} of {} are compared, {} of them shaken\n", counts.compared, count, counts.shaken);
  for (const auto& [refusal, numbers] : counts.refusals) {
    fmt::print("{:4} {}\n     such as number {}: {}\n", numbers.size(), refusal, numbers[0],
               drawn::draw(kSeed, numbers[0]).text());
  }
}

// f64 is for the references, which are selected explicitly here.
struct References : ScopedVariable {
  References() : ScopedVariable("RIDGELINE_KERNELS", "reference") {}
};

TEST(RandomDistribution, AnyCombinationIsRefusedOrTrainsAsOneRank) {
  const References references;
  check_random(check_wide, 40);
}

TEST(RandomDistribution, TheBitsAreThoseOfRanksThatExchangeGradients) { check_random(check_narrow, 30); }

// A pipeline whose first stage has no gradient did not count its steps under a loss scale (172), and one whose batch
// norms came before the stage of the loss was refused under a loss scale (15, 117).
TEST(RandomDistribution, PipelinesThatOnceWentWrongTrainAsOneRank) {
  for (const std::int64_t number : {15, 117, 172}) {
    const Drawn drawn = drawn::draw(kSeed, number);
    SCOPED_TRACE(fmt::format("number {}: {}", number, drawn.text()));
    ASSERT_TRUE(drawn.pipelined() && drawn.loss_scale);
    Counts counts;
    {
      const References references;
      check_wide(drawn, counts);
    }
    check_narrow(drawn, counts);
    EXPECT_EQ(counts.compared, 2);
  }
}

}  // namespace
}  // namespace ridgeline::train
