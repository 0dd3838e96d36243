#include <cstdio>

#include "ridgeline/compile/lower/lanes.h"
#include "ridgeline/compile/run/program.h"
#include "ridgeline/compile/run/program_state.h"

namespace ridgeline {

// `lane`: of a device; empty for the calling thread's.
void Program::trace_launch(Trace& trace, std::string_view lane, std::size_t i, Trace::Clock::time_point begin,
                           Trace::Clock::time_point end) {
  const LaunchReport launch = report(i);
  char work[64];
  std::snprintf(work, sizeof work, "%.3f GFLOP of %.3f, %.2f MB", launch.flops_done / 1e9, launch.cost.flops / 1e9,
                launch.cost.bytes / 1e6);
  const std::string name = plan_.launches[i].node >= 0 ? launch.node : "update";
  Trace::Details details = {{"kernel", launch.kernel}, {"work", work}};
  if (lane.empty())
    trace.record("launch", name, begin, end, std::move(details));
  else
    trace.record_in(lane, "launch", name, begin, end, std::move(details));
}

// For an asynchronous device: a timed span that has ended. Called by the timeline.
void Program::timed(const TimedSpan& span, StreamPurpose stream, DeviceTimeline::Moment begin,
                    DeviceTimeline::Moment end) {
  if (span.launch >= 0) {
    const auto i = static_cast<std::size_t>(span.launch);
    if (span.run != state_->timed_run) state_->timed_begin = begin;
    state_->timed_run = span.run;
    state_->milliseconds[i] = std::chrono::duration<double, std::milli>(end - begin).count();
    state_->started[i] = std::chrono::duration<double, std::milli>(begin - state_->timed_begin).count();
  }
  Trace* const trace = session_.trace();
  if (trace == nullptr) return;
  constexpr std::string_view kLanes[] = {"device: compute", "device: copies", "device: exchanges"};
  const std::string_view lane = kLanes[static_cast<std::size_t>(stream)];
  if (span.launch < 0)
    trace->record_in(lane, span.category, span.name, begin, end);
  else
    trace_launch(*trace, lane, static_cast<std::size_t>(span.launch), begin, end);
}

namespace {

std::string kernel_name(const Launch& launch) {
  switch (launch.kind) {
    case LaunchKind::kernel: return launch.kernel->name;
    case LaunchKind::start: return launch.exchange->name;
    case LaunchKind::done: return "wait";
    case LaunchKind::copy: break;
  }
  return "copy";
}

}  // namespace

LaunchReport Program::report(std::size_t i) const {
  const Launch& launch = plan_.launches[i];
  LaunchReport report;
  report.device = launch.device->name();
  report.milliseconds = state_->milliseconds[i];
  report.started = state_->started[i];
  report.runs = state_->runs[i];
  report.ran = state_->ran[i];
  report.work = state_->work[i];
  if (launch.node >= 0) {
    const Node& node = plan_.graph.nodes[static_cast<std::size_t>(launch.node)];
    report.node = node.name;
    report.op = node.op;
    if (!node.where.empty()) report.where = node.where.front().to_string();
  } else {
    report.node = plan_.buffers[static_cast<std::size_t>(launch.outputs[0])].name;
  }
  report.kernel = kernel_name(launch);
  report.converts = launch.converts || launch.kind == LaunchKind::copy;
  if (launch.derives >= 0) {
    report.parameter = plan_.buffers[static_cast<std::size_t>(launch.derives)].name;
  } else if (report.converts) {
    const Buffer& from = plan_.buffers[static_cast<std::size_t>(launch.inputs[0])];
    if (from.home == BufferHome::store || from.home == BufferHome::derived) report.parameter = from.name;
  }
  report.cost = cost_of(plan_, launch);
  const bool computes = launch.kind == LaunchKind::kernel && !launch.converts;
  report.flops_done = report.cost.flops * (computes ? launch.kernel->flops_share : 1);
  if (computes) report.products = launch.kernel->products;
  return report;
}

std::vector<LaunchReport> Program::launches() const {
  std::vector<LaunchReport> reports;
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) reports.push_back(report(i));
  for (const Section& section : plan_.sections) {
    for (std::size_t lane = 0; lane < section.lanes.size(); ++lane) {
      for (const int i : section.lanes[lane]) reports[static_cast<std::size_t>(i)].lane = static_cast<int>(lane);
    }
  }
  return reports;
}

}  // namespace ridgeline
