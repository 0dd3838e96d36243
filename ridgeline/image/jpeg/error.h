// ridgeline/image/jpeg/error.h
//
// libjpeg's error manager for both directions, private to this folder. libjpeg reports a fatal error by a call that
// must not return: it jumps back to the frame that set `jump`, and that frame throws. Between the two are only frames
// of libjpeg, and the frame that sets `jump` owns nothing with a destructor: nothing is leaked or skipped.
#pragma once

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

namespace ridgeline::image {

struct JpegErrors {
  jpeg_error_mgr manager;  // first: libjpeg hands out a pointer to it
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  int warnings;

  void install(jpeg_common_struct* common);
};

}  // namespace ridgeline::image
