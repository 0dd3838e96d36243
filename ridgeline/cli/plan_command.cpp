// `ridgeline plan STEP.json`: what a measured step would take on other clusters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/comm/model/replay.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/train/ranks/parallel_estimate.h"
#include "ridgeline/train/step_timeline.h"

namespace ridgeline::cli {
namespace {

// The longest step that is accepted: a year.
constexpr double kMostSeconds = 3.2e7;

struct PlannedStep {
  const comm::Cluster* cluster = nullptr;
  std::int64_t bucket_bytes = 0;
  comm::Replay by_size;             // buckets of that size
  comm::Replay by_index;            // the best of at most `buckets` buckets
  comm::Replay in_one_call;         // after the backward pass
  std::optional<ShardPlan> shards;  // with --auto_parallel
};

PlannedStep planned(const comm::StepTimeline& timeline, const comm::Cluster& cluster, int buckets) {
  PlannedStep plan{.cluster = &cluster, .bucket_bytes = comm::best_bucket_size(timeline, cluster)};
  plan.by_size = replay(timeline, cluster, comm::buckets_of_size(timeline, plan.bucket_bytes));
  plan.by_index = replay(timeline, cluster, comm::best_buckets(timeline, cluster, buckets));
  plan.in_one_call =
      replay(timeline, cluster, comm::buckets_of_size(timeline, std::max<std::int64_t>(1, timeline.gradient_bytes())));
  return plan;
}

double images_per_second(const PlannedStep& plan, const comm::Replay& replay, std::int64_t batch_size) {
  return static_cast<double>(batch_size) * plan.cluster->ranks() / replay.step_seconds;
}

std::vector<int> ends_of(const comm::Replay& replay) {
  std::vector<int> ends;
  for (const comm::Bucket& bucket : replay.buckets) ends.push_back(bucket.last);
  return ends;
}

nlohmann::json to_json(const PlannedStep& plan, std::int64_t batch_size) {
  const auto described = [&](const comm::Replay& r) {
    return nlohmann::json{{"ms_per_step", r.step_seconds * 1e3},
                          {"ms_per_step_serial", r.serial_seconds * 1e3},
                          {"ms_exchange", r.exchange_seconds * 1e3},
                          {"hidden_share", r.hidden_share()},
                          {"images_per_second", images_per_second(plan, r, batch_size)},
                          {"bucket_ends", ends_of(r)}};
  };
  nlohmann::json shards;
  if (plan.shards) {
    shards = {{"ms_per_step", plan.shards->seconds * 1e3},
              {"ms_per_step_data_parallel", plan.shards->data_parallel_seconds * 1e3},
              {"layers", nlohmann::json::object()}};
    for (const ShardedLayer& layer : plan.shards->layers) shards["layers"][layer.node] = layer.how;
  }
  return {{"auto_parallel", shards},
          {"cluster", plan.cluster->name},
          {"ranks", plan.cluster->ranks()},
          {"bucket_bytes", plan.bucket_bytes},
          {"by_size", described(plan.by_size)},
          {"by_index", described(plan.by_index)},
          {"in_one_call", described(plan.in_one_call)}};
}

void print_table(const std::vector<PlannedStep>& plans, std::int64_t batch_size) {
  fmt::print("{:<22}{:>7}{:>11}{:>11}{:>11}{:>9}{:>12}{:>9}{:>14}{:>8}\n", "cluster", "ranks", "exchange", "one call",
             "overlapped", "hidden", "bucket MB", "buckets", "images/s", "scaling");
  for (const PlannedStep& plan : plans) {
    const comm::Replay& r = plan.by_size;
    fmt::print("{:<22}{:>7}{:>8.2f} ms{:>8.2f} ms{:>8.2f} ms{:>9.3f}{:>12.2f}{:>9}{:>14.0f}{:>8.3f}\n",
               plan.cluster->name, plan.cluster->ranks(), r.exchange_seconds * 1e3,
               plan.in_one_call.serial_seconds * 1e3, r.step_seconds * 1e3, r.hidden_share(),
               static_cast<double>(plan.bucket_bytes) / 1e6, r.buckets.size(), images_per_second(plan, r, batch_size),
               r.compute_seconds / r.step_seconds);
  }
}

void print_shards(const std::vector<PlannedStep>& plans) {
  for (const PlannedStep& plan : plans) {
    if (plan.shards) fmt::print("{}: {}\n", plan.cluster->name, plan.shards->text);
  }
}

void print_buckets(const PlannedStep& plan, int most) {
  fmt::print("{}: {}\nfigures: {}\n", plan.cluster->name, plan.cluster->links, plan.cluster->source);
  fmt::print("best of at most {} buckets: step {:.2f} ms, {:.3f} hidden, idxList {}\n", most,
             plan.by_index.step_seconds * 1e3, plan.by_index.hidden_share(), ends_of(plan.by_index));
  for (const comm::Bucket& b : plan.by_index.buckets)
    fmt::print("  to gradient {:>4}: {:>9.2f} MB, ready {:>8.2f} ms, exchanged {:>8.2f} to {:>8.2f} ms, {}\n", b.last,
               static_cast<double>(b.bytes) / 1e6, b.ready * 1e3, b.start * 1e3, b.end * 1e3, name_of(b.algorithm));
}

}  // namespace

int plan_command(const Words& words) {
  std::string file, cluster;
  double images = 0;
  int buckets = 8;
  bool json = false, shards = false, overlap = false;
  Command app(
      "estimate the time of a measured training step on clusters, from the times of its launches and a model of the "
      "cluster's links",
      "plan");
  app.option("FILE", file, "output of `ridgeline bench step --json`").required();
  app.option("--cluster", cluster,
             "show only this cluster, with its gradient buckets; default: a table of all: " +
                 joined_names(comm::cluster_table()));
  app.option("--images_per_second", images,
             "speed of one device of the cluster, to which the measured times are scaled; 0: as measured");
  app.option("--buckets", buckets, "largest number of gradient buckets to try");
  app.flag("--auto_parallel", shards,
           "print how --parallel_mode=auto_parallel would divide the model's dense layers, with its estimates");
  app.flag("--hcom_parallel", overlap,
           "with --auto_parallel: assume that gradients are exchanged during the backward pass");
  app.flag("--json", json, "print one JSON object");
  if (!app.parse(words)) return 0;
  if (!(images >= 0)) throw Error(fmt::format("--images_per_second={} (allowed: 0 or more)", images), ErrorKind::usage);
  const train::MeasuredStep step = train::read_measured_step(file);
  // The launches were timed one by one, so their sum is a little more than the time of the step.
  const double seconds = images > 0 ? static_cast<double>(step.batch_size) / images : step.milliseconds / 1e3;
  if (!(seconds > 0)) throw Error("[plan] the step takes no time", ErrorKind::usage);
  if (seconds > kMostSeconds)
    throw Error(
        fmt::format("--images_per_second={} is too low: a step would take more than {} s", images, kMostSeconds),
        ErrorKind::usage);
  const comm::StepTimeline timeline = scaled(step.timeline, seconds / step.timeline.seconds());
  std::vector<PlannedStep> plans;
  if (!cluster.empty()) {
    plans.push_back(planned(timeline, comm::cluster_named(cluster), buckets));
  } else {
    for (const comm::Cluster& known : comm::cluster_table()) plans.push_back(planned(timeline, known, buckets));
  }
  if (shards) {
    for (PlannedStep& plan : plans)
      plan.shards = train::estimate_shards(step.model, step.batch_size, seconds, *plan.cluster, overlap);
  }
  const auto gradients = std::count_if(timeline.parts.begin(), timeline.parts.end(),
                                       [](const comm::StepPart& part) { return part.gradient_bytes > 0; });
  if (json) {
    nlohmann::json object{{"model", step.model},       {"batch_size", step.batch_size},
                          {"ms_alone", seconds * 1e3}, {"gradient_bytes", timeline.gradient_bytes()},
                          {"gradients", gradients},    {"plans", nlohmann::json::array()}};
    for (const PlannedStep& plan : plans) object["plans"].push_back(to_json(plan, step.batch_size));
    fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return 0;
  }
  fmt::print("{}: {} images a rank, {:.2f} ms alone, {:.1f} MB of gradients from {} launches\n", printable(step.model),
             step.batch_size, seconds * 1e3, static_cast<double>(timeline.gradient_bytes()) / 1e6, gradients);
  print_table(plans, step.batch_size);
  print_shards(plans);
  if (!cluster.empty()) print_buckets(plans.front(), buckets);
  return 0;
}

}  // namespace ridgeline::cli
