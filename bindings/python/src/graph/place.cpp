#include "place.h"

#include <utility>

#include "../train/graph_values.h"
#include "ridgeline/core/error.h"

namespace ridgeline::python {
namespace {

thread_local Place* t_place = nullptr;

}  // namespace

Place::~Place() {
  if (entered_) leave();
}

Place* Place::current() { return t_place; }

void Place::enter() {
  RIDGELINE_CHECK(!entered_, "a place is entered twice");
  outer_ = std::exchange(t_place, this);
  entered_ = true;
}

void Place::leave() {
  RIDGELINE_CHECK(t_place == this, "a place is left that is not the innermost one");
  t_place = outer_;
  entered_ = false;
}

const Tensor* Place::find(const Value&) const { return nullptr; }

CallerFrames::CallerFrames(GraphBuilder& builder, PyObject* code) {
  if (code == nullptr) return;
  const LocationStack lines = user_lines(code);
  for (std::size_t i = lines.size(); i-- > 1;)
    frames_.push_back(std::make_unique<GraphBuilder::Scope>(builder, "", lines[i]));
}

bool is_array(nb::handle given) { return !nb::isinstance<Value>(given) && nb::hasattr(given, "__dlpack__"); }

}  // namespace ridgeline::python
