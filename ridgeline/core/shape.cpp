#include "ridgeline/core/shape.h"

#include "ridgeline/core/error.h"

namespace ridgeline {

void Shape::refuse_size() const { throw Error("a tensor of shape " + to_string() + " is larger than any memory"); }

}  // namespace ridgeline
