#include "ridgeline/format/remote/curl_library.h"

#include <dlfcn.h>

#include <string>

#include "ridgeline/core/error.h"

// The header's checks of argument types are macros of the functions' names.
#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace ridgeline {
namespace {

void* open_library() {
  std::string reasons;
  // Debian's two builds differ in the library they use for https.
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    reasons += std::string(reasons.empty() ? "" : "; ") + ::dlerror();
  }
  throw Error("[http] URLs are read by libcurl, which is not there (Debian: apt-get install libcurl4): " + reasons);
}

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (!function) throw Error("[http] the libcurl of this system has no " + std::string(name));
}

CurlLibrary load() {
  void* library = open_library();
  CurlLibrary curl{};
  find(library, "curl_easy_init", curl.init);
  find(library, "curl_easy_cleanup", curl.cleanup);
  find(library, "curl_easy_setopt", curl.set);
  find(library, "curl_easy_perform", curl.perform);
  find(library, "curl_easy_getinfo", curl.info);
  find(library, "curl_easy_strerror", curl.text_of);
  decltype(&curl_global_init) start = nullptr;
  find(library, "curl_global_init", start);
  if (start(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw Error("[http] libcurl cannot be initialised");
  return curl;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary library = load();  // where it fails, the next call tries again
  return library;
}

}  // namespace ridgeline
