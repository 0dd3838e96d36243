// The experiments of the document, one entry each. Its own figures (one or eight Ascend 910, ImageNet) are shown beside
// those of a run; only the relations can be compared.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/train/experiment/experiment.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {
namespace {

ReportTable published(std::vector<std::string> columns, std::vector<std::vector<std::string>> rows) {
  return {.heading = "The document's table", .note = "", .columns = std::move(columns), .rows = std::move(rows)};
}

constexpr Claim::Quantity kTime = Claim::Quantity::time;
constexpr Claim::Quantity kLoss = Claim::Quantity::loss;
constexpr Claim::Quantity kAccuracy = Claim::Quantity::accuracy;

std::vector<Experiment> make_table() {
  std::vector<Experiment> table;
  table.push_back(
      {.name = "parallel_threads",
       .what =
           "compute threads and launches side by side; with --reproducibility=deterministic the losses are the same",
       .variants =
           {{"intra_op 0, inter_op 0", {"--intra_op_parallelism_threads=0", "--inter_op_parallelism_threads=0"}},
            {"intra_op 2, inter_op 5", {"--intra_op_parallelism_threads=2", "--inter_op_parallelism_threads=5"}},
            {"intra_op 0, inter_op 2", {"--intra_op_parallelism_threads=0", "--inter_op_parallelism_threads=2"}},
            {"intra_op 1, inter_op 0", {"--intra_op_parallelism_threads=1", "--inter_op_parallelism_threads=0"}}},
       .published = published({"threads", "average batch time", "epochs"},
                              {{"intra_op 0, inter_op 0", "~5.3 s", "5"}, {"intra_op 2, inter_op 5", "~5.7 s", "5"}}),
       .claims = {{kTime, "intra_op 2, inter_op 5", '>', "intra_op 0, inter_op 0", "~5.7 s beside ~5.3 s",
                   "with two cores at hand, threads = 2 is what automatic chooses, and launches side by side share "
                   "them"}}});
  table.push_back({.name = "soft_placement",
                   .what = "whether an op that the device cannot do may run on the CPU",
                   .variants = {{"True", {"--allow_soft_placement=True"}}, {"False", {"--allow_soft_placement=False"}}},
                   .published = published({"allow_soft_placement", "average batch time"},
                                          {{"True", "~5.4 s"}, {"False", "~5.5 s"}}),
                   .claims = {{kTime, "False", '=', "True", "~5.5 s beside ~5.4 s",
                               "nothing is moved, as the CPU has a kernel for every op: the two runs are the same "
                               "work, and their times differ by what else the machine did"},
                              {kLoss, "False", '=', "True", "no change"}}});
  table.push_back({.name = "fusion",
                   .what = "chains of pointwise ops and epilogues as one launch each, or every op alone",
                   .variants = {{"fused", {"--fusion=True"}}, {"every op alone", {"--fusion=False"}}},
                   .published = published({"XLA", "result"}, {{"on", "not supported for training on that device"}}),
                   .claims = {{kLoss, "every op alone", '=', "fused", "fusion keeps the values"}}});
  table.push_back({.name = "precision_mode",
                   .what = "which values are stored as 16-bit floats",
                   .variants = {{"must_keep_origin_dtype", {"--precision_mode=must_keep_origin_dtype"}},
                                {"allow_mix_precision", {"--precision_mode=allow_mix_precision"}},
                                {"allow_mix_precision_bf16", {"--precision_mode=allow_mix_precision_bf16"}},
                                {"allow_fp32_to_fp16", {"--precision_mode=allow_fp32_to_fp16"}},
                                {"force_fp16", {"--precision_mode=force_fp16"}}},
                   .published = published({"precision_mode", "loss and accuracy", "batch time"},
                                          {{"allow_mix_precision", "= baseline", "~50 ms"},
                                           {"must_keep_origin_dtype", "N/A (an error)", "N/A"},
                                           {"allow_fp32_to_fp16", "= baseline", "~170 ms"},
                                           {"force_fp16", "< baseline", "~50 ms"}}),
                   .claims = {{kAccuracy, "allow_mix_precision", '=', "must_keep_origin_dtype", "= baseline",
                               "runs of few steps scatter by more than that: more seeds or epochs tell"},
                              {kAccuracy, "allow_fp32_to_fp16", '=', "must_keep_origin_dtype", "= baseline",
                               "runs of few steps scatter by more than that: more seeds or epochs tell"},
                              {kAccuracy, "force_fp16", '<', "must_keep_origin_dtype", "< baseline",
                               "its losses are summed in f32 here, and runs of few steps lose nothing by the rest"},
                              {kTime, "allow_mix_precision", '<', "allow_fp32_to_fp16", "~50 ms beside ~170 ms",
                               "f16 is rounded exactly, by f32 arithmetic, where the processor has no f16 products, so "
                               "neither is faster than f32"},
                              {kTime, "force_fp16", '=', "allow_mix_precision", "~50 ms both",
                               "each value that is stored as f16 costs a conversion, and force_fp16 stores more of "
                               "them"}},
                   .seeds = 3});
  table.push_back({.name = "hcom_parallel",
                   .what = "gradients exchanged between ranks beside the backward pass, or behind it (under launch)",
                   .variants = {{"False", {"--hcom_parallel=False"}}, {"True", {"--hcom_parallel=True"}}},
                   .published = published({"hcom_parallel", "loss and batch time on one device"},
                                          {{"False", "no change"}, {"True", "no change"}}),
                   .claims = {{kTime, "True", '=', "False", "no change on one device",
                               "one rank exchanges nothing: the two runs are the same work, and their times differ by "
                               "what else the machine did"},
                              {kLoss, "True", '=', "False", "no change on one device"}}});
  table.push_back({.name = "iterations_per_loop",
                   .what = "steps without the host",
                   .variants = {{"100", {"--iterations_per_loop=100"}}, {"1", {"--iterations_per_loop=1"}}},
                   .published = published({"iterations_per_loop", "loss and accuracy", "time of 100 batches"},
                                          {{"100", "no change", "~5.1 s"}, {"1", "no change", "~5.4 s"}}),
                   .claims = {{kTime, "1", '>', "100", "~5.4 s beside ~5.1 s",
                               "what a loop saves is the way to the host, which is the device here: a step starts by a "
                               "call of a function"},
                              {kLoss, "1", '=', "100", "no change"}}});
  table.push_back({.name = "data_pre_proc",
                   .what = "flip and normalise in the compiled step, or in the data workers",
                   .variants = {{"True", {"--enable_data_pre_proc=True"}}, {"False", {"--enable_data_pre_proc=False"}}},
                   .published = published(
                       {"enable_data_pre_proc", "batch time", "loss"},
                       {{"True", "~50 ms", "converges"}, {"False", "~20 ms", "does not converge appropriately"}}),
                   .claims = {{kTime, "False", '<', "True", "~20 ms beside ~50 ms",
                               "both do the same work for the same batches, in the step or beside it, on the same "
                               "cores"},
                              {kAccuracy, "False", '<', "True", "does not converge appropriately",
                               "both get the same batches, so the losses are the same to the bit; a faster run that "
                               "does not converge was fed something else"}}});
  table.push_back({.name = "dropout",
                   .what = "dropout inside the launches of its neighbours, in launches of its own, and none",
                   .variants = {{"fused", {"--dropout_keep=0.65"}},
                                {"own launches", {"--dropout_keep=0.65", "--disable_pass=fuse_pointwise"}},
                                {"none", {"--dropout_keep=1"}}},
                   .published = published(
                       {"dropout", "loss and accuracy", "batch time"},
                       {{"npu_ops.dropout()", "no change", "~510 ms"}, {"tf.nn.dropout()", "no change", "~550 ms"}}),
                   .claims = {{kTime, "own launches", '>', "fused", "~550 ms beside ~510 ms",
                               "dropout works on the two hidden dense layers alone, a small part of the step's bytes"},
                              {kLoss, "own launches", '=', "fused", "no change"}}});
  table.push_back(
      {.name = "accelerate",
       .what = "reduced precision for a first part of the run, full precision for the rest",
       .variants = {{"off", {"--precision_mode=must_keep_origin_dtype"}},
                    {"fast, 0.9 of the steps",
                     {"--precision_mode=must_keep_origin_dtype", "--accelerate_train_mode=fast|step|0.9"}},
                    {"fast1, 0.9 of the steps",
                     {"--precision_mode=must_keep_origin_dtype", "--accelerate_train_mode=fast1|step|0.9"}}},
       .published = {},
       .claims = {{kAccuracy, "fast, 0.9 of the steps", '=', "off", "reduced precision first, no loss of accuracy",
                   "runs of few steps scatter by more than that: more seeds or epochs tell"},
                  {kAccuracy, "fast1, 0.9 of the steps", '=', "off", "reduced precision first, no loss of accuracy",
                   "runs of few steps scatter by more than that: more seeds or epochs tell"},
                  {kTime, "fast1, 0.9 of the steps", '<', "off", "faster where the device is, at 16 bits",
                   "a processor without products of bf16 makes them of f32"}},
       .seeds = 3});
  table.push_back({.name = "init",
                   .what = "initial weights of AlexNet",
                   .variants = {{"he_uniform", {"--alexnet_version=he_uniform"}},
                                {"xavier", {"--alexnet_version=xavier"}},
                                {"he_uniform_custom", {"--alexnet_version=he_uniform_custom"}}},
                   .published = {}});
  return table;
}

}  // namespace

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> table = make_table();
  return table;
}

