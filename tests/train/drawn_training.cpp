#include "tests/train/drawn_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "ridgeline/core/random.h"
#include "ridgeline/graph/pass/precision_policy.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/optim/optimizers.h"

namespace ridgeline::train::drawn {
namespace {

// ModelInfo::build has no place for it.
thread_local const Drawn* building = nullptr;

Value build(nn::ModelContext& context, const nn::ModelOptions& options) {
  const Drawn& d = *building;
  GraphBuilder& builder = context.builder;
  Value x = context.images;
  const auto conv = [&](const char* name, std::int64_t out) {
    // A bias before a norm has no gradient except rounding, which optimizers that divide by norms amplify.
    nn::ConvLayer layer{.name = name, .out = out, .pad = 1, .bias = !d.norm, .activation = nn::Activation::relu};
    if (d.norm) layer.norm = nn::BatchNormLayer{std::string(name) + "/norm"};
    x = nn::conv_layer(context, x, layer);
  };
  conv("conv1", 6);
  x = nn::max_pool(x, {.kernel = 2, .stride = 2});
  if (d.second_conv) conv("conv2", 8);
  x = d.flat ? nn::flatten(x, nn::FlattenOrder::hwc) : nn::global_avg_pool(x);
  x = nn::dense_layer(context, x, {.name = "fc1", .out = d.fc1, .activation = nn::Activation::relu});
  x = nn::dropout_layer(context, x, "drop", *options.dropout_keep);
  const std::int64_t out = d.tied || d.skip ? d.fc1 : d.fc2;
  const Value weight = context.parameter("fc2.weight", {out, x.shape()[-1]}, nn::he_normal(x.shape()[-1]));
  const Value bias = context.parameter("fc2.bias", {out}, nn::zeros());
  const auto second = [&](const char* scope) {
    const GraphBuilder::Scope named(builder, scope);
    const Value y = nn::activate(nn::dense(x, weight, bias), nn::Activation::relu);
    x = d.skip ? x + y : y;
  };
  second("fc2");
  if (d.tied) second("fc2_again");
  x = nn::dense_layer(context, x, {.name = "fc3", .out = kClasses});
  if (d.gain) x = x * context.parameter("gain", {kClasses}, nn::ones());
  return x;
}

const nn::ModelInfo& info() {
  static const nn::ModelInfo own = [] {
    nn::ModelInfo i = nn::model_named("linear");
    i.name = "drawn";
    i.build = build;
    i.dropout_keep = 0.5;  // so that it has one bias
    return i;
  }();
  return own;
}

// Draws one of these.
template <class T>
T one_of(SampleRandom& random, std::initializer_list<T> all) {
  return all.begin()[random.integer(0, static_cast<std::int64_t>(all.size()) - 1)];
}

bool chance(SampleRandom& random, double of) { return random.uniform() < of; }

void draw_network(SampleRandom& random, Drawn& d) {
  d.second_conv = chance(random, 0.4);
  d.flat = chance(random, 0.5);
  d.norm = chance(random, 0.3);
  d.synchronised = d.norm && chance(random, 0.6);
  d.gain = chance(random, 0.25);
  d.tied = chance(random, 0.15);
  d.skip = chance(random, 0.25);
  d.fc1 = one_of<std::int64_t>(random, {12, 24, 24, 32});
  d.fc2 = one_of<std::int64_t>(random, {10, 16, 24});
}

void draw_training(SampleRandom& random, Drawn& d) {
  const auto all = optim::optimizers();
  if (chance(random, 0.6)) d.optimizer = all[static_cast<std::size_t>(random.integer(0, std::ssize(all) - 1))].name;
  const bool adaptive = d.optimizer != "momentum" && d.optimizer != "sgd" && d.optimizer != "lars";
  d.rate = adaptive ? 0.003 : 0.02;
  d.decay = one_of(random, {0.0, 1e-3, 1e-2});
  d.decay_vectors = chance(random, 0.7);
  if (chance(random, 0.3)) d.average = 0.9;
  if (chance(random, 0.3)) d.clip_norm = one_of(random, {0.05, 5.0});
  if (chance(random, 0.2)) d.clip_value = 0.02;
  if (chance(random, 0.25)) d.accumulate = random.integer(2, 3);
  if (chance(random, 0.35)) {
    d.loss_scale = one_of(random, {optim::LossScale::fixed(64), optim::LossScale::dynamic(1024, 2, 2),
                                   optim::LossScale::exponential(256, 2)});
    if (chance(random, 0.5)) d.overflow_at = static_cast<int>(random.integer(0, kSteps * d.accumulate - 1));
  }
  if (chance(random, 0.15)) d.groups.push_back({.pattern = "conv1*", .frozen = true});
  if (chance(random, 0.15)) d.groups.push_back({.pattern = "fc*", .rate_factor = 0.1});
  if (chance(random, 0.15)) d.groups.push_back({.pattern = "*.bias", .weight_decay = 0.05});
  d.warmup = chance(random, 0.2);
}

Annotation layer(const std::string& name, const std::string& how) { return {name, how}; }

void draw_shards(SampleRandom& random, Drawn& d) {
  d.mode = one_of(random, {ParallelMode::hybrid_parallel, ParallelMode::semi_auto_parallel,
                           ParallelMode::semi_auto_parallel, ParallelMode::auto_parallel});
  const bool all = d.mode == ParallelMode::semi_auto_parallel;
  for (const char* name : {"fc1", "fc2", "fc3"}) {
    if (!chance(random, all ? 0.7 : 0.15)) continue;
    const std::string how = one_of(random, {"columns", "rows", "data"});
    d.shards.push_back(layer(name, how));
    if (d.tied && d.shards.back().layer == "fc2") d.shards.push_back(layer("fc2_again", how));
  }
}

void draw_stages(SampleRandom& random, Drawn& d) {
  d.pipeline.stages = d.ranks;
  // A number of ranks that divides the images, and sometimes one that is too small.
  const std::int64_t micro =
      d.ranks == 3 ? one_of<std::int64_t>(random, {3, 4, 6, 8, 2}) : one_of<std::int64_t>(random, {2, 4, 4, 8});
  d.pipeline.micro_batches = micro;
  d.pipeline.order = one_of(random, {PipelineOrder::gpipe, PipelineOrder::one_f_one_b});
  if (!chance(random, 0.4)) return;
  const char* layers[] = {"fc1", "fc2", "fc3"};
  for (std::int64_t s = 1; s < d.ranks; ++s)
    d.stages.push_back({layers[d.ranks == 2 ? random.integer(0, 2) : s - (d.ranks == 3 ? 0 : 1)], s});
}

void draw_servers(SampleRandom& random, Drawn& d) {
  d.servers = random.integer(1, 2);
  if (chance(random, 0.1)) d.ranks = 1;
  if (chance(random, 0.4)) {
    d.server_parameters =
        one_of<std::vector<std::string>>(random, {{"fc*"}, {"conv*", "fc3.weight"}, {"*.bias"}, {"fc2.weight"}});
  }
}

// Sizes at which the code changes: blocks of exchanged memory from 1 MiB on, with parts on both sides of that for two
// and four ranks in f32 and f64; updates that are split from 1,024 elements on. Drawn from a separate stream, so that
// other draws of the same number do not change.
void draw_sizes(const PhiloxKey& key, std::int64_t number, Drawn& d) {
  SampleRandom random(key, 0, static_cast<std::uint64_t>(number));
  if (chance(random, 0.94)) return;
  d.fc1 = one_of<std::int64_t>(random, {360, 512, 520, 728});
  d.fc2 = one_of<std::int64_t>(random, {3, 360, 520, 728});
}

}  // namespace

Drawn draw(std::uint64_t seed, std::int64_t number) {
  SampleRandom random(philox_key(seed, "distribution"), 0, static_cast<std::uint64_t>(number));
  Drawn d;
  draw_network(random, d);
  draw_training(random, d);
  d.ranks = one_of<std::int64_t>(random, {2, 2, 3, 4});
  if (d.ranks == 3) d.images = 24;
  const double kind = random.uniform();
  const auto is = [&](double from, double to) { return (kind >= from && kind < to) || chance(random, 0.03); };
  if (is(0, 0.25)) draw_servers(random, d);
  if (is(0.25, 0.5)) draw_shards(random, d);
  if (is(0.5, 0.75)) draw_stages(random, d);
  d.overlap = chance(random, 0.5);
  if (chance(random, is(0.75, 1) ? 0.4 : 0.05)) d.shard_updates = true;
  if (chance(random, 0.3))
    d.split = SplitStrategy::by_sizes(one_of<std::vector<double>>(random, {{50, 50}, {10, 30, 60}}));
  const bool together = d.mode == ParallelMode::data_parallel && !d.pipelined();
  const bool even = d.ranks != 3;
  if (even && together && chance(random, 0.4)) d.parts = d.ranks * one_of<std::int64_t>(random, {1, 2});
  // One rank draws the same masks, by the number of a part.
  const bool by_part = d.parts > 0 || (d.pipelined() && even);
  if (by_part && chance(random, 0.5)) d.keep = 0.7;
  // A micro-batch is a mean over its own rows.
  if (!d.pipelined()) d.masked = chance(random, 0.25);
  // One rank has as many parts as there are ranks or micro-batches: a power of two.
  if (!even) d.synchronised = d.norm;
  if (d.pipelined() && !even) d.norm = d.synchronised = false;
  draw_sizes(philox_key(seed, "sizes"), number, d);
  constexpr const char* kModes[] = {"must_keep_origin_dtype", "allow_mix_precision_bf16", "allow_fp32_to_bf16"};
  d.precision = kModes[random.integer(0, 2)];
  return d;
}

Drawn on_one_rank(const Drawn& of) {
  Drawn one = of;
  one.ranks = 1;
  one.servers = 0;
  one.mode = ParallelMode::data_parallel;
  one.shards.clear();
  one.stages.clear();
  one.pipeline = {};
  one.shard_updates = false;
  one.server_parameters.clear();
  one.split = {};
  const bool apart = of.norm && !of.synchronised;  // statistics
  if (of.pipelined()) {
    one.parts = apart || of.keep < 1 ? of.pipeline.micro_batches : 0;
    one.runs_of_rows = std::max<std::int64_t>(one.parts, 1);
  } else if (of.parts == 0 && apart && of.ranks > 1) {
    one.parts = of.ranks;
  } else if (of.keep == 1 && !apart) {
    one.parts = 0;
  }
  return one;
}

nn::Network network_of(const Drawn& drawn, std::int64_t rows) {
  nn::Network network = nn::image_classifier({.model = &info(),
                                              .model_options = {.num_classes = kClasses, .dropout_keep = drawn.keep},
                                              .batch_size = rows,
                                              .image_size = kSide,
                                              .images = nn::ImageForm::f32,
                                              .seed = 5,
                                              .row_mask = drawn.masked});
  network.loss = [loss = network.loss, drawn](nn::ModelContext& context) {
    building = &drawn;
    return loss(context);
  };
  return network;
}

nn::TrainingOptions training_of(const Drawn& drawn, std::int64_t all_ranks) {
  const optim::Schedule flat = optim::Constant{.base = drawn.rate};
  nn::TrainingOptions training{.optimizer = optim::optimizer_named(drawn.optimizer).make({}),
                               .schedule = drawn.warmup ? optim::Schedule(optim::Warmup{2, flat}) : flat,
                               .weight_decay = drawn.decay,
                               .decay_vectors = drawn.decay_vectors,
                               .groups = drawn.groups,
                               .average = drawn.average};
  training.gradients = {.clip_value = drawn.clip_value,
                        .clip_norm = drawn.clip_norm,
                        .accumulate = drawn.accumulate,
                        .loss_scale = drawn.loss_scale};
  if (drawn.synchronised) training.statistics_ranks = all_ranks;
  if (drawn.masked) training.loss_ranks = all_ranks;
  return training;
}

Distribution distribution_of(const Drawn& drawn, std::int64_t rank) {
  return {.ranks = drawn.ranks,
          .rank = rank,
          .overlap = drawn.overlap,
          .split = drawn.split,
          .each_batch = drawn.parts > 0,
          .shard_updates = drawn.shard_updates,
          .mode = drawn.mode,
          .rates = {.flops = 1e9, .memory_bytes = 1e9, .exchange_bytes = 1e6},
          .pipeline = drawn.pipeline,
          .servers = drawn.servers};
}

BatchParts parts_of(const Drawn& drawn, std::int64_t rank) {
  const bool serves = rank >= drawn.ranks;
  if (drawn.parts == 0) return {.parts = 1, .ranks = drawn.ranks, .place = serves ? 0 : rank};
  return {
      .parts = drawn.parts / drawn.ranks, .ranks = drawn.ranks, .place = serves ? 0 : place_of_rank(rank, drawn.ranks)};
}

std::int64_t rows_of_step(const Drawn& drawn) {
  if (drawn.pipelined()) return drawn.images / drawn.pipeline.micro_batches;
  return drawn.images / std::max(drawn.ranks, drawn.parts);
}

std::string Drawn::text() const {
  std::vector<std::string> said;
  const auto say = [&](bool when, std::string what) {
    if (when) said.push_back(std::move(what));
  };
  say(true, fmt::format("{} ranks", ranks));
  say(servers > 0, fmt::format("{} servers of [{}]", servers, fmt::join(server_parameters, " ")));
  say(mode != ParallelMode::data_parallel, std::string(name_of(mode)));
  for (const Annotation& shard : shards) say(true, shard.layer + "=" + to_string(shard.value));
  say(pipelined(),
      fmt::format("{} stages, {} micro-batches, {}", pipeline.stages, pipeline.micro_batches, name_of(pipeline.order)));
  for (const Annotation& stage : stages) say(true, stage.layer + "=" + to_string(stage.value));
  say(parts > 0, fmt::format("{} parts", parts));
  say(shard_updates, "split updates");
  say(!split.by_size.empty(), fmt::format("buckets of {} %", fmt::join(split.by_size, "/")));
  say(!overlap, "no overlap");
  say(true, optimizer);
  say(true, fmt::format("decay {}{}", decay, decay_vectors ? "" : " without vectors"));
  say(warmup, "warmup");
  say(average > 0, "averages");
  say(clip_norm > 0, fmt::format("clip_norm {}", clip_norm));
  say(clip_value > 0, fmt::format("clip_value {}", clip_value));
  say(accumulate > 1, fmt::format("accumulate {}", accumulate));
  if (loss_scale) say(true, fmt::format("loss scale {}, grows each {}", loss_scale->initial, loss_scale->grow_every));
  say(overflow_at >= 0, fmt::format("overflow at {}", overflow_at));
  for (const nn::ParameterGroup& group : groups)
    say(true, group.pattern + (group.frozen ? " frozen" : group.weight_decay ? " decays" : " slow"));
  say(true, fmt::format("fc1 {}, fc2 {}", fc1, tied || skip ? fc1 : fc2));
  say(second_conv, "conv2");
  say(flat, "flat");
  say(norm, synchronised ? "norm over ranks" : "norm");
  say(gain, "gain");
  say(tied, "tied");
  say(skip, "skip");
  say(masked, "masked");
  say(keep < 1, "dropout");
  say(true, precision);
  return fmt::format("{}", fmt::join(said, ", "));
}

// ---- batches

Rows::Rows(const Drawn& drawn, std::int64_t rank, DType floating)
    : drawn_(drawn),
      rank_(rank),
      count_(drawn.images / (drawn.pipelined() ? 1 : drawn.ranks)),
      images_(floating, {count_, kSide, kSide, 3}),
      labels_(DType::i32, {count_}),
      mask_(DType::u8, {count_}) {}

void Rows::bind(Program& program, std::int64_t run) {
  const std::int64_t pixels = kSide * kSide * 3, place = parts_of(drawn_, rank_).place;
  const std::int64_t turns = drawn_.runs_of_rows;
  for (std::int64_t i = 0; i < count_; ++i) {
    const std::int64_t image = drawn_.pipelined() ? i
                               : turns > 1        ? i % turns * (count_ / turns) + i / turns
                                                  : i * drawn_.ranks + place;
    SampleRandom random(philox_key(7, "pixels"), static_cast<std::uint64_t>(run), static_cast<std::uint64_t>(image));
    for (std::int64_t at = 0; at < pixels; ++at) images_.set(i * pixels + at, std::ldexp(random.bits() >> 8, -23) - 1);
    if (run == drawn_.overflow_at && image == drawn_.images - 1)
      images_.set(i * pixels, images_.dtype() == DType::f64 ? 1e300 : 3e38);
    labels_.set(i, static_cast<double>((image * 7 + run) % kClasses));
    mask_.set(i, (image + run) % 5 == 0 ? 0 : 1);
  }
  program.bind(nn::kImagesInput, images_);
  program.bind(nn::kLabelsInput, labels_);
  if (drawn_.masked) program.bind(nn::kMaskInput, mask_);
}

}  // namespace ridgeline::train::drawn
