#pragma once
// Result<T> and Status: how every function of ours reports an error. Exceptions stop at the drivers.
//
//   Result<Run> run = store.Get(id);
//   if (!run) return run.error();
//   Use(*run);
//
// An error a user sees says what, where (file:line:column or id) and what to do.

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "shared/base/check.h"

namespace acl {

// Few codes; a new one only if some caller acts on it.
enum class Code {
  kUnavailable,     // try later: the database or a peer cannot be reached
  kExhausted,       // this machine is short of disk, descriptors, processes or memory, and nothing was begun: another worker, or later
  kTimeout,         // the deadline passed; nothing was done, or it does not matter
  kCancelled,       // somebody asked to stop
  kConflict,        // the state does not allow it (already finished, other body for the same key)
  kInvalid,         // bad input; the message says where and what to write instead
  kNotFound,        // no such thing
  kDenied,          // no right to it
  kLeaseLost,       // stop: somebody else owns the subject, or the session is dead
  kOutcomeUnknown,  // it may have happened: read back, never retry blindly
  kCorrupt,         // what was read does not verify: quarantine
  kInternal,        // a bug of ours; never expected
};

std::string_view CodeName(Code code);

struct [[nodiscard]] Error {
  Code code = Code::kInternal;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Error& error) { return out << CodeName(error.code) << ": " << error.message; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  Result(Code code, std::string message) : Result(Error{code, std::move(message)}) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T& value() {
    ACL_CHECK(ok(), "value() of an error");
    return std::get<0>(state_);
  }
  const T& value() const {
    ACL_CHECK(ok(), "value() of an error");
    return std::get<0>(state_);
  }
  const Error& error() const {
    ACL_CHECK(!ok(), "error() of a value");
    return std::get<1>(state_);
  }
  Code code() const { return error().code; }
  const std::string& message() const { return error().message; }

 private:
  std::variant<T, Error> state_;
};

// Success or an error, no value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)
  Status(Code code, std::string message) : Status(Error{code, std::move(message)}) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const {
    ACL_CHECK(!ok_, "error() of success");
    return error_;
  }
  Code code() const { return error().code; }
  const std::string& message() const { return error().message; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace acl
