#include <algorithm>

#include "ridgeline/compile/run/program.h"
#include "ridgeline/compile/run/program_state.h"
#include "ridgeline/core/error.h"

namespace ridgeline {

std::int64_t Program::run_loop(std::int64_t steps, FunctionRef<bool()> feed, FunctionRef<bool()> done) {
  if (runs_behind()) return run_behind(steps, feed, done);
  for (std::int64_t i = 0; i < steps; ++i) {
    if (!feed() || !run()) return i;
    if (!done()) return i + 1;
  }
  return steps;
}

// All steps are enqueued without waiting; returned values are reported as they arrive.
std::int64_t Program::run_behind(std::int64_t steps, FunctionRef<bool()> feed, FunctionRef<bool()> done) {
  if (!state_->returned) {
    std::vector<ReturnedValues::Value> values;
    for (const int b : plan_.buffer_of_return)
      values.push_back({address(b), plan_.buffers[static_cast<std::size_t>(b)].bytes});
    state_->returned = std::make_unique<ReturnedValues>(session_.device(), std::move(values));
  }
  ReturnedValues& returned = *state_->returned;
  bool complete = false;
  const struct Loop {
    Program& program;
    const bool& complete;
    ~Loop() {
      if (complete) return;
      program.drain();
      program.spoil();
    }
  } loop{*this, complete};
  bool more = true;
  const auto tell = [&] {
    const struct Telling {
      bool& telling;
      explicit Telling(bool& flag) : telling(flag) { telling = true; }
      ~Telling() { telling = false; }
    } telling(state_->telling);
    more = done() && more;
    returned.told();
  };
  std::int64_t given = 0;
  while (more && given < steps) {
    while (more && returned.runs() > 0 && returned.ready()) tell();
    if (more && returned.runs() == ReturnedValues::kRuns) {
      returned.wait();
      tell();
    }
    if (!more || !feed() || !give()) break;
    returned.keep();
    ++given;
  }
  finish();
  while (returned.runs() > 0) tell();
  complete = true;
  return given;
}

Tensor Program::output(const std::string& name) {
  const std::vector<Return>& returns = plan_.graph.returns;
  const auto found = std::find_if(returns.begin(), returns.end(), [&](const Return& r) { return r.name == name; });
  if (found == returns.end()) throw Error("the program returns no " + name);
  return output(static_cast<std::size_t>(found - returns.begin()));
}

Tensor Program::output(std::size_t index) {
  const int buffer = plan_.buffer_of_return.at(index);
  const Buffer& b = plan_.buffers[static_cast<std::size_t>(buffer)];
  // Not the buffer's type: a view shares the buffer of a value of another shape.
  const ValueType& type = plan_.graph.value(plan_.graph.returns[index].value).type;
  if (state_->telling) {
    const void* const kept = state_->returned->value(index);
    if (kept == nullptr) {
      throw Error("'" + plan_.graph.returns[index].name + "' is " + type.to_string() +
                  ", which is there behind the last step of a loop alone");
    }
    return Tensor::view(const_cast<void*>(kept), type.dtype, type.shape);
  }
  if (b.device->host_memory()) return Tensor::view(address(buffer), type.dtype, type.shape);
  Tensor host(type.dtype, type.shape);
  b.device->stream().copy_to_host(host.raw(), address(buffer), b.bytes);
  b.device->stream().synchronize();
  return host;
}

}  // namespace ridgeline
