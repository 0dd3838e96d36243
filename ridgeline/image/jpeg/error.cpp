#include "ridgeline/image/jpeg/error.h"

namespace ridgeline::image {
namespace {

JpegErrors& errors_of(j_common_ptr common) { return *reinterpret_cast<JpegErrors*>(common->err); }

[[noreturn]] void fatal(j_common_ptr common) {
  JpegErrors& errors = errors_of(common);
  errors.manager.format_message(common, errors.message);
  std::longjmp(errors.jump, 1);
}

void count_warning(j_common_ptr common, int level) {
  if (level < 0) ++errors_of(common).warnings;  // traces have level 0 and above
}

void say_nothing(j_common_ptr) {}

}  // namespace

void JpegErrors::install(jpeg_common_struct* common) {
  common->err = jpeg_std_error(&manager);
  manager.error_exit = fatal;
  manager.emit_message = count_warning;
  manager.output_message = say_nothing;
  message[0] = '\0';
  warnings = 0;
}

}  // namespace ridgeline::image
