// ridgeline/format/remote/curl_library.h
//
// libcurl, loaded when the first URL is opened. Programs and wheels that read only files do not need or load it. Those
// that read URLs use the system's copy, with its certificates, proxy settings and security updates, which a copy of our
// own would lack. The library's interface (libcurl.so.4) has been stable since 2006. Private to this folder.
#pragma once

#define CURL_DISABLE_DEPRECATION  // we use only options that old versions of the library know, too
#include <curl/curl.h>

namespace ridgeline {

struct CurlLibrary {
  decltype(&curl_easy_init) init;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_easy_setopt) set;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_getinfo) info;
  decltype(&curl_easy_strerror) text_of;
};

// Loaded and initialised once, never unloaded. Where it is missing, an Error says what to install. Any thread.
const CurlLibrary& curl_library();

}  // namespace ridgeline
