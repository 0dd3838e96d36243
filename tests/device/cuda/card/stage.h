// tests/device/cuda/card/stage.h
//
// Stages of ridgeline_cuda_check, the program that tries the CUDA device out on a real card (scripts/device_check.sh),
// or on the recording driver. A stage writes lines into the report as it goes, so that what a time limit cuts off is
// short, and throws where something is wrong; the next stage runs then, too.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ridgeline/device/cuda/driver/modules.h"
#include "ridgeline/device/cuda/driver/streams.h"

namespace ridgeline::cuda::check {

// Lines of text, on the terminal and in a file, each written out at once.
class Report {
 public:
  explicit Report(const std::string& path);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  void line(std::string_view text);

 private:
  std::FILE* file_ = nullptr;
};

// What every stage works on.
struct Card {
  std::shared_ptr<Context> context;
  Kernels& kernels;
  CudaStream& stream;
  Report& report;
  std::chrono::steady_clock::time_point until;  // when the stage should be through
  double left() const { return std::chrono::duration<double>(until - std::chrono::steady_clock::now()).count(); }
};

// Seconds that one of `times` runs takes the card, behind one that is not timed.
double timed(Card& card, int times, const std::function<void()>& run);

struct Stage {
  std::string_view name;
  std::string_view doc;
  double seconds;  // that it may take
  void (*run)(Card& card);
  bool named_only = false;  // a measurement: runs where it is named
};

std::span<const Stage> stages();

// Of driver_stages.cpp.
void check_driver(Card& card);
void measure_rates(Card& card);
void look_for_libraries(Card& card);

// Of rank_stages.cpp.
void check_ranks(Card& card);

// Of plan_stages.cpp.
void check_library_plans(Card& card);
void time_library_plans(Card& card);
void time_library_products(Card& card);  // of the layers that measure_kernels times by our kernels

// Of graph_stages.cpp.
void check_ops(Card& card);
void check_graphs(Card& card);
// The card's context is of no more use behind it.
void break_the_context(Card& card);

// Of kernel_stages.cpp.
void check_kernels(Card& card);
void check_loops(Card& card);
void check_dense_updates(Card& card);
void measure_kernels(Card& card);

}  // namespace ridgeline::cuda::check
