#include <fmt/format.h>

#include <cstring>

#include "ridgeline/compile/compile.h"
#include "ridgeline/device/cuda/kernel_images.h"
#include "ridgeline/device/cuda/kernels/self_test.h"
#include "ridgeline/device/devices.h"
#include "tests/compile/support.h"
#include "tests/device/cuda/card/stage.h"
#include "tests/device/cuda/card_setting.h"
#include "tests/device/cuda/driver_support.h"
#include "tests/device/cuda/entry_checks.h"

namespace ridgeline::cuda::check {
namespace {

using ridgeline::testing::RandomStep;

constexpr char kDevice[] = "card_of_the_check";
constexpr std::int64_t kSteps = 200, kRepeated = 20;
constexpr std::size_t kLinesOfFailures = 5;

// The card of the check as a device of programs.
void add_card(const Card& card) {
  static std::shared_ptr<Context> context;
  context = card.context;
  static const bool added = [] {
    add_device({.name = kDevice,
                .doc = "the card of the check",
                .make = [](const DeviceOptions& options) -> std::unique_ptr<Device> {
                  return std::make_unique<CudaDevice>(
                      context,
                      CudaDeviceOptions{.name = kDevice, .promise = options.promise, .images = kernel_images()});
                }});
    return true;
  }();
  (void)added;
}

// Everything that a step returns and leaves in the store, over three runs: the last ones are replays.
std::vector<Tensor> results_of(const RandomStep& step) {
  Session session({.device = kDevice});
  ridgeline::testing::store_arguments(step.train, step.arguments, session);
  const auto program = compile(step.train, session, {});
  std::vector<Tensor> values;
  for (int i = 0; i < 3; ++i) {
    ridgeline::testing::bind_inputs(step.train, step.arguments, *program);
    if (!program->run()) throw Error("a step stopped");
    for (std::size_t r = 0; r < step.train.returns.size(); ++r) values.push_back(program->output(r).clone());
  }
  for (const std::string& name : session.parameters().names()) values.push_back(session.parameters().get(name));
  return values;
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].raw(), b[i].raw(), a[i].byte_size()) != 0) return false;
  }
  return true;
}

void tell(Card& card, const std::vector<std::string>& failures, const std::string& what) {
  for (std::size_t i = 0; i < std::min(failures.size(), kLinesOfFailures); ++i) card.report.line(failures[i]);
  if (!failures.empty()) throw Error(fmt::format("{} {}", failures.size(), what));
}

}  // namespace

void check_ops(Card& card) {
  CudaDevice device(card.context, {.name = kDevice, .images = kernel_images()});
  const testing::EntryChecks checks = testing::check_entries(device);
  card.report.line(fmt::format("{} entries of the table beside the references", checks.ran.size()));
  tell(card, checks.wrong, "cases differ");
}

void check_graphs(Card& card) {
  add_card(card);
  std::vector<std::string> failures;
  std::int64_t seed = 0;
  for (; seed < kSteps && card.left() > 3; ++seed) {
    const RandomStep step = ridgeline::testing::random_step(static_cast<std::uint64_t>(seed));
    try {
      const std::string wrong = ridgeline::testing::difference(step, ridgeline::testing::reference_of(step),
                                                               testing::card_setting(kDevice, seed));
      if (!wrong.empty()) failures.push_back(fmt::format("step {}: {}", seed, wrong));
      if (seed < kRepeated && !same_bits(results_of(step), results_of(step)))
        failures.push_back(fmt::format("step {}: other bits when it is run again", seed));
    } catch (const std::exception& error) {
      failures.push_back(fmt::format("step {}: {}", seed, error.what()));
    }
  }
  card.report.line(fmt::format("{} of {} random steps beside the references, {} run twice for their bits", seed, kSteps,
                               std::min(seed, kRepeated)));
  tell(card, failures, "random steps are wrong");
}

void break_the_context(Card& card) {
  constexpr DeviceAddress kNowhere = 256;
  std::string told = testing::error_of([&] {
    const FunctionHandle function = card.kernels.function("self_test");
    testing::launch_self_test(card.stream, function, kNowhere, kNowhere, 1, 256, "writes where nothing is");
    card.stream.synchronize();
  });
  card.report.line("told: " + told);
  if (!told.starts_with("[cuda] ")) throw Error("a kernel that writes where nothing is gave no error");
}

}  // namespace ridgeline::cuda::check
