// Times collectives between processes of this machine, and as their limit all processes copying as much memory at once.
//
//     bench_collectives [RANKS] [MILLIONS_OF_FLOATS] [ROUNDS]     # default: 2 ranks, 61.1 (AlexNet), 7 rounds
//     mpirun -np RANKS bench_collectives 0 [MILLIONS_OF_FLOATS] [ROUNDS]     # over MPI, and OpenMPI's own all-reduce
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "ridgeline/comm/mpi/mpi_communicator.h"
#include "ridgeline/comm/mpi/mpi_library.h"
#include "ridgeline/comm/shared/shared_communicator.h"
#include "ridgeline/core/error.h"

namespace {

using ridgeline::DType;
using ridgeline::comm::Communicator;
using ridgeline::comm::Reduction;

// The median of the rounds, in ms; a round begins and ends with a barrier.
double median_ms(Communicator& c, int rounds, const std::function<void()>& body) {
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) {
    c.barrier();
    const auto begin = std::chrono::steady_clock::now();
    body();
    c.barrier();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (round > 0) times.push_back(time.count());  // the first round touches the pages
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// MPI_Allreduce of the loaded OpenMPI, in place, for comparison.
std::function<void(float*, int)> all_reduce_of_openmpi() {
  const ridgeline::comm::MpiLibrary& mpi = ridgeline::comm::mpi_library();
  using AllReduce = int (*)(const void*, void*, int, void* type, void* operation, void* comm);
  const auto function = reinterpret_cast<AllReduce>(::dlsym(mpi.library, "MPI_Allreduce"));
  void* type = ::dlsym(mpi.library, "ompi_mpi_float");
  void* maximum = ::dlsym(mpi.library, "ompi_mpi_op_max");
  if (function == nullptr || type == nullptr || maximum == nullptr)
    throw ridgeline::Error("this OpenMPI has no MPI_Allreduce");
  void* const in_place = reinterpret_cast<void*>(1);  // MPI_IN_PLACE
  return [=, &mpi](float* values, int count) {
    mpi.check(function(in_place, values, count, type, maximum, mpi.world), "MPI_Allreduce");
  };
}

void measure(Communicator& c, std::int64_t count, int rounds, bool over_mpi) {
  std::vector<float> values(static_cast<std::size_t>(count)), other(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<double>((i * 2654435761u) % 65536) / 65536.0 - 0.5);
  const std::int64_t bytes = count * 4;
  const auto print = [&](const char* what, double ms, double limit) {
    if (c.rank() == 0)
      fmt::print("{:22} {:8.1f} ms  {:6.1f} GB/s of each rank's values  {:5.2f} of the copy\n", what, ms,
                 static_cast<double>(bytes) / ms / 1e6, limit / ms);
  };
  const double copy =
      median_ms(c, rounds, [&] { std::memcpy(other.data(), values.data(), static_cast<std::size_t>(bytes)); });
  print("copy", copy, copy);
  // The maximum, so that values do not change from round to round.
  print("all_reduce", median_ms(c, rounds, [&] { c.all_reduce(values.data(), count, DType::f32, Reduction::max); }),
        copy);
  const std::shared_ptr<void> allocated = c.allocate(bytes);
  std::memcpy(allocated.get(), values.data(), static_cast<std::size_t>(bytes));
  print("  of its memory",
        median_ms(c, rounds, [&] { c.all_reduce(allocated.get(), count, DType::f32, Reduction::max); }), copy);
  if (over_mpi) {
    const auto theirs = all_reduce_of_openmpi();
    print("MPI_Allreduce itself", median_ms(c, rounds, [&] { theirs(values.data(), static_cast<int>(count)); }), copy);
  }
  print("reduce_scatter",
        median_ms(c, rounds,
                  [&] { c.reduce_scatter(values.data(), other.data(), count / c.size(), DType::f32, Reduction::max); }),
        copy);
  const auto* own = static_cast<const float*>(allocated.get());
  print(
      "  of its memory",
      median_ms(c, rounds, [&] { c.reduce_scatter(own, other.data(), count / c.size(), DType::f32, Reduction::max); }),
      copy);
  print("all_gather", median_ms(c, rounds, [&] { c.all_gather(values.data(), other.data(), bytes / c.size()); }), copy);
  print("  of its memory", median_ms(c, rounds, [&] { c.all_gather(own, other.data(), bytes / c.size()); }), copy);
  print("broadcast", median_ms(c, rounds, [&] { c.broadcast(values.data(), bytes); }), copy);
  float small = 1;
  const int calls = 1000;
  const auto latency = [&](const char* what, const std::function<void()>& call) {
    const double ms = median_ms(c, rounds, [&] {
      for (int i = 0; i < calls; ++i) call();
    });
    if (c.rank() == 0) fmt::print("{} of one float: {:.2f} us\n", what, ms * 1000 / calls);
  };
  latency("all_reduce", [&] { c.all_reduce(&small, 1, DType::f32, Reduction::max); });
  if (over_mpi) latency("MPI_Allreduce itself", [&, theirs = all_reduce_of_openmpi()] { theirs(&small, 1); });
}

int failed(const ridgeline::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 2;
  const auto count = static_cast<std::int64_t>((argc > 2 ? std::atof(argv[2]) : 61.1) * 1e6);
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 7;
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    try {
      measure(*ridgeline::comm::mpi_communicator(), count, rounds, true);
      return 0;
    } catch (const ridgeline::Error& error) {
      return failed(error);
    }
  }
  const std::string name = fmt::format("ridgeline-bench-{}", ::getpid());
  for (int r = 0; r < ranks; ++r) {
    if (::fork() != 0) continue;
    try {
      measure(*ridgeline::comm::shared_communicator({.name = name, .rank = r, .size = ranks}), count, rounds, false);
    } catch (const ridgeline::Error& error) {
      std::exit(failed(error));
    }
    std::exit(0);
  }
  int status = 0, failures = 0;
  while (::wait(&status) > 0) failures |= status;
  return failures != 0;
}
