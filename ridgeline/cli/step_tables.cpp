#include "ridgeline/cli/step_tables.h"

#include <fmt/format.h>

#include <numeric>

#include "ridgeline/core/printable.h"

namespace ridgeline::cli {
namespace {

std::string part_line(const StepPart& part) {
  return fmt::format("| `{}` | {} | {:.1f} | {:.1f} | {:.2f} | {:.1f} of {:.1f} | {:.0f} |\n", part.op, part.launches,
                     part.milliseconds, part.at_limit, part.at_limit / part.milliseconds, part.gflop_done, part.gflop,
                     part.megabytes);
}

void add_to(StepPart& sum, const StepPart& part) {
  sum.launches += part.launches;
  sum.milliseconds += part.milliseconds;
  sum.at_limit += part.at_limit;
  sum.gflop += part.gflop;
  sum.gflop_done += part.gflop_done;
  sum.megabytes += part.megabytes;
}

}  // namespace

std::string launch_table(std::span<const LaunchReport> launches, const DeviceRates& limits, double least) {
  std::string text = fmt::format("{:<44}{:>10}{:>8}{:>9}{:>9}{:>9}{:>10}{:>8}{:>7}  {}\n", "launch", "ms", "gap",
                                 "GFLOP", "done", "MB", "GFLOP/s", "GB/s", "share", "kernel");
  const std::vector<double> gaps = gaps_before(launches);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchReport& l = launches[i];
    if (!l.ran || l.milliseconds < least) continue;
    text += fmt::format("{:<44}{:>10.4f}{:>8.4f}{:>9.3f}{:>9.3f}{:>9.2f}{:>10.0f}{:>8.1f}{:>7.2f}  {}\n",
                        printable(l.node), l.milliseconds, gaps[i], l.cost.flops / 1e9, l.flops_done / 1e9,
                        l.cost.bytes / 1e6, l.cost.flops / l.milliseconds / 1e6, l.cost.bytes / l.milliseconds / 1e6,
                        milliseconds_at_limit(l, limits) / l.milliseconds, l.kernel);
  }
  return text;
}

std::string part_table(std::span<const LaunchReport> launches, const DeviceRates& limits) {
  const std::vector<StepPart> parts = parts_of(launches, limits);
  StepPart whole, rest;
  for (const StepPart& part : parts) add_to(whole, part);
  std::string text =
      "| op | launches | ms | at the limit | share | GFLOP done, of the formula's | MB "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const StepPart& part : parts) {
    if (part.milliseconds < whole.milliseconds / 100)
      add_to(rest, part);
    else
      text += part_line(part);
  }
  rest.op = "rest";
  if (rest.launches > 0) text += part_line(rest);
  whole.op = "all";
  if (whole.launches > 0) text += part_line(whole);
  text += "\nlargest gaps:";
  for (std::size_t i = 0; i < parts.size() && i < 3; ++i) {
    text += fmt::format("{} {} {:.1f} ms (most of it in {})", i == 0 ? "" : ",", parts[i].op, parts[i].gap(),
                        printable(parts[i].longest));
  }
  const std::vector<double> gaps = gaps_before(launches);
  text += fmt::format("; between launches {:.2f} ms\n", std::accumulate(gaps.begin(), gaps.end(), 0.0));
  return text + fmt::format("limits: {:.0f} GFLOP/s in f32, {:.0f} in bf16, {:.1f} GB/s\n", limits.f32_flops / 1e9,
                            limits.bf16_flops / 1e9, limits.memory_bytes / 1e9);
}

std::string balance_table(std::span<const LaunchReport> launches, const StepBalance& balance) {
  std::string text = fmt::format(
      "| launch | of the step | items | largest share | serial | barriers | bound at {} | kernel |\n"
      "|---|---|---|---|---|---|---|---|\n",
      balance.threads);
  int barriers = 0;
  double serial = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LaunchBalance& launch = balance.launches[i];
    barriers += launch.barriers;
    if (!launch.library) serial += launch.serial;
    if (launch.seconds < balance.seconds / 200) continue;
    text += fmt::format("| {} | {:.1f} % | {} | {:.3f} | {:.1f} % | {} | {} | {} |\n", printable(launches[i].node),
                        100 * launch.seconds / balance.seconds, launch.items, launch.largest_share,
                        100 * launch.serial / launch.seconds, launch.barriers,
                        launch.library ? "not known" : fmt::format("{:.2f}", launch.bound(balance.threads)),
                        launches[i].kernel);
  }
  text += fmt::format("\n{} threads: bound {:.3f}, {} barriers, {:.2f} % of the work serial", balance.threads,
                      balance.bound(), barriers, 100 * serial / balance.seconds);
  if (balance.library_seconds > 0) {
    text += fmt::format(
        "; without launches that the kernel library divides in its own way ({:.1f} % of the time of one thread)",
        100 * balance.library_seconds / balance.seconds);
  }
  return text + "\n";
}

}  // namespace ridgeline::cli