const Experiment& experiment_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Experiment& e : experiments()) {
    if (e.name == name) return e;
    names.push_back(e.name);
  }
  throw Error(fmt::format("[experiment] unknown experiment '{}'{} (allowed: {}, sweep, all)", name,
                          did_you_mean(name, names), fmt::join(names, ", ")),
              ErrorKind::usage);
}

Experiment only(Experiment experiment, const std::vector<std::string>& labels) {
  std::vector<std::string> known;
  for (const Variant& v : experiment.variants) known.push_back(v.label);
  for (const std::string& label : labels) {
    if (std::find(known.begin(), known.end(), label) == known.end())
      throw Error(fmt::format("[experiment] {} has no variant '{}' (it has: {})", experiment.name, label,
                              fmt::join(known, ", ")),
                  ErrorKind::usage);
  }
  std::erase_if(experiment.variants,
                [&](const Variant& v) { return std::find(labels.begin(), labels.end(), v.label) == labels.end(); });
  return experiment;
}

void refuse_reserved(const std::string& flag) {
  struct Reserved {
    std::string_view flag, instead;
  };
  constexpr std::array<Reserved, 2> kReserved{{{"--seed", "--seeds=1,2,3"}, {"--log_dir", "--out"}}};
  const std::string_view name = std::string_view(flag).substr(0, flag.find('='));
  for (const Reserved& r : kReserved) {
    if (name != r.flag) continue;
    throw Error(fmt::format("[experiment] {} is given to each run by the experiment: use {}", r.flag, r.instead),
                ErrorKind::usage);
  }
}

