// ridgeline/format/remote/curl_library.h
//
// libcurl, loaded when the first URL is opened. Programs and wheels that read files neither need it nor load it, and
// one that reads URLs has the system's: with its certificates, its proxy settings and its security updates, which a
// copy of our own would lack. The library's interface (libcurl.so.4) has been stable since 2006. Private to this
// folder.
#pragma once

#define CURL_DISABLE_DEPRECATION  // we keep to options that old versions of the library know, too
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

// Loaded and initialised once, and never unloaded. An Error that says what to install where there is none. Any thread.
const CurlLibrary& curl_library();

}  // namespace ridgeline
