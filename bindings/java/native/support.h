// bindings/java/native/support.h
//
// Shared by the two native libraries: conversion of arrays and texts between Java and C, and of failures to exceptions.
// After a function that leaves a Java exception pending in `env`, the caller must return at once.
#pragma once

#include <jni.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "bindings/c/ridgeline_types.h"

namespace ridgeline::java {

// Leaves a RidgelineException pending; `words` is its message in UTF-8.
void fail(JNIEnv* env, ridgeline_status status, const char* words);
// The message of this thread's last failure. Each of the two libraries defines it with its C interface.
const char* last_error();
// False, with a RidgelineException pending, if `status`, of the call just made, is a failure.
bool good(JNIEnv* env, ridgeline_status status);

// Runs `body`. std::bad_alloc, which must not reach Java, becomes a pending RidgelineException.
template <class Body>
void without_exceptions(JNIEnv* env, Body body) {
  try {
    body();
  } catch (const std::exception& e) {
    fail(env, RIDGELINE_INTERNAL, e.what());
  }
}

// A handle of the C interface, from the number that Java stores.
template <class T>
T* handle_of(jlong value) {
  return reinterpret_cast<T*>(static_cast<std::intptr_t>(value));
}
template <class T>
jlong number_of(T* handle) {
  return static_cast<jlong>(reinterpret_cast<std::intptr_t>(handle));
}

// The bytes of an array; empty, with an exception pending, if there is no memory. Texts from Java end with a zero
// (Text.toC), so c_str() is the text.
std::string bytes_of(JNIEnv* env, jbyteArray array);
// Null, with an exception pending, if Java has no memory.
jbyteArray array_of(JNIEnv* env, const char* bytes, std::size_t size);
jlongArray array_of(JNIEnv* env, const std::vector<jlong>& numbers);

// The text that `put(buffer, capacity, &size)` writes, a call as in the C interface. A text may grow between two calls
// (statistics of a running iterator), so the buffer has some extra room, and the call is repeated if needed.
template <class Put>
jbyteArray text_of(JNIEnv* env, Put put) {
  std::size_t size = 0;
  ridgeline_status status = put(nullptr, std::size_t{0}, &size);
  for (int tries = 0; tries < 8 && status == RIDGELINE_OK; ++tries) {
    std::string text(size + 64, '\0');
    const std::size_t room = text.size();
    status = put(text.data(), room, &size);
    if (status == RIDGELINE_OK) return array_of(env, text.data(), size);
    if (size < room) break;  // failed for another reason
    status = RIDGELINE_OK;
  }
  fail(env, status == RIDGELINE_OK ? RIDGELINE_INTERNAL : status, last_error());
  return nullptr;
}

}  // namespace ridgeline::java