Experiment sweep(const std::vector<std::string>& flags) {
  Experiment made{
      .name = "sweep", .what = "every combination of the given values", .variants = {{"", {}}}, .published = {}};
  std::set<std::string> seen;
  for (const std::string& text : flags) {
    const std::size_t equals = text.find('=');
    const std::size_t begin = std::min(text.find_first_not_of('-'), text.size());
    if (equals == std::string::npos || equals <= begin || equals + 1 == text.size())
      throw Error(fmt::format("[experiment] --flag={} is no NAME=VALUE,VALUE,...", text), ErrorKind::usage);
    std::string name = text.substr(begin, equals - begin);
    std::replace(name.begin(), name.end(), '-', '_');  // as the command line takes it
    refuse_reserved("--" + name);
    if (find_option(name) == nullptr) {
      throw Error(fmt::format("[experiment] --flag={}: train has no flag --{}{}", text, name,
                              did_you_mean(name, option_names())),
                  ErrorKind::usage);
    }
    if (!seen.insert(name).second)
      throw Error(fmt::format("[experiment] --flag={}: this flag is swept already", text), ErrorKind::usage);
    std::vector<Variant> longer;
    for (const Variant& variant : made.variants) {
      for (std::size_t at = equals + 1; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string value = text.substr(at, end - at);
        Variant next = variant;
        next.label += (next.label.empty() ? "" : ", ") + name + " " + value;
        next.flags.push_back("--" + name + "=" + value);
        longer.push_back(std::move(next));
        at = end + 1;
      }
    }
    made.variants = std::move(longer);
  }
  if (seen.empty()) throw Error("[experiment] a sweep needs --flag=NAME=VALUE,VALUE,...", ErrorKind::usage);
  return made;
}

}  // namespace ridgeline::train
