#include "ridgeline/core/given_function.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"

namespace ridgeline {

void refuse_empty_function(const std::source_location& at) {
  throw Error("an empty function is given where one is called" + behind_message(at), ErrorKind::usage);
}

}  // namespace ridgeline
